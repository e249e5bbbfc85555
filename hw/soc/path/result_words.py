"""Words that leave for memory: their sizes, and where they come from."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.hdl import ShapeLike, ValueLike
from amaranth.lib import stream
from amaranth.lib.wiring import connect, flipped

from hw.lib.fifo import Fifo

__all__ = ["end_job", "joined", "numbers_of", "queue_words", "word_sizes"]


def word_sizes(writer: Any, codes: Value, of_words: Value) -> tuple[list[int], Value]:
    """Return the bytes of a word of each kind, and the kind that the job has.

    Parameters
    ----------
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    codes : the job makes codes.
    of_words : words come from a vector job.
    """
    spec, job, across = writer.spec, writer.i_geometry, writer.across
    sizes = [across * spec.sum_bytes // writer.sum_words]
    sizes += [across * spec.code_bits // 8] if spec.requantise else []
    kind = codes
    if spec.sizes:
        kind = Mux(codes & job.wide, len(sizes), codes)
        sizes += [across * spec.code_bits // 4]
    if writer.row_bytes:
        of_rows: ValueLike = len(sizes)
        sizes += [writer.row_bytes]
        if spec.sizes and spec.vector_out_bytes > 1:
            of_rows = Mux(job.narrowed, len(sizes), of_rows)
            sizes += [writer.row_bytes // 2]
        kind = Mux(of_words, of_rows, kind)
    return sizes, kind


def numbers_of(writer: Any, waiting: Value) -> list[Value]:
    """Return the numbers of a piece of a row, which is 0 but for that.

    Parameters
    ----------
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    waiting : the row.
    """
    columns, across, bits = writer.spec.inside.n, writer.across, writer.spec.number_width
    pieces = [range(first, columns, across) for first in range(across)]
    return [
        Value.cast(reduce(or_, (waiting.word_select(column, bits) for column in piece)))
        for piece in pieces
    ]


def joined(m: Module, name: str, sums: Any, rows: Any, here: Value) -> Any:
    """Return the stream of a product or, where `here`, that of a vector job's rows."""
    both: Any = stream.Signature(sums.payload.shape()).create(path=(name,))
    m.d.comb += [
        both.valid.eq(Mux(here, rows.valid, sums.valid)),
        Value.cast(both.payload).eq(Mux(here, rows.payload, sums.payload)),
        sums.ready.eq(both.ready & ~here),
        rows.ready.eq(both.ready & here),
    ]
    return both


def queue_words(m: Module, writer: Any, word: ShapeLike, codes: Value) -> Fifo:
    """Make the queue in which stalls of the packer end; where sums flow, with places for all.

    Words in the queue are counted, and rows of sums whose codes are to come.

    Parameters
    ----------
    m : where what counts goes.
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    word : shape of an entry.
    codes : the job makes codes.
    """
    unit = writer.codes
    if unit is None or not unit.flows:
        return Fifo(word, 0 if writer.lean else 2)
    # With as many as are on their way none of their cycles is lost.
    words = Fifo(word, 1 << (unit.latency + 3).bit_length())
    away, room = Signal(range(words.depth + 1), name="away"), Signal(init=1, name="room")
    if writer.row_bytes:
        codes = codes & ~writer.of_words
    comes = Mux(codes, unit.i.valid & unit.i.ready, words.i.valid & words.i.ready)
    leaves = words.o.valid & words.o.ready
    m.d.comb += unit.i_room.eq(room)
    # What leaves waits for the packer: nothing is compared behind it.
    with m.If(comes != leaves):
        m.d.sync += away.eq(away + Mux(leaves, -1, 1))
        m.d.sync += room.eq(leaves | (away != words.depth - 1))
    return words


def end_job(m: Module, writer: Any, leaves: Value, last: Value) -> None:
    """Mark codes that are the last ones of their job, where they are looked up in tables.

    Parameters
    ----------
    m : where.
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    leaves, last : a piece of a row leaves; it is the last one of its job.
    """
    unit, ends = writer.codes, Signal(name="ends_codes")
    with m.If(leaves):
        m.d.sync += ends.eq(last)
    of_maps = writer.spec.taps > 0
    m.d.comb += [
        unit.i_ends.eq(Mux(writer.i_of_maps, writer.i_sums_end, ends) if of_maps else ends),
        unit.i_looks.eq(writer.i_looks),
    ]
    connect(m, flipped(writer.i_table), unit.i_table)

"""What depthwise jobs read of the stores of columns: biases and records of channels."""

from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.destination import Destination

__all__ = ["ColumnReads", "connect_columns"]


class ColumnReads(wiring.Signature):
    """Reads of groups of channels, as many as the unit has lanes.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the build.

    Members
    -------
    o_move : Out(1)
        Clock enable of the reads.
    o_bias, i_bias : Out, In
        A group, and its biases in the next cycle.
    o_record : Out
        A group whose record belongs to the sums that are offered next.
    o_release : Out(1)
        The job needs no more of them.
    """

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        group = range(spec.vector.beats)
        super().__init__({
            "o_move": Out(1),
            "o_bias": Out(group),
            "i_bias": In(spec.vector.lanes * spec.number_width),
            "o_record": Out(group),
            "o_release": Out(1),
        })


def connect_columns(m: Module, path: Any) -> None:
    """Let depthwise jobs, if there are any, read the stores of columns in place of products.

    Parameters
    ----------
    m : where; after all else that is connected to the stores.
    path : :class:`hw.soc.datapath.Datapath`.
    """
    spec, rows = path.spec, path.vector_rows
    if not spec.depthwise:
        return
    reads, here = rows.columns, rows.of_windows
    bias = path.columns.get(Destination.BIAS)
    if bias is not None:
        lanes, bits = spec.vector.lanes, 8 * spec.sum_bytes
        parts = spec.inside.n // lanes
        part = Signal(range(parts), name="bias_part")
        words = [
            bias.o.word_select(column, bits)[: spec.inside.sum_width]
            for column in range(spec.inside.n)
        ]
        words = [Cat(word, 0) if spec.inside.flags else word for word in words]
        groups: Value = Cat(*words)
        m.d.comb += reads.i_bias.eq(groups.word_select(part, lanes * spec.number_width))
        with m.If(here):
            m.d.comb += [
                bias.en.eq(reads.o_move),
                bias.i_column.eq(reads.o_bias // parts),
                bias.i_release.eq(reads.o_release & path.i_geometry.biased),
            ]
            with m.If(reads.o_move):
                m.d.sync += part.eq(reads.o_bias % parts)
    records = path.columns.get(Destination.RECORD)
    if records is not None:
        with m.If(here):
            m.d.comb += [
                records.en.eq(reads.o_move),
                records.i_column.eq(reads.o_record),
                records.i_release.eq(reads.o_release & path.i_geometry.per_column),
            ]

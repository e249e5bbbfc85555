"""Bitmap unpacker: masks, and the bytes that are not zero, to rows of all bytes."""

from typing import Any, NamedTuple

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.check import Integer
from hw.lib.fifo import Fifo
from hw.soc.bus.bitmap_group import CHUNK, ENTRY_BYTES, NEAR, Group, group_of, near_bytes, sum_of
from hw.soc.bus.unpacker import Piece

__all__ = ["BitmapUnpacker", "PackedBlock"]


class PackedBlock(data.StructLayout):
    """A block: ``rows`` and ``bytes`` of each, both less one; ``raw`` ones have no masks.

    One that is ``zero`` has bytes that count for nothing: it begins when these have come.
    """

    def __init__(self, rows_width: int, length_width: int):
        super().__init__({
            "rows": rows_width,
            "bytes": length_width,
            "raw": 1,
            "zero": 1,
        })


class _Ring(NamedTuple):
    """Places of the bytes that are there, counted from the beat of the first one on.

    Members
    -------
    first, top : of the first one, and behind the last one.
    past : behind what leaves in this cycle.
    fills : a beat may come.
    ended, spare : the last beat is there, and has so many bytes that are none.
    """

    first: Signal
    top: Signal
    past: Signal
    fills: Signal
    ended: Signal
    spare: Signal


class BitmapUnpacker(wiring.Component):
    """Puts zeros back between the bytes of blocks; :func:`golden.formats.bitmap.unpack_block`.

    Lanes hold a beat's worth of the bytes that come next, each where it was in its beat, so that
    only what leaves is turned; a lane that is emptied takes its byte of the next beat in the same
    cycle. Latency, beat to the first piece: 3 cycles. Throughput: a piece per cycle, but for one
    cycle for each mask, or each row without one, and four for each block. Stalls: ``o.ready``
    reaches ``i.ready`` combinationally; once ``o_wrong`` is set, all that comes is dropped.

    Parameters
    ----------
    beat_bytes : int
        What: of a beat, a power of two, 4..32.
    rows_width, length_width : int
        What: bits of a block's rows less one, and of the bytes of a row less one.
    depth : int
        How: blocks that wait.

    Members
    -------
    i_block : In(stream)
        :class:`PackedBlock`, before or after its bytes.
    i : In(stream)
        :class:`hw.soc.bus.unpacker.Piece`: the bytes of a block, a multiple of four, as one row.
    o : Out(stream)
        :class:`hw.soc.bus.unpacker.Piece`: rows; the last one of a block is marked.
    o_idle : Out(1)
        All blocks have left.
    o_wrong : Out(1)
        A block took more or fewer bytes than there were; until a reset.
    """

    i_block: stream.Interface
    i: stream.Interface
    o: stream.Interface
    o_idle: Signal
    o_wrong: Signal

    def __init__(
        self, beat_bytes: int, rows_width: int = 16, length_width: int = 16, *, depth: int = 2
    ):
        Integer("bytes of a beat", 16, ENTRY_BYTES, CHUNK, "bytes").check("beat_bytes", beat_bytes)
        if beat_bytes.bit_count() != 1:
            raise ValueError(f"beat_bytes must be a power of two, not {beat_bytes}")
        self.beat_bytes = beat_bytes
        self.depth = depth
        self.layout = PackedBlock(rows_width, length_width)
        super().__init__({
            "i_block": In(stream.Signature(self.layout)),
            "i": In(stream.Signature(Piece(beat_bytes))),
            "o": Out(stream.Signature(Piece(beat_bytes))),
            "o_idle": Out(1),
            "o_wrong": Out(1),
        })

    @property
    def latency(self) -> int:
        """Cycles from the first beat of a block to its first piece."""
        return 3

    def elaborate(self, platform):
        m = Module()
        size = exact_log2(self.beat_bytes)
        m.submodules.blocks = blocks = Fifo(self.layout, self.depth)
        block = data.View(self.layout, Signal(self.layout.size, name="block", reset_less=True))
        rows, move, full, idle = Signal.like(block.rows, name="rows"), Signal(), Signal(), Signal()
        runs, drains, emits, takes, begins, there = (
            Signal(name=name) for name in ("runs", "drains", "emits", "takes", "begins", "there")
        )
        widths = {"first": size, "top": size + 1, "past": size + 1, "spare": size}
        ring = _Ring(*(Signal(widths.get(name, 1), name=name) for name in _Ring._fields))
        lanes = self._fill(m, ring, begins)
        of_masks = ~(block.raw | block.zero)
        near = near_bytes(m, lanes, ring.first, "near")
        group = group_of(m, self.beat_bytes, near, ring.first, block, (emits, takes))
        # Of four bytes in which a block ends, the others are none.
        pads, base = drains & (ring.first[:2] != 0), Signal(size + 1)
        whole = Mux(of_masks & runs, ENTRY_BYTES, 0)
        reach = Mux(group.valid, ring.first + group.counts[-1], base + whole)
        m.d.comb += [
            base.eq(Cat(ring.first[:2] & ~pads.replicate(2), ring.first[2:] + pads)),
            there.eq(reach <= ring.top),
            # The last piece of a block leaves when all its bytes are known to be right.
            self.o.valid.eq(full & (runs | idle)),
            move.eq(~full | (self.o.valid & self.o.ready)),
            emits.eq(runs & group.valid & there & move),
            # Zeros do not come before what was read before them.
            takes.eq(runs & ~group.valid & there & (~block.zero | ring.ended)),
            ring.past.eq(Mux(emits | ((takes | drains) & there), reach, ring.first)),
            ring.fills.eq((runs | drains) & ~ring.ended),
            blocks.i.valid.eq(self.i_block.valid),
            blocks.i.payload.eq(self.i_block.payload),
            self.i_block.ready.eq(blocks.i.ready | self.o_wrong),
            self.o_idle.eq(idle & ~blocks.o.valid & ~full),
        ]
        self._turn(m, lanes, near, ring.first, group, emits)
        ends = group.row_ends & (rows == block.rows)
        with m.If(move):
            m.d.sync += full.eq(emits)
        with m.If(emits):
            m.d.sync += [
                self.o.payload.rest.eq(block.bytes),
                self.o.payload.last.eq(group.row_ends),
                self.o.payload.end.eq(ends),
            ]
        with m.If(emits & group.row_ends):
            m.d.sync += rows.eq(rows + 1)
        left = (ring.top - base)[: size + 1]
        with m.FSM():
            self._begin(m, (idle, begins), (blocks.o, block, rows))
            with m.State("RUN"):
                m.d.comb += runs.eq(1)
                with m.If(emits & ends):
                    m.next = "DRAIN"
                with m.Elif(ring.ended & ~there):
                    m.next = "WRONG"
            self._drain(m, ring, drains, (left == ring.spare) | block.zero, there & left[size])
        return m

    def _begin(self, m: Module, states: tuple[Signal, Signal], of: tuple[Any, Any, Signal]) -> None:
        """Take a block, and clear what was of the one before."""
        (idle, begins), (blocks, block, rows) = states, of
        with m.State("IDLE"):
            m.d.comb += [idle.eq(1), blocks.ready.eq(1)]
            with m.If(blocks.valid):
                m.d.sync += block.eq(blocks.payload)
                m.next = "BEGIN"
        with m.State("BEGIN"):
            m.d.comb += begins.eq(1)
            m.d.sync += rows.eq(0)
            m.next = "RUN"

    def _drain(self, m: Module, ring: _Ring, drains: Signal, right: Value, full: Value) -> None:
        """See that a block's bytes end where they are to, before its last piece leaves."""
        with m.State("DRAIN"):
            m.d.comb += drains.eq(1)
            with m.If(ring.ended):
                m.next = "WRONG"
                with m.If(right):
                    m.next = "IDLE"
            with m.Elif(full):
                m.next = "WRONG"
        with m.State("WRONG"):
            m.d.comb += self.o_wrong.eq(1)

    def _fill(self, m: Module, ring: _Ring, begins: Value) -> list[Signal]:
        """Fill lanes that are free, or become so, from the beat that is there; return them."""
        size, beat = exact_log2(self.beat_bytes), self.i.payload
        lanes = [Signal(8, name=f"lane{lane}", reset_less=True) for lane in range(self.beat_bytes)]
        # In `second`, what is filled is of the beat behind that of the first byte.
        second, turns, filled = ring.top[size], ring.past[size], Signal()
        m.d.comb += [
            filled.eq(ring.fills & self.i.valid),
            self.i.ready.eq((ring.fills & (~second | turns)) | self.o_wrong),
        ]
        for number, lane in enumerate(lanes):
            free = (ring.top[:size] <= number) & (~second | turns | (ring.past[:size] > number))
            with m.If(filled & free):
                m.d.sync += lane.eq(beat.data.word_select(number, 8))
        m.d.sync += ring.first.eq(ring.past)
        with m.If(filled):
            m.d.sync += ring.top.eq(Cat(Mux(second & ~turns, ring.past[:size], 0), C(1, 1)))
        with m.Elif(turns):
            m.d.sync += ring.top[size].eq(0)
        with m.If(filled & beat.last & self.i.ready):
            m.d.sync += [ring.ended.eq(1), ring.spare.eq(~beat.rest)]
        with m.If(begins):
            m.d.sync += [ring.first.eq(0), ring.top.eq(0), ring.ended.eq(0)]
        return lanes

    def _turn(
        self,
        m: Module,
        lanes: list[Signal],
        near: list[Signal],
        first: Signal,
        group: Group,
        emits: Value,
    ) -> None:
        """Make a piece of the bytes that are marked, which are in lanes one after the other.

        Of four of the piece's bytes all that are marked are in the four lanes from one on, of which
        each is another one modulo four; so these are chosen first, and each byte is one of them.
        """
        size = exact_log2(self.beat_bytes)
        for start in range(0, self.beat_bytes, NEAR):
            if start:
                base = Signal(size, name=f"base{start}")
                m.d.comb += base.eq(sum_of(first, group.counts[start]))
                near = near_bytes(m, lanes, base, f"near{start}_")
            for number in range(start, start + NEAR):
                at = Signal(2, name=f"at{number}")
                m.d.comb += at.eq(sum_of(first[:2], group.counts[number][:2]) if number else first)
                byte = self.o.payload.data.word_select(number, 8)
                with m.If(emits & ~group.marks[number]):
                    m.d.sync += byte.eq(0)
                with m.Elif(emits):
                    m.d.sync += byte.eq(Cat(near).word_select(at, 8))

"""Scales the sums of groups of K on their way out of the sum store, and adds them up in fp32."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.npe.group_scale import GroupScaleSpec
from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import SharedModule
from hw.npe.floats.add import add
from hw.npe.floats.stream import Steps
from hw.npe.floats.term import unpack
from hw.npe.group_scale import GroupScale, GroupSum
from hw.soc.bus.burst import Beat
from hw.soc.bus.packer import Word
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.schedule.geometry import SCALE_BYTES
from hw.soc.stores.operand_store import Bank, OperandStore

__all__ = ["GroupSums", "Piece"]

_FP32_BYTES = 4
_READ = 2
"""Cycles from when a row changes, or powers come, until the row's power is there."""
_BIAS = 127
"""Of E8M0."""


class Piece(data.StructLayout):
    """Sums of neighbouring columns of a row, and their scales; ``inside`` are those of C.

    It may end its row, or its block; the block is the ``first`` or ``last`` group of K.
    """

    def __init__(self, spec: CoprocessorSpec, across: int):
        super().__init__({
            "sums": across * spec.number_width,
            "inside": across,
            **dict.fromkeys(("ends_row", "ends_block", "first", "last"), 1),
        })


class GroupSums(wiring.Component):
    """Scales sums of blocks, one a cycle, and adds each to the same one of the block before.

    Computes :func:`golden.soc.group_scales.scaled_sums`, exactly. Throughput: a number per cycle;
    a block waits until the one before has been added, some :attr:`latency` cycles. Stalls:
    ``o.ready`` reaches ``i.ready`` combinationally.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the store of sums, the format of scales.
    build : RequantiserBuild
        How: columns that leave the store at once.
    words : int
        What: words that a piece leaves in, if all of it is in C.

    Members
    -------
    i_powers : In(stream)
        :class:`hw.soc.bus.burst.Beat`: powers of the rows of a block, always taken; before its
        rows, at most four blocks ahead.
    i : In(stream)
        :class:`Piece`.
    i_scales : In
        The scales of its columns.
    o : Out(stream)
        :class:`hw.soc.bus.packer.Word`: fp32, of the last group.
    o_release : Out(1)
        All of a block has been taken.
    o_idle : Out(1)
        Nothing is under way.
    """

    i_powers: stream.Interface
    i: stream.Interface
    i_scales: Signal
    o: stream.Interface
    o_release: Signal
    o_idle: Signal

    def __init__(self, spec: CoprocessorSpec, build: RequantiserBuild, words: int):
        self.spec = spec
        self.across = across = build.requantisers
        self.unit = GroupScale(
            GroupScaleSpec(scale=spec.group_scales, sum_width=spec.inside.sum_width, aligned=True),
            encoding=build.requantiser_encoding,
            adder=build.requantiser_adder,
            pipeline=GroupScale.CUTS,
        )
        word = across * _FP32_BYTES // words
        self.store = OperandStore("power_bank", 1, spec.bytes, -(-spec.rows // spec.bytes), 4)
        self.totals = Bank("totals_bank", 8 * _FP32_BYTES, spec.rows * spec.inside.n)
        super().__init__({
            "i_powers": In(stream.Signature(Beat(spec.data_width))),
            "i": In(stream.Signature(Piece(spec, across))),
            "i_scales": In(8 * SCALE_BYTES * across),
            "o": Out(stream.Signature(Word(word))),
            **dict.fromkeys(("o_release", "o_idle"), Out(1)),
        })

    @property
    def latency(self) -> int:
        """Cycles from a sum to when it has been added."""
        return GroupScale.CUTS + 4

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The banks."""
        return (*self.store.shared_modules, self.totals)

    def elaborate(self, platform):
        m = Module()
        piece, number = self.i.payload, self.unit.spec.sum_width
        # All registers move unless the word behind them waits.
        goes, takes, busy = Signal(), Signal(), Signal()
        left = Signal(range(self.across + 1))
        held = data.View(self.i.payload.shape(), Signal(len(piece.as_value()), name="held"))
        scales, power = Signal(len(self.i_scales)), Signal(8)
        begins = Signal(init=1)  # the next piece is the first one of its block
        read, settled = self._read(m, takes)
        m.d.comb += [
            goes.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(goes & (left <= 1) & settled & ~(begins & busy)),
            takes.eq(self.i.valid & self.i.ready),
            self.o_release.eq(takes & piece.ends_block),
            self.o_idle.eq(~busy & ~self.o.valid),
        ]
        with m.If(goes):
            m.d.sync += [
                left.eq(Mux(left == 0, 0, left - 1)),
                held.sums.eq(held.sums >> self.spec.number_width),
                scales.eq(scales >> 8 * SCALE_BYTES),
            ]
            with m.If(takes):
                count = sum((piece.inside[column] for column in range(self.across)), start=0)
                m.d.sync += [held.eq(piece), scales.eq(self.i_scales), left.eq(count)]
                m.d.sync += [power.eq(read), begins.eq(piece.ends_block)]
        beat = data.View(GroupSum(self.unit.spec), Signal(GroupSum(self.unit.spec).size))
        m.d.comb += [
            beat.sum.eq(held.sums[:number]),
            beat.scale.eq(scales[: 8 * SCALE_BYTES]),
            beat.power.eq(power + _BIAS),
        ]
        some = left != 0
        ends = (held.ends_row & (left == 1), held.ends_block & (left == 1))
        self._add(m, goes, beat, (some, held.first, held.last, *ends), busy)
        return m

    def _read(self, m: Module, takes: Signal) -> tuple[Value, Value]:
        """Read the power of the next piece's row; return it, and whether it is that."""
        spec, size = self.spec, exact_log2(self.spec.bytes)
        m.submodules.store = store = self.store
        wiring.connect(m, wiring.flipped(self.i_powers), store.i)
        row, part = Signal(range(spec.rows)), Signal(range(store.parts))
        place, power = Signal(size), Signal(8)
        ends = Signal()
        m.d.comb += ends.eq(takes & self.i.payload.ends_row)
        with m.If(ends):
            m.d.sync += row.eq(Mux(self.i.payload.ends_block, 0, row + 1))
            m.d.sync += part.eq(part + self.i.payload.ends_block)
        m.d.sync += [place.eq(row[:size]), power.eq(store.o.word_select(place, 8))]
        m.d.comb += [
            store.i_end.eq(1),
            store.en.eq(1),
            store.o_part.eq(part),
            store.o_address.eq(row >> size),
        ]
        # What is read is new after so many cycles.
        waits = Signal(range(_READ + 1), init=_READ)
        with m.If(ends | self.i_powers.valid):
            m.d.sync += waits.eq(_READ)
        with m.Elif(waits != 0):
            m.d.sync += waits.eq(waits - 1)
        return power, waits == 0

    def _add(
        self, m: Module, goes: Signal, beat: Any, marks: tuple[Value, ...], busy: Signal
    ) -> None:
        """Scale a number, add it to the total of its place, and put words of these together."""
        fmt = self.unit.spec.total
        steps = Steps(m, goes, 0)
        term = self.unit.term(m, beat, steps)
        stages = [Value.cast(Cat(*marks))]
        for number in range(self.latency):
            stages.append(Signal(len(marks), name=f"marks{number}"))
            with m.If(goes):
                m.d.sync += stages[-1].eq(stages[-2])
        m.d.comb += busy.eq(Cat(stage[0] for stage in stages).any())
        front = self.unit.CUTS
        # The total is read while the number leaves the unit.
        m.submodules.totals = totals = self.totals.place()
        at, place = (
            self._place(m, goes, stages[where], name)
            for where, name in (
                (front, "at"),
                (self.latency, "place"),
            )
        )
        (bits,) = steps.cut(term.as_value())
        total = Mux(stages[front + 1][1], 0, totals.o)
        one, other = unpack(m, total, fmt, "total"), data.View(term.shape(), bits)
        added = add(m, one, other, fmt, self.unit.adder, (steps.cut, steps.cut))
        (made,) = steps.cut(added)
        m.d.comb += [
            totals.en.eq(goes),
            totals.o_address.eq(at),
            totals.write.eq(goes & stages[-1][0]),
            totals.i_address.eq(place),
            totals.i.eq(made),
        ]
        self._collect(m, goes, made, stages[-1])

    def _place(self, m: Module, goes: Value, marks: Value, name: str) -> Signal:
        """Count the numbers of a block at a stage."""
        place = Signal(range(self.totals.depth), name=name)
        with m.If(goes & marks[0]):
            m.d.sync += place.eq(Mux(marks[4], 0, place + 1))
        return place

    def _collect(self, m: Module, goes: Value, made: Value, marks: Value) -> None:
        """Put numbers of the last group together to words, the last of which may end early."""
        count = len(self.o.payload.data) // len(made)
        some, _, last, ends_row, _ = marks
        slot, full = Signal(range(count)), Signal()
        m.d.comb += full.eq(some & last & (ends_row | (slot == count - 1)))
        with m.If(goes):
            m.d.sync += self.o.valid.eq(full)
            with m.If(some & last):
                m.d.sync += [
                    self.o.payload.data.word_select(slot, len(made)).eq(made),
                    slot.eq(Mux(full, 0, slot + 1)),
                ]

"""Aligner: blocks of floats to integers with a shared exponent, for integer engines."""

from typing import ClassVar

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.check import Integer, Parameter, check_fields
from golden.npe.aligner import AlignerSpec
from hw.arith.adder import ADDER
from hw.lib.shared_module import UNINITIALISED, SharedModule
from hw.npe.floats.align_lane import AlignLane, Peak

__all__ = ["AlignedBeat", "Aligner", "FloatBeat"]


class FloatBeat(data.StructLayout):
    """Codes of a beat, the first lowest; ``last`` ends the row, and so the block."""

    def __init__(self, spec: AlignerSpec):
        super().__init__({"data": spec.lanes * spec.number.width, "last": 1})


class AlignedBeat(data.StructLayout):
    """Integers of a beat, two's complement, the first lowest, and the E8M0 code of their scale.

    ``end``: the beat ends its block; ``last``: it ends the row.
    """

    def __init__(self, spec: AlignerSpec):
        super().__init__({"data": spec.lanes * spec.width, "scale": 8, "end": 1, "last": 1})


class Aligner(wiring.Component):
    """Aligns the codes of each block to its largest exponent.

    Computes :func:`golden.npe.aligner.aligner`, exactly. Pad the last beat of a row with
    zeros. Blocks are double-buffered: one is collected until its largest exponent is known, while
    the previous one leaves.

    Latency, last beat of a block to its first integers: :attr:`latency` cycles. Throughput: one
    beat per cycle. Stalls: ``o.ready`` reaches ``i.ready`` through registers alone.

    Parameters
    ----------
    spec : AlignerSpec
        What: formats, block and beat.
    adder : str
        How: see :func:`hw.arith.adder.resolve`.
    pipeline : int
        How: registers between shift and rounding.

    Members
    -------
    i : In(stream)
        :class:`FloatBeat`.
    o : Out(stream)
        :class:`AlignedBeat`.

    Examples
    --------
    >>> aligner = Aligner(AlignerSpec(format="bf16", block=32, lanes=8))
    >>> aligner.i.payload.shape()
    StructLayout({'data': 128, 'last': 1})
    >>> aligner.latency, aligner.operations_per_cycle
    (3, 16)
    """

    SPEC = AlignerSpec
    SUMMARY = "blocks of floats to integers with a shared exponent, for integer engines"
    BENCH = "tb_aligner"
    EVIDENCE = (
        "cocotb against numpy: all codes up to 8 bits, subnormals, specials, rows of all"
        " lengths, stalls, resets",
        "mutants",
        "netlist simulation",
    )

    BUILD: ClassVar[dict[str, Parameter]] = {
        "adder": ADDER,
        "pipeline": Integer("registers between shift and rounding", 0, 0, 1),
    }

    i: stream.Interface
    o: stream.Interface

    def __init__(self, spec: AlignerSpec, *, adder: str = "sklansky", pipeline: int = 0):
        if not isinstance(spec, AlignerSpec):
            raise TypeError(f"spec must be an AlignerSpec, not {spec!r}")
        check_fields(self.BUILD, {"adder": adder, "pipeline": pipeline})
        self.spec = spec
        self.lane = AlignLane(spec, adder=adder, pipeline=pipeline)
        super().__init__({
            "i": In(stream.Signature(FloatBeat(spec))),
            "o": Out(stream.Signature(AlignedBeat(spec))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The one lane."""
        return (self.lane,)

    @property
    def latency(self) -> int:
        """Cycles from the last beat of a block to its first integers."""
        return 2 + self.lane.latency

    @property
    def operations_per_cycle(self) -> int:
        """A comparison and a shift per code."""
        return 2 * self.spec.lanes

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        beat, count = self.i.payload, Signal(range(spec.beats))
        taken, ends, move, fetch, done = Signal(), Signal(), Signal(), Signal(), Signal()
        # Of the two blocks, one fills while one leaves.
        full, filled, leaves = Signal(2), Signal(), Signal()
        write, read = Signal(range(2 * spec.beats)), Signal(range(2 * spec.beats))
        layout = Peak(spec)
        peaks = [layout.signal(f"peak{block}") for block in range(2)]
        stops = [Signal.like(write, name=f"stop{block}", reset_less=True) for block in range(2)]
        lasts = [Signal(name=f"last{block}", reset_less=True) for block in range(2)]
        m.d.comb += [
            self.i.ready.eq(~full.bit_select(filled, 1)),
            taken.eq(self.i.valid & self.i.ready),
            ends.eq(beat.last | (count == spec.beats - 1)),
            move.eq(~self.o.valid | self.o.ready),
            fetch.eq(move & full.bit_select(leaves, 1)),
            done.eq(fetch & (read == Mux(leaves, *reversed(stops)))),
        ]
        before = data.View(layout, Mux(filled, *reversed(peaks)))
        peak = layout.join(m, beat.data, before, count == 0)
        with m.If(taken):
            m.d.sync += [
                write.eq(_next(write, spec)),
                count.eq(Mux(ends, 0, count + 1)),
                filled.eq(filled ^ ends),
                full.bit_select(filled, 1).eq(ends),
            ]
            for block in range(2):
                with m.If(filled == block):
                    m.d.sync += [
                        peaks[block].eq(peak),
                        stops[block].eq(write),
                        lasts[block].eq(beat.last),
                    ]
        with m.If(fetch):
            m.d.sync += read.eq(_next(read, spec))
        with m.If(done):
            m.d.sync += [leaves.eq(~leaves), full.bit_select(leaves, 1).eq(0)]
        top, scale = layout.top(m, data.View(layout, Mux(leaves, *reversed(peaks))))
        nan = scale.all()
        codes = self._buffer(m, (taken, write, beat.data), (move, read))
        self._lanes(m, move, codes, top, nan)
        self._follow(m, move, fetch, Cat(scale, done, done & Mux(leaves, *reversed(lasts))))
        return m

    def _buffer(
        self, m: Module, write: tuple[Value, Value, Value], read: tuple[Value, Value]
    ) -> Value:
        """Double-buffer blocks in a memory; read latency is one cycle."""
        memory: Memory[int, Value] = Memory(
            shape=len(write[2]),
            depth=2 * self.spec.beats,
            init=[],
            attrs={UNINITIALISED: "1"},
        )
        m.submodules.buffer = memory
        into, out = memory.write_port(), memory.read_port(transparent_for=())
        m.d.comb += [
            Cat(into.en, into.addr).eq(Cat(*write[:2])),
            into.data.eq(write[2]),
            Cat(out.en, out.addr).eq(Cat(*read)),
        ]
        return out.data

    def _lanes(self, m: Module, move: Value, codes: Value, top: Value, nan: Value) -> None:
        """Align the codes of a beat; its block's exponent is read along with it."""
        held = Signal(len(top) + 1, name="held", reset_less=True)
        with m.If(move):
            m.d.sync += held.eq(Cat(top, nan))
        for number in range(self.spec.lanes):
            m.submodules[f"lane{number}"] = lane = self.lane.place()
            m.d.comb += [
                lane.en.eq(move),
                lane.i.eq(codes.word_select(number, self.spec.number.width)),
                Cat(lane.i_top, lane.i_nan).eq(held),
                self.o.payload.data.word_select(number, self.spec.width).eq(lane.o),
            ]

    def _follow(self, m: Module, move: Value, valid: Value, side: Value) -> None:
        """Delay a beat's side information along with it."""
        for stage in range(self.latency - 1):
            there = Signal(name=f"valid{stage}")
            beside = Signal(len(side), name=f"side{stage}", reset_less=True)
            with m.If(move):
                m.d.sync += [there.eq(valid), beside.eq(side)]
            valid, side = there, beside
        payload = self.o.payload
        m.d.comb += [
            self.o.valid.eq(valid),
            Cat(payload.scale, payload.end, payload.last).eq(side),
        ]


def _next(beat: Signal, spec: AlignerSpec) -> Value:
    """Return the place of the next beat in the buffer."""
    return Mux(beat == 2 * spec.beats - 1, 0, beat + 1)

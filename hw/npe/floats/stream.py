"""Streams around a floating-point accumulator: beats in, one code per run out."""

from typing import Any, ClassVar

from amaranth import Module, Mux, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Choice, Integer, Parameter, complete
from golden.formats.minifloat import MinifloatFormat
from hw.arith.adder import ADDER
from hw.arith.product import ENCODINGS
from hw.lib.shared_module import SharedModule

__all__ = ["FLOAT_BUILD", "FloatStream", "Steps"]

CUTS = 3

FLOAT_BUILD: dict[str, Parameter] = {
    "encoding": Choice(
        "significand multiplier: Booth rows, EN-T rows, AND array, or the tool's", "none", ENCODINGS
    ),
    "adder": ADDER,
    "pipeline": Integer("pipeline registers besides the accumulator", 2, 0, CUTS),
}


class Steps:
    """Places where pipeline registers may be; the last ones have one.

    Parameters
    ----------
    m, enable : where the registers go, and their clock enable.
    unused : places without a register, the first ones.
    """

    def __init__(self, m: Module, enable: Value, unused: int):
        self.m = m
        self.enable = enable
        self.unused = unused
        self.done = 0

    def cut(self, *values: Value) -> tuple[Value, ...]:
        """Advance to the next place, and pass values through it."""
        self.done += 1
        return self.keep(*values)

    def keep(self, *values: Value) -> tuple[Value, ...]:
        """Pass more values through the current place."""
        if self.done <= self.unused:
            return values
        return tuple(self._hold(value, f"s{self.done}") for value in values)

    def view(self, number: data.View) -> data.View:
        """Pass a number through the next place."""
        (bits,) = self.cut(number.as_value())
        return data.View(number.shape(), bits)

    def _hold(self, value: Value, name: str, init: int | None = None) -> Value:
        shape = Shape.cast(value.shape())
        held = Signal(shape, name=name, reset_less=init is None, init=init or 0)
        with self.m.If(self.enable):
            self.m.d.sync += held.eq(value)
        return held

    def delay(self, value: Value, start: int, stop: int, name: str) -> Value:
        """Delay a bit, reset to 0, like the places from one to another."""
        for stage in range(max(start, self.unused), stop):
            value = self._hold(value, f"{name}{stage}", 0)
        return value


class FloatStream(wiring.Component):
    """Accumulates a term per beat, and outputs the sum of each run of beats; one or more columns.

    Latency, last beat of a run to its sum: :attr:`latency` cycles. Throughput: one beat per
    cycle; a sum that is not taken stalls all. Stalls: ``o.ready`` reaches ``i.ready``
    combinationally. The addition is a loop of one cycle, in which a sum is rounded before the next
    term is added: it cannot be pipelined.

    Parameters
    ----------
    spec
        What: formats and widths.
    columns : int
        What: accumulators side by side.
    encoding, adder, pipeline
        How: see :data:`FLOAT_BUILD`.

    Members
    -------
    i : In(stream)
        Beats; ``last`` ends a run.
    o : Out(stream)
        ``sum``, a code per column, the first lowest.
    """

    BUILD: ClassVar[dict[str, Parameter]] = FLOAT_BUILD
    SPEC: ClassVar[type]
    CUTS: ClassVar[int] = CUTS
    """Number of places for pipeline registers."""

    i: stream.Interface
    o: stream.Interface

    def __init__(
        self,
        spec: Any,
        operands: data.Layout,
        result: MinifloatFormat,
        *,
        columns: int = 1,
        **build: Any,
    ):
        build = complete(self.BUILD, build)
        self.spec = spec
        self.encoding: str = build.get("encoding", "none")
        self.adder: str = build["adder"]
        self.pipeline: int = build["pipeline"]
        super().__init__({
            "i": In(stream.Signature(operands)),
            "o": Out(stream.Signature(data.StructLayout({"sum": columns * result.width}))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """None."""
        return ()

    @property
    def latency(self) -> int:
        """Cycles from the last beat of a run to its sum."""
        return 1 + self.pipeline

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition per pair."""
        return 2

    def term(self, m: Module, beat: data.View, steps: Steps) -> Any:
        """Compute a beat's addend; an all-zero beat adds nothing."""
        raise NotImplementedError

    def total(self) -> Signal:
        """Make the accumulator; all zeros is the empty sum."""
        raise NotImplementedError

    def add(self, m: Module, total: Value, term: Any) -> Value:
        """Add a term to the accumulator."""
        raise NotImplementedError

    def result(self, m: Module, total: Value, steps: Steps) -> Value:
        """Convert the accumulator to a code."""
        return total

    def elaborate(self, platform):
        m = Module()
        move = Signal()
        first = Signal(init=1)
        done = Signal()
        total = self.total()
        steps = Steps(m, move, self.CUTS - self.pipeline)

        beat = self.i.payload
        term = self.term(m, beat, steps)
        front = steps.done
        valid = steps.delay(self.i.valid, 0, front, "valid")
        last = steps.delay(beat.last, 0, front, "last")
        added = self.add(m, Mux(first, 0, total), term)
        with m.If(move):
            m.d.sync += done.eq(valid & last)
            with m.If(valid):
                m.d.sync += [total.eq(added), first.eq(last)]
        code = self.result(m, total, steps)
        assert steps.done == self.CUTS
        m.d.comb += [
            move.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(move),
            self.o.valid.eq(steps.delay(done, front, self.CUTS, "done")),
            self.o.payload.sum.eq(code),
        ]
        return m

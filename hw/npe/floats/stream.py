"""Streams around a floating-point sum: terms of beats go in, a code for each run comes out."""

from typing import Any, ClassVar

from amaranth import Module, Mux, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Choice, Integer, Parameter, complete
from golden.formats.minifloat import MinifloatFormat
from hw.arith.adder import ADDERS
from hw.arith.product import ENCODINGS
from hw.lib.shared_module import SharedModule

__all__ = ["FLOAT_HOWS", "FloatStream", "Steps"]

CUTS = 3

FLOAT_HOWS: dict[str, Parameter] = {
    "encoding": Choice(
        "significand product: Booth rows, EN-T rows, AND array, or the tool's", "none", ENCODINGS
    ),
    "adder": Choice("carry-propagate adder", "sklansky", ADDERS),
    "pipeline": Integer("registers beside that of the sum", 2, 0, CUTS),
}


class Steps:
    """Places where registers may cut the way of a beat; some of them have one.

    Parameters
    ----------
    m, enable : where the registers go, and when they take what comes.
    unused : places without a register, the first ones.
    """

    def __init__(self, m: Module, enable: Value, unused: int):
        self.m = m
        self.enable = enable
        self.unused = unused
        self.done = 0

    def cut(self, *values: Value) -> tuple[Value, ...]:
        """Go on to the next place, and let values cross it."""
        self.done += 1
        return self.keep(*values)

    def keep(self, *values: Value) -> tuple[Value, ...]:
        """Let more values cross the place."""
        if self.done <= self.unused:
            return values
        return tuple(self._hold(value, f"s{self.done}") for value in values)

    def view(self, number: data.View) -> data.View:
        """Let a number cross the next place."""
        (bits,) = self.cut(number.as_value())
        return data.View(number.shape(), bits)

    def _hold(self, value: Value, name: str, init: int | None = None) -> Value:
        shape = Shape.cast(value.shape())
        held = Signal(shape, name=name, reset_less=init is None, init=init or 0)
        with self.m.If(self.enable):
            self.m.d.sync += held.eq(value)
        return held

    def delay(self, value: Value, start: int, stop: int, name: str) -> Value:
        """Delay a bit, which is reset to 0, as the places from one to another do."""
        for place in range(max(start, self.unused), stop):
            value = self._hold(value, f"{name}{place}", 0)
        return value


class FloatStream(wiring.Component):
    """Adds up a term for each beat, and gives the sum of each run of beats; or of several columns.

    Latency, last beat of a run to its sum: :attr:`latency` cycles. Throughput: a beat a cycle; a
    sum that is not taken stops all. Stalls: ``o.ready`` reaches ``i.ready`` combinationally. The
    addition is a loop of one cycle, in which one sum is rounded before the next term is added: no
    register can cut it.

    Parameters
    ----------
    spec
        What: formats and widths.
    columns : int
        What: sums side by side.
    encoding, adder, pipeline
        How: see :data:`FLOAT_HOWS`.

    Members
    -------
    i : In(stream)
        Beats; ``last`` ends a run.
    o : Out(stream)
        ``sum``, a code; of columns, the first lowest.
    """

    HOWS: ClassVar[dict[str, Parameter]] = FLOAT_HOWS
    SPEC: ClassVar[type]
    CUTS: ClassVar[int] = CUTS
    """Places where registers may be."""

    i: stream.Interface
    o: stream.Interface

    def __init__(
        self,
        spec: Any,
        operands: data.Layout,
        result: MinifloatFormat,
        *,
        columns: int = 1,
        **hows: Any,
    ):
        hows = complete(self.HOWS, hows)
        self.spec = spec
        self.encoding: str = hows.get("encoding", "none")
        self.adder: str = hows["adder"]
        self.pipeline: int = hows["pipeline"]
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
        """A multiplication and an addition for each pair."""
        return 2

    def term(self, m: Module, beat: data.View, steps: Steps) -> Any:
        """Make of a beat what is added; whatever it is, zeros add nothing."""
        raise NotImplementedError

    def total(self) -> Signal:
        """Make the register of the sum; zeros are the sum of nothing."""
        raise NotImplementedError

    def add(self, m: Module, total: Value, term: Any) -> Value:
        """Add a term to a sum."""
        raise NotImplementedError

    def result(self, m: Module, total: Value, steps: Steps) -> Value:
        """Make the code of a sum."""
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

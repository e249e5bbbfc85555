"""Order in which beats of a row are read, of operations that read one more than once."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec

__all__ = ["RowOrder", "numbers_of"]


def numbers_of(spec: VectorUnitSpec, *names: str) -> list[int]:
    """Return the numbers of those operations that are built."""
    return [spec.OPERATIONS.index(name) for name in spec.built if name in names]


class RowOrder(wiring.Component):
    """Counts the beats of a pass.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: operations, lanes, length.
    address_width : int
        Bits of the number of a beat in a bank.

    Members
    -------
    move : In(1)
        Clock enable.
    start, operation, end : In
        Begin in the next cycle; operation of the pass, from then on; its last beat.
    reading, address : Out
        A beat is read; which.
    first, other : Out(1)
        It is that of a gate that is read for the first time; of the second of two operands.
    last : Out(1)
        The pass ends with it.
    at : Out
        Beats read before this one.
    """

    move: Signal
    start: Signal
    operation: Signal
    end: Signal
    reading: Signal
    address: Signal
    first: Signal
    other: Signal
    last: Signal
    at: Signal

    def __init__(self, spec: VectorUnitSpec, address_width: int):
        self.spec = spec
        super().__init__({
            **dict.fromkeys(("move", "start"), In(1)),
            "operation": In(spec.operation_width),
            "end": In(address_width),
            **dict.fromkeys(("reading", "first", "other", "last"), Out(1)),
            "address": Out(address_width),
            "at": Out(address_width + 1),
        })

    def elaborate(self, platform):
        m = Module()
        spec, at, operation = self.spec, self.at, self.operation
        periods = {name: spec.period(name) for name in spec.built}
        phase, turn = Signal(range(max(periods.values()))), Signal()
        gate, pair, active, again = Signal(), Signal(), Signal(), Signal()
        m.d.comb += turn.eq(phase == 0)
        for names, flag in ((spec.GATES, gate), (spec.PAIRS, pair)):
            m.d.comb += flag.eq(operation.matches(*numbers_of(spec, *names)))
        with m.Switch(operation):
            for name, cycles in periods.items():
                if cycles > 1:
                    with m.Case(*numbers_of(spec, name)):
                        m.d.comb += turn.eq(phase == cycles - 1)
        beyond = at[-1] | (at[:-1] > self.end)
        m.d.comb += [
            again.eq(phase == spec.SECOND_READ),
            self.first.eq(gate & (phase == 0) & ~beyond),
            self.other.eq(pair & (phase == 0)),
            self.reading.eq(
                active & Mux(gate, self.first | (again & (at != 0)), ~pair | (phase < 2))
            ),
            self.address.eq(Mux(gate & again, at - 1, Cat(at[:-2], at[-2] | self.other))),
            self.last.eq(Mux(gate, again & beyond, (at[:-1] == self.end) & ~self.other)),
        ]
        with m.If(self.move & active):
            m.d.sync += phase.eq(phase + 1)
            with m.If(turn):
                m.d.sync += [phase.eq(0), at.eq(at + 1)]
            with m.If(self.reading & self.last):
                m.d.sync += [phase.eq(0), at.eq(0), active.eq(0)]
        with m.If(self.start):
            m.d.sync += active.eq(1)
        return m

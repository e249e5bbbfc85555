"""Turns of the rings of a weight-stationary array."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.tpe.systolic_ws import SystolicWsSpec

__all__ = ["Turns"]


class Turns(wiring.Component):
    """Admits beats to the array, one per turn of the rings.

    A turn without operands in the middle of a tile adds nothing and takes as long as any other, so
    that the sums stay in step with the rows of A. Between tiles a turn may begin at any time.

    Parameters
    ----------
    spec : SystolicWsSpec
        What: the array.

    Members
    -------
    move : In(1)
        Clock enable of the array; while it is low, nothing happens.
    valid, last : In(1)
        A beat is offered; it is the last one of its tile.
    accept : Out(1)
        The beat has entered the array completely with this cycle.
    clear : Out(1)
        The operands of this cycle belong to the first beat of a tile.
    finish : Out(1)
        The last beat of a tile begins.
    left : Out
        Cycles of the turn from this one on; 0: none, so that a beat may begin.
    row : Out
        One bit per cycle of a turn, lowest first: a beat enters, and the turn is at this cycle.
    """

    move: Signal
    valid: Signal
    last: Signal
    accept: Signal
    clear: Signal
    finish: Signal
    left: Signal
    row: Signal

    def __init__(self, spec: SystolicWsSpec):
        self.turn = spec.turn
        super().__init__({
            "move": In(1),
            "valid": In(1),
            "last": In(1),
            "accept": Out(1),
            "clear": Out(1),
            "finish": Out(1),
            "left": Out(range(spec.turn)),
            "row": Out(spec.turn),
        })

    def elaborate(self, platform):
        m = Module()
        left = self.left
        later = Signal(self.turn - 1)
        inside = Signal()
        begin = Signal()
        m.d.comb += [
            begin.eq((left == 0) & self.valid),
            self.row.eq(Cat(begin, later)),
            self.accept.eq(self.row[-1] & self.move),
            self.clear.eq(~inside),
            self.finish.eq(begin & self.last),
        ]
        with m.If(self.move):
            m.d.sync += later.eq(self.row)
            with m.If(left != 0):
                m.d.sync += left.eq(left - 1)
            with m.Elif(self.valid | inside):
                m.d.sync += left.eq(self.turn - 1)
            with m.If(self.accept):
                m.d.sync += inside.eq(~self.last)
        return m

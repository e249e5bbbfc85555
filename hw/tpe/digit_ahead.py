"""Control of large digit-serial columns: registers say what a cycle does, and each row has its own.

The cycles are those of :class:`hw.pe.digit_row.DigitControl`, which small columns have.
"""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.pe.opt3 import Opt3Spec

__all__ = ["AheadControl", "BeatSlice"]


class BeatSlice(wiring.Component):
    """Holds some bits of two beats of b: the one in use, and the next.

    Every slice knows by itself what it holds, so that no control reaches more than its bits.

    Parameters
    ----------
    width : int
        What: bits.

    Members
    -------
    i, o : In, Out
        The bits offered, and those of the beat in use.
    take : In(1)
        The beat offered is taken; there is room.
    done : In(1)
        In the next cycle, the beat in use is used for the last time.
    ready : Out(1)
        There is room.
    has_one, has_two : Out(1)
        It will hold so many beats in the next cycle, or more.
    """

    i: Signal
    o: Signal
    take: Signal
    done: Signal
    ready: Signal
    has_one: Signal
    has_two: Signal

    def __init__(self, width: int):
        super().__init__({
            **dict.fromkeys(("take", "done"), In(1)),
            **dict.fromkeys(("ready", "has_one", "has_two"), Out(1)),
            "i": In(width),
            "o": Out(width),
        })

    def elaborate(self, platform):
        m = Module()
        leaves, there, next_there = Signal(), Signal(), Signal()
        behind = Signal(len(self.i), reset_less=True)
        m.d.comb += [
            self.ready.eq(~next_there | leaves),
            self.has_one.eq(self.take | next_there | (there & ~leaves)),
            self.has_two.eq(Mux(leaves, next_there & self.take, next_there | (there & self.take))),
        ]
        m.d.sync += [
            leaves.eq(self.done),
            there.eq(self.has_one),
            next_there.eq(self.has_two),
        ]
        # What is offered may be written where nothing is, taken or not.
        with m.If(~next_there | leaves):
            m.d.sync += behind.eq(self.i)
        with m.If(~there | leaves):
            m.d.sync += self.o.eq(Mux(next_there, behind, self.i))
        return m


class AheadControl(wiring.Component):
    """Controls rows of digit-serial elements that never stop: digits wait for operands instead.

    Whether a cycle issues digits is a register, of which each row has a copy; the copies follow
    from themselves, or synthesis would make one register of all. Beats of a are taken one ahead,
    those of b two, and sums leave by a :class:`hw.tpe.row_exit.RowExit`.

    Parameters
    ----------
    spec : Opt3Spec
        What: an element.
    rows : int
        What: rows, 1 or more.

    Members
    -------
    a_valid, a_last, a_ready, row_last, first : as of :class:`hw.pe.digit_row.DigitControl`
    b_one, b_two : In(1)
        In the next cycle so many beats of b will be there, or more.
    b_ready : Out(1)
        Beats of b may be taken.
    load, go, done : Out(rows)
        Copies for each row: digits are taken, and issued; those issued are the last of the beat.
    o_valid, o_row : Out(1), Out(rows)
        The sums of a row are valid; the row, one-hot.
    o_move, o_moves : In(1)
        The sums of a row leave, if they are valid; and in the next cycle.
    """

    a_valid: Signal
    a_last: Signal
    a_ready: Signal
    row_last: Signal
    b_one: Signal
    b_two: Signal
    b_ready: Signal
    load: Signal
    go: Signal
    done: Signal
    first: Signal
    o_valid: Signal
    o_row: Signal
    o_move: Signal
    o_moves: Signal

    def __init__(self, spec: Opt3Spec, rows: int):
        self.spec = spec
        inputs = ("a_valid", "a_last", "row_last", "b_one", "b_two", "o_move", "o_moves")
        super().__init__({
            **dict.fromkeys(inputs, In(1)),
            **dict.fromkeys(("a_ready", "b_ready", "first", "o_valid"), Out(1)),
            **dict.fromkeys(("load", "go", "done", "o_row"), Out(rows)),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec

        # Stage d: digits in the selector; stage s: selected digits. While `busy`, sums leave, or
        # sums that are discarded.
        d_valid, d_end = Signal(), Signal()
        s_end = Signal()
        busy, stays_busy = Signal(init=1), Signal()
        # After reset it takes this long to flush the rows with zeros.
        wait = Signal(range(spec.drain + 1), init=spec.REGISTERS + len(spec.groups))
        clean = Signal()
        new = Signal(init=1)
        row = Signal(len(self.o_row), init=1)
        comes, done, leaves, out = Signal(), Signal(), Signal(), Signal()
        will_leave = Signal()
        valid_next, row_next = Signal(), Signal.like(row)

        m.d.comb += [
            comes.eq(self.a_valid & clean),
            done.eq(self.done[0]),
            self.a_ready.eq(clean & (~d_valid | done)),
            self.b_ready.eq(clean),
            self.first.eq((self.go[0] & new) | ~clean),
            self.o_row.eq(row),
            leaves.eq(self.o_valid & self.o_move),
            out.eq(leaves & row[-1]),
            stays_busy.eq(busy & ~out & (clean | (wait != 1))),
            valid_next.eq(Mux(leaves, ~row[-1], self.o_valid | (clean & (wait == 1)))),
            row_next.eq(Mux(leaves, row.rotate_left(1), row)),
            will_leave.eq(valid_next & row_next[-1] & self.o_moves),
        ]
        # The last digits of a beat are followed by those of the next, if it is of the same sums.
        again, begins, fills = Signal(), Signal(), Signal()
        m.d.comb += [
            again.eq(comes & ~d_end & self.b_two),
            begins.eq((d_valid | comes) & (~stays_busy | will_leave) & self.b_one),
            fills.eq(comes & ~d_valid),
        ]
        self._start_rows(m, comes, again, begins, fills)
        with m.If(self.load[0]):
            m.d.sync += [d_valid.eq(1), d_end.eq(self.a_last)]
        with m.Elif(done):
            m.d.sync += d_valid.eq(0)
        with m.If(self.go[0]):
            m.d.sync += new.eq(self.row_last & d_end)
        m.d.sync += [
            s_end.eq(done & d_end),
            busy.eq(stays_busy | (done & d_end)),
            self.o_valid.eq(valid_next),
            row.eq(row_next),
        ]
        with m.If(s_end):
            m.d.sync += wait.eq(spec.drain - 1)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(wait == 1):
            m.d.sync += clean.eq(1)
        return m

    def _start_rows(
        self, m: Module, comes: Value, again: Value, begins: Value, fills: Value
    ) -> None:
        """Have each row issue digits, by a register of its own, and load those that come."""
        for number in range(len(self.go)):
            go = Signal(name=f"go{number}")
            ends = go & self.row_last
            m.d.sync += go.eq(Mux(ends, again, begins))
            m.d.comb += [
                self.go[number].eq(go),
                self.done[number].eq(ends),
                self.load[number].eq(fills | (ends & comes)),
            ]

"""The jobs of a ring after its first: read and checked while those before run."""

from typing import NamedTuple, Self

from amaranth import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["JobsAhead"]


class _State(NamedTuple):
    """What the two sequences of states, of descriptors and of checks, say to each other.

    Members
    -------
    some : more of the jobs follow that differ only in their addresses.
    none : no job is under way.
    asks : the next descriptor may be requested.
    idle : none is being read.
    has, takes : one is here; its check begins.
    checks, reads : a job is checked and has not begun; its addresses are being read.
    """

    some: Signal
    none: Signal
    asks: Signal
    idle: Signal
    has: Signal
    takes: Signal
    checks: Signal
    reads: Signal

    @classmethod
    def make(cls) -> Self:
        """Make the signals."""
        return cls(**{name: Signal(name=name) for name in cls._fields})


class JobsAhead(wiring.Component):
    """Has descriptors read and checked, each while the job before is loaded.

    Of a job that is as the one before but for its addresses, only these are read. It begins as soon
    as the rows of that one have been requested; any other job when all before it are complete.

    The next descriptor is requested when the one before is being checked; if it is read whole, when
    the rows of that one have been requested, or 64 cycles after it has begun. Up to four
    jobs are checked or begun and not complete.

    Parameters
    ----------
    copies : bool
        How: a job that runs is copied, so that the next descriptor can be read whole. Else that is
        requested when all jobs are complete.

    Members
    -------
    i_begin : In(1)
        The first job begins.
    i_alike : In(16)
        How many follow the job read last that differ from it only in their addresses.
    i_more : In(1)
        There is another descriptor.
    o_fetch, i_fetch : Out(1), In(1)
        Request it; it has been requested.
    o_alike : Out(1)
        Its addresses alone.
    o_take, i_descriptor : Out(1), In(1)
        Its beats may come; the last one comes.
    i_broken : In(1)
        From the next cycle on: memory has answered with an error.
    o_check, i_checked, i_wrong : Out(1), In(1), In(1)
        Check the job; its addresses are read until it is checked. It is wrong.
    o_copy : Out(1)
        Copy the job; it begins in the next cycle.
    i_ready, o_begin : In(1), Out(1)
        All rows of the jobs begun have been requested; the job begins.
    i_complete : In(1)
        A job is complete.
    o_busy : Out(1)
        Jobs are to follow.
    o_last : Out(1)
        One job is under way.
    o_unread, o_wrong : Out(1)
        All jobs are complete, but the descriptor of the next one cannot be read; it is wrong.
    """

    i_begin: Signal
    i_alike: Signal
    i_more: Signal
    o_fetch: Signal
    i_fetch: Signal
    o_alike: Signal
    o_take: Signal
    i_descriptor: Signal
    i_broken: Signal
    o_check: Signal
    i_checked: Signal
    i_wrong: Signal
    o_copy: Signal
    i_ready: Signal
    o_begin: Signal
    i_complete: Signal
    o_busy: Signal
    o_last: Signal
    o_unread: Signal
    o_wrong: Signal

    def __init__(self, *, copies: bool):
        self.copies = copies
        super().__init__({
            "i_begin": In(1),
            "i_alike": In(16),
            "i_more": In(1),
            "o_fetch": Out(1),
            "i_fetch": In(1),
            "o_alike": Out(1),
            "o_take": Out(1),
            "i_descriptor": In(1),
            "i_broken": In(1),
            "o_check": Out(1),
            "i_checked": In(1),
            "i_wrong": In(1),
            "o_copy": Out(1),
            "i_ready": In(1),
            "o_begin": Out(1),
            "i_complete": In(1),
            "o_busy": Out(1),
            "o_last": Out(1),
            "o_unread": Out(1),
            "o_wrong": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        state, left, under_way = _State.make(), Signal(16), Signal(3)
        # Cycles since a job has begun: the descriptor must not hold up rows of a short one.
        since = Signal(7)
        m.d.comb += [
            state.none.eq(under_way == 0),
            self.o_busy.eq(self.i_more | ~state.idle | state.checks),
            self.o_last.eq(under_way == 1),
            # One that is read whole takes the place of the one before.
            state.asks.eq(
                state.some
                | (~state.checks & (self.i_ready | since[-1] if self.copies else state.none))
            ),
        ]
        m.d.sync += under_way.eq(under_way + (self.i_begin | self.o_begin) - self.i_complete)
        with m.If(self.i_begin | self.o_begin):
            m.d.sync += since.eq(0)
        with m.Elif(~since[-1]):
            m.d.sync += since.eq(since + 1)
        with m.If(self.i_begin | (state.takes & ~self.o_alike)):
            m.d.sync += [left.eq(self.i_alike), state.some.eq(self.i_alike != 0)]
        with m.Elif(self.i_fetch & self.o_fetch & self.o_alike):
            m.d.sync += [left.eq(left - 1), state.some.eq(left != 1)]
        self._fetch(m, state)
        self._check(m, state, under_way < 4)
        return m

    def _fetch(self, m: Module, state: _State) -> None:
        """Have the next descriptor read."""
        with m.FSM(name="fetch"):
            with m.State("IDLE"):
                m.d.comb += state.idle.eq(1)
                with m.If(state.asks & self.i_more & ~self.i_begin):
                    m.d.sync += [self.o_fetch.eq(1), self.o_alike.eq(state.some)]
                    m.next = "ASK"
            with m.State("ASK"), m.If(self.i_fetch):
                m.d.sync += self.o_fetch.eq(0)
                m.next = "COME"
            with m.State("COME"):
                m.d.comb += self.o_take.eq(~state.reads)
                with m.If(self.i_descriptor):
                    m.next = "CAME"
            with m.State("CAME"):
                m.next = "HERE"
                with m.If(self.i_broken):
                    m.next = "UNREAD"
            with m.State("HERE"):
                m.d.comb += state.has.eq(1)
                with m.If(state.takes):
                    m.next = "IDLE"
            with m.State("UNREAD"):
                m.d.comb += self.o_unread.eq(state.none)

    def _check(self, m: Module, state: _State, room: Value) -> None:
        """Have the job checked, if there is room for one more; it begins when it can."""
        alike = Signal()
        with m.FSM(name="check"):
            with m.State("IDLE"), m.If(state.has & room):
                m.d.comb += [state.takes.eq(1), self.o_check.eq(1)]
                m.d.sync += alike.eq(self.o_alike)
                m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += [state.checks.eq(1), state.reads.eq(1)]
                with m.If(self.i_checked):
                    m.next = "WAIT"
                    with m.If(self.i_wrong):
                        m.next = "WRONG"
            with m.State("WAIT"):
                m.d.comb += state.checks.eq(1)
                with m.If(alike & self.i_ready):
                    m.d.comb += self.o_begin.eq(1)
                    m.next = "IDLE"
                with m.If(~alike & state.none):
                    m.d.comb += self.o_copy.eq(1)
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.comb += [state.checks.eq(1), self.o_begin.eq(1)]
                m.next = "IDLE"
            with m.State("WRONG"):
                m.d.comb += [state.checks.eq(1), self.o_wrong.eq(state.none)]

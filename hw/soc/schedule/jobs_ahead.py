"""The jobs of a ring after its first: read, checked and loaded while those before run."""

from typing import NamedTuple, Self

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["JobsAhead"]


class _State(NamedTuple):
    """What the two sequences of states, of descriptors and of checks, say to each other.

    Members
    -------
    some : more of the jobs follow that differ only in their addresses.
    asks : the next descriptor may be requested.
    idle : none is being read.
    has, takes : one is here; its check begins.
    checks, reads : a job is checked and has not begun; its addresses are being read.
    uncopied : it is read whole, and has not been copied.
    loaded, holds : a job is being loaded and does not run; its A is written by the one before.
    """

    some: Signal
    asks: Signal
    idle: Signal
    has: Signal
    takes: Signal
    checks: Signal
    reads: Signal
    uncopied: Signal
    loaded: Signal
    holds: Signal

    @classmethod
    def make(cls) -> Self:
        """Make the signals."""
        return cls(**{name: Signal(name=name) for name in cls._fields})


class JobsAhead(wiring.Component):
    """Has descriptors read and checked, and what jobs read loaded, while jobs before them run.

    Of a job that is as the one before but for its addresses, only these are read. It begins as soon
    as the rows of that one have been requested. Any other job is loaded as soon as one job alone
    is under way, whose rows have all come, if what it reads is not written by that one; if only
    its A is, all but A is loaded. It runs when all before it are complete.

    The next descriptor is requested when the one before is being checked; if it is read whole, when
    the rows of the jobs begun have been requested, at once if one is loaded and does not run, or
    64 cycles after the last one has begun. It is taken when the one before has been copied. Up to
    four jobs are checked or begun and not complete.

    Parameters
    ----------
    copies : bool
        How: what a job says is copied for what loads it, and again for what runs it; a descriptor
        that is requested has a place to wait in. Else the next one is requested when all jobs are
        complete, where it is read whole.

    Members
    -------
    i_begin : In(1)
        The first job begins.
    i_alike : In(16)
        How many follow the job read last that differ from it only in their addresses.
    i_more : In(1)
        There is another descriptor.
    o_fetch, o_alike, i_fetch : Out(1), Out(1), In(1)
        Request it, or its addresses alone; it has been requested.
    o_take, i_descriptor : Out(1), In(1)
        Its beats may come; the last one comes.
    i_broken, i_silent : In(1), In(1)
        From the next cycle on: memory has answered with an error, or not; not, for too long.
    o_check, i_checked, i_wrong : Out(1), In(1), In(1)
        Check the job; its addresses are read until it is checked. It is wrong.
    o_checks_alike : Out(1)
        From the cycle after that on: they alone are new.
    i_free : In(1)
        Nothing is loaded any more for the jobs begun, and it has been used.
    o_copy, o_turn : Out(1)
        Copy the job for what loads it; copy that for what runs it.
    i_ahead, i_written : In(1)
        What is copied may be loaded while the job before runs; but for its A.
    i_asked, i_ready : In(1), In(1)
        All rows of the jobs begun have been requested; and those of a vector job written.
    o_begin, o_run, o_hold : Out(1)
        The job is loaded from now on; it runs; its A is not there yet.
    i_complete : In(1)
        A job is complete.
    o_busy, o_last, o_none : Out(1), Out(1), Out(1)
        Jobs are to follow; one job is under way; none is.
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
    i_silent: Signal
    o_check: Signal
    o_checks_alike: Signal
    i_checked: Signal
    i_wrong: Signal
    i_free: Signal
    o_copy: Signal
    o_turn: Signal
    i_ahead: Signal
    i_written: Signal
    i_asked: Signal
    i_ready: Signal
    o_begin: Signal
    o_run: Signal
    o_hold: Signal
    i_complete: Signal
    o_busy: Signal
    o_last: Signal
    o_none: Signal
    o_unread: Signal
    o_wrong: Signal

    def __init__(self, *, copies: bool):
        self.copies = copies
        inputs = (
            "begin", "more", "fetch", "descriptor", "broken", "silent", "checked", "wrong", "free",
            "ahead", "written", "asked", "ready", "complete",
        )  # fmt: skip
        outputs = (
            "fetch", "alike", "take", "check", "checks_alike", "copy", "turn", "begin", "run",
            "hold", "busy", "last", "none", "unread", "wrong",
        )  # fmt: skip
        super().__init__({
            "i_alike": In(16),
            **{f"i_{name}": In(1) for name in inputs},
            **{f"o_{name}": Out(1) for name in outputs},
        })

    def elaborate(self, platform):
        m = Module()
        state, left, under_way, after = _State.make(), Signal(16), Signal(3), Signal(3)
        one, none = Signal(), Signal(init=1)  # what it says, known a cycle before
        # Cycles since a job has begun: the descriptor must not hold up rows of a short one.
        since = Signal(7)
        may_ask = self.i_asked | since[-1] | state.loaded
        if not self.copies:
            may_ask = self.o_none & ~state.checks
        m.d.comb += [
            self.o_busy.eq(self.i_more | ~state.idle | state.checks | state.loaded),
            Cat(self.o_last, self.o_none).eq(Cat(one, none)),
            after.eq(under_way + (self.i_begin | self.o_begin) - self.i_complete),
            # One that is read whole takes the place of the one before.
            state.asks.eq(state.some | may_ask),
        ]
        m.d.sync += [under_way.eq(after), one.eq(after == 1), none.eq(after == 0)]
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
                m.d.comb += self.o_take.eq(~state.reads & (self.o_alike | ~state.uncopied))
                with m.If(self.i_descriptor | self.i_silent):
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
                m.d.comb += self.o_unread.eq(self.o_none & ~state.checks)

    def _check(self, m: Module, state: _State, room: Value) -> None:
        """Have the job checked, if there is room for one more; it begins when it can."""
        alike = self.o_checks_alike
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
                m.d.comb += [state.checks.eq(1), state.uncopied.eq(~alike)]
                with m.If(alike & self.i_ready & ~state.loaded):
                    m.d.comb += [self.o_begin.eq(1), self.o_run.eq(1)]
                    m.next = "IDLE"
                with m.If(~alike & (self.i_free if self.copies else self.o_none)):
                    m.d.comb += self.o_copy.eq(1)
                    m.next = "COPIED" if self.copies else "BEGIN"
            with m.State("COPIED"):
                m.d.comb += state.checks.eq(1)
                # A depthwise job reads rows of its map to their ends, behind the last window, too.
                with m.If(self.o_none & self.i_ready):
                    m.d.comb += self.o_turn.eq(1)
                    m.next = "BEGIN"
                with m.Elif(self.o_last & self.i_ahead):
                    m.d.comb += self.o_begin.eq(1)
                    m.d.sync += [state.loaded.eq(1), state.holds.eq(self.i_written)]
                    m.next = "IDLE"
            with m.State("BEGIN"):
                m.d.comb += [state.checks.eq(1), self.o_begin.eq(1), self.o_run.eq(1)]
                m.next = "IDLE"
            with m.State("WRONG"):
                m.d.comb += [state.checks.eq(1), self.o_wrong.eq(self.o_none)]
        if self.copies:
            self._run(m, state)

    def _run(self, m: Module, state: _State) -> None:
        """Have the job that is loaded run, when it alone is under way."""
        turned = Signal()
        m.d.comb += self.o_hold.eq(state.loaded & state.holds & ~self.o_last)
        with m.If(turned):
            m.d.comb += self.o_run.eq(1)
            m.d.sync += [turned.eq(0), state.loaded.eq(0)]
        with m.Elif(state.loaded & self.o_last):
            m.d.comb += self.o_turn.eq(1)
            m.d.sync += turned.eq(1)

"""Jobs that differ from the last one only in addresses: fetched and checked while it runs."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["JobsAhead"]


class JobsAhead(wiring.Component):
    """Has descriptors read and checked, each while the job before is loaded.

    The next descriptor is requested when the one before is being checked. Up to four jobs are
    checked or begun and not complete.

    Members
    -------
    i_begin : In(1)
        The first of some jobs that differ only in their addresses begins.
    i_alike : In(16)
        How many follow it.
    i_more : In(1)
        There is another descriptor.
    o_fetch, i_fetch : Out(1), In(1)
        Request its addresses; they have been requested.
    o_take, i_descriptor : Out(1), In(1)
        Its beats may come; the last one comes.
    i_broken : In(1)
        From the next cycle on: memory has answered with an error.
    o_check, i_checked, i_wrong : Out(1), In(1), In(1)
        Check the job; its addresses are read until it is checked. It is wrong.
    i_ready, o_begin : In(1), Out(1)
        The job can begin, and does.
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
    o_take: Signal
    i_descriptor: Signal
    i_broken: Signal
    o_check: Signal
    i_checked: Signal
    i_wrong: Signal
    i_ready: Signal
    o_begin: Signal
    i_complete: Signal
    o_busy: Signal
    o_last: Signal
    o_unread: Signal
    o_wrong: Signal

    def __init__(self):
        super().__init__({
            "i_begin": In(1),
            "i_alike": In(16),
            "i_more": In(1),
            "o_fetch": Out(1),
            "i_fetch": In(1),
            "o_take": Out(1),
            "i_descriptor": In(1),
            "i_broken": In(1),
            "o_check": Out(1),
            "i_checked": In(1),
            "i_wrong": In(1),
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
        left, some, under_way = Signal(16), Signal(), Signal(3)  # some are left
        has, takes, idle, checks, reads = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            self.o_busy.eq(some & self.i_more | ~idle | checks),
            self.o_last.eq(under_way == 1),
        ]
        m.d.sync += under_way.eq(under_way + (self.i_begin | self.o_begin) - self.i_complete)
        with m.If(self.i_begin):
            m.d.sync += [left.eq(self.i_alike), some.eq(self.i_alike != 0)]
        with m.Elif(self.i_fetch & self.o_fetch):
            m.d.sync += [left.eq(left - 1), some.eq(left != 1)]
        with m.FSM(name="fetch"):
            with m.State("IDLE"):
                m.d.comb += idle.eq(1)
                with m.If(some & self.i_more):
                    m.d.sync += self.o_fetch.eq(1)
                    m.next = "ASK"
            with m.State("ASK"), m.If(self.i_fetch):
                m.d.sync += self.o_fetch.eq(0)
                m.next = "COME"
            with m.State("COME"):
                m.d.comb += self.o_take.eq(~reads)
                with m.If(self.i_descriptor):
                    m.next = "CAME"
            with m.State("CAME"):
                m.next = "HERE"
                with m.If(self.i_broken):
                    m.next = "UNREAD"
            with m.State("HERE"):
                m.d.comb += has.eq(1)
                with m.If(takes):
                    m.next = "IDLE"
            with m.State("UNREAD"):
                m.d.comb += self.o_unread.eq(under_way == 0)
        with m.FSM(name="check"):
            with m.State("IDLE"), m.If(has & (under_way < 4)):
                m.d.comb += [takes.eq(1), self.o_check.eq(1)]
                m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += [checks.eq(1), reads.eq(1)]
                with m.If(self.i_checked):
                    m.next = "WAIT"
                    with m.If(self.i_wrong):
                        m.next = "WRONG"
            with m.State("WAIT"):
                m.d.comb += checks.eq(1)
                with m.If(self.i_ready):
                    m.d.comb += self.o_begin.eq(1)
                    m.next = "IDLE"
            with m.State("WRONG"):
                m.d.comb += [checks.eq(1), self.o_wrong.eq(under_way == 0)]
        return m

"""The sequence of jobs: the one in the registers, or those of a ring in memory."""

from amaranth import Cat, Module, Mux, ResetInserter, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.coprocessor import ErrorLayout, error_code

__all__ = ["JobQueue"]

_BYTES = 128
"""Of a descriptor."""


class JobQueue(wiring.Component):
    """Has the core run the jobs of one start: it reads the descriptors after the first by itself.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, whose beats align descriptors; with streams there are none.

    Members
    -------
    i_start : In(1)
        Start; only while ``o_idle``.
    i_stop : In(1)
        Abort.
    i_ring, i_count : In
        Address of the descriptors, and how many; 0: the job is in the registers. They stay as they
        are while the jobs run.
    o_fetch, o_run : Out(1)
        Make the idle core read the first descriptor, or run a job.
    o_fetched : Out(1)
        The job is the descriptor's.
    o_address : Out(64)
        With ``o_fetch`` or ``o_more``: of that descriptor.
    o_more, i_next : Out(1), In(1)
        There is another descriptor; the core has requested it.
    i_idle, i_done, i_error : In
        From the core: idle, at the latest a cycle after it is done, but later if memory is given
        up; done with the request, and its outcome, which is 0 while the core has nothing to do.
    i_on : In(1)
        With ``i_done``: the core goes on with the next job.
    o_idle, o_done : Out(1)
        Nothing runs; all jobs are done, for one cycle.
    o_error : Out(ErrorLayout)
        With ``o_done``: the outcome, and the number of the failed job.
    o_count : Out(32)
        Completed jobs, a cycle after they are.
    """

    i_start: Signal
    i_stop: Signal
    i_ring: Signal
    i_count: Signal
    o_fetch: Signal
    o_run: Signal
    o_fetched: Signal
    o_address: Signal
    o_more: Signal
    i_next: Signal
    i_idle: Signal
    i_done: Signal
    i_error: data.View
    i_on: Signal
    o_idle: Signal
    o_done: Signal
    o_error: data.View
    o_count: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "i_start": In(1),
            "i_stop": In(1),
            "i_ring": In(64),
            "i_count": In(32),
            "o_fetch": Out(1),
            "o_run": Out(1),
            "o_fetched": Out(1),
            "o_address": Out(64),
            "o_more": Out(1),
            "i_next": In(1),
            "i_idle": In(1),
            "i_done": In(1),
            "i_error": In(ErrorLayout),
            "i_on": In(1),
            "o_idle": Out(1),
            "o_done": Out(1),
            "o_error": Out(ErrorLayout),
            "o_count": Out(32),
        })

    def elaborate(self, platform):
        m = Module()
        follows = self.spec.follows_ring
        ring, refused = Signal(name="ring"), Signal(8, name="refused")
        # Descriptors that have been requested; that any are left is known a cycle later, as is the
        # address of the next one.
        asked, checks = Signal(32, name="asked"), Signal(name="checks", init=follows)
        # One adder: to the next descriptor or, before there is a start, to the end of all.
        low = exact_log2(_BYTES)
        next_ = Signal(64 - low + 1, name="next", reset_less=True)
        starts, completes = Signal(name="starts"), Signal(name="completes")
        self._count(m, starts, completes)
        m.d.comb += [self.o_fetched.eq(ring)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.o_idle.eq(self.i_idle)
                m.d.sync += [asked.eq(0), checks.eq(checks.init)]
                if self.spec.ring:
                    m.d.sync += ring.eq(self.i_count != 0)
                with m.If(self.i_start & ~self.i_stop):
                    m.d.sync += starts.eq(1)
                    m.next = "RUN"
                    with m.If(self.i_count != 0):
                        m.next = "ADD" if follows else "REFUSED"
                        m.d.sync += refused.eq(error_code("unsupported"))
            with m.State("REFUSED"):
                m.d.comb += [
                    self.o_done.eq(1),
                    self.o_error.valid.eq(1),
                    self.o_error.code.eq(refused),
                ]
                if self.spec.ring:
                    m.d.comb += self.o_error.address.eq(self.o_address)
                m.next = "IDLE"
            if follows:
                self._check_ring(m, checks, next_, refused)
                self._fetch(m)
            self._run(m, completes)
        if self.spec.ring:
            m.d.comb += self.o_address.eq(Cat(self.i_ring[:low], next_[:-1]))
            m.d.sync += next_.eq(self.i_ring[low:] + Mux(checks, self.i_count, asked))
        if follows:
            m.d.sync += self.o_more.eq(asked != self.i_count)
            with m.If(self.i_next):
                m.d.sync += asked.eq(asked + 1)
        # The core is aborted too, and reports when it is idle.
        return ResetInserter(self.i_stop)(m)

    def _count(self, m: Module, starts: Signal, completes: Signal) -> None:
        """Count the jobs of a start that are complete; an error has the number of its job."""
        # Each a cycle late.
        counts = Signal()
        m.d.sync += [starts.eq(0), counts.eq(completes)]
        count = Signal(32 if self.spec.ring else 1)
        with m.If(starts):
            m.d.sync += count.eq(0)
        with m.If(counts):
            m.d.sync += count.eq(count + 1 if self.spec.ring else 1)
        m.d.comb += [
            self.o_count.eq(count),
            self.o_error.eq(self.i_error),
            # A start that is refused at once is before its count.
            self.o_error.job.eq(count if self.spec.follows_ring else Mux(starts, 0, count)),
        ]

    def _check_ring(self, m: Module, checks: Signal, after: Signal, refused: Signal) -> None:
        """Refuse a ring that does not end inside of the memory, or is not at a beat."""
        wide, size = self.spec.address_width, exact_log2(self.spec.bytes)
        low = exact_log2(_BYTES)
        below = Cat(self.i_ring[:low], after[: wide - low])
        # Of the end: bits above those that the ring's count reaches, bits that it reaches, one more
        # than an address has, and any below.
        above, reached, one_more, under = (
            Signal(name=name) for name in ("above", "reached", "one_more", "under")
        )
        with m.State("ADD"):
            end = wide - low
            m.d.sync += [
                checks.eq(0),
                above.eq(self.i_ring[wide:].any()),
                reached.eq(after[end + 1 : max(end, 32) + 1].any()),
                one_more.eq(after[end]),
                under.eq(below.any()),
            ]
            m.next = "CHECK"
        with m.State("CHECK"):
            m.next = "FETCH"
            with m.If(above | reached | (one_more & under)):
                m.d.sync += refused.eq(error_code("address_range"))
                m.next = "REFUSED"
            with m.If(self.i_ring[:size] != 0):
                m.d.sync += refused.eq(error_code("misaligned"))
                m.next = "REFUSED"

    def _fetch(self, m: Module) -> None:
        """Have the core read a descriptor."""
        with m.State("FETCH"):
            m.d.comb += self.o_fetch.eq(1)
            m.next = "FETCHING"
        with m.State("FETCHING"), m.If(self.i_done):
            m.next = "RUN"
            with m.If(self.i_error.valid):
                m.d.comb += self.o_done.eq(1)
                m.next = "IDLE"

    def _run(self, m: Module, completes: Signal) -> None:
        """Have the core run the first job, and those after it."""
        with m.State("RUN"):
            m.d.comb += self.o_run.eq(1)
            m.next = "RUNNING"
        with m.State("RUNNING"), m.If(self.i_done):
            with m.If(self.i_error.valid):
                m.d.comb += self.o_done.eq(1)
                m.next = "IDLE"
            with m.Else():
                m.d.comb += completes.eq(1)
                with m.If(~self.i_on):
                    m.d.comb += self.o_done.eq(1)
                    m.next = "IDLE"

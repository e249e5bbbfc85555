"""Executes jobs: checks them, runs them, reports the outcome."""

from typing import Any

from amaranth import C, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import SharedModule
from hw.soc.bus.axi import Axi4, Axi4Stream
from hw.soc.bus.read_master import ReadMaster
from hw.soc.bus.write_master import WriteMaster
from hw.soc.datapath import EVENTS, Datapath
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.path.stream_ports import StreamReader, StreamWriter
from hw.soc.registers.coprocessor import PART, ErrorLayout, JobLayout, error_code
from hw.soc.schedule.job_check import JobCheck
from hw.soc.schedule.job_snapshot import JobSnapshot
from hw.soc.schedule.jobs_ahead import JobsAhead
from hw.soc.stores.scratch import Scratch

__all__ = ["Core", "memory_ports"]


def memory_ports(spec: CoprocessorSpec, id_width: int = 0) -> dict[str, wiring.Member]:
    """List the memory ports: AXI4, or streams of A, of all other inputs, and of C."""
    if not spec.STREAM:
        return {"m_axi": Out(Axi4(spec, id_width))}
    one = Axi4Stream(spec)
    return {"s_axis_a": In(one), "s_axis_b": In(one), "m_axis_c": Out(one)}


def _join(m: Module, own: Any, port: Any) -> None:
    """Connect the channels of a manager to those of a port, which may have more."""
    for name, member in own.signature.members.items():
        ends = getattr(port, name), getattr(own, name)
        m.d.comb += ends[0].eq(ends[1]) if member.flow == Out else ends[1].eq(ends[0])


class Core(wiring.Component):
    """Computes one product at a time, or several that differ only in their addresses, one ahead.

    An error ends everything, when the products before are complete. After it no burst is issued;
    outstanding bursts are completed.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: bus, stores, requantiser.
    engine : wiring.Component
        How: the engine of that spec.
    build : RequantiserBuild
        How: from sums to codes.
    id_width : int
        How: bits of the IDs of ``m_axi``, which nothing drives: they are 0.
    vector : VectorUnit
        How: the vector unit of that spec, or None.

    Members
    -------
    m_axi, or s_axis_a, s_axis_b, m_axis_c
        See :func:`memory_ports`.
    o_part, i_part : Out, In
        The part of the registers' job that is copied, and its bits.
    i_job : In(JobLayout)
        Instead, with :attr:`in_registers`: the registers' job, which stays as it is while it runs.
    i_start, i_fetched : In(1)
        Start; only while ``o_idle``. The job is the registers', or the descriptor read last.
    i_fetch, i_address : In
        Read the descriptor at this address instead.
    i_stop : In(1)
        Abort, and stay idle while it is high.
    i_more, o_next : In(1), Out(1)
        There is another descriptor, at ``i_address``; it has been asked for.
    o_idle : Out(1)
        No job runs, and no burst is outstanding.
    o_done : Out(1)
        The job has ended, for one cycle; with an error if ``o_error.valid``.
    o_on : Out(1)
        With ``o_done``: the next one is under way, or being read.
    o_error : Out(ErrorLayout)
        The error report, until the cycle after ``o_done``; then 0.
    o_events : Out
        For counters: events of this cycle, see :class:`hw.soc.datapath.Datapath`; and bus beats.
    """

    o_part: Signal
    i_part: Signal
    i_job: data.View
    i_start: Signal
    i_fetched: Signal
    i_fetch: Signal
    i_address: Signal
    i_more: Signal
    o_next: Signal
    i_stop: Signal
    o_idle: Signal
    o_done: Signal
    o_on: Signal
    o_error: data.View
    o_events: data.View

    def __init__(
        self,
        spec: CoprocessorSpec,
        engine: Any,
        build: RequantiserBuild,
        *,
        id_width: int = 0,
        vector: Any = None,
    ):
        self.spec = spec
        self.memory_ports = memory_ports(spec, id_width)
        self.engine = engine
        self.in_registers = build.lean and spec.narrow and not spec.follows_ring
        """Jobs are not copied."""
        self.path = Datapath(spec, engine, build, vector)
        self.scratch = Scratch(spec) if spec.scratch else None
        parts = {"o_part": Out(range(JobLayout().size // PART)), "i_part": In(PART)}
        super().__init__({
            **self.memory_ports,
            **({"i_job": In(JobLayout())} if self.in_registers else parts),
            "i_start": In(1),
            "i_fetched": In(1),
            "i_fetch": In(1),
            "i_address": In(64),
            "i_more": In(1),
            "o_next": Out(1),
            "i_stop": In(1),
            "o_idle": Out(1),
            "o_done": Out(1),
            "o_on": Out(1),
            "o_error": Out(ErrorLayout),
            "o_events": Out(data.StructLayout({**EVENTS, "read_beats": 1, "write_beats": 1})),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """Those of the engine, the stores and the requantiser."""
        return (*self.path.shared_modules, *(self.scratch.shared_modules if self.scratch else ()))

    def elaborate(self, platform):
        m = Module()
        spec, path = self.spec, self.path
        # The last two are registers: they reach everything.
        begin, stop, clear = Signal(), Signal(), Signal(init=1)
        prepare = JobCheck(spec)
        # A run that ends early may leave a check ahead under way.
        m.submodules.prepare = ResetInserter(stop)(prepare)
        read, write = self._streams(m) if spec.STREAM else self._masters(m)

        # Each job resets the whole datapath, but for those that follow ahead.
        m.submodules.path = ResetInserter(clear)(path)
        fetches, gathers = Signal(), Signal()
        first, takes = Signal(), Signal()
        checks, copies = Signal(), Signal()
        # A descriptor's beats are copied a cycle after they come.
        beat, came, gathered = Signal(spec.data_width, reset_less=True), Signal(), Signal()
        follows = Signal()
        ahead = JobsAhead()
        job: Any
        copied: Value
        address: Value
        if self.in_registers:
            job, copied = self.i_job, C(1)
            address = job.as_value().word_select(prepare.o_matrix, PART)
        else:
            m.submodules.copy = copy = JobSnapshot(spec)
            job, copied, address = copy.o, copy.o_last, copy.o_address
            m.d.comb += [
                self.o_part.eq(copy.o_part),
                copy.i_word.eq(self.i_part),
                copy.i_beat.eq(beat),
                copy.i_gathers.eq(gathered),
                copy.i_addresses.eq(follows),
                copy.i_first.eq(first | ahead.o_fetch),
                copy.en.eq(came | copies),
                copy.i_matrix.eq(prepare.o_matrix),
            ]
            m.d.sync += [
                beat.eq(read.o.payload.data),
                came.eq(takes),
                gathered.eq(gathers | ahead.o_take),
                follows.eq(ahead.o_busy),
            ]
        m.d.comb += [
            prepare.i_job.eq(job),
            prepare.i_address.eq(address),
            path.i_job.eq(job),
            path.i_geometry.eq(prepare.o_geometry),
            path.i_base.eq(prepare.o_base),
            prepare.i_hold.eq(path.o_writes),
            path.i_start.eq(begin | ahead.o_begin),
            prepare.i_start.eq(checks | ahead.o_check),
            read.i_stop.eq(stop),
            write.i_stop.eq(stop),
            *(self.o_events[name].eq(path.o_events[name]) for name in EVENTS),
            *self._beats(read, write),
            write.i_data.valid.eq(path.o.valid),
            *(
                write.i_data.payload[name].eq(path.o.payload[name])
                for name, _ in write.i_data.payload.shape()
            ),
            path.o.ready.eq(write.i_data.ready),
        ]
        # A job of a read that failed is the oldest one; no more are under way; one of some is done.
        fails, ends, on = Signal(), Signal(), Signal()
        oldest: Value = C(1, 1)
        if spec.follows_ring:
            m.submodules.ahead = ResetInserter(clear)(ahead)
            m.d.comb += [
                ahead.i_begin.eq(begin),
                ahead.i_alike.eq(job.alike),
                ahead.i_checked.eq(prepare.o_done),
                ahead.i_wrong.eq(prepare.o_error != 0),
                ends.eq(~ahead.o_busy & ahead.o_last),
                on.eq(write.o_final & ~ends),
                ahead.i_complete.eq(on),
            ]
            self._fetch(m, read, ahead, fetches, gathered, takes)
            failed, oldest = self._count(m, read, write, on, clear)
            m.d.comb += fails.eq(failed & oldest)
        else:
            m.d.comb += [fails.eq(read.o_error), ends.eq(1)]
            for one, other in ((path.o_row, read.i), (read.o, path.i), (path.o_rows, write.i)):
                connect(m, one, other)
        error = data.View(ErrorLayout, Signal(ErrorLayout.as_shape().size, name="error"))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.o_idle.eq(~self.i_stop), first.eq(1)]
                m.d.sync += error.eq(0)
                with m.If(self.i_stop):
                    m.d.sync += stop.eq(1)
                    m.next = "STOP"
                with m.Elif(self.i_start):
                    m.next = "COPY"
                    if spec.follows_ring:
                        with m.If(self.i_fetched):
                            m.next = "CHECK"
                if spec.follows_ring:
                    with m.Elif(self.i_fetch):
                        m.d.sync += fetches.eq(1)
                        m.next = "FETCH"
            if spec.follows_ring:
                with m.State("FETCH"):
                    with m.If(self.i_stop):
                        m.d.sync += [stop.eq(1), fetches.eq(0)]
                        m.next = "STOP"
                    with m.Elif(read.i.ready):
                        m.d.sync += fetches.eq(0)
                        m.next = "FETCHING"
                with m.State("FETCHING"):
                    m.d.comb += gathers.eq(1)
                    with m.If(self.i_stop):
                        m.d.sync += stop.eq(1)
                        m.next = "STOP"
                    with m.Elif(read.o.valid & read.o.payload.last):
                        m.next = "FETCHED"
                with m.State("FETCHED"):
                    m.next = "DONE"
                    with m.If(read.o_error):
                        m.d.sync += self._report(error, "ring_read", read)
                        m.d.sync += stop.eq(1)
                        m.next = "STOP"
            with m.State("COPY"):
                m.d.comb += copies.eq(1)
                with m.If(copied):
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += checks.eq(1)
                m.next = "PREPARE"
            with m.State("PREPARE"), m.If(prepare.o_done):
                m.d.sync += clear.eq(0)
                m.next = "BEGIN"
                with m.If(prepare.o_error != 0):
                    m.d.sync += [error.valid.eq(1), error.code.eq(prepare.o_error)]
                    m.d.sync += clear.eq(1)
                    m.next = "DONE"
            with m.State("BEGIN"):
                m.d.comb += begin.eq(1)
                m.next = "RUN"
            with m.State("RUN"):
                with m.If(self.i_stop):
                    m.d.sync += [stop.eq(1), clear.eq(1)]
                    m.next = "STOP"
                with m.Elif(fails | write.o_error):
                    for failed, master, name in (
                        (write.o_error, write, "write"), (fails, read, "read"),
                    ):  # fmt: skip
                        with m.If(failed):
                            m.d.sync += self._report(error, name, master)
                    m.d.sync += [stop.eq(1), clear.eq(1)]
                    m.next = "STOP"
                if spec.gather:
                    with m.Elif(path.o_beyond & oldest):
                        m.d.sync += [error.valid.eq(1), error.code.eq(error_code("bad_index"))]
                        m.d.sync += [stop.eq(1), clear.eq(1)]
                        m.next = "STOP"
                with m.Elif(path.o_done & read.o_idle & write.o_idle & ends):
                    m.d.sync += clear.eq(1)
                    m.next = "DONE"
                m.d.comb += [self.o_done.eq(on), self.o_on.eq(1)]
                if spec.follows_ring:
                    with m.If(ahead.o_unread | ahead.o_wrong):
                        m.d.sync += [error.valid.eq(1), error.code.eq(prepare.o_error)]
                        m.d.sync += [stop.eq(1), clear.eq(1)]
                        m.next = "STOP"
                    with m.If(ahead.o_unread):
                        m.d.sync += self._report(error, "ring_read", read)
            with m.State("STOP"), m.If(read.o_idle & write.o_idle):
                m.d.sync += stop.eq(self.i_stop)
                m.next = "DONE"
                with m.If(self.i_stop):
                    m.next = "STOPPED"
            with m.State("STOPPED"):
                m.d.comb += self.o_idle.eq(1)
                with m.If(~self.i_stop):
                    m.d.sync += stop.eq(0)
                    m.next = "IDLE"
            with m.State("DONE"):
                m.d.comb += self.o_done.eq(1)
                m.next = "IDLE"
        m.d.comb += self.o_error.eq(error)
        return m

    def _fetch(
        self, m: Module, read: Any, ahead: JobsAhead, fetches: Value, gathered: Value, takes: Value
    ) -> None:
        """Share the memory read between jobs and their descriptors."""
        path, row, asked = self.path, self.path.o_row.payload, Signal()
        size = JobLayout().size // 8
        m.d.comb += [
            asked.eq(fetches | ahead.o_fetch),
            path.o_row.ready.eq(read.i.ready & ~asked),
            read.i.valid.eq(path.o_row.valid | asked),
            read.i.payload.address.eq(Mux(asked, self.i_address, row.address)),
            read.i.payload.bytes.eq(
                Mux(asked, Mux(fetches, size, JobLayout()["m"].offset // 8), row.bytes)
            ),
            read.i.payload.final.eq(row.final & ~asked),
            read.i.payload.other.eq(asked),
            path.i.valid.eq(read.o.valid & ~read.o_other),
            path.i.payload.eq(read.o.payload),
            read.o.ready.eq(Mux(read.o_other, gathered, path.i.ready)),
            takes.eq(read.o.valid & read.o.ready & read.o_other),
            self.o_next.eq(asked & read.i.ready),
            ahead.i_more.eq(self.i_more),
            ahead.i_fetch.eq(read.i.ready),
            ahead.i_come.eq(takes & read.o.payload.last),
            ahead.i_broken.eq(read.o_error),
            ahead.i_ready.eq(path.o_ready),
        ]

    def _count(
        self, m: Module, read: Any, write: Any, on: Value, clear: Value
    ) -> tuple[Value, Value]:
        """Count jobs; tell that a read failed, of which no row leaves, and of the oldest one.

        The latter: that all jobs are complete of which all has been read.
        """
        path, failed = self.path, Signal()
        counts = [Signal(3, name=f"jobs_{name}") for name in ("read", "sent", "done")]
        were_read, sent, done = counts
        rows = write.i.valid & write.i.ready & path.o_rows.payload.final
        for count, event in zip(counts, (read.o_final, rows, on), strict=True):
            m.d.sync += count.eq(Mux(clear, 0, count + event))
        # A cycle late, before a row can leave that is of what was read.
        holds = Signal()
        m.d.sync += holds.eq(failed & ((sent == were_read) | rows))
        m.d.comb += [
            failed.eq(read.o_error & ~read.o_error_other),
            write.i.valid.eq(path.o_rows.valid & ~holds),
            write.i.payload.eq(path.o_rows.payload),
            path.o_rows.ready.eq(write.i.ready & ~holds),
        ]
        return failed, done == were_read

    @staticmethod
    def _report(error: data.View, name: str, master: Any) -> list[Any]:
        """Report what memory has answered."""
        return [
            error.valid.eq(1),
            error.code.eq(error_code(name)),
            error.response.eq(master.o_response),
            error.address.eq(master.o_address),
        ]

    def _port(self, name: str) -> Any:
        """Return one of the ports of :func:`memory_ports`."""
        return getattr(self, name)

    def _masters(self, m: Module) -> tuple[Any, Any]:
        """Read and write memory."""
        spec, m_axi = self.spec, self._port("m_axi")
        if self.scratch is not None:
            m.submodules.scratch = self.scratch
            _join(m, self.scratch.m_axi, m_axi)
            m_axi = self.scratch.axi
        queue = 0 if self.path.lean else 2
        m.submodules.read = read = ReadMaster(spec, queue=queue)
        m.submodules.write = write = WriteMaster(spec, queue=queue)
        for master in (read, write):
            _join(m, master.axi, m_axi)
        return read, write

    def _beats(self, read: Any, write: Any) -> list[Any]:
        """Tell of beats on the bus."""
        events = self.o_events
        if self.scratch is None:
            return [events.read_beats.eq(read.o_beats), events.write_beats.eq(write.o_beats)]
        bus = self.scratch.m_axi
        return [
            events.read_beats.eq(bus.rvalid & bus.rready),
            events.write_beats.eq(bus.wvalid & bus.wready),
        ]

    def _streams(self, m: Module) -> tuple[Any, Any]:
        """Read and write streams."""
        m.submodules.read = read = StreamReader(self.spec)
        m.submodules.write = write = StreamWriter(self.spec)
        connect(m, flipped(self._port("s_axis_a")), read.a)
        connect(m, flipped(self._port("s_axis_b")), read.b)
        connect(m, write.c, flipped(self._port("m_axis_c")))
        return read, write

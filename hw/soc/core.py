"""Executes jobs: checks them, runs them, reports the outcome."""

from typing import Any

from amaranth import C, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect

from golden.soc.spec import CoprocessorSpec
from hw.lib.fifo import Fifo
from hw.lib.shared_module import SharedModule
from hw.soc.bus.burst import Beat
from hw.soc.datapath import Datapath, events
from hw.soc.memory_ports import connect_masters, connect_streams, memory_ports, report, watch
from hw.soc.path.clock_crossing import clears
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.registers.coprocessor import PART, ErrorLayout, JobLayout, error_code
from hw.soc.schedule.control import Control
from hw.soc.schedule.job_check import JobCheck
from hw.soc.schedule.job_copy import JobCopy
from hw.soc.schedule.job_counts import count_jobs, wrong_reads
from hw.soc.schedule.job_snapshot import JobSnapshot
from hw.soc.schedule.jobs_ahead import JobsAhead
from hw.soc.stores.scratch import Scratch

__all__ = ["Core"]


class Core(wiring.Component):
    """Runs jobs: one, or those of a ring in order; the next one is read and checked meanwhile.

    Jobs that differ only in their addresses overlap: one is loaded while those before it are
    computed and written.

    After an error no burst is issued, outstanding ones are completed, and no other job runs; jobs
    before the failed one are completed first. Memory that does not answer is given up, see
    :func:`hw.soc.memory_ports.watch`: the job ends, and the core is idle when it has answered.

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
    <memory> : ``m_axi``; or ``s_axis_a``, ``s_axis_b`` and ``m_axis_c``
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
        There is another descriptor, at ``i_address``; it has been requested.
    o_idle : Out(1)
        No job runs, and no burst is outstanding.
    o_done : Out(1)
        The job has ended, for one cycle; with an error if ``o_error.valid``.
    o_on : Out(1)
        With ``o_done``: the next job is running or being fetched.
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
        self.datapath = Datapath(spec, engine, build, vector)
        self.copies = self.datapath.ahead
        """Jobs are copied, so that the next ones can be read, checked and loaded."""
        self.descriptors = JobLayout().size // spec.data_width if self.copies else 0
        """Beats of a descriptor that comes early."""
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
            "o_events": Out(data.StructLayout({**events(spec), "read_beats": 1, "write_beats": 1})),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """Those of the engine, the stores and the requantiser."""
        return (
            *self.datapath.shared_modules,
            *(self.scratch.shared_modules if self.scratch else ()),
        )

    def elaborate(self, platform):
        m = Module()
        spec, path, control = self.spec, self.datapath, Control.make()
        job_check = JobCheck(spec, ahead=self.copies)
        # A run that ends early may leave a check ahead under way.
        m.submodules.job_check = ResetInserter(control.stop)(job_check)
        ports = {name: getattr(self, name) for name in self.memory_ports}
        if spec.STREAM:
            read, write = connect_streams(m, spec, ports)
        else:
            read, write = connect_masters(m, spec, ports, self.scratch, lean=path.lean)
        watch(m, spec, (read, write), control)
        # Each job resets the whole datapath, but for those that follow ahead.
        m.submodules.datapath = ResetInserter(clears(m, spec, control.clear))(path)
        jobs_ahead = JobsAhead(copies=self.copies)
        job, snapshot_ends = self._take_job(m, control, jobs_ahead, job_check, read)
        m.d.comb += [
            job_check.i_job.eq(job),
            path.i_base.eq(job_check.o_base),
            job_check.i_hold.eq(path.o_writes),
            path.i_start.eq(control.begin | jobs_ahead.o_begin),
            job_check.i_start.eq(control.checks | jobs_ahead.o_check),
            read.i_stop.eq(control.stop),
            write.i_stop.eq(control.stop),
            *(self.o_events[name].eq(path.o_events[name]) for name in events(spec)),
            *self._beats(read, write),
            write.i_data.valid.eq(path.o.valid),
            *(
                write.i_data.payload[name].eq(path.o.payload[name])
                for name, _ in write.i_data.payload.shape()
            ),
            path.o.ready.eq(write.i_data.ready),
        ]
        self._give(m, control, jobs_ahead, job, job_check.o_geometry)
        oldest: Value = C(1, 1)
        if spec.follows_ring:
            m.submodules.jobs_ahead = ResetInserter(control.clear)(jobs_ahead)
            oldest = self._follow(m, control, jobs_ahead, job_check, job, read, write)
        else:
            m.d.comb += [control.fails.eq(read.o_error), control.ends.eq(1), control.last.eq(1)]
            for one, other in ((path.o_row, read.i), (read.o, path.i), (path.o_rows, write.i)):
                connect(m, one, other)
        error = data.View(ErrorLayout, Signal(ErrorLayout.as_shape().size, name="error"))
        with m.FSM():
            self._wait(m, control, error)
            if spec.follows_ring:
                self._fetch_first(m, control, error, read)
            self._prepare(m, control, error, snapshot_ends, job_check)
            with m.State("RUN"):
                self._run(m, control, error, oldest, read, write)
                m.d.comb += [self.o_done.eq(control.on), self.o_on.eq(1)]
                if spec.follows_ring:
                    with m.If(jobs_ahead.o_unread | jobs_ahead.o_wrong):
                        m.d.sync += [error.valid.eq(1), error.code.eq(job_check.o_error)]
                        self._abort(m, control)
                    with m.If(jobs_ahead.o_unread):
                        m.d.sync += report(self.spec, error, "ring_read", read)
            self._stop(m, control, error, read.o_idle & write.o_idle)
        m.d.comb += self.o_error.eq(error)
        return m

    def _take_job(
        self, m: Module, control: Control, jobs_ahead: JobsAhead, job_check: JobCheck, read: Any
    ) -> tuple[Any, Value]:
        """Copy the job from registers or its descriptor; return it, and whether it is there."""
        if self.in_registers:
            job = self.i_job
            m.d.comb += job_check.i_address.eq(job.as_value().word_select(job_check.o_matrix, PART))
            return job, C(1)
        # A descriptor's beats are copied a cycle after they come.
        beat, beat_valid = Signal(self.spec.data_width, reset_less=True), Signal()
        # Those that come early wait, so that other data need not.
        beats = Fifo(Beat(self.spec.data_width), self.descriptors)
        if self.spec.follows_ring:
            m.submodules.descriptors = ResetInserter(control.stop)(beats)
            m.d.comb += [
                beats.i.valid.eq(read.o.valid & read.o_other),
                beats.i.payload.eq(read.o.payload),
                beats.o.ready.eq(control.gathered),
                control.takes.eq(beats.o.valid & control.gathered),
                control.ended.eq(control.takes & beats.o.payload.last),
            ]
        follows = Signal()
        m.submodules.job_snapshot = snapshot = JobSnapshot(self.spec)
        m.d.comb += [
            job_check.i_address.eq(snapshot.o_address),
            self.o_part.eq(snapshot.o_part),
            snapshot.i_word.eq(self.i_part),
            snapshot.i_beat.eq(beat),
            snapshot.i_gathers.eq(control.gathered),
            snapshot.i_addresses.eq(follows),
            snapshot.i_first.eq(control.first | jobs_ahead.o_fetch),
            snapshot.en.eq(beat_valid | control.copies),
            snapshot.i_matrix.eq(job_check.o_matrix),
        ]
        m.d.sync += [
            beat.eq(beats.o.payload.data),
            beat_valid.eq(control.takes),
            control.gathered.eq(control.gathers | jobs_ahead.o_take),
            follows.eq(jobs_ahead.o_alike),
        ]
        self.takes_descriptor = beats.i.ready
        return snapshot.o, snapshot.o_last

    def _give(
        self, m: Module, control: Control, jobs_ahead: JobsAhead, job: Any, geometry: Any
    ) -> None:
        """Give the job to the datapath: as it is, or copies, for what loads it and what runs it."""
        path = self.datapath
        loads = job, geometry
        if self.copies:
            m.submodules.loaded = loaded = JobCopy(self.spec)
            m.submodules.run = run = JobCopy(self.spec)
            m.d.comb += [
                loaded.i_job.eq(job),
                loaded.i_geometry.eq(geometry),
                loaded.en.eq(control.prepares | jobs_ahead.o_copy),
                run.i_job.eq(loaded.o_job),
                run.i_geometry.eq(loaded.o_geometry),
                run.en.eq(control.checked | jobs_ahead.o_turn),
            ]
            loads, (job, geometry) = (loaded.o_job, loaded.o_geometry), (run.o_job, run.o_geometry)
        m.d.comb += [
            path.i_load_job.eq(loads[0]),
            path.i_load_geometry.eq(loads[1]),
            path.i_job.eq(job),
            path.i_geometry.eq(geometry),
            path.i_run.eq(control.begin | jobs_ahead.o_run),
            path.i_hold.eq(jobs_ahead.o_hold),
        ]

    def _follow(
        self,
        m: Module,
        control: Control,
        jobs_ahead: JobsAhead,
        job_check: JobCheck,
        job: Any,
        read: Any,
        write: Any,
    ) -> Value:
        """Let the jobs of a ring follow the first; return whether the oldest fails."""
        m.d.comb += [
            jobs_ahead.i_begin.eq(control.begin),
            jobs_ahead.i_alike.eq(job.alike),
            job_check.i_alike.eq(jobs_ahead.o_checks_alike),
            jobs_ahead.i_checked.eq(job_check.o_done),
            jobs_ahead.i_free.eq(self.datapath.o_free),
            jobs_ahead.i_ahead.eq(self.datapath.o_ahead & ~job_check.o_others_written),
            jobs_ahead.i_written.eq(job_check.o_a_written),
            jobs_ahead.i_wrong.eq(job_check.o_error != 0),
            control.ends.eq(~jobs_ahead.o_busy & jobs_ahead.o_last),
            control.on.eq(write.o_final & ~control.ends),
            jobs_ahead.i_complete.eq(control.on),
        ]
        self._fetch(m, read, jobs_ahead, control)
        failed, oldest = count_jobs(m, self, (read, write), control)
        # What is not read whole waits behind the descriptor that does not come.
        m.d.comb += control.fails.eq(oldest & (failed | (control.silent & ~jobs_ahead.o_none)))
        return oldest

    def _wait(self, m: Module, control: Control, error: Any) -> None:
        """Wait for a start."""
        follows_ring = self.spec.follows_ring
        with m.State("IDLE"):
            m.d.comb += [self.o_idle.eq(~self.i_stop), control.first.eq(1)]
            m.d.sync += error.eq(0)
            with m.If(self.i_stop):
                m.d.sync += control.stop.eq(1)
                m.next = "STOP"
            with m.Elif(self.i_start):
                m.next = "COPY"
                if follows_ring:
                    with m.If(self.i_fetched):
                        m.next = "CHECK"
            if follows_ring:
                with m.Elif(self.i_fetch):
                    m.d.sync += control.fetches.eq(1)
                    m.next = "FETCH"

    def _fetch_first(self, m: Module, control: Control, error: Any, read: Any) -> None:
        """Read the first descriptor of a ring."""
        with m.State("FETCH"):
            with m.If(self.i_stop):
                m.d.sync += [control.stop.eq(1), control.fetches.eq(0)]
                m.next = "STOP"
            with m.Elif(control.fetched):
                m.d.sync += control.fetches.eq(0)
                m.next = "FETCHING"
        with m.State("FETCHING"):
            m.d.comb += control.gathers.eq(1)
            with m.If(self.i_stop):
                m.d.sync += control.stop.eq(1)
                m.next = "STOP"
            with m.Elif(control.ended | control.silent):
                m.next = "FETCHED"
        with m.State("FETCHED"):
            m.next = "DONE"
            with m.If(read.o_error):
                m.d.sync += report(self.spec, error, "ring_read", read)
                m.d.sync += control.stop.eq(1)
                m.next = "STOP"

    def _prepare(
        self, m: Module, control: Control, error: Any, snapshot_ends: Value, job_check: JobCheck
    ) -> None:
        """Copy the job, check it, and begin."""
        with m.State("COPY"):
            m.d.comb += control.copies.eq(1)
            with m.If(snapshot_ends):
                m.next = "CHECK"
        with m.State("CHECK"):
            m.d.comb += control.checks.eq(1)
            m.next = "PREPARE"
        with m.State("PREPARE"):
            m.d.comb += control.prepares.eq(1)
            with m.If(job_check.o_done):
                m.d.comb += control.checked.eq(1)
                m.d.sync += control.clear.eq(0)
                m.next = "BEGIN"
                with m.If(job_check.o_error != 0):
                    m.d.sync += [error.valid.eq(1), error.code.eq(job_check.o_error)]
                    m.d.sync += control.clear.eq(1)
                    m.next = "DONE"
        with m.State("BEGIN"):
            m.d.comb += control.begin.eq(1)
            m.next = "RUN"

    def _run(
        self, m: Module, control: Control, error: Any, oldest: Value, read: Any, write: Any
    ) -> None:
        """Decide how a run ends: stopped, by an error of memory or of an index, or complete."""
        with m.If(self.i_stop):
            self._abort(m, control)
        with m.Elif(control.fails | write.o_error):
            for failed, master, name in (
                (write.o_error, write, "write"),
                (control.fails, read, "read"),
            ):
                with m.If(failed):
                    m.d.sync += report(self.spec, error, name, master)
            self._abort(m, control)
        for wrong, name in wrong_reads(self.spec, self.datapath, control, oldest):
            with m.Elif(wrong):
                m.d.sync += [error.valid.eq(1), error.code.eq(error_code(name))]
                self._abort(m, control)
        with m.Elif(self.datapath.o_done & read.o_idle & write.o_idle & control.ends):
            m.d.sync += control.clear.eq(1)
            m.next = "DONE"

    def _abort(self, m: Module, control: Control) -> None:
        """Stop the bus, and reset the datapath."""
        m.d.sync += [control.stop.eq(1), control.clear.eq(1)]
        m.next = "STOP"

    def _stop(self, m: Module, control: Control, error: Any, idle: Value) -> None:
        """Report when no burst is outstanding, or memory is given up; wait for both."""
        with m.State("STOP"):
            with m.If(idle):
                m.d.sync += control.stop.eq(self.i_stop)
                m.next = "STOPPED"
            with m.If(~self.i_stop & (idle | control.late)):
                m.next = "DONE"
        with m.State("STOPPED"):
            m.d.comb += self.o_idle.eq(1)
            with m.If(~self.i_stop):
                m.d.sync += control.stop.eq(0)
                m.next = "IDLE"
        with m.State("DONE"):
            m.d.comb += self.o_done.eq(1)
            m.next = "IDLE"
            if self.spec.patience:
                with m.If(control.stop):
                    m.next = "OWED"
        if self.spec.patience:
            with m.State("OWED"):
                m.d.sync += error.eq(0)
                with m.If(idle):
                    m.d.sync += control.stop.eq(0)
                    m.next = "IDLE"

    def _fetch(self, m: Module, read: Any, jobs_ahead: JobsAhead, control: Control) -> None:
        """Share the memory read between jobs and their descriptors."""
        path, urgent = self.datapath, read.i_urgent
        size = JobLayout().size // 8
        connect(m, path.o_row, read.i)
        m.d.sync += control.fetched.eq(urgent.valid & urgent.ready)
        m.d.comb += [
            urgent.valid.eq((control.fetches | jobs_ahead.o_fetch) & ~control.fetched),
            urgent.payload.address.eq(self.i_address),
            urgent.payload.bytes.eq(Mux(jobs_ahead.o_alike, JobLayout()["m"].offset // 8, size)),
            urgent.payload.final.eq(0),
            urgent.payload.other.eq(1),
            path.i.valid.eq(read.o.valid & ~read.o_other),
            path.i.payload.eq(read.o.payload),
            read.o.ready.eq(Mux(read.o_other, self.takes_descriptor, path.i.ready)),
            self.o_next.eq(control.fetched),
            jobs_ahead.i_more.eq(self.i_more),
            jobs_ahead.i_fetch.eq(control.fetched),
            jobs_ahead.i_descriptor.eq(control.ended),
            jobs_ahead.i_broken.eq(read.o_error),
            jobs_ahead.i_silent.eq(control.silent),
            jobs_ahead.i_asked.eq(path.o_asked),
            jobs_ahead.i_ready.eq(path.o_ready),
        ]

    def _beats(self, read: Any, write: Any) -> list[Any]:
        """Return the assignments of events: beats on the bus."""
        events = self.o_events
        if self.scratch is None:
            return [events.read_beats.eq(read.o_beats), events.write_beats.eq(write.o_beats)]
        bus = self.scratch.m_axi
        return [
            events.read_beats.eq(bus.rvalid & bus.rready),
            events.write_beats.eq(bus.wvalid & bus.wready),
        ]

"""Executes one job at a time: checks it, runs it, reports the outcome."""

from typing import Any

from amaranth import Module, Mux, ResetInserter, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import SharedModule
from hw.soc.bus.axi import Axi4, Axi4Read, Axi4Stream, Axi4Write
from hw.soc.bus.read_master import ReadMaster
from hw.soc.bus.write_master import WriteMaster
from hw.soc.datapath import EVENTS, Datapath
from hw.soc.path.stream_ports import StreamReader, StreamWriter
from hw.soc.registers.coprocessor import PART, ErrorLayout, JobLayout, error_code
from hw.soc.schedule.job_check import JobCheck
from hw.soc.schedule.job_snapshot import JobSnapshot

__all__ = ["Core", "memory_ports"]


def memory_ports(spec: CoprocessorSpec) -> dict[str, wiring.Member]:
    """List the memory ports: AXI4, or streams of A, of all other inputs, and of C."""
    if not spec.STREAM:
        return {"m_axi": Out(Axi4(spec))}
    one = Axi4Stream(spec)
    return {"s_axis_a": In(one), "s_axis_b": In(one), "m_axis_c": Out(one)}


class Core(wiring.Component):
    """Computes one product at a time; an error resets everything.

    After an error no burst is issued; outstanding bursts are completed.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: bus, stores, requantiser.
    engine : wiring.Component
        How: the engine of that spec.
    encoding, adder : str
        How: the requantiser's.
    across : int
        How: columns of C that leave per cycle.

    Members
    -------
    m_axi, or s_axis_a, s_axis_b, m_axis_c
        See :func:`memory_ports`.
    o_part, i_part : Out, In
        The part of the registers' job that is copied, and its bits.
    i_start, i_fetched : In(1)
        Start; only while ``o_idle``. The job is the registers', or the descriptor read last.
    i_fetch, i_address : In
        Read the descriptor at this address instead.
    i_stop : In(1)
        Abort, and stay idle while it is high.
    o_idle : Out(1)
        No job runs, and no burst is outstanding.
    o_done : Out(1)
        The job has ended, for one cycle; with an error if ``o_error.valid``.
    o_error : Out(ErrorLayout)
        The error report.
    o_events : Out
        For counters: events of this cycle, see :class:`hw.soc.datapath.Datapath`; and bus beats.
    """

    o_part: Signal
    i_part: Signal
    i_start: Signal
    i_fetched: Signal
    i_fetch: Signal
    i_address: Signal
    i_stop: Signal
    o_idle: Signal
    o_done: Signal
    o_error: data.View
    o_events: data.View

    def __init__(
        self, spec: CoprocessorSpec, engine: Any, *, encoding: str, adder: str, across: int
    ):
        self.spec = spec
        self.engine = engine
        self.path = Datapath(spec, engine, encoding=encoding, adder=adder, across=across)
        super().__init__({
            **memory_ports(spec),
            "o_part": Out(range(JobLayout().size // PART)),
            "i_part": In(PART),
            "i_start": In(1),
            "i_fetched": In(1),
            "i_fetch": In(1),
            "i_address": In(64),
            "i_stop": In(1),
            "o_idle": Out(1),
            "o_done": Out(1),
            "o_error": Out(ErrorLayout),
            "o_events": Out(data.StructLayout({**EVENTS, "read_beats": 1, "write_beats": 1})),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """Those of the engine, the stores and the requantiser."""
        return self.path.shared_modules

    def elaborate(self, platform):
        m = Module()
        spec, path = self.spec, self.path
        m.submodules.prepare = prepare = JobCheck(spec)
        read, write = self._streams(m) if spec.STREAM else self._masters(m)

        # Each job resets the whole datapath.
        begin, stop, clear = Signal(), Signal(), Signal()
        m.submodules.path = ResetInserter(clear)(path)
        fetches, gathers = Signal(), Signal()
        first, takes = Signal(), Signal()
        m.submodules.copy = copy = JobSnapshot(spec)
        job, ends = copy.o, copy.o_last
        m.d.comb += [
            self.o_part.eq(copy.o_part),
            copy.i_word.eq(self.i_part),
            copy.i_beat.eq(read.o.payload.data),
            copy.i_gathers.eq(gathers),
            copy.i_first.eq(first),
            copy.en.eq(takes),
        ]
        m.d.comb += [
            prepare.i_job.eq(job),
            copy.i_matrix.eq(prepare.o_matrix),
            prepare.i_address.eq(copy.o_address),
            path.i_job.eq(job),
            path.i_geometry.eq(prepare.o_geometry),
            path.i_base.eq(prepare.o_base),
            path.i_start.eq(begin),
            read.i_stop.eq(stop),
            write.i_stop.eq(stop),
            *(self.o_events[name].eq(path.o_events[name]) for name in EVENTS),
            self.o_events.read_beats.eq(read.o_beats),
            self.o_events.write_beats.eq(write.o_beats),
            # Reads belong to the job, or to its descriptor.
            path.o_row.ready.eq(read.i.ready & ~fetches),
            read.i.valid.eq(path.o_row.valid | fetches),
            read.i.payload.address.eq(Mux(fetches, self.i_address, path.o_row.payload.address)),
            read.i.payload.bytes.eq(Mux(fetches, JobLayout().size // 8, path.o_row.payload.bytes)),
            path.i.valid.eq(read.o.valid),
            path.i.payload.eq(read.o.payload),
            read.o.ready.eq(path.i.ready | gathers),
            write.i.valid.eq(path.o_rows.valid),
            write.i.payload.eq(path.o_rows.payload),
            path.o_rows.ready.eq(write.i.ready),
            write.i_data.valid.eq(path.o.valid),
            *(
                write.i_data.payload[name].eq(path.o.payload[name])
                for name, _ in write.i_data.payload.shape()
            ),
            path.o.ready.eq(write.i_data.ready),
        ]
        error = data.View(ErrorLayout, Signal(ErrorLayout.as_shape().size, name="error"))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.o_idle.eq(~self.i_stop), clear.eq(1), first.eq(1)]
                with m.If(self.i_stop):
                    m.next = "STOP"
                with m.Elif(self.i_start):
                    m.d.sync += error.eq(0)
                    m.next = "COPY"
                    if spec.follows_ring:
                        with m.If(self.i_fetched):
                            m.next = "CHECK"
                if spec.follows_ring:
                    with m.Elif(self.i_fetch):
                        m.d.sync += error.eq(0)
                        m.next = "FETCH"
            if spec.follows_ring:
                with m.State("FETCH"):
                    m.d.comb += [clear.eq(1), fetches.eq(1)]
                    with m.If(self.i_stop):
                        m.next = "STOP"
                    with m.Elif(read.i.ready):
                        m.next = "FETCHING"
                with m.State("FETCHING"):
                    m.d.comb += [clear.eq(1), gathers.eq(1)]
                    m.d.comb += takes.eq(read.o.valid)
                    with m.If(self.i_stop):
                        m.next = "STOP"
                    with m.Elif(read.o.valid & read.o.payload.last):
                        m.next = "FETCHED"
                with m.State("FETCHED"):
                    m.d.comb += clear.eq(1)
                    m.next = "DONE"
                    with m.If(read.o_error):
                        m.d.sync += [
                            error.valid.eq(1),
                            error.code.eq(error_code("ring_read")),
                            error.response.eq(read.o_response),
                            error.address.eq(read.o_address),
                        ]
                        m.next = "STOP"
            with m.State("COPY"):
                m.d.comb += [clear.eq(1), takes.eq(1)]
                with m.If(ends):
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += [clear.eq(1), prepare.i_start.eq(1)]
                m.next = "PREPARE"
            with m.State("PREPARE"):
                m.d.comb += clear.eq(1)
                with m.If(prepare.o_done):
                    m.next = "BEGIN"
                    with m.If(prepare.o_error != 0):
                        m.d.sync += [error.valid.eq(1), error.code.eq(prepare.o_error)]
                        m.next = "DONE"
            with m.State("BEGIN"):
                m.d.comb += begin.eq(1)
                m.next = "RUN"
            with m.State("RUN"):
                with m.If(self.i_stop):
                    m.next = "STOP"
                with m.Elif(read.o_error | write.o_error):
                    for master, code in ((write, error_code("write")), (read, error_code("read"))):
                        with m.If(master.o_error):
                            m.d.sync += [
                                error.valid.eq(1),
                                error.code.eq(code),
                                error.response.eq(master.o_response),
                                error.address.eq(master.o_address),
                            ]
                    m.next = "STOP"
                with m.Elif(path.o_done & read.o_idle & write.o_idle):
                    m.next = "DONE"
            with m.State("STOP"):
                m.d.comb += [stop.eq(1), clear.eq(1)]
                with m.If(read.o_idle & write.o_idle):
                    m.next = "DONE"
                    with m.If(self.i_stop):
                        m.next = "STOPPED"
            with m.State("STOPPED"):
                m.d.comb += [self.o_idle.eq(1), stop.eq(1), clear.eq(1)]
                with m.If(~self.i_stop):
                    m.next = "IDLE"
            with m.State("DONE"):
                m.d.comb += [self.o_done.eq(1), clear.eq(1)]
                m.next = "IDLE"
        m.d.comb += self.o_error.eq(error)
        return m

    def _port(self, name: str) -> Any:
        """Return one of the ports of :func:`memory_ports`."""
        return getattr(self, name)

    def _masters(self, m: Module) -> tuple[Any, Any]:
        """Read and write memory."""
        spec, m_axi = self.spec, self._port("m_axi")
        m.submodules.read = read = ReadMaster(spec)
        m.submodules.write = write = WriteMaster(spec)
        for master, channels in ((read, Axi4Read(spec)), (write, Axi4Write(spec))):
            for name, member in channels.members.items():
                port, own = getattr(m_axi, name), getattr(master.axi, name)
                m.d.comb += port.eq(own) if member.flow == Out else own.eq(port)
        return read, write

    def _streams(self, m: Module) -> tuple[Any, Any]:
        """Read and write streams."""
        m.submodules.read = read = StreamReader(self.spec)
        m.submodules.write = write = StreamWriter(self.spec)
        connect(m, flipped(self._port("s_axis_a")), read.a)
        connect(m, flipped(self._port("s_axis_b")), read.b)
        connect(m, write.c, flipped(self._port("m_axis_c")))
        m.d.comb += [read.i_of_b.eq(self.path.o_of_b), write.i_final.eq(self.path.o_final)]
        return read, write

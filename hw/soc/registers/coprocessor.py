"""Registers of the matmul co-processor: job arguments, start, status, over AXI4-Lite."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.soc.bus.axi import Axi4Lite
from hw.soc.bus.axi_lite import AxiLiteSlave
from hw.soc.registers.file import RegisterFile
from hw.soc.registers.rdl import (
    codes_of,
    fields_of,
    layout_of,
    parameters_of,
    register_map,
)

__all__ = [
    "ADDRESSES",
    "PART",
    "CountersLayout",
    "ErrorLayout",
    "JobLayout",
    "Registers",
    "error_code",
]

PART = 64
"""Bits of a job that are read at once."""


def error_code(name: str) -> int:
    """Return the code of an error, by its name in the map."""
    return codes_of("error_code")[name]


class _PartLayout(data.FlexibleLayout):
    """Registers of one part of the map, which is the same in every build."""

    def __init__(self, part: str):
        layout = layout_of(part)
        super().__init__(layout.size, dict(layout))


class JobLayout(_PartLayout):
    """A job, laid out as its 1024-bit descriptor: ``a``, ``m``, ``mode.relu`` and so on."""

    def __init__(self):
        super().__init__("JOB")


ADDRESSES = JobLayout()["m"].offset // PART
"""Addresses of a job; it begins with them."""


class CountersLayout(_PartLayout):
    """Counters of the last start, 64 bits each: ``cycles``, ``compute`` and so on."""

    def __init__(self):
        super().__init__("COUNTERS")


class ErrorLayout(data.Struct):
    """Error report: code, bus response, number of the job, address."""

    valid: 1
    code: 8
    response: 2
    job: 32
    address: 64


class Registers(wiring.Component):
    """Holds the arguments of jobs, starts them, and reports to the host.

    Addresses, fields, access and reset values are those of ``coprocessor.rdl``. Registers are
    busy while a start waits, ``i_idle`` is low or a soft reset is in progress.

    Latency, access to response: see :class:`hw.soc.bus.axi_lite.AxiLiteSlave`; report to
    ``o_interrupt``: 2 cycles. After a reset, the first access may wait for 16 cycles. A soft reset
    resets registers at its begin, but job arguments only
    at its end, because the running job uses them; responses on ``s_axi`` are not lost.

    Parameters
    ----------
    parameters : mapping of str to int
        What: values of the discovery registers, see :func:`hw.soc.registers.rdl.parameters_of`.
    widths : mapping of str to int
        What: stored bits of arguments, see :class:`hw.soc.registers.file.RegisterFile`; without
        any, the job is kept in memory.
    whole : bool
        How: the job leaves as a whole, only where it is not in memory.

    Members
    -------
    s_axi : In(Axi4Lite)
        The host.
    o_interrupt : Out(1)
        Level-triggered, from a register.
    i_part, o_part : In(4), Out(64)
        A part of the job in the registers, laid out as :class:`JobLayout`, in the same cycle. It
        changes only while not busy, and with ``i_reset_done``. Bits without a field are 0.
    o_job : Out(JobLayout)
        Instead, with `whole`: all of it.
    o_ring : Out(64)
        Address of descriptors.
    o_count : Out(32)
        Descriptors; 0: the job is ``o_job``.
    o_start : Out(1)
        A start waits; it is accepted in the first cycle in which ``i_ready`` is high too.
    i_ready : In(1)
        The core accepts a start.
    i_idle : In(1)
        The core is idle; low from the cycle after it accepted a start, up to ``i_done`` or longer.
    i_done : In(1)
        The start has ended, for one cycle; also after an error.
    i_error : In(ErrorLayout)
        Report of a failed job; the first one of a start is kept.
    i_invalid, i_amax : In(1), In(64)
        A sum was NaN; the greatest one, if the map has it.
    i_ring_done : In(32)
        Completed jobs of the last start.
    o_read, o_word, i_word : Out(1), Out, In(32)
        A word of the counters is read: its number, and the word in the next cycle, see
        :class:`hw.soc.registers.counters.Counters`.
    o_restart : Out(1)
        A soft reset begins.
    o_reset : Out(1)
        Soft reset in progress; reports are ignored.
    i_reset_done : In(1)
        Ends it: the core is idle, and its counters are 0.
    """

    s_axi: Any
    o_interrupt: Signal
    i_part: Signal
    o_part: Signal
    o_job: data.View
    o_ring: Signal
    o_count: Signal
    o_start: Signal
    i_ready: Signal
    i_idle: Signal
    i_done: Signal
    i_error: data.View
    i_invalid: Signal
    i_amax: Signal
    i_ring_done: Signal
    o_read: Signal
    o_word: Signal
    i_word: Signal
    o_restart: Signal
    o_reset: Signal
    i_reset_done: Signal

    def __init__(
        self,
        parameters: Mapping[str, int],
        widths: Mapping[str, int] = MappingProxyType({}),
        *,
        whole: bool = False,
    ):
        self.parameters = dict(parameters)
        self.whole = whole
        self.map = register_map(parameters)
        self.amax = any(field.name == "amax_lo" for field in fields_of(self.map))
        self.file = RegisterFile(
            self.map,
            preserved=("ctrl_reset",),
            widths=widths,
            words=range(0) if widths else _words("job"),
            elsewhere=_words("counters"),
        )
        parts = {"i_part": In(range(JobLayout().size // PART)), "o_part": Out(PART)}
        super().__init__({
            "s_axi": In(Axi4Lite(self.file.address_width)),
            "o_interrupt": Out(1),
            **({"o_job": Out(JobLayout())} if whole else parts),
            "o_ring": Out(64),
            "o_count": Out(32),
            "o_start": Out(1),
            **dict.fromkeys(("i_ready", "i_idle", "i_done"), In(1)),
            "i_error": In(ErrorLayout),
            "i_invalid": In(1),
            **({"i_amax": In(64)} if self.amax else {}),
            "i_ring_done": In(32),
            "o_read": Out(1),
            "o_word": Out(range(CountersLayout().size // 32)),
            "i_word": In(32),
            **dict.fromkeys(("o_restart", "o_reset"), Out(1)),
            "i_reset_done": In(1),
        })

    def elaborate(self, platform):
        m = Module()
        file: Any = self.file  # its members are the map's
        m.submodules.file = file
        m.submodules.slave = slave = AxiLiteSlave(file.address_width)
        connect(m, flipped(self.s_axi), slave.s_axi)
        connect(m, slave.registers, file.bus)

        taken, busy, was_reset = Signal(), Signal(), Signal()
        # A start of the last cycle of a reset waits until the job is 0.
        sweeps: Value = file.o_sweeps if file.words else C(0, 1)
        m.d.sync += was_reset.eq(file.ctrl_reset)
        m.d.comb += [
            self.o_start.eq(file.ctrl_start & ~file.ctrl_reset & ~sweeps),
            taken.eq(self.o_start & self.i_ready),
            busy.eq(file.ctrl_start | ~self.i_idle | file.ctrl_reset),
            self.o_reset.eq(file.ctrl_reset),
            file.restart.eq(file.ctrl_reset & ~was_reset),
            file.restart_locked.eq(file.ctrl_reset & self.i_reset_done),
            file.locked.eq(busy),
            file.ctrl_start_clear.eq(taken | file.ctrl_reset),
            file.ctrl_ready_set.eq(taken),
            file.ctrl_idle.eq(~busy),
            file.ctrl_reset_clear.eq(self.i_reset_done),
            # A start written during reset is discarded.
            file.error_ignored_set.eq(file.refused | (file.ctrl_start & file.ctrl_reset)),
        ]

        self._report(m, file, taken)
        m.d.comb += [
            self.o_ring.eq(Cat(file.ring_lo, file.ring_hi)),
            self.o_count.eq(file.ring_count),
            file.ring_done.eq(self.i_ring_done),
            *([Cat(file.amax_lo, file.amax_hi).eq(self.i_amax)] if self.amax else []),
        ]
        self._job(m, file, slave, sweeps)
        return m

    def _report(self, m: Module, file: Any, taken: Value) -> None:
        """Report the end of a start, and the first error in it."""
        error = self.i_error
        done, failed, first = Signal(), Signal(), Signal()
        m.d.comb += [
            done.eq(self.i_done & ~file.ctrl_reset),
            failed.eq(error.valid & ~file.ctrl_reset),
            first.eq(failed & (file.error_code == 0)),
            file.ctrl_done_set.eq(done),
            file.isr_done_set.eq(done),
            file.isr_error_set.eq(failed),
        ]
        fields = {
            "code": error.code,
            "response": error.response,
            "job": error.job,
            "address_lo": error.address[:32],
            "address_hi": error.address[32:],
        }
        for name, value in fields.items():
            m.d.comb += [
                getattr(file, f"error_{name}_next").eq(value),
                getattr(file, f"error_{name}_load").eq(first),
                getattr(file, f"error_{name}_clear").eq(taken),
            ]
        m.d.comb += [
            file.error_invalid_set.eq(self.i_invalid & ~file.ctrl_reset),
            file.error_invalid_clear.eq(taken),
        ]
        m.d.sync += self.o_interrupt.eq(
            file.gier_enable & (file.isr_done & file.ier_done | file.isr_error & file.ier_error)
        )

    def _job(self, m: Module, file: Any, slave: AxiLiteSlave, sweeps: Value) -> None:
        """Output the arguments of the job: part by part, or as a whole."""
        job = data.View(JobLayout(), Signal(JobLayout().size, name="job"))
        for field in file.fields:
            part, _, _ = field.name.partition("_")
            if part == "job" and field.kind == "stored" and not file.words:
                m.d.comb += field.of(job).eq(getattr(file, field.name))
        m.d.comb += [
            self.o_read.eq(file.o_read),
            self.o_word.eq(file.o_word),
            file.i_word.eq(self.i_word),
            self.o_restart.eq(file.restart),
        ]
        if file.words:
            m.d.comb += [
                slave.i_hold.eq(sweeps),
                file.i_pair.eq(self.i_part + file.words.start // 2),
                self.o_part.eq(file.o_pair),
            ]
        elif self.whole:
            m.d.comb += self.o_job.eq(job)
        else:
            m.d.comb += self.o_part.eq(job.as_value().word_select(self.i_part, PART))


def _words(part: str) -> range:
    """Return the addresses of a part of the map."""
    addresses = {
        field.register.absolute_address // 4
        for field in fields_of(register_map(dict.fromkeys(parameters_of(), 0)))
        if field.name.startswith(f"{part}_")
    }
    return range(min(addresses), max(addresses) + 1)

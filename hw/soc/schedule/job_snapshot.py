"""A copy of a job, made part by part."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.bus import BusSpec
from hw.soc.registers.coprocessor import JobLayout

__all__ = ["JobSnapshot"]

_PART = 128
"""Bits of the registers' job copied per cycle, at least."""


class JobSnapshot(wiring.Component):
    """Holds a job, from registers or descriptor, while the next one may be written or read.

    Parameters
    ----------
    spec : BusSpec
        What: bits of a beat.

    Members
    -------
    i_job : In(JobLayout)
        The job of the registers.
    i_beat : In
        A beat of a descriptor, from its first one on.
    i_gathers : In(1)
        Copy beats, not parts of ``i_job``.
    i_first : In(1)
        The next part is the first one.
    en : In(1)
        Copy a part.
    o_last : Out(1)
        It is the last one of ``i_job``.
    o : Out(JobLayout)
        The copy.
    """

    i_job: data.View
    i_beat: Signal
    i_gathers: Signal
    i_first: Signal
    en: Signal
    o_last: Signal
    o: data.View

    def __init__(self, spec: BusSpec):
        self.spec = spec
        super().__init__({
            "i_job": In(JobLayout()),
            "i_beat": In(spec.data_width),
            "i_gathers": In(1),
            "i_first": In(1),
            "en": In(1),
            "o_last": Out(1),
            "o": Out(JobLayout()),
        })

    def elaborate(self, platform):
        m = Module()
        width = self.spec.data_width
        job, come = Signal(JobLayout().size, reset_less=True), Signal(max(width, _PART))
        part = Signal(range(len(job) // width))
        parts, beats = len(job) // len(come), len(come) // width
        chosen = self.i_job.as_value().word_select(part[: (parts - 1).bit_length()], len(come))
        m.d.comb += [
            self.o.eq(job),
            self.o_last.eq(part == parts - 1),
            come.eq(Mux(self.i_gathers, self.i_beat.replicate(beats), chosen)),
        ]
        with m.If(self.i_first):
            m.d.sync += part.eq(0)
        with m.Elif(self.en):
            m.d.sync += part.eq(part + 1)
        for number in range(parts * beats):
            bits = slice(number * width, (number + 1) * width)
            with m.If(self.en & (part == Mux(self.i_gathers, number, number // beats))):
                m.d.sync += job[bits].eq(come.word_select(number % beats, width))
        return m

"""A copy of a job's arguments, for the path that runs it while the next one is checked."""

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.coprocessor import JobLayout
from hw.soc.schedule.geometry import Geometry

__all__ = ["JobCopy"]

_ARGUMENTS = ("k", "mode", "multiplier", "shift", "zero_point", "low", "high")
"""Arguments that the data path takes as they are given."""
_OF_MAPS = ("ldsa", "ldsb")
"""Those of jobs on maps."""
_OF_WINDOWS = ("a_scales", "b_scales", "ldsa")
"""Those of jobs of windows."""


class JobCopy(wiring.Component):
    """Registers of a job's geometry, and of its arguments but for addresses and strides.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.

    Members
    -------
    i_geometry, i_job : In
        A job that is checked.
    en : In(1)
        Copy it.
    o_geometry, o_job : Out
        The copy; arguments that nothing needs are 0.
    """

    i_geometry: data.View
    i_job: data.View
    en: Signal
    o_geometry: data.View
    o_job: data.View

    def __init__(self, spec: CoprocessorSpec):
        more = {*(_OF_MAPS if spec.taps else ()), *(_OF_WINDOWS if spec.windows else ())}
        self.arguments = (*_ARGUMENTS, *sorted(more))
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_job": In(JobLayout()),
            "en": In(1),
            "o_geometry": Out(Geometry(spec)),
            "o_job": Out(JobLayout()),
        })

    def elaborate(self, platform):
        m = Module()
        with m.If(self.en):
            m.d.sync += self.o_geometry.eq(self.i_geometry)
            m.d.sync += [self.o_job[name].eq(self.i_job[name]) for name in self.arguments]
        return m

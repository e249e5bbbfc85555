"""Shift-add core."""

from typing import Any, ClassVar

from amaranth import Cat, Module, Value

from golden.check import Parameter, complete
from golden.tpe.shift_add_core import ShiftAddCoreSpec
from hw.lib.evidence import ENGINE
from hw.pe.shift_lane import ShiftLane
from hw.tpe.bitplane_engine import PLANE_BUILD, BitplaneEngine

__all__ = ["ShiftAddCore"]


class ShiftAddCore(BitplaneEngine):
    """Multiplies matrices by adding gated, shifted activations, all weight bits in one cycle.

    Computes :func:`golden.tpe.shift_add_core.shift_add_core`, exactly; see :class:`BitplaneEngine`.

    Parameters
    ----------
    pipeline, adder, slack, held
        How: see :class:`BitplaneEngine`.

    Examples
    --------
    >>> core = ShiftAddCore(ShiftAddCoreSpec(m=1, n=8, k=4))
    >>> core.latency, core.operations_per_cycle
    (3, 64.0)
    """

    SPEC = ShiftAddCoreSpec
    SUMMARY = "shift-add core: gated, shifted activations, all weight bits in one cycle"
    BENCH = "tb_engine"
    EVIDENCE = (*ENGINE, "mutants")

    BUILD: ClassVar[dict[str, Parameter]] = PLANE_BUILD

    def __init__(self, spec: ShiftAddCoreSpec, **build: Any):
        if not isinstance(spec, ShiftAddCoreSpec):
            raise TypeError(f"spec must be a ShiftAddCoreSpec, not {spec!r}")
        build = complete(self.BUILD, build)
        lane = ShiftLane(
            spec.a_format,
            spec.b_format,
            spec.k,
            width=spec.c_format.width,
            pipeline=build["pipeline"],
            slack=build["slack"],
        )
        super().__init__(spec, lane, adder=build["adder"], held=build["held"])

    def weights(self, m: Module, codes: list[Value], plane: int) -> Value:
        """Make whole codes."""
        return Cat(codes)

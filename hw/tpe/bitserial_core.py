"""Bit-serial core."""

from typing import Any, ClassVar

from amaranth import Cat, Module, Value

from golden.check import Parameter, complete
from golden.tpe.bitserial_core import BitserialCoreSpec
from hw.lib.evidence import ENGINE
from hw.pe.lut_lane import BitLane
from hw.tpe.bitplane_engine import PLANE_BUILD, BitplaneEngine, Correction

__all__ = ["BitserialCore"]


class BitserialCore(BitplaneEngine):
    """Multiplies matrices by adding the activations that a bit plane of weights selects.

    Computes :func:`golden.tpe.bitserial_core.bitserial_core`, exactly; see :class:`BitplaneEngine`.
    Signed weights become offset binary; sums are corrected by the sum of the row's activations.

    Parameters
    ----------
    pipeline, adder, slack, held
        How: see :class:`BitplaneEngine`.

    Examples
    --------
    >>> core = BitserialCore(BitserialCoreSpec(m=1, n=8, k=4))
    >>> core.latency, core.operations_per_cycle
    (3, 32.0)
    """

    SPEC = BitserialCoreSpec
    SUMMARY = "bit-serial core: bit planes of low-bit weights gate activations"
    BENCH = "tb_engine"
    EVIDENCE = (*ENGINE, "mutants")

    BUILD: ClassVar[dict[str, Parameter]] = PLANE_BUILD

    def __init__(self, spec: BitserialCoreSpec, **build: Any):
        if not isinstance(spec, BitserialCoreSpec):
            raise TypeError(f"spec must be a BitserialCoreSpec, not {spec!r}")
        build = complete(self.BUILD, build)
        planes = spec.planes
        correction = None
        if spec.b_signed and planes > 1:
            correction = Correction(
                fmt=spec.a_format, count=spec.k, activations=-1, shift=planes - 1
            )
        lane = BitLane(
            spec.a_format,
            spec.k,
            negative=spec.b_signed and planes == 1,
            width=spec.c_format.width,
            planes=planes,
            pipeline=build["pipeline"],
            slack=build["slack"],
        )
        super().__init__(
            spec, lane, adder=build["adder"], held=build["held"], correction=correction
        )

    def weights(self, m: Module, codes: list[Value], plane: int) -> Value:
        """Extract the bits of one plane, in offset binary."""
        other = self.correction is not None and plane == self.planes - 1
        return Cat(~code[plane] if other else code[plane] for code in codes)

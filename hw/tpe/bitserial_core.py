"""Bit-serial core."""

from typing import Any, ClassVar

from amaranth import Cat, Module, Signal, Value
from amaranth.hdl import ValueLike
from amaranth.utils import bits_for

from golden.check import Choice, Parameter, complete
from golden.formats.integer import IntFormat
from golden.tpe.bitserial_core import BitserialCoreSpec
from golden.tpe.rows import RowsEngineSpec
from hw.lib.evidence import ENGINE
from hw.pe.lut_lane import BitLane
from hw.tpe.bitplane_engine import PLANE_BUILD, BitplaneEngine, Correction
from hw.tpe.rows_array import late

__all__ = ["BitserialCore"]


class BitserialCore(BitplaneEngine):
    """Multiplies matrices by adding the activations that a bit plane of weights selects.

    Computes :func:`golden.tpe.bitserial_core.bitserial_core`, exactly; see :class:`BitplaneEngine`.
    Signed weights become offset binary; sums are corrected by the sum of the row's activations.
    Of bipolar codes, bits that agree are counted twice, and sums corrected by what all the codes of
    K would give if none did: K - 2 popcount(a xor b), for each pair of planes. So codes that pad
    the last beat, 0 in A and in B, need no mask.

    Parameters
    ----------
    pipeline, adder, slack, held
        How: see :class:`BitplaneEngine`.
    counters
        How: what counts bits of bipolar codes; ``lut6`` is tables of Xilinx families, by name.

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

    BUILD: ClassVar[dict[str, Parameter]] = {
        **PLANE_BUILD,
        "counters": Choice(
            "counts of bipolar bits: by adders, or tables of Xilinx's six inputs",
            "adders",
            ("adders", "lut6"),
        ),
    }

    def __init__(self, spec: BitserialCoreSpec, **build: Any):
        if not isinstance(spec, BitserialCoreSpec):
            raise TypeError(f"spec must be a BitserialCoreSpec, not {spec!r}")
        build = complete(self.BUILD, build)
        if build["counters"] != "adders" and not spec.bipolar:
            raise ValueError(f"counters must be adders without bipolar, not {build['counters']}")
        planes = spec.planes
        correction = None
        if spec.bipolar:
            correction = Correction(fmt=_lacking(spec), count=1, activations=spec.greatest)
        elif spec.b_signed and planes > 1:
            correction = Correction(
                fmt=spec.a_format, count=spec.k, activations=-1, shift=planes - 1
            )
        lane = BitLane(
            spec.a_format,
            spec.k,
            negative=spec.b_format.signed and planes == 1,
            bipolar=spec.bipolar,
            counters=build["counters"],
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
        other = self.spec.b_format.signed and 0 < plane == self.planes - 1
        return Cat(~code[plane] if other else code[plane] for code in codes)

    def summands(self, m: Module, move: ValueLike, operands: list[Value]) -> Value:
        """Return what a bipolar beat lacks if no bits agree, for each row as late as its operands.

        Bits that agree are counted twice, so that is its codes less 2 k, those that pad it and all.
        """
        if not self.spec.bipolar:
            return super().summands(m, move, operands)
        lacks = Signal(_lacking(self.spec).width, name="lacks")
        m.d.comb += lacks.eq(self.i_a.payload.codes - 2 * self.spec.k)
        if self.spec.together:
            return Cat([lacks] * self.spec.m)
        return Cat(late(m, move, "lacks", lacks, self.spec.m))


def _lacking(spec: RowsEngineSpec) -> IntFormat:
    """Return the format of codes of a beat less 2 k."""
    return IntFormat(width=bits_for(2 * spec.k - 1) + 1)

"""LUT tensor core."""

from typing import Any, ClassVar

from amaranth import Cat, Value

from golden.check import Choice, Parameter, complete
from golden.formats.integer import IntFormat
from golden.tpe.lut_core import LutCoreSpec
from hw.pe.lut_lane import LutLane
from hw.pe.lut_table import FORMS, LutTable
from hw.tpe.planes import PLANE_HOWS, Correction, PlanesEngine

__all__ = ["LutCore"]


class LutCore(PlanesEngine):
    """Multiplies matrices by lookup: weights select sums of activations from tables.

    Computes :func:`golden.tpe.lut_core.lut_core`, exactly; see :class:`PlanesEngine`. The tables of
    a beat are made at the edge of the array, once for all columns. A full table has what a plane of
    weights adds; a half table what a plane of signs adds, so that integers need a correction by
    the sum of the row's activations, which is made once for all columns.

    Parameters
    ----------
    table : str
        How: "full" or "half"; weights on the odd grid need half tables.
    pipeline, adder
        How: see :class:`PlanesEngine`.
    """

    SPEC = LutCoreSpec
    HOWS: ClassVar[dict[str, Parameter]] = {
        "table": Choice("entries: of what bits select, or half of all signed sums", "full", FORMS),
        **PLANE_HOWS,
    }

    spec: LutCoreSpec

    def __init__(self, spec: LutCoreSpec, **hows: Any):
        if not isinstance(spec, LutCoreSpec):
            raise TypeError(f"spec must be a LutCoreSpec, not {spec!r}")
        hows = complete(self.HOWS, hows)
        half = hows["table"] == "half"
        integer = spec.weights == "integer"
        if not integer and not half:
            raise ValueError("table must be half where weights is odd, not 'full'")
        # In one cycle, or alone, a sign can be subtracted; else weights are made unsigned.
        self.minus = not half and spec.b_signed and spec.planes == 1
        correction = None
        if half and integer:
            # A sum of halved entries is short of half the parities, for each plane; it is that of
            # weights 2 q + 1 (signed) or 2 q - (2^planes - 1), and so is halved itself.
            signs = (1 << spec.b_width) - 1
            correction = Correction(
                activations=-1 if spec.b_signed else signs,
                parities=signs,
                group=spec.group,
                dropped=1,
            )
        elif spec.b_signed and integer and not self.minus:
            correction = Correction(activations=-1, shift=spec.b_width - 1)
        table = LutTable(spec.table, hows["table"], hows["adder"], halved=half and integer)
        self.table = table
        lane = LutLane(
            table,
            spec.lookups,
            folded=spec.folded,
            exact=spec.negation == "carry",
            weight=IntFormat(width=spec.b_width // spec.planes, signed=self.minus),
            width=spec.c_format.width,
            planes=spec.planes,
            pipeline=hows["pipeline"],
        )
        super().__init__(spec, lane, adder=hows["adder"], correction=correction)

    def weights(self, codes: list[Value], plane: int) -> Value:
        """Make bits of offset binary, but of two's complement where the sign is subtracted."""
        if self.spec.parallel:
            return Cat(self._bits(codes, place) for place in range(self.spec.b_width))
        return self._bits(codes, plane)

    def _bits(self, codes: list[Value], plane: int) -> Value:
        """Make bits of one plane."""
        spec = self.spec
        top = spec.b_signed and plane == spec.b_width - 1
        bits: list[Value] = []
        for number, code in enumerate(codes):
            last = number % spec.group == spec.group - 1
            # Of keys, the last of a group alone changes as all bits are inverted.
            other = self.minus and last if spec.folded else not self.minus
            bit = ~code[plane] if top and other else code[plane]
            # Zeros that are only inverted would not add nothing.
            bits.append(bit & self._comes if last and spec.negation == "constant" else bit)
        return Cat(bits)

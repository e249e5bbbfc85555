"""What the vector unit takes, makes, and knows of a row."""

from amaranth import signed
from amaranth.lib import data

from golden.npe.vector import VectorUnitSpec

__all__ = ["CodeBeat", "RowContext", "ValueBeat", "scaling_fields"]


class ValueBeat(data.StructLayout):
    """Values of a row; the last beat has ``count`` + 1, the lowest ones.

    Operations: 0 softmax, 1 layer norm, 2 RMS norm, 3 GELU, 4 SiLU, 5 sum, 6 product, 7 values as
    they are; where they are built 8 shares of blocks, 9 division by the last value, 10 sigmoid.
    That of a row's last beat counts, and so does its requantisation, if there is one. Of a sum or a
    product the two operands come one after the other, as rows of one length.
    """

    def __init__(self, spec: VectorUnitSpec):
        super().__init__({
            "data": spec.lanes * spec.width,
            "operation": spec.operation_width,
            "count": range(max(spec.lanes, 2)),
            "last": 1,
            **scaling_fields(spec),
        })


class CodeBeat(data.StructLayout):
    """Codes of a row, zeros beyond its end; the exponent; whether the operation is not built.

    Of shares the exponent is that of the beat's block, two's complement.
    """

    def __init__(self, spec: VectorUnitSpec):
        super().__init__({
            "data": spec.lanes * spec.out_width,
            "exponent": spec.exponent_width,
            "refused": 1,
            "last": 1,
        })


def scaling_fields(spec: VectorUnitSpec) -> dict[str, int]:
    """List the fields that say how a row is requantised, if any row is."""
    unit = spec.scaling
    fields = {
        "multiplier": unit.multiplier_width,
        "shift": unit.shift_format.width,
        **dict.fromkeys(("zero_point", "low", "high"), unit.out_width),
    }
    return fields if spec.scales else {}


class RowContext(data.StructLayout):
    """A row's operation, values in its last beat, that beat, greatest value, requantisation.

    And its last value, by which a division divides.
    """

    def __init__(self, spec: VectorUnitSpec):
        super().__init__({
            "operation": spec.operation_width,
            "count": range(max(spec.lanes, 2)),
            "end": range(spec.beats),
            "top": signed(spec.width),
            **scaling_fields(spec),
            **({"divisor": signed(spec.width)} if spec.builds(spec.SHARES) else {}),
        })

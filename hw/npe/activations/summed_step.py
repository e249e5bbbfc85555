"""What the lanes of a vector unit for softmax and norms do, and what they multiply."""

from dataclasses import dataclass

from amaranth import Value

__all__ = ["SummedFactors", "SummedStep"]


@dataclass(kw_only=True)
class SummedStep:
    """What all lanes do in a cycle.

    Members
    -------
    move : clock enable.
    norm, scaling, squaring : the pass is of a norm; makes codes; or sums of squares.
    top : of a softmax's row, the greatest value.
    mean : minus the mean of a norm's row, with bits after the binary point.
    factor, shift : of the row, as :class:`~hw.npe.activations.row_scale.RowScale` shifts it.
    """

    move: Value
    norm: Value
    scaling: Value
    squaring: Value
    top: Value
    mean: Value
    factor: Value
    shift: Value


@dataclass(kw_only=True)
class SummedFactors:
    """The factors of a lane's product.

    Members
    -------
    operand, octave : of stage d: value less mean, or mantissa; the number of its octave.
    keep : of stage d: the operand is not zero.
    factor : of stage a.
    """

    operand: Value
    octave: Value
    keep: Value
    factor: Value

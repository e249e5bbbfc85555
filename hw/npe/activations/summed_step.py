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
    offset, low : what values are subtracted from; bits below.
    factor, shift : of the row.
    """

    move: Value
    norm: Value
    scaling: Value
    squaring: Value
    offset: Value
    low: Value
    factor: Value
    shift: Value


@dataclass(kw_only=True)
class SummedFactors:
    """What a lane multiplies.

    Members
    -------
    operand, octave : of stage d: difference, above zeros, or mantissa; the number of its octave.
    keep : of stage d: the operand is not zero.
    factor : of stage a.
    """

    operand: Value
    octave: Value
    keep: Value
    factor: Value

"""Lane of 8-bit words: integers, minifloats and posits of up to 8 bits, summed exactly."""

from dataclasses import dataclass

from golden.check import Flag, parameter
from golden.npe.lane import LaneSpec
from golden.npe.lane_sums import cycles
from golden.npe.lane_sums import lane_sums as sl8

__all__ = ["Sl8Spec", "cycles", "sl8"]


@dataclass(frozen=True, kw_only=True)
class Sl8Spec(LaneSpec):
    """A lane of 8-bit words: a beat is two products if both formats have 4 bits, else one.

    With `w4a8`, codes of A in int8 by codes of B in int4 are two products a beat, too: as many
    4 x 4-bit products as one of int8 by int8 has. Words then have 16 bits, two slots of 8.
    """

    w4a8: bool = parameter(Flag("int8 by int4, A by B, is two products a beat", False))

    def __post_init__(self) -> None:
        """Check the fields, and that there are both formats."""
        super().__post_init__()
        if self.w4a8 and not {"int8", "int4"} <= set(self.names):
            raise ValueError(f"w4a8 must be false without int8 and int4, not {self.w4a8!r}")

    def doubled(self, a: int, b: int) -> bool:
        """Return whether it is int8 by int4 with `w4a8`."""
        return self.w4a8 and (self.names[a], self.names[b]) == ("int8", "int4")

"""Lane of 8-bit words: integers, minifloats and posits of up to 8 bits, summed exactly."""

from dataclasses import dataclass

from golden.npe.lane import LaneSpec, cycles
from golden.npe.lane import lane_sums as sl8

__all__ = ["Sl8Spec", "cycles", "sl8"]


@dataclass(frozen=True, kw_only=True)
class Sl8Spec(LaneSpec):
    """A lane of 8-bit words: a beat is two products if both formats have 4 bits, else one."""

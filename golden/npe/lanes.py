"""Lanes of an array, by their names."""

from functools import cache

from golden.check import parameters_of
from golden.npe.lane import LaneSpec
from golden.npe.sl8 import Sl8Spec
from golden.npe.sl16 import Sl16Spec

__all__ = ["LANES", "lane_of"]

LANES: dict[str, type[LaneSpec]] = {"sl8": Sl8Spec, "sl16": Sl16Spec}


@cache
def lane_of(
    lane: str, formats: str, accumulator_width: int, passes: int, w4a8: bool = False
) -> LaneSpec:
    """Make the spec of a lane; cached, since its checks are slow."""
    fields = {
        "formats": formats,
        "accumulator_width": accumulator_width,
        "passes": passes,
        "w4a8": w4a8,
    }
    kind = LANES[lane]
    return kind(**{name: fields[name] for name in parameters_of(kind)})  # type: ignore[arg-type]

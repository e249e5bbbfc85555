"""What is done with numbers of C on their way to memory, and what cannot be."""

from typing import Any

from golden.check import Integer
from golden.formats.random_bits import RANDOM_WIDTH
from golden.soc.greatest import MOST_AMAX

__all__ = ["PLACED_WIDTH", "check_written"]

PLACED_WIDTH = Integer("random bits that round codes of floats; 0: none", 0, 0, 16, "bits")


def check_written(spec: Any) -> None:
    """Refuse random bits where no encoder takes them, and wide sums to compare; ValueError.

    Of a :class:`golden.soc.spec.CoprocessorSpec`, which is not known here.
    """
    inside, width = spec.inside, spec.random_width
    if 0 < width < RANDOM_WIDTH.low:
        raise ValueError(f"random_width must be 0 or {RANDOM_WIDTH.legal}, not {width}")
    if width and not (spec.requantise and inside.result is not None and inside.rounding == "rne"):
        raise ValueError(
            "random_width must be 0 without requantise, where the engine has no format of results,"
            f" and where it rounds toward zero, not {width}"
        )
    if spec.amax and (spec.group_scales != "none" or inside.sum_width > MOST_AMAX):
        raise ValueError(
            "amax must be false with group_scales, and with sums of more than"
            f" {MOST_AMAX} bits, not True"
        )

"""How two maps of codes meet: zero points, and factors of a sum."""

from dataclasses import dataclass

__all__ = ["FACTOR_BITS", "Maps", "map_of_word", "map_word"]

FACTOR_BITS = 24
"""Most bits of a factor of a map."""


@dataclass(frozen=True)
class Maps:
    """How two maps meet: their zero points, and the factors of a sum, of 24 bits or fewer."""

    zeros: tuple[int, int] = (0, 0)
    factors: tuple[int, int] = (1, 1)


def map_word(factor: int, zero: int) -> int:
    """Write a factor and a zero point as a register has them."""
    for name, value, width in (("factors", factor, FACTOR_BITS), ("zeros", zero, 8)):
        if not -(1 << width - 1) <= value < 1 << width - 1:
            raise ValueError(f"{name} must be of {width} bits, two's complement, not {value}")
    return factor & ((1 << FACTOR_BITS) - 1) | (zero & 255) << FACTOR_BITS


def map_of_word(word: int) -> tuple[int, int]:
    """Read a factor and a zero point back."""
    half = 1 << FACTOR_BITS - 1
    factor = word & ((1 << FACTOR_BITS) - 1)
    return (factor ^ half) - half, (word >> FACTOR_BITS ^ 128) - 128

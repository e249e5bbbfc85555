"""Counting up and down by one: the high part of an accumulator whose terms are short."""

from collections.abc import Sequence

from amaranth import Cat, Module, Signal, Value

__all__ = ["count"]


def count(
    m: Module, bits: Sequence[Value], up: Value, down: Value, name: str
) -> tuple[list[Value], Value, Value]:
    """Add one, subtract one, or neither.

    Parameters
    ----------
    m, name : where the gates go, and what their names begin with.
    bits : a number, lowest bit first.
    up, down : what to do; not both.

    Returns
    -------
    Bits of the result, and `up` and `down` for the bits above these.
    """
    result: list[Value] = []
    for position, bit in enumerate(bits):
        # A bit changes if all below it are ones, or zeros.
        below = Cat(bits[:position])
        after = Signal(name=f"{name}_{position}")
        m.d.comb += after.eq(bit ^ ((up & below.all()) | (down & ~below.any())))
        result.append(after)
    return result, up & Cat(bits).all(), down & ~Cat(bits).any()

"""Multiplexers of bits in few look-up tables of four inputs."""

from collections.abc import Sequence

from amaranth import C, Cat, Mux, Value

__all__ = ["pick_bit", "pick_word"]


def pick_bit(number: Value, bits: Sequence[Value]) -> Value:
    """Choose one of some bits, or zero beyond them; of four, in two look-up tables of four."""
    if not len(number):
        return bits[0]
    if len(number) == 1:
        return Mux(number, bits[1] if len(bits) > 1 else C(0, 1), bits[0])
    if len(number) == 2:
        first, second, third, fourth = [*bits, *[C(0, 1)] * 3][:4]
        either = Mux(number[1], number[0], Mux(number[0], second, first))
        return Mux(number[1], Mux(either, fourth, third), either)
    half = 1 << len(number) - 1
    upper = pick_bit(number[:-1], bits[half:] or [C(0, 1)])
    return Mux(number[-1], upper, pick_bit(number[:-1], bits[:half]))


def pick_word(number: Value, choices: Sequence[Value]) -> Value:
    """Choose one of some values of equal widths, bit by bit."""
    return Cat(pick_bit(number, bits) for bits in zip(*choices, strict=True))

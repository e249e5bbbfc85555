"""How numbers are rounded to codes, by encoders and by adders."""

from dataclasses import dataclass

from amaranth import C, Module, Value

from hw.arith.adder import resolve
from hw.npe.rounding.normalised import Cut, no_cut

__all__ = ["NEAREST", "Rounding", "rounds_up"]


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """What all roundings have in common.

    Members
    -------
    mode : "rne", to nearest even, "rtz", toward zero, or "stochastic", see
        :data:`golden.formats.element.ANY_ROUNDING`.
    saturate : overflow becomes the largest number; of posits always.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    cut : a register place before the rounding carry.
    random : if stochastic, the random bits; behind the register place.
    """

    mode: str = "rne"
    saturate: bool = True
    adder: str = "sklansky"
    cut: Cut = no_cut
    random: Value | None = None

    @property
    def guard_bits(self) -> int:
        """Bits below the last place that are not merged with the sticky bit."""
        return 1 if self.random is None else len(self.random)


NEAREST = Rounding()


def rounds_up(
    m: Module, how: Rounding, guards: Value, sticky: Value, last: Value, sign: Value
) -> Value:
    """Return whether a two's complement number is rounded up to the integer above it.

    Parameters
    ----------
    m : where the gates go.
    how : the rounding.
    guards : the bits below the last place, `how.guard_bits` of them.
    sticky : whether a one is below these.
    last : the last place.
    sign : of the number.
    """
    if how.mode == "rne":
        return guards & (sticky | last)
    if how.random is None:
        return sign & (guards | sticky)
    # A negative number goes up to what is nearer to zero if the random bits do not reach the
    # magnitude's fraction: a borrow. The first column makes the carry that enters.
    random = how.random ^ sign.replicate(len(guards))
    enters = sign & sticky
    columns: list[list[Value]] = [[enters, enters], *map(list, zip(guards, random, strict=True))]
    return resolve(m, [*columns, [C(0, 1)]], how.adder)[-1]

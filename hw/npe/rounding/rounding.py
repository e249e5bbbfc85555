"""How numbers are rounded to codes, by encoders and by adders."""

from dataclasses import dataclass

from hw.npe.rounding.normalised import Cut, no_cut

__all__ = ["NEAREST", "Rounding"]


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """What all roundings have in common.

    Members
    -------
    mode : "rne", to nearest even, or "rtz", toward zero, see
        :data:`golden.formats.element.ROUNDING`.
    saturate : overflow becomes the largest number; of posits always.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    cut : a register place before the rounding carry.
    """

    mode: str = "rne"
    saturate: bool = True
    adder: str = "sklansky"
    cut: Cut = no_cut


NEAREST = Rounding()

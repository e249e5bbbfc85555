"""Attention in one pass over scores: shares by blocks of keys, their sums, and the division."""

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.jobs import scaled
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from golden.npe.vector import VectorUnitSpec
from golden.soc.shares import first_exponent, share_fraction

__all__ = ["ONE", "averaging", "dividing", "share_parts", "unit_of"]

ONE = 64
"""Code of the column of ones, by whose sum a row is divided: outputs are in units of 1 / ONE."""
_VALUE = 7
"""Bits of the magnitude of a value's code."""


def unit_of(target: Target, node: str) -> VectorUnitSpec:
    """Return the vector unit of a co-processor; ValueError if that has no exps and divide."""
    unit = target.spec.vector
    if unit is None or not unit.builds(["exps"]):
        raise ValueError(f"{node}: the co-processor must have exps and divide")
    return unit


def share_parts(shares: Buffer, keys: int, target: Target) -> tuple[Buffer, Buffer | None]:
    """Return codes of rows of so many shares, and their octaves, where products take these."""
    unit, codes = target.spec.vector, shares.part(None, (0, keys))
    if not target.spec.shares or unit is None:
        return codes, None
    first = first_exponent(unit, keys)
    return codes, shares.part(None, (first, first + unit.blocks(keys)))


def averaging(target: Target, keys: int, factor: float = 1.0) -> Requantisation:
    """Return how sums of shares times values become codes of the vector unit's width.

    With octaves, the greatest sum is the same for rows of any length.

    Parameters
    ----------
    keys : codes of a row.
    factor : sums are multiplied by it; what is too large then is so as a result, too.
    """
    unit = target.spec.vector
    assert unit is not None
    high = (1 << unit.width - 1) - 1
    most = ((1 << unit.share_width) - 1) * keys << _VALUE
    if target.spec.shares:
        most = 1 << share_fraction(target.spec) + unit.share_width + 1 + _VALUE
    return scaled(min(high / most, 1.0) * factor, high)


def dividing(unit: VectorUnitSpec, bits: int | None = None, fraction: int = 0) -> Requantisation:
    """Return how rows are divided by the sum of shares times :data:`ONE`.

    Parameters
    ----------
    unit : the vector unit.
    bits : of a code; None: as many as the unit has.
    fraction : bits of a code behind the binary point, in units of a value's code.
    """
    limit = (1 << (bits or unit.out_width) - 1) - 1
    shift = ONE.bit_length() - 1 + fraction
    return Requantisation(multiplier=1, shift=shift, zero_point=0, low=-limit - 1, high=limit)

"""What is refused of a vector job before it is made."""

from dataclasses import replace

from .device_info import Info, VectorInfo
from .job import Requantisation
from .maps import FACTOR_BITS, Maps
from .matrix import Matrix
from .number import Number
from .operations import MAPS, REQUANTISED

__all__ = ["EXPONENT", "INDEX", "check_maps", "check_second", "place_of", "requantisation_of"]


EXPONENT = Number.of(8, 6, False)
"""An exponent of a row."""
INDEX = Number.of(32, 32, False)
"""The number of a row of a table."""
_BYTE = Number.of(8, 8, True)
"""A code of a map."""


def check_maps(
    info: Info,
    operation: str,
    operands: tuple[Matrix, Matrix | None],
    maps: Maps | None,
    *,
    narrow: bool,
) -> None:
    """Refuse maps of other codes than bytes, and factors whose sums would not fit."""
    if (maps is None) == (operation in MAPS):
        raise ValueError(f"maps must be given for {', '.join(MAPS)} only, not for {operation}")
    if maps is None:
        return
    most = min(FACTOR_BITS, info.sums.high.bit_length() - 8)
    for name, values, bits in (("factors", maps.factors, most), ("zeros", maps.zeros, 8)):
        for value in values:
            if not -(1 << bits - 1) <= value < 1 << bits - 1:
                raise ValueError(f"{name} must be of {bits} bits with a sign, not {value}")
    for name, matrix in zip("ab", operands, strict=True):
        if matrix is not None and not _BYTE.holds(matrix.number):
            raise ValueError(f"{name} must be of {_BYTE}, not of {matrix.number}")
    if narrow:
        raise ValueError("narrow must be false for maps, whose codes have a byte, not true")


def check_second(unit: VectorInfo, operation: str, a: Matrix, b: Matrix) -> None:
    """Refuse a second operand that does not fit the first."""
    (m, n), wide = a.shape, 0 if operation in MAPS else place_of(unit, a)
    across = 1 if operation == "scale" else n
    if b.shape not in ((m, across), (1, across)):
        raise ValueError(f"b must be of shape {(m, across)} or {(1, across)}, not {b.shape}")
    if operation == "scale":
        if b.number != EXPONENT:
            raise ValueError(f"b must be of {EXPONENT}, not of {b.number}")
    elif operation not in MAPS and place_of(unit, b, "b") != wide:
        raise ValueError(f"b must be of {unit.a[wide]}, as a, not of {b.number}")


def requantisation_of(
    codes: Number, unit: VectorInfo, operation: str, how: Requantisation | None
) -> Requantisation | None:
    """Check the requantisation of an operation; return it with limits."""
    if (how is None) == (operation in REQUANTISED):
        raise ValueError(
            f"requantisation must be given for {', '.join(REQUANTISED)} only, not for {operation}"
        )
    if how is None:
        return None
    if how.table is not None and operation not in MAPS:
        raise ValueError(f"table must be None for {operation}; only {', '.join(MAPS)} have one")
    if how.relu or how.per_column:
        raise ValueError("requantisation must be without relu, and the same for all columns")
    if operation not in MAPS and int(how.multiplier) >> unit.multiplier_bits:
        raise ValueError(
            f"multiplier must be of {unit.multiplier_bits} bits, not {int(how.multiplier)}"
        )
    how.check(codes, 1)
    low, high = how.limits(codes)
    return replace(how, low=low, high=high)


def place_of(unit: VectorInfo, a: Matrix, name: str = "a") -> int:
    """Return which of the unit's numbers a matrix is of."""
    for position, number in enumerate(unit.a):
        if number.holds(a.number):
            return position
    legal = " or ".join(str(number) for number in unit.a)
    raise ValueError(f"{name} must be of {legal}, not of {a.number}")

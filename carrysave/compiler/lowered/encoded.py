"""A product of a float network whose operands are rounded to formats of the engine."""

import itertools
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from carrysave.compiler.lowered.operands import Compiled, Cut, Operands
from carrysave.compiler.target.target import Target
from carrysave.driver import Mode
from carrysave.driver.batch import Work
from golden.elementary import power
from golden.formats.element import ElementFormat
from golden.soc.row_factors import FACTOR_BYTES, ONE

__all__ = ["Choice", "Encoded", "Split", "encode", "steps_of"]

_FLOAT: "np.dtype[Any]" = np.dtype(np.float32)
_OCTAVES = 3
"""How far the largest value may exceed the format's, log2."""
_FINE = 16
"""Steps per octave in the final search."""
_FACTORS = (1 << 8 * FACTOR_BYTES) - 1
"""The greatest factor."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """A part of a product's K in formats of its own.

    Parameters
    ----------
    columns : of A, which are rows of B, rising.
    a, b : names of formats.
    a_step : scale of A.
    factor : its sums count as many 2^-15 of the rest's; this also says the scale of B, see
        :meth:`b_ratio`.
    """

    columns: tuple[int, ...]
    a: str
    b: str
    a_step: float
    factor: int

    def __post_init__(self) -> None:
        """Check the kinds, and the order of columns."""
        object.__setattr__(self, "columns", tuple(self.columns))
        _check_names_and_steps(self, ("a", "b"), ("a_step",))
        if not all(isinstance(one, int) for one in (*self.columns, self.factor)):
            raise TypeError("columns and factor must be integers")
        if not self.columns or list(self.columns) != sorted({*self.columns}) or self.columns[0] < 0:
            raise ValueError("columns must be one or more, 0 or greater, rising")
        if not 0 < self.factor <= _FACTORS:
            raise ValueError(f"factor must be 1..{_FACTORS}, not {self.factor}")

    def b_ratio(self, a_step: float) -> float:
        """Return the scale of a column of B, of the rest's, where that has this scale of A.

        With it, the factor is exact, whatever the scale of A.
        """
        return self.factor / ONE * a_step / self.a_step


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Formats of a product.

    Parameters
    ----------
    a, b : names of formats.
    a_step, b_step : scale of A, and of a computed B.
    split : the part of K that has others; None: there is none.
    """

    a: str
    b: str
    a_step: float
    b_step: float = 1.0
    split: Split | None = None

    def __post_init__(self) -> None:
        """Check the kinds, and that scales are finite."""
        _check_names_and_steps(self, ("a", "b"), ("a_step", "b_step"))
        if not isinstance(self.split, Split | None):
            raise TypeError("split must be a Split or None")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Formats of A and B, those of all of K, or of the most of it, first."""
        return [(one.a, one.b) for one in (self, self.split) if one is not None]

    @property
    def formats(self) -> str:
        """Names of the formats of A and B."""
        return " + ".join(" x ".join(pair) for pair in self.pairs)

    def fields(self) -> dict[str, Any]:
        """Return what is not left out, as plain values."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "Choice":
        """Return the choice with these fields; TypeError, ValueError: there is none."""
        split = fields.get("split")
        return cls(**fields) if split is None else cls(**fields | {"split": Split(**split)})


def _check_names_and_steps(one: object, names: tuple[str, ...], steps: tuple[str, ...]) -> None:
    """Refuse names of formats that are none, and scales that are not finite."""
    for name in names:
        if not isinstance(getattr(one, name), str):
            raise TypeError(f"{name} must be the name of a format")
    for name in steps:
        value = getattr(one, name)
        if not isinstance(value, float | int) or not 0 < value < float("inf"):
            raise ValueError(f"{name} must be finite and greater than 0, not {value!r}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded(Operands):
    """y = A x B + bias, with operands rounded once; sums are exact, and rounded to float32.

    Parameters
    ----------
    choice : formats.
    weights : codes of B.
    b_steps : scale of each column of B, or of all of it.
    bias : float32, N, or None.
    scale : of A x B.
    more : those of :class:`Operands`.
    """

    choice: Choice
    b_steps: np.ndarray
    bias: np.ndarray | None = None
    scale: float = 1.0

    @property
    def formats(self) -> str:
        """Names of the formats of A and B."""
        return self.choice.formats

    @property
    def y_type(self) -> "np.dtype[Any]":
        """Of floats."""
        return _FLOAT

    def _check(self, target: Target) -> None:
        formats = target.formats
        for name in itertools.chain(*self.choice.pairs):
            if name not in formats:
                has = ", ".join(formats) or "none but integers"
                raise ValueError(f"the engine must have the format {name}; it has {has}")
        if self.weights is not None:
            self._check_depth(target, self.weights.shape[-2])

    def _check_depth(self, target: Target, depth: int) -> None:
        most = target.modes[self.choice.a, self.choice.b].k_max
        if depth > most:
            raise ValueError(f"K must be 1..{most}, of these formats, not {depth}")

    def _compile(
        self, target: Target, a: np.ndarray, b: np.ndarray | None, in_hardware: bool
    ) -> Compiled:
        choice = self.choice
        mode = target.modes[choice.a, choice.b]
        bundle = self.bundle(target, mode.k_max)
        cut = self.cut(encode(target.formats[choice.a], a, choice.a_step), 0, bundle)
        computed = None if b is None else encode(target.formats[choice.b], b, choice.b_step)
        rights = self.rights(cut, computed, bundle)
        for right in rights:
            self._check_depth(target, len(right))
        works = [
            Work(a=left, b=right, mode=mode) for left, right in zip(cut.lefts, rights, strict=True)
        ]

        def finish(results: list[np.ndarray]) -> np.ndarray:
            return self._finished(cut, results, mode)

        return Compiled(works=works, cut=cut, finish=finish, macs=self.macs(cut, rights))

    def _finished(self, cut: Cut, sums: list[np.ndarray], mode: Mode) -> np.ndarray:
        """Return y of the sums of each matrix A, in units of a mode."""
        unit = self.scale * self.choice.a_step * math.ldexp(1.0, mode.exponent)
        y = cut.join(sums).astype(np.float64) * (unit * self.b_steps)
        if self.bias is not None:
            y += self.bias
        return cut.shaped(y).astype(_FLOAT)


def encode(fmt: ElementFormat, values: np.ndarray, steps: np.ndarray | float) -> np.ndarray:
    """Round floats to codes, saturating.

    Raises
    ------
    ValueError
        A value is NaN.
    """
    if np.isnan(values).any():
        raise ValueError("operands must be numbers, not NaN")
    return fmt.encode(values / np.asarray(steps, np.float64))


def steps_of(fmt: ElementFormat, values: np.ndarray) -> np.ndarray:
    """Find the scale of each column that minimises the squared error.

    Parameters
    ----------
    fmt : format of the codes.
    values : floats, rows x columns.

    Returns
    -------
    Scales, one per column: octaves around the smallest one without overflow are tried, then steps
    in between. 1 if all values are zero.
    """
    values = values.astype(np.float64)
    low, high = (math.ldexp(bound, fmt.lsb) for bound in fmt.bounds)
    full = np.maximum(values.max(axis=0) / high, values.min(axis=0) / low)
    full = np.where(full > 0, full, 1.0)
    best, least = full, np.full(full.shape, np.inf)

    def attempt(steps: np.ndarray) -> None:
        nonlocal best, least
        rounded = fmt.to_float(encode(fmt, values, steps)) * steps
        errors = np.square(rounded - values).sum(axis=0)
        best, least = np.where(errors < least, steps, best), np.minimum(errors, least)

    attempt(full)
    for octave in range(-_OCTAVES, max(math.frexp(high)[1] - 1, 0) + 1):
        attempt(full * math.ldexp(1.0, octave))
    coarse = best
    for part in range(1 - _FINE, _FINE):
        attempt(coarse * power(2, part / _FINE))
    return best

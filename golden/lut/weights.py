"""Low-bit weights in groups along K, each with a scale."""

from dataclasses import dataclass, replace

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.bipolar import odd
from golden.formats.block import Blocks
from golden.formats.exact import Exact
from golden.formats.integer import IntFormat
from golden.formats.mx import MxFormat
from golden.formats.names import minifloat
from golden.lut.lookup import planes

__all__ = ["LEVELS", "SCALES", "GroupedWeights", "decode_scales", "encode_scales", "scale_width"]

LEVELS = Choice("meaning of codes", "uniform", ("uniform", "affine", "odd", "ternary", "bcq"))
SCALES = Choice("format of scales", "fp16", ("fp16", "bf16", "fp32", "e8m0", "int8"))
_FP32 = minifloat("fp32")
_E8M0 = MxFormat(element=IntFormat(width=2), block=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupedWeights:
    """A matrix of weights, K x N, as codes, and scales of groups of `group` rows of a column.

    By `levels`, a code q of W bits, or a weight, is

    - "uniform": scale * (q - zero), with an integer zero point for each group;
    - "affine": scale * q + offset, with an offset for each group;
    - "odd": scale * (2 q - (2^W - 1)), without one;
    - "ternary": scale * (q - 1), q = 0, 1 or 2 in two bits;
    - "bcq": the sum over planes w of scale_w * (1 where bit w is set, else -1), and an offset.

    Scales of "int8" are unsigned and multiply a scale of fp32 for each column.

    Members
    -------
    codes : K x N, of int16 or int64: differences of codes are of the same type.
    bits : W, 1..8.
    levels : meaning of codes.
    group : rows per group; the last may be shorter.
    scale_format : fp16, bf16, fp32, e8m0 or int8.
    scales : codes of scales, groups x N; of "bcq" groups x N x W. Or 1 x 1: one for all.
    zeros : of "uniform", int64, shape as scales.
    offsets : of "affine" and "bcq", codes in the format of scales, groups x N.
    column_scales : with "int8", codes of fp32, N or, of one scale for all, 1.
    rows : original row of row k of codes; None if not reordered.
    """

    codes: np.ndarray
    bits: int = parameter(Integer("bits of a code", 4, 1, 8, "bits"))
    levels: str = parameter(LEVELS)
    group: int = parameter(Integer("rows per group", 128, 1, 1 << 24, "rows"))
    scale_format: str = parameter(SCALES)
    scales: np.ndarray
    zeros: np.ndarray | None = None
    offsets: np.ndarray | None = None
    column_scales: np.ndarray | None = None
    rows: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check all members, and that their shapes agree."""
        check_fields(parameters_of(GroupedWeights), vars(self))
        if self.levels == "ternary" and self.bits != 2:
            raise ValueError(f"bits must be 2 where levels are ternary, not {self.bits!r}")
        codes = IntFormat(width=self.bits, signed=False).within("codes", self.codes)
        if self.levels == "ternary" and codes.max(initial=0) > 2:
            raise ValueError(f"codes must be 0..2 where levels are ternary, not {codes.max()}")
        if codes.ndim != 2 or not codes.size:
            raise ValueError(f"codes must be K x N, K and N 1 at least, not {codes.shape}")
        shape = (self.groups, codes.shape[1])
        if self.scales.shape[:2] == (1, 1):
            if self.groups > 1:
                raise ValueError(
                    f"group must be {codes.shape[0]}.. with one scale, not {self.group}"
                )
            shape = (1, 1)
        planes_of = (self.bits,) if self.levels == "bcq" else ()
        self._check("scales", self.scales, (*shape, *planes_of), True)
        self._check("zeros", self.zeros, shape, self.levels == "uniform")
        self._check("offsets", self.offsets, shape, self.levels in ("affine", "bcq"))
        self._check("column_scales", self.column_scales, shape[1:], self.scale_format == "int8")
        if self.offsets is not None and self.scale_format in ("e8m0", "int8"):
            raise ValueError(
                f"scale_format must be one of fp16, bf16, fp32 where levels are {self.levels}, "
                f"not {self.scale_format!r}"
            )
        if self.rows is not None and sorted(self.rows) != list(range(codes.shape[0])):
            raise ValueError(f"rows must be a permutation of 0..{codes.shape[0] - 1}")

    def _check(
        self, name: str, array: np.ndarray | None, shape: tuple[int, ...], wanted: bool
    ) -> None:
        """Refuse missing or superfluous members, and wrong shapes."""
        if (array is not None) != wanted:
            there = "given" if wanted else "None"
            raise ValueError(
                f"{name} must be {there} where levels are {self.levels} and scales "
                f"{self.scale_format}"
            )
        if array is not None and array.shape != shape:
            raise ValueError(f"{name} must be of shape {shape}, not {array.shape}")

    @property
    def groups(self) -> int:
        """Groups of a column."""
        return -(-self.codes.shape[0] // self.group)

    @property
    def integers(self) -> np.ndarray:
        """Integers that scales multiply, int64, K x N; of all levels but "bcq"."""
        if self.levels == "odd":
            return odd(self.codes, self.bits)
        if self.levels == "ternary":
            return self.codes - 1
        if self.levels == "affine":
            return self.codes
        assert self.zeros is not None, self.levels
        return self.codes - self._spread(self.zeros)

    @property
    def odd_zeros(self) -> np.ndarray:
        """Zero points z' of the odd grid, groups x N: twice the integers are 2q - (2^W-1) - z'.

        Of "odd" and "bcq", 0.
        """
        shape = (self.groups, self.codes.shape[1])
        if self.levels in ("odd", "bcq"):
            return np.zeros(shape, dtype=np.int64)
        absent = np.full(shape, int(self.levels == "ternary"))
        zeros = absent if self.zeros is None else self.zeros
        return np.broadcast_to(2 * zeros + 1 - (1 << self.bits), shape)

    def scale_values(self) -> Exact:
        """Scales, groups x N, or x W; without those of columns."""
        return decode_scales(self.scale_format, self.scales)

    def values(self) -> np.ndarray:
        """Weights as doubles, K x N: exact except for some with offsets."""
        scales = self._spread(self.scale_values().to_odd())
        if self.levels == "bcq":
            assert self.offsets is not None
            signs = planes(self.codes, self.bits).transpose(1, 2, 0)
            offsets = decode_scales(self.scale_format, self.offsets).to_odd()
            return (signs * scales).sum(axis=2) + self._spread(offsets)
        weights = scales * self.integers
        if self.offsets is not None:
            offsets = decode_scales(self.scale_format, self.offsets).to_odd()
            weights = weights + self._spread(offsets)
        if self.column_scales is not None:
            weights = weights * _FP32.to_float(self.column_scales)
        return weights

    def original(self, array: np.ndarray) -> np.ndarray:
        """Restore the original order of K rows."""
        if self.rows is None:
            return array
        result = np.empty_like(array)
        result[self.rows] = array
        return result

    def columns(self, index: slice | np.ndarray) -> "GroupedWeights":
        """Return some of the columns, of weights with a scale for each group of a column."""
        every = {"codes": self.codes, "scales": self.scales}
        every |= {name: getattr(self, name) for name in ("zeros", "offsets")}
        return self.replaced(**{
            name: array if array is None else array[:, index] for name, array in every.items()
        })

    def replaced(self, **changes: object) -> "GroupedWeights":
        """Return the same with some members replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def _spread(self, array: np.ndarray) -> np.ndarray:
        """Repeat per-group values for each row."""
        return array[np.arange(self.codes.shape[0]) // self.group]


def scale_width(name: str) -> int:
    """Bits of a scale's code."""
    if name in ("e8m0", "int8"):
        return 8
    return minifloat(name).width


def decode_scales(name: str, codes: np.ndarray) -> Exact:
    """Return the exact values of scales; E8M0's 255 is NaN."""
    if name == "int8":
        return IntFormat(width=8, signed=False).decode(codes)
    if name == "e8m0":
        ones = np.ones(codes.shape, dtype=np.int64)
        return _E8M0.parts(Blocks(codes=ones, scales=codes), axis=-1)[1]
    return minifloat(name).decode(codes)


def encode_scales(name: str, values: np.ndarray) -> np.ndarray:
    """Round doubles to scales: E8M0 up to a power of two, the others to the nearest.

    Overflow becomes the largest number; zero, the smallest power of two.
    """
    if name == "int8":
        return IntFormat(width=8, signed=False).encode(values)
    if name == "e8m0":
        fraction, exponent = np.frexp(values)
        least = np.where(values == 0, -_E8M0.scale_bias, exponent - (fraction == 0.5))
        return np.clip(least + _E8M0.scale_bias, 0, _E8M0.scale_nan_code - 1).astype(np.int64)
    return minifloat(name).encode(values)

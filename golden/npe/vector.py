"""Vector arithmetic on rows of integers: softmax and norms; what the vector unit is built for."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from golden.check import Choice, Flag, Integer, Subset, check_fields, parameter, parameters_of
from golden.formats.integer import IntFormat
from golden.npe.activation import exp_parts
from golden.npe.quotients import quotients
from golden.npe.requantiser import RequantiserSpec

__all__ = [
    "GATES",
    "NORMS",
    "OPERATIONS",
    "PAIRS",
    "SCALED",
    "SECOND",
    "SHARES",
    "VectorUnitSpec",
    "bit_length",
    "check_rows",
    "narrowed",
    "softmax",
]

NORMS = ("layer_norm", "rms_norm")
"""Operations that divide rows by a root."""
PAIRS = ("add", "multiply")
"""Operations on two rows of one length."""
SECOND = (*PAIRS, "scale")
"""Operations of jobs that read rows of B: that of a scale is the exponent of one of A."""
SHARES = ("exps", "divide")
"""Operations of one-pass attention: shares of blocks, and what sums of them are divided by."""
OPERATIONS = ("softmax", *NORMS, "gelu", "silu", *PAIRS, "scale", *SHARES, "sigmoid")
"""Operations of the vector unit; each one's place is its number."""
GATES = {"gelu": 109, "silu": 64, "sigmoid": 64}
"""Slope of the sigmoid's argument, in units of 2^-6: GELU is near x * sigmoid(1.702 x)."""
SCALED = (*GATES, *PAIRS, "scale", "divide")
"""Operations whose rows say how they are requantised."""
SUMS = {"softmax": 1, "layer_norm": 2, "rms_norm": 1}
"""Passes over a row before that which makes its codes, if any."""
_LOG2_E = 6196328019
"""log2(e) * 2^32."""


@dataclass(frozen=True, kw_only=True)
class VectorUnitSpec:
    """Rows of L codes to rows of L codes, L at most `length`.

    Softmax takes codes x that represent x * 2^-scale_width, and makes unsigned codes p that
    represent p * 2^-exponent, one exponent per row: so that the greatest probability is at least
    2^(magnitude_width - 1) codes. The rounding error of a code is carried to the next one of the
    row, so that errors do not add up: the codes of a row sum to 1 within :attr:`sum_error`.

    The norms are of any scale, and make two's complement codes that represent their value times
    2^-norm_fraction, saturated.

    Gates, sums, products, and rows as they are, are requantised as each row says, by
    :attr:`scaling`; gates take codes x that represent x * 2^-scale_width.

    `exps` and `divide` are those of :mod:`golden.npe.exps`; the first takes codes as a softmax.
    """

    operations: str = parameter(
        Subset("operations built", ",".join(("softmax", *NORMS)), OPERATIONS)
    )
    lanes: int = parameter(Integer("codes per beat", 8, 1, 64, "lanes"))
    width: int = parameter(Integer("bits of a value, two's complement", 8, 4, 16, "bits"))
    length: int = parameter(Integer("maximum values in a row", 4096, 1, 1 << 17, "values"))
    scale_width: int = parameter(
        Integer("softmax takes values in units of 2^-scale_width", 4, 0, 8, "bits")
    )
    out_width: int = parameter(Integer("bits of a code", 8, 7, 16, "bits"))
    signed: bool = parameter(Flag("probabilities leave a bit for a sign", False))
    norm_fraction: int = parameter(
        Integer("bits of a norm after the binary point", 5, 0, 8, "bits")
    )
    quotient_bits: int = parameter(
        Integer("quotient bits of a gate per cycle, in each lane", 1, 1, 8, "bits")
    )
    block: int = parameter(
        Integer("codes of exps with one exponent, a power of two", 16, 1, 4096, "codes")
    )

    OPERATIONS = OPERATIONS
    NORMS = NORMS
    GATES = GATES
    PAIRS = PAIRS
    SCALED = SCALED
    SECOND = SECOND
    SHARES = SHARES
    SUMS = SUMS

    PASS = 6
    """Cycles of a pass beyond one for each beat."""
    SECOND_READ = 5
    """Cycle of a gate's period in which the beat before is read again, to be multiplied."""

    MEAN_FRACTION = 8
    """Bits of a mean after the binary point."""

    ROOT_FRACTION = 6
    """Bits of a root after the binary point."""

    OCTAVES = 8
    """Most bits of a value of `exps` before the binary point: exponents are bytes, at a limit."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(type(self)), vars(self))
        if self.magnitude_width < 7:
            raise ValueError(f"out_width must be 8..16 if signed, not {self.out_width!r}")
        if self.builds(SHARES):
            self._check_shares()

    def _check_shares(self) -> None:
        """Refuse one of the two operations alone, and blocks that are not of whole beats."""
        if not set(SHARES) <= set(self.built):
            raise ValueError(f"operations must have both of {', '.join(SHARES)}, or none")
        if self.block.bit_count() != 1 or self.block % self.lanes:
            legal = f"a power of two of {self.lanes} codes or more"
            raise ValueError(f"block must be {legal}, not {self.block!r}")
        if self.width > (most := self.scale_width + self.OCTAVES):
            raise ValueError(f"width must be {most} or less with exps, not {self.width!r}")

    def check_operation(self, operation: str) -> None:
        """Refuse an operation that is not built."""
        Choice("operation", self.built[0], self.built).check("operation", operation)

    @property
    def built(self) -> tuple[str, ...]:
        """Operations that are built."""
        return tuple(self.operations.split(","))

    def builds(self, operations: Iterable[str]) -> bool:
        """Return whether any of some operations is built."""
        return not set(self.built).isdisjoint(operations)

    @property
    def scales(self) -> bool:
        """Whether any operation is built whose rows say how they are requantised."""
        return self.builds(SCALED)

    def most(self, operation: str) -> int:
        """Return the most values in a row; of two rows each, if the operation takes two."""
        if operation not in PAIRS:
            return self.length
        return min(self.lanes << max(self.beats - 1, 1).bit_length() - 1, self.length)

    @property
    def beats(self) -> int:
        """Beats of the longest row."""
        return -(-self.length // self.lanes)

    @property
    def digit_cycles(self) -> int:
        """Cycles in which a gate divides by a beat, in all lanes at a time."""
        return -(-self.reciprocal_width // self.quotient_bits)

    def period(self, operation: str) -> int:
        """Return the cycles from a beat to the next one, in the pass that makes codes.

        A gate's values are read for the divisors, and again when these have been divided by.
        """
        if operation in GATES:
            return max(self.digit_cycles + 1, self.SECOND_READ + 1)
        return {"add": 2, "multiply": 3}.get(operation, 1)

    def last_pass(self, operation: str, beats: int) -> tuple[int, int]:
        """Return the cycles in which beats are read to make codes, and those of the whole pass."""
        period = self.period(operation)
        reads = period * (beats - 1) + (2 if operation in PAIRS else 1)
        if operation in GATES:
            reads = period * beats + self.SECOND_READ + 1
        return reads, reads + 2 * (operation == "multiply") + self.PASS + 1

    def scale_cycles(self, operation: str, count: int, digits: int, total_width: int) -> int:
        """Return the cycles in which a row's scale is found.

        Parameters
        ----------
        operation : a softmax, a norm or a division.
        count : values in the row.
        digits : of the reciprocal of a softmax, after the zeros of as many octaves as the sum has;
            of others, after the binary point of the reciprocal; -1 if it is not found.
        total_width : bits of the sum that a layer norm divides.
        """
        if operation == "softmax":
            return digits + 5  # RowScale starts and ends
        if operation == "divide":
            return digits + 1
        count_width = self.length.bit_length()
        steps = count.bit_length() + 1 + total_width + 1
        if digits < 0:
            return steps
        root_digits = self.root_width + self.ROOT_FRACTION
        magnitude_width = self.width - 1 + count_width
        return steps + root_digits + magnitude_width + self.MEAN_FRACTION + digits + count_width

    def row_cycles(self, operation: str) -> int:
        """Return the most cycles of each of many rows of `most` values; of short norms, a bound.

        A row is read for its sums while the scale of the row before it is found.
        """
        count = self.most(operation)
        beats, sums = -(-count // self.lanes), SUMS.get(operation, 0)
        scale = 0
        if operation == "softmax":
            digits = (count - 1).bit_length() + self.magnitude_width - 1
            scale = self.scale_cycles(operation, count, digits, 0)
        elif operation == "divide":
            digits = self.reciprocal_width - self.signed - 1 + self.width - 1
            scale = self.scale_cycles(operation, count, digits, 0)
        elif sums:
            digits = self.reciprocal_width + self.width - 1 + self.ROOT_FRACTION
            total = self.width - 1 + count.bit_length()
            scale = self.scale_cycles(operation, count, digits, total * (sums - 1))
        last = self.last_pass(operation, beats)[1]
        if operation == "divide":  # its bank is filled, and it is divided by, while others leave
            return max(last, scale + 3, beats + 2 + -(-scale // 2))
        return last + max(sums * (beats + self.PASS) + 2, scale + 1)

    @property
    def in_format(self) -> IntFormat:
        """Format of a value."""
        return IntFormat(width=self.width)

    @property
    def magnitude_width(self) -> int:
        """Bits of a probability."""
        return self.out_width - self.signed

    @property
    def share_width(self) -> int:
        """Bits of a share, of `exps`: a byte's, or less a sign."""
        return min(8 - self.signed, self.magnitude_width)

    @property
    def octave_factor(self) -> int:
        """log2(e) * 2^width, rounded: octaves in a value."""
        return (_LOG2_E >> 31 - self.width) + 1 >> 1

    @property
    def operation_width(self) -> int:
        """Bits of the number of an operation."""
        return 3 + self.builds((*SHARES, "sigmoid"))

    @property
    def exponent_width(self) -> int:
        """Bits of an exponent: of rows of `exps` a byte, two's complement."""
        return 8 if self.builds(SHARES) else 6

    def blocks(self, count: int) -> int:
        """Return the exponents of a row of `exps`."""
        return -(-count // self.block)

    @property
    def carry_width(self) -> int:
        """Bits of a probability below its code: at most half a code is lost in a row."""
        return max((self.length - 1).bit_length() + 1, self.scale_width + 5)

    @property
    def exponential_width(self) -> int:
        """Bits of an exponential below its greatest value, which is 2^exponential_width."""
        return self.magnitude_width + self.carry_width - 1

    @property
    def reciprocal_width(self) -> int:
        """Bits of the reciprocal of a row, normalised."""
        return self.out_width + 4

    @property
    def root_width(self) -> int:
        """Bits of the root of a norm before the binary point."""
        return ((self.length << self.width - 1) ** 2).bit_length() + 1 >> 1

    @property
    def gate_width(self) -> int:
        """Bits of an exponential after the binary point where a gate divides by it."""
        return self.reciprocal_width - 1

    @property
    def scaling(self) -> RequantiserSpec:
        """How gates, sums and products of values, and values, become codes."""
        return RequantiserSpec(
            n=1,
            width=2 * self.width,
            multiplier_width=self.reciprocal_width,
            out_width=self.out_width,
        )

    @property
    def sum_error(self) -> float:
        """Largest error of the sum of a row's probabilities."""
        return 2.0 ** (1 - self.magnitude_width) + 2.0 ** (-3 - self.magnitude_width)

    @property
    def out_format(self) -> IntFormat:
        """Format of a probability."""
        return IntFormat(width=self.magnitude_width, signed=False)

    @property
    def norm_spec(self) -> RequantiserSpec:
        """How a norm is scaled, a row as one column."""
        return RequantiserSpec(
            n=1,
            width=self.width + self.MEAN_FRACTION + 1,
            multiplier_width=self.reciprocal_width,
            out_width=self.out_width,
        )


def softmax(spec: VectorUnitSpec, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the softmax of rows.

    Exponentials are those of :func:`golden.npe.activation.exp_parts`, rounded down. Their sum is
    exact, its reciprocal normalised and rounded down. So are the products, which have
    `spec.carry_width` bits after the binary point; the row's prefix sums are rounded to the
    nearest, halves up, and a code is the difference of two of them, at most the greatest.

    Parameters
    ----------
    spec : widths.
    x : of `spec.in_format`, rows along the last axis, 1 .. length values each.

    Returns
    -------
    int64 codes of `spec.out_format`, of the shape of `x`; and the exponent of each row.
    """
    spec.check_operation("softmax")
    x = check_rows(spec, x)
    mantissa, whole = exp_parts(1 << spec.scale_width, x - x.max(axis=-1, keepdims=True))
    whole = np.minimum(whole, 62)
    top = spec.exponential_width
    total = (mantissa << top - spec.scale_width - 1 >> whole).sum(axis=-1, keepdims=True)
    octaves: np.ndarray = bit_length(total - 1 >> top)
    digits = octaves + spec.reciprocal_width - spec.signed - 1
    factor = quotients(top + digits, total)
    products = (mantissa * factor << spec.carry_width - spec.scale_width - 5) >> whole
    prefix = np.asarray(np.cumsum(products, axis=-1), dtype=np.int64)
    rounded = np.right_shift(prefix + (1 << spec.carry_width - 1), spec.carry_width)
    codes = np.minimum(np.diff(rounded, axis=-1, prepend=0), spec.out_format.high)
    return codes, octaves[..., 0] + spec.magnitude_width - 1


def narrowed(
    spec: VectorUnitSpec, codes: np.ndarray, exponents: int | np.ndarray
) -> tuple[np.ndarray, Any]:
    """Round the codes of a softmax to a byte: to the nearest, halves up, at most the greatest.

    Parameters
    ----------
    spec : widths, with `out_width` of more than 8 bits.
    codes, exponents : that :func:`softmax` returns.

    Returns
    -------
    Codes of 8 bits, or of 7 if `spec.signed`, and their exponents, which are less by the bits that
    are rounded off.
    """
    less = spec.out_width - 8
    high = (1 << 8 - spec.signed) - 1
    return np.minimum((codes + (1 << less - 1)) >> less, high), exponents - less


def check_rows(spec: VectorUnitSpec, x: np.ndarray) -> np.ndarray:
    """Check rows of values, of 1 .. length each; return them as int64."""
    x = spec.in_format.check("x", x)
    if not 1 <= x.shape[-1] <= spec.length:
        raise ValueError(f"rows must be of 1..{spec.length} values, not {x.shape[-1]}")
    return x


def bit_length(values: np.ndarray) -> np.ndarray:
    """Count the bits of integers below 2^52."""
    return np.asarray(np.frexp(values.astype(np.float64))[1], dtype=np.int64)

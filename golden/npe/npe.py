"""Output-stationary array of lanes: matrix products in formats chosen per tile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from golden.check import Choice, Flag, Integer, Subset, check_fields, parameter, parameters_of
from golden.formats.element import ROUNDING, SATURATE, ElementFormat
from golden.formats.exact import Exact
from golden.formats.names import parse
from golden.formats.product import matmul, matmul_codes
from golden.npe.block_scale import SCALES, BlockScaleSpec
from golden.npe.lane import LaneSpec
from golden.npe.lanes import LANES, lane_of
from golden.npe.result import ResultName, wrapped
from golden.npe.scaled import block_width, check_blocks, scaled_matmul
from golden.npe.sl8 import Sl8Spec
from golden.npe.sl16 import Sl16Spec
from golden.npe.zero_points import check_lane, differences, most_words, wider
from golden.tpe.rows import RowsSpec, beat_cycles

__all__ = ["NpeSpec", "cycles", "npe", "pack"]

_FIELDS = parameters_of(Sl16Spec)
_BLOCKS = parameters_of(BlockScaleSpec)


@dataclass(frozen=True, kw_only=True)
class NpeSpec(RowsSpec):
    """m x n lanes, each of which accumulates one element of a tile of C; one word per row and beat.

    With scales, every `block` codes along K have one scale per row of A and per column of B; the
    last block of a tile may be shorter. C is then fp32: exact block sums are scaled and accumulated
    as by :func:`golden.npe.block_scale.block_scale`. With `zeros`, of integer formats alone, such a
    block has a zero point per column of B, too, which is subtracted from its codes.
    """

    lane: str = parameter(Choice("lane", "sl8", tuple(LANES)))
    formats: str = parameter(Subset("operand formats", ",".join(Sl8Spec.FORMATS), Sl16Spec.FORMATS))
    accumulator_width: int = parameter(_FIELDS["accumulator_width"])
    passes: int = parameter(_FIELDS["passes"])
    w4a8: bool = parameter(parameters_of(Sl8Spec)["w4a8"])
    result: str = parameter(ResultName('format of C, or "fixed": exact sums', "fixed"))
    rounding: str = parameter(ROUNDING)
    saturate: bool = parameter(SATURATE)
    scale: str = parameter(Choice("format of block scales", "none", ("none", *SCALES)))
    zeros: bool = parameter(Flag("blocks of columns of B have zero points", False))
    block: int = parameter(
        Integer("codes along K per scale and zero point", 32, 1, 1 << 16, "codes")
    )
    depth: int = parameter(_BLOCKS["depth"])

    def __post_init__(self) -> None:
        """Check all fields, and that the accumulator holds a word or block in any formats."""
        check_fields(parameters_of(NpeSpec), vars(self))
        if self.w4a8 and self.lane != "sl8":
            raise ValueError(f"w4a8 must be false but with lane sl8, not with {self.lane!r}")
        self.element  # noqa: B018  (it checks the width)
        if self.zeros:
            check_lane(self.element, self.block)
        if self.scale == "none":
            return
        for name, legal in (("result", "fp32"), ("rounding", "rne")):
            if getattr(self, name) != legal:
                raise ValueError(
                    f"{name} must be {legal} with scales {self.scale}, not {getattr(self, name)!r}"
                )
        check_blocks(self.element, self.block, self.zeros)

    @property
    def element(self) -> LaneSpec:
        """What one lane computes: formats, containers and limits."""
        return lane_of(self.lane, self.formats, self.accumulator_width, self.passes, self.w4a8)

    @property
    def result_format(self) -> ElementFormat | None:
        """Format of C; None for exact sums."""
        if self.result == "fixed":
            return None
        fmt = parse(self.result)
        assert isinstance(fmt, ElementFormat)
        return fmt

    @property
    def result_width(self) -> int:
        """Bits of a number of C."""
        fmt = self.result_format
        return self.accumulator_width if fmt is None else fmt.width

    @property
    def row_width(self) -> int:
        """Bits of the number of a row, at least one."""
        return max((self.m - 1).bit_length(), 1)

    @property
    def least_lsb(self) -> int:
        """Smallest exponent of a sum's last bit."""
        return min(self.element.lsb(*pair) for pair in self.element.pairs)

    @property
    def greatest_lsb(self) -> int:
        """Largest exponent of a sum's last bit."""
        return max(self.element.lsb(*pair) for pair in self.element.pairs)

    @property
    def scale_width(self) -> int:
        """Bits of that exponent minus the smallest one; 0 if results are exact sums."""
        if self.result == "fixed":
            return 0
        return (self.greatest_lsb - self.least_lsb).bit_length()

    @property
    def block_scale(self) -> BlockScaleSpec:
        """The scaler of block sums, for the pair of formats with the smallest lsb."""
        return BlockScaleSpec(
            scale=self.scale,
            sum_width=block_width(self.element, self.block, self.zeros),
            fraction_width=-self.least_lsb,
            depth=self.depth,
        )

    def beats(self, a: int, b: int) -> int:
        """Words per block, for a pair of formats."""
        return self.block // self.element.codes(a, b)

    def k_max_words(self, a: int, b: int) -> int | None:
        """Words per tile that cannot overflow, for a pair of formats; None if unlimited."""
        if self.scale == "none":
            return most_words(self.element, a, b) if self.zeros else self.element.k_max_words(a, b)
        return self.depth * self.beats(a, b) if self.block_scale.exact else None


def npe(
    spec: NpeSpec,
    a: np.ndarray,
    b: np.ndarray,
    a_format: int,
    b_format: int,
    a_scales: np.ndarray | None = None,
    b_scales: np.ndarray | None = None,
    b_zeros: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Multiply codes exactly, modulo 2^accumulator_width; with scales, block by block.

    Parameters
    ----------
    spec : formats and width of sums.
    a, b : codes, M x K and K x N.
    a_format, b_format : indices of their formats, see :meth:`LaneSpec.index`.
    a_scales, b_scales : codes of scales, M x blocks and blocks x N, if there are any.
    b_zeros : zero points, codes of B's format, blocks x N, if there are any.

    Returns
    -------
    c : M x N sums, integers times 2^:meth:`LaneSpec.lsb`; int64, or Python integers where they
        need more bits. A NaN code counts as zero. If `result` is a format, int64 codes of it;
        where invalid, those of NaN, NaR or, if there is none, 0.
    invalid : M x N bool; the row of A or the column of B has a NaN code or scale.
    overflow : the sums have more words than :meth:`NpeSpec.k_max_words`.
    """
    lane = spec.element
    formats = _formats(lane, a_format, b_format)
    a, b = (fmt.check(name, x) for name, fmt, x in zip("ab", formats, (a, b), strict=True))
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"a and b must be M x K and K x N, not {a.shape} and {b.shape}")
    limit, lsb = spec.k_max_words(a_format, b_format), lane.lsb(a_format, b_format)
    overflow = limit is not None and -(-a.shape[1] // lane.codes(a_format, b_format)) > limit
    if (a_scales is None or b_scales is None) != (spec.scale == "none"):
        raise TypeError(f"a_scales and b_scales must be there where scale is, {spec.scale}")
    if (b_zeros is None) == spec.zeros:
        raise TypeError(f"b_zeros must be there where zeros is, {spec.zeros}")
    if b_zeros is not None:
        b = differences(formats[1], b, b_zeros, spec.block)  # type: ignore[arg-type]
        formats[1] = wider(lane, b_format)
    sums = matmul_codes(formats[0], formats[1], a, b) if a_scales is None else None
    invalid = np.zeros((a.shape[0], b.shape[1]), bool)
    if sums is None:
        operands = [fmt.decode(x) for fmt, x in zip(formats, (a, b), strict=True)]
        if a_scales is not None and b_scales is not None:
            unit = replace(spec.block_scale, fraction_width=-lsb)
            codes, invalid = scaled_matmul(unit, spec.block, *operands, scales=(a_scales, b_scales))
            if spec.saturate:
                codes = unit.total.encode(unit.total.decode(codes))
            return codes, invalid, overflow
        sums = matmul(*(Exact.finite(x.significand, x.exponent) for x in operands)).fixed(lsb)
        invalid = np.logical_or.outer(operands[0].nan.any(axis=1), operands[1].nan.any(axis=0))
    sums = wrapped(sums, spec.accumulator_width)
    fmt = spec.result_format
    if fmt is not None:
        number = replace(Exact.finite(sums, lsb), nan=invalid)
        sums = fmt.encode(number, rounding=spec.rounding, saturate=spec.saturate)
    return sums, invalid, overflow


def pack(
    spec: NpeSpec, a: np.ndarray, b: np.ndarray, a_format: int, b_format: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pack codes into words along K, as they enter the array; K is zero-padded.

    Parameters
    ----------
    spec, a, b, a_format, b_format : as for :func:`npe`.

    Returns
    -------
    int64 words, M x beats and beats x N: beat t of a tile is column t of its rows of A and row t
    of its columns of B, the first in the lowest bits.
    """
    lane = spec.element
    _formats(lane, a_format, b_format)
    pitch = lane.pitch(a_format, b_format)
    return lane.pack(a, a_format, pitch), lane.pack(b.T, b_format, pitch).T


def cycles(
    spec: NpeSpec,
    tiles: Sequence[tuple[np.ndarray, np.ndarray]],
    latency: int,
    pairs: Sequence[tuple[int, int]],
) -> int:
    """Count cycles from the first operand beat to the last row of C, both included.

    Parameters
    ----------
    spec : the array.
    tiles : for each, words of A, m x beats, and of B, beats x n, see :func:`pack`; operands and
        results flow without stalls. Only the number of beats matters.
    latency : the component's, cycles from the last operand beat of a tile to its first row.
    pairs : indices of the formats of each. A beat takes :meth:`LaneSpec.cycles`, of which the
        component's ``ready`` marks the last; with scales, each block takes at least
        :attr:`RowsSpec.drain` cycles.
    """
    sums = []
    for (a, _), pair in zip(tiles, pairs, strict=True):
        beats, cycles = a.shape[1], spec.element.cycles(*pair)
        block = beats if spec.scale == "none" else spec.beats(*pair)
        whole, rest = divmod(beats, block)
        sums += [block * cycles] * whole + [rest * cycles] * (rest > 0)
    return beat_cycles(spec, sums, latency)


def _formats(lane: LaneSpec, *indices: int) -> list[ElementFormat]:
    """Return the formats at these indices; refuse indices out of range."""
    for name, index in zip(("a_format", "b_format"), indices, strict=True):
        if not 0 <= index < len(lane.names):
            raise ValueError(f"{name} must be 0..{len(lane.names) - 1}, not {index!r}")
    return [lane.elements[index] for index in indices]

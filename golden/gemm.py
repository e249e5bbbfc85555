"""C = A x B in any formats: exact sums, block sums in fp32, or aligned and truncated as in GPUs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from golden.aligned import aligned_sums
from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.formats.block import BlockFormat, Blocks
from golden.formats.element import ROUNDING, SATURATE, ElementFormat
from golden.formats.exact import Exact
from golden.formats.minifloat import MinifloatFormat
from golden.formats.mx import MxFormat
from golden.formats.names import FormatParameter
from golden.formats.nvfp4 import NvFormat
from golden.formats.product import matmul
from golden.formats.ue5m3 import Ue5m3Format

__all__ = ["GemmSpec", "gemm"]

_FP32 = MinifloatFormat(exponent_bits=8, mantissa_bits=23, specials="ieee")
_A_FORMAT = FormatParameter("of A", MinifloatFormat(), blocks=True)
_B_FORMAT = FormatParameter("of B", MinifloatFormat(), blocks=True)
_C_FORMAT = FormatParameter("of C", _FP32)


@dataclass(frozen=True, kw_only=True)
class GemmSpec:
    """A matrix product: formats of A, B and C, and the accumulation.

    Accumulation "exact": one exact sum over all of K, rounded once, to C. "fp32": an exact sum of
    each `group` of products, rounded to fp32 and added in fp32, in order of K, to nearest even,
    with subnormals. "aligned": as :func:`golden.aligned.aligned_sums`. "default" is exact for
    element formats and :class:`NvFormat`, and fp32 for blocks with scales of E8M0, where OCP MX
    leaves the choice to the implementation, or of E5M3.
    """

    a_format: ElementFormat | BlockFormat = parameter(_A_FORMAT)  # noqa: RUF009
    b_format: ElementFormat | BlockFormat = parameter(_B_FORMAT)  # noqa: RUF009
    c_format: ElementFormat = parameter(_C_FORMAT)  # noqa: RUF009
    accumulation: str = parameter(
        Choice("accumulation", "default", ("default", "exact", "fp32", "aligned"))
    )
    group: int = parameter(Integer("products per sum; 0 is a block, or 1", 0, 0, 1024, "products"))
    fraction_width: int = parameter(
        Integer("bits kept of aligned products after the point", 25, 4, 48, "bits")
    )
    sum_mantissa_bits: int = parameter(
        Integer("mantissa bits of aligned sums (8 exponent bits)", 23, 1, 23, "bits")
    )
    rounding: str = parameter(ROUNDING)
    saturate: bool = parameter(SATURATE)

    def __post_init__(self) -> None:
        """Check the fields, and their combination."""
        check_fields(parameters_of(GemmSpec), vars(self))
        for fmt, element in zip((self.a_format, self.b_format), self.elements, strict=True):
            if isinstance(fmt, BlockFormat) and self.policy != "exact" and fmt.block % self.terms:
                raise ValueError(
                    f"group must be a divisor of a block, {fmt.block}, not {self.terms!r}"
                )
            if self.policy == "aligned" and (
                isinstance(fmt, (NvFormat, Ue5m3Format)) or not isinstance(element, MinifloatFormat)
            ):
                raise ValueError(
                    f"accumulation must be one of exact, fp32 for {fmt.name}, not 'aligned'"
                )

    @property
    def policy(self) -> str:
        """The accumulation, with "default" resolved for these formats."""
        if self.accumulation != "default":
            return self.accumulation
        scaled = (MxFormat, Ue5m3Format)
        wide = isinstance(self.a_format, scaled) or isinstance(self.b_format, scaled)
        return "fp32" if wide else "exact"

    @property
    def elements(self) -> tuple[ElementFormat, ElementFormat]:
        """Formats of the elements of A and B."""
        a, b = (
            fmt.element if isinstance(fmt, BlockFormat) else fmt
            for fmt in (self.a_format, self.b_format)
        )
        return a, b

    @property
    def terms(self) -> int:
        """Products per sum in fp32, or per aligned sum."""
        blocks = [
            fmt.block for fmt in (self.a_format, self.b_format) if isinstance(fmt, BlockFormat)
        ]
        return self.group or min(blocks, default=1)


def gemm(spec: GemmSpec, a: np.ndarray | Blocks, b: np.ndarray | Blocks) -> np.ndarray:
    """Multiply codes.

    A NaN or NaR makes its row or column of C NaN; infinities follow IEEE 754. A zero sum is +0.

    Parameters
    ----------
    spec : formats and rules.
    a, b : codes, M x K and K x N; of a format of blocks, :class:`Blocks` with scales along K.

    Returns
    -------
    int64 codes of C, M x N.
    """
    a_operand = _operand("a", spec.a_format, a, 1)
    b_operand = _operand("b", spec.b_format, b, 0)
    shapes = [operand.elements.shape for operand in (a_operand, b_operand)]
    if any(len(shape) != 2 for shape in shapes) or shapes[0][1] != shapes[1][0]:
        raise ValueError(f"a and b must be M x K and K x N, not {shapes[0]} and {shapes[1]}")
    if spec.policy == "exact":
        sums = matmul(a_operand.scaled(), b_operand.scaled())
    else:
        groups = _groups(a_operand, b_operand, spec.terms)
        shape = (shapes[0][0], shapes[1][1])
        if spec.policy == "fp32":
            sums = _fp32_sums(groups, shape)
        else:
            sums = aligned_sums(
                groups,
                shape,
                point=sum(fmt.significand_width - 1 for fmt in spec.elements),
                fraction_width=spec.fraction_width,
                sum_format=replace(_FP32, mantissa_bits=spec.sum_mantissa_bits),
            )
    for operand in (a_operand, b_operand):
        if operand.tensor_scale != 1:
            sums = sums * Exact.from_float(np.full(sums.shape, operand.tensor_scale))
    return spec.c_format.encode(sums, rounding=spec.rounding, saturate=spec.saturate)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Operand:
    """A matrix with K along `axis`: elements and the scales of blocks; one block without scales."""

    elements: Exact
    scales: Exact
    block: int
    axis: int
    tensor_scale: float = 1.0

    def scaled(self) -> Exact:
        """Return elements times scales."""
        at = np.arange(self.elements.shape[self.axis]) // self.block
        return self.elements * (self.scales[:, at] if self.axis else self.scales[at])

    def part(self, start: int, stop: int) -> tuple[Exact, Exact]:
        """Return the elements of one block, and their scale."""
        at = start // self.block
        if self.axis:
            return self.elements[:, start:stop], self.scales[:, at : at + 1]
        return self.elements[start:stop], self.scales[at : at + 1]


def _operand(
    name: str, fmt: ElementFormat | BlockFormat, codes: np.ndarray | Blocks, axis: int
) -> _Operand:
    """Decode a matrix."""
    if isinstance(fmt, BlockFormat):
        if not isinstance(codes, Blocks):
            raise TypeError(f"{name} must be Blocks ({fmt.name}), not {type(codes).__name__}")
        elements, scales = fmt.parts(codes, axis=axis)
        return _Operand(
            elements=elements,
            scales=scales,
            block=fmt.block,
            axis=axis,
            tensor_scale=codes.tensor_scale,
        )
    if isinstance(codes, Blocks):
        raise TypeError(f"{name} must be integers ({fmt.name}), not Blocks")
    elements = fmt.decode(fmt.check(name, codes))
    shape = [1 if at == axis else size for at, size in enumerate(elements.shape)]
    ones = Exact.finite(np.ones(shape, dtype=np.int64), 0)
    return _Operand(elements=elements, scales=ones, block=1 << 62, axis=axis)


def _groups(a: _Operand, b: _Operand, terms: int) -> Iterator[tuple[Exact, Exact, Exact]]:
    """Split K into groups: the elements of A, those of B, the scales of the sums."""
    for start in range(0, a.elements.shape[1], terms):
        (a_part, a_scale), (b_part, b_scale) = (x.part(start, start + terms) for x in (a, b))
        yield a_part, b_part, a_scale * b_scale


def _fp32_sums(groups: Iterable[tuple[Exact, Exact, Exact]], shape: tuple[int, int]) -> Exact:
    """Add exact sums of groups in fp32."""
    total = np.zeros(shape, dtype=np.float32)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for a, b, scale in groups:
            total = total + (matmul(a, b) * scale).to_odd().astype(np.float32)
    return Exact.from_float(total)

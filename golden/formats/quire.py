"""The fixed-point accumulator that holds every sum of products: Kulisch accumulator, or quire."""

from dataclasses import dataclass

from golden.check import Integer, check_fields, parameter, parameters_of
from golden.formats.element import ElementFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.mx import MxFormat
from golden.formats.names import FormatParameter
from golden.formats.nvfp4 import NvFormat
from golden.formats.ue5m3 import Ue5m3Format

__all__ = ["QuireSpec"]

_A_FORMAT = FormatParameter("of operands a", MinifloatFormat(), blocks=True)
_B_FORMAT = FormatParameter("of operands b", MinifloatFormat(), blocks=True)


@dataclass(frozen=True, kw_only=True)
class QuireSpec:
    """Exact sums of up to `k_max` products, as integers times 2^lsb, of minimum width.

    Formats are element formats, or :class:`NvFormat`, whose scales are part of an element. The sums
    of an MX block are those of its elements.
    """

    a_format: ElementFormat | NvFormat = parameter(_A_FORMAT)  # noqa: RUF009
    b_format: ElementFormat | NvFormat = parameter(_B_FORMAT)  # noqa: RUF009
    k_max: int = parameter(Integer("products summed without overflow", 65536, 1, 1 << 24))

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(QuireSpec), vars(self))
        for name in ("a_format", "b_format"):
            value = getattr(self, name)
            if isinstance(value, (MxFormat, Ue5m3Format)):
                raise ValueError(
                    f"{name} must be of fixed range, as {value.element.name}, not {value!r}"
                )

    @property
    def lsb(self) -> int:
        """log2 of the unit of which every product is a multiple."""
        return self.a_format.lsb + self.b_format.lsb

    @property
    def product_bounds(self) -> tuple[int, int]:
        """Smallest and largest product, in units of 2^lsb."""
        corners = [a * b for a in self.a_format.bounds for b in self.b_format.bounds]
        return min(corners), max(corners)

    @property
    def signed(self) -> bool:
        """Sums are two's complement."""
        return self.product_bounds[0] < 0

    @property
    def product_width(self) -> int:
        """Bits of a product."""
        return self._width(1)

    @property
    def width(self) -> int:
        """Bits of a sum."""
        return self._width(self.k_max)

    def k_max_of(self, width: int) -> int:
        """Return how many products fit in `width` bits without overflow, for any operands."""
        low, high = self.product_bounds
        top = (1 << (width - self.signed)) - 1
        return min(top // high, (top + 1) // -low if low < 0 else top)

    def _width(self, k_max: int) -> int:
        """Bits of a sum of `k_max` products."""
        low, high = self.product_bounds
        lengths = [(k_max * high).bit_length(), (-k_max * low - 1).bit_length() if low < 0 else 0]
        return max(lengths) + self.signed

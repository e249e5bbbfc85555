"""Elements of an array that multiplies by Winograd's inner product, with half as many blocks.

a0 b0 + a1 b1 = (a0 + b1) (a1 + b0) - a0 a1 - b0 b1. Elements add up the first product only. The
others depend on the row or on the column alone: they are summed once for each, and subtracted from
sums that leave.
"""

from collections.abc import Sequence

from amaranth import Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from golden.formats.integer import IntFormat
from golden.pe.mac import MacSpec
from hw.device import PACKINGS, Family
from hw.device.description import Multiplier
from hw.device.fabric import fabric_product, fabric_registers
from hw.device.packing import Packing
from hw.lib.shared_module import SharedModule
from hw.pe.block_element import BlockElement, add_up

__all__ = ["WinogradCorrection", "WinogradElement"]


class WinogradElement(BlockElement):
    """Accumulates (a0 + b1) (a1 + b0) of two pairs of codes in each block; one row and column.

    Of an odd k the last pair is multiplied as it is. See :class:`BlockElement`.

    Parameters
    ----------
    spec, family, passes_b : as for :class:`BlockElement`.
    fabric : bool
        How: it uses no multiplier block.

    Raises
    ------
    ValueError
        There is but one pair, or sums of codes do not fit a multiplier block.
    """

    late = 2

    def __init__(
        self, spec: MacSpec, family: Family, *, passes_b: bool = False, fabric: bool = False
    ):
        if spec.k == 1:
            raise ValueError(
                f"packing must be one of {', '.join(PACKINGS[:-1])} with one product in an element,"
                f" not {PACKINGS[-1]!r}"
            )
        self.fabric = fabric
        self.module = "element_fabric" if fabric else "element"
        super().__init__(spec, family, _packing(spec, family.multiplier), passes_b=passes_b)

    @property
    def blocks(self) -> int:
        """Multiplier blocks."""
        return 0 if self.fabric else -(-self.spec.k // 2)

    @property
    def a_width(self) -> int:
        """Bits of a code of A."""
        return self.spec.a_width

    @property
    def b_width(self) -> int:
        """Bits of a code of B."""
        return self.spec.b_width

    @property
    def chained(self) -> bool:
        """Whether blocks add their products up; never."""
        return False

    @property
    def latency(self) -> int:
        """Cycles from operands to the cycle in which their products are added."""
        levels = (-(-self.spec.k // 2) - 1).bit_length()
        return 1 + self.family.multiplier.registers + self.family.behind + levels

    def encode_a(self, m: Module, codes: Sequence[Sequence[Value]]) -> Value:
        """Put the codes of a row side by side."""
        return Cat(*codes)

    def encode_b(self, m: Module, codes: Sequence[Sequence[Value]]) -> Value:
        """Put the codes of a column side by side."""
        return Cat(*codes)

    def _products(self, m: Module) -> list[list[list[tuple[Value, Value]]]]:
        """Add codes, and multiply the sums."""
        spec, packing = self.spec, self.packing
        a, b = split(self.i_a, spec.a_format), split(self.i_b, spec.b_format)
        products: list[list[list[tuple[Value, Value]]]] = []
        for number in range(0, spec.k, 2):
            x, y = a[number], b[number]
            if number + 1 < spec.k:
                x, y = a[number] + b[number + 1], a[number + 1] + b[number]
            held_x = Signal(packing.a_width, name=f"x{number}", reset_less=True)
            held_y = Signal(packing.b_width, name=f"y{number}", reset_less=True)
            m.d.sync += [held_x.eq(x), held_y.eq(y)]
            operands = held_x.as_signed(), held_y.as_signed()
            if self.fabric:
                registers = self.family.multiplier.registers + self.family.behind
                whole = fabric_product(m, self.family.times_digit, *operands, registers)
                products.append([[(whole, Cat())]])
            else:
                whole = self.family.multiply(m, *operands)
                products.append(self._behind(m, whole, f"p{number}_"))
        return products


class WinogradCorrection(SharedModule):
    """Accumulates x0 x1 of two codes each, of a row of A or of a column of B, without a block.

    Parameters
    ----------
    module : str
        Name of the Verilog module.
    element : WinogradElement
        What: it is added in the same cycle as the products of this element.
    codes : IntFormat
        What: of A or of B.

    Members
    -------
    i : In
        k codes, of the operands that the element gets in this cycle.
    i_keep : In(1)
        While it is low, the sum is what ``i_sum`` is; it takes effect in the next cycle.
    i_sum : In
        Another sum.
    o_sum : Out
        The sum.
    """

    i: Signal
    i_keep: Signal
    i_sum: Signal
    o_sum: Signal

    def __init__(self, module: str, element: WinogradElement, codes: IntFormat):
        self.module = module
        self.element = element
        self.codes = codes
        super().__init__({
            "i": In(element.spec.k * codes.width),
            "i_keep": In(1),
            "i_sum": In(element.spec.accumulator_width),
            "o_sum": Out(element.spec.accumulator_width),
        })

    @property
    def spec(self) -> MacSpec:
        """The element's."""
        return self.element.spec

    @property
    def family(self) -> Family:
        """The element's."""
        return self.element.family

    def elaborate(self, platform):
        m = Module()
        codes, pairs = split(self.i, self.codes), self.spec.k // 2
        products = [
            fabric_product(m, self.family.times_digit, codes[2 * pair], codes[2 * pair + 1])
            for pair in range(pairs)
        ]
        addend, carry = add_up(m, [(product, Cat()) for product in products])
        early = fabric_registers(self.codes.width) + (pairs - 1).bit_length()
        for stage in range(self.element.latency - early):
            later = Signal(addend.shape(), name=f"later{stage}", reset_less=True)
            m.d.sync += later.eq(addend)
            addend = later
        keep = Signal(reset_less=True)
        m.d.sync += keep.eq(self.i_keep)
        total = Signal(self.spec.accumulator_width, name="sum", reset_less=True)
        self.family.accumulate(m, total, keep, self.i_sum, addend, carry)
        m.d.comb += self.o_sum.eq(total)
        return m


def split(codes: Value, fmt: IntFormat) -> list[Value]:
    """Split codes that are side by side."""
    words = [codes[low : low + fmt.width] for low in range(0, len(codes), fmt.width)]
    return [word.as_signed() if fmt.signed else word for word in words]


def _packing(spec: MacSpec, block: Multiplier) -> Packing:
    """Return the one product of a block: of sums of codes, which no other product shares."""
    a, b = spec.a_format, spec.b_format
    low, high = a.low + b.low, a.high + b.high
    width = max(high.bit_length(), (-low - 1).bit_length() if low else 0) + (low < 0)
    if width + (low == 0) > min(block.a_width, block.b_width):
        widths = f"{block.a_width} x {block.b_width}"
        raise ValueError(
            "a_width and b_width must be such that a code of A and one of B add up to an operand"
            f" of a multiplier block of {widths} signed bits, not {a.width} and {b.width}"
        )
    sums = IntFormat(width=width, signed=low < 0)
    return Packing.densest(sums, sums, block, most=1)

"""What an FPGA family has, in one place, and how products and sums are built of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import Module, Mux, Shape, Signal, Value, signed, unsigned

from golden.pe.mac import MacSpec
from hw.device.cascade import Cascade, Stationary
from hw.device.description import Flow, Multiplier
from hw.device.row_stationary import RowStationary
from hw.device.row_store import RowStore

__all__ = ["Family"]


@dataclass(frozen=True, kw_only=True)
class Family:
    """An FPGA family.

    The methods here leave the choice of cells to the family's mapper; a family overrides those
    that come out smaller or faster of cells that it names.

    Members
    -------
    name : of its module here.
    title : as its maker calls it.
    flow : the tools that map, place and route for it.
    multiplier : its multiplier block.
    before, behind : registers of the fabric between operands and block, and product and sum. A
        block may be far from the operands' way through an array, and from its sum.
    rows : words of a block of RAM that is as wide as a sum.
    packs : what "auto" of :data:`hw.device.description.PACKINGS` is.
    chains : blocks can add their product to a neighbour's; see :meth:`dot`.
    stops : :meth:`multiply` takes a clock enable, of all registers of a block.
    reads_slices : most slices of a word that is written to block RAM at once, of which one is read
        at a time; mappers make that of a memory of slices with as many write ports.
    sizes : multiplier blocks of devices that no part of the flow has, as their maker lists them.
    """

    name: str
    title: str
    flow: Flow
    multiplier: Multiplier
    before: int = 0
    behind: int = 1
    rows: int = 512
    packs: str = "densest"
    chains: bool = False
    stops: bool = False
    reads_slices: int = 1
    sizes: tuple[tuple[str, int], ...] = ()

    def next_b(self, register: Value, beat: Value, b: Value) -> Value:
        """Return what a register of operands of B takes; A is zero without a `beat`.

        Where products are operators it holds its value without one: whatever comes then may be x in
        simulation, in Verilog 0 times x is x, and x in a sum stays there. The enable is free.
        """
        return Mux(beat, b, register) if type(self).multiply is Family.multiply else b

    def multiply(self, m: Module, a: Value, b: Value, en: Value | None = None) -> Value:
        """Return the product of two operands, ``multiplier.registers`` cycles later.

        ``a`` is for the wider operand of the block. Signs are those of the values. Only families
        that have ``stops`` take an ``en``.
        """
        assert en is None
        shape = _product(a, b)
        x, y = _registered(m, a), _registered(m, b)
        product: Value = Signal(shape, name="product", reset_less=True)
        m.d.sync += product.eq(x * y)
        for _ in range(self.multiplier.registers - 2):
            product = _registered(m, product)
        return product

    def multiply_halves(self, m: Module, a: Value, b: Sequence[Value]) -> Value:
        """Return the products of one operand with two, side by side, as :meth:`multiply` does.

        Only of families whose multiplier has a ``half_width``: each is as wide as two such.
        """
        raise NotImplementedError

    def dot(self, m: Module, pairs: Sequence[tuple[Value, Value]]) -> Value:
        """Return the sum of the products of pairs, pair p of which is max(p - 1, 0) cycles late.

        It comes ``multiplier.registers`` + number of pairs - 1 cycles after pair 0. Only of
        families whose blocks chain.
        """
        raise NotImplementedError

    def cascade(self, spec: MacSpec, packing: str, columns: int) -> Cascade | None:
        """Return how blocks hold the sums of an array's elements; None if logic has to.

        Parameters
        ----------
        spec : of an element.
        packing : of :data:`hw.device.description.PACKINGS`.
        columns : of the array.
        """
        return None

    def stationary(self, width: int) -> Stationary:
        """Return how weights are held, and products added to passing sums of `width` bits."""
        return RowStationary(self, width)

    def times_digit(self, m: Module, x: Value, digit: Value) -> Value:
        """Return `x` times a digit of two bits, signed or not, a cycle later, without a block."""
        low, high = Mux(digit[0], x, 0), Mux(digit[1], x, 0) << 1
        multiple = Signal(_product(x, digit), name="multiple", reset_less=True)
        m.d.sync += multiple.eq(low - high if digit.shape().signed else low + high)
        return multiple

    def accumulate(
        self, m: Module, total: Signal, keep: Value, other: Value, addend: Value, carry: Value
    ) -> None:
        """Let a register be (itself if `keep` else `other`) + `addend` + `carry`."""
        m.d.sync += total.eq(Mux(keep, total, other) + addend + carry)

    def row_store(self, width: int, depth: int) -> RowStore:
        """Make a memory of rows; see :class:`hw.device.row_store.RowStore`."""
        return RowStore(width, depth)


def _product(a: Value, b: Value) -> Shape:
    """Return the shape that every product fits in."""
    width = len(a) + len(b)
    return signed(width) if a.shape().signed or b.shape().signed else unsigned(width)


def _registered(m: Module, value: Value) -> Signal:
    """Register a value once."""
    register = Signal(value.shape(), reset_less=True)
    m.d.sync += register.eq(value)
    return register

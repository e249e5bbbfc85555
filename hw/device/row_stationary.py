"""Weights and passing sums in logic, for products of a device's blocks or of logic."""

from typing import Protocol

from amaranth import Module, Mux, Signal, Value

from hw.device.cascade import Stationary
from hw.device.description import Multiplier
from hw.device.fabric import fabric_product

__all__ = ["Products", "RowStationary"]


class Products(Protocol):
    """What a family knows of products, see :class:`hw.device.family.Family`."""

    @property
    def multiplier(self) -> Multiplier:
        """The multiplier block."""

    @property
    def behind(self) -> int:
        """Registers of the fabric between product and sum."""

    def multiply(self, m: Module, a: Value, b: Value) -> Value:
        """Return a product of a block."""

    def times_digit(self, m: Module, x: Value, digit: Value) -> Value:
        """Return a product of logic by a digit of two bits."""


class RowStationary(Stationary):
    """A weight and its next one in registers, a product, and a row that adds it.

    Parameters
    ----------
    family : Products
        The device.
    width : int
        Bits of a sum.
    like : Stationary
        Use no multiplier block, and be as late as this; use one if None.
    """

    def __init__(self, family: Products, width: int, like: Stationary | None = None):
        self.family = family
        self.width = width
        self.is_logic = like is not None
        # Registers of the operands and of the sum are around those of the product.
        registers = family.multiplier.registers + family.behind
        self.latency = registers + 2 if like is None else like.latency

    def place(
        self,
        m: Module,
        a: Value,
        b: Value,
        load: Value,
        swap: Value,
        above: Value | None,
        ring: tuple[Value, Value, int] | None,
    ) -> tuple[Value, Value]:
        """Place the product and its row."""
        # Yosys reads an instance again after mapping, and fails, if a port is of a signed signal.
        held_a = Signal(len(a), name="a", reset_less=True)
        later, weight = (Signal(len(b), name=name, reset_less=True) for name in ("later", "weight"))
        m.d.sync += held_a.eq(a)
        with m.If(load):
            m.d.sync += later.eq(b)
        with m.If(swap):
            m.d.sync += weight.eq(later)
        total = Signal(self.width, name="total", reset_less=True)
        before = self._ring(m, *ring) if above is None and ring is not None else above
        product = self._product(
            m,
            held_a.as_signed() if a.shape().signed else held_a,
            weight.as_signed() if b.shape().signed else weight,
        )
        m.d.sync += total.eq(product if before is None else before + product)
        return total, total

    def _product(self, m: Module, a: Value, b: Value) -> Value:
        """Multiply; returns the product two cycles less than :attr:`latency` later."""
        if self.is_logic:
            return fabric_product(m, self.family.times_digit, a, b, self.latency - 2)
        product = self.family.multiply(m, a, b)
        for stage in range(self.family.behind):
            shape = product.shape()
            later = Signal(shape, name=f"p{stage}", reset_less=True)
            m.d.sync += later.eq(product)
            product = later
        return product

    def _ring(self, m: Module, total: Value, clear: Value, waits: int) -> Value:
        """Return the sum from the last element, or zero, when the product is there."""
        for stage in range(self.latency - 2 - waits):
            later = Signal(name=f"clear{stage}", reset_less=True)
            m.d.sync += later.eq(clear)
            clear = later
        previous = Mux(clear, 0, total)
        if waits:
            held = Signal(self.width, name="ring", reset_less=True)
            m.d.sync += held.eq(previous)
            previous = held
        return previous

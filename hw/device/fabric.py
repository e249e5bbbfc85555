"""A product without a multiplier block: rows of adders, registers behind the levels of them."""

from collections.abc import Callable

from amaranth import Cat, Module, Signal, Value, signed, unsigned

__all__ = ["TimesDigit", "fabric_product", "fabric_registers"]

TimesDigit = Callable[[Module, Value, Value], Value]
"""Multiplies a value by a digit of two bits: :meth:`hw.device.family.Family.times_digit`."""


def fabric_registers(width: int) -> int:
    """Return the cycles from operands to product, for a second operand of this width."""
    return 1 + (-(-width // 2) - 1).bit_length()


def fabric_product(
    m: Module, times_digit: TimesDigit, x: Value, y: Value, registers: int | None = None
) -> Value:
    """Return the product of two operands, :func:`fabric_registers` cycles later.

    Signs are those of the values. With another number of `registers`, 1 or more, it is as many
    cycles later: the first levels of adders have none behind them, or more come behind the last.
    """
    levels = fabric_registers(len(y))
    registers = levels if registers is None else registers
    plain = levels - min(levels, registers)
    is_signed = y.shape().signed
    if len(y) % 2:
        y = Cat(y, y[-1] if is_signed else 0)
        y = y.as_signed() if is_signed else y
    digits: list[Value] = [y[low : low + 2] for low in range(0, len(y), 2)]
    if is_signed:
        digits[-1] = digits[-1].as_signed()
    # Each with the number of digits that it is of.
    parts = [(times_digit(m, x, digit), 1) for digit in digits]
    for level in range(levels - 1):
        parts = [
            _add(m, len(x), parts[at : at + 2], registered=level >= plain)
            for at in range(0, len(parts), 2)
        ]
    product = parts[0][0]
    for stage in range(registers - levels):
        later = Signal(product.shape(), name=f"product_later{stage}", reset_less=True)
        m.d.sync += later.eq(product)
        product = later
    return product


def _add(
    m: Module, width: int, parts: list[tuple[Value, int]], *, registered: bool
) -> tuple[Value, int]:
    """Add what is of higher digits to what is of lower ones."""
    low, shift = parts[0][0], 2 * parts[0][1]
    high = parts[1][0] if len(parts) > 1 else None
    count = sum(part[1] for part in parts)
    if high is None:
        whole, is_signed = low, low.shape().signed
    else:
        # The lowest bits of the sum are those of the lower part.
        rest = low[shift:].as_signed() if low.shape().signed else low[shift:]
        whole, is_signed = Cat(low[:shift], rest + high), (rest + high).shape().signed
    shape = signed(width + 2 * count) if is_signed else unsigned(width + 2 * count)
    total = Signal(shape, name="product", reset_less=registered)
    domain = m.d.sync if registered else m.d.comb
    domain += total.eq(whole)
    return total, count

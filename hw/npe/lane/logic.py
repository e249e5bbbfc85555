"""Small logic that lanes share: formats by index, sums of exponents, registers."""

from itertools import zip_longest

from amaranth import C, Cat, Module, Signal, Value

from golden.npe.lane import LaneSpec
from hw.arith.adder import resolve

__all__ = ["exponent_sum", "hold", "is_of"]


def is_of(spec: LaneSpec, index: Value, container: int) -> Value:
    """Return whether the format with this index has codes of this many bits."""
    return Cat(
        index == number for number in range(len(spec.names)) if spec.container(number) == container
    ).any()


def exponent_sum(m: Module, x: list[Value], y: list[Value], width: int) -> Value:
    """Add exponents."""
    columns = [[a, b] for a, b in zip_longest(x, y, fillvalue=C(0, 1))][:width]
    columns += [[C(0, 1)]] * (width - len(columns))
    return resolve(m, columns, "ripple") if columns else C(0, 0)


def hold(m: Module, enable: Value, name: str, values: list[Value]) -> list[Value]:
    """Put values in registers."""
    held = [Signal(len(value), name=f"{name}_held", reset_less=True) for value in values]
    with m.If(enable):
        m.d.sync += [register.eq(value) for register, value in zip(held, values, strict=True)]
    return list(held)

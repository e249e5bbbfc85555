"""Maximum of exponents."""

from collections.abc import Sequence

from amaranth import Module, Mux, Signal, Value
from amaranth.hdl import signed

__all__ = ["greatest"]


def greatest(m: Module, values: Sequence[Value]) -> Value:
    """Find the maximum of signed values, by a comparator tree."""
    row = list(values)
    while len(row) > 1:
        pairs = []
        for x, y in zip(row[::2], row[1::2], strict=False):
            larger = Signal(signed(max(len(x), len(y))), name="larger")
            m.d.comb += larger.eq(Mux(x > y, x, y))
            pairs.append(larger)
        row = pairs + row[len(row) & ~1 :]
    return row[0]

"""Counts the useful products of tiles."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.product import product_in_logic

__all__ = ["TileProducts"]


class TileProducts(wiring.Component):
    """Multiplies the useful elements of a tile and the codes of each, in three cycles.

    The whole product in one cycle was the longest path of a routed board: the rows of the two
    halves of the area's bits are summed apart. A tile is written many cycles later.

    Parameters
    ----------
    codes, area : bits of the two numbers.
    width : bits of the product.

    Members
    -------
    i_codes, i_area : In
        Codes of an element's sum, and elements that are useful; 0 where no tile is.
    o : Out(width)
        Their product, three cycles later.
    """

    i_codes: Signal
    i_area: Signal
    o: Signal

    def __init__(self, codes: int, area: int, width: int):
        super().__init__({"i_codes": In(codes), "i_area": In(area), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        codes, area = Signal.like(self.i_codes), Signal.like(self.i_area)
        half = len(area) // 2
        low = product_in_logic(codes, area[:half])
        high = product_in_logic(codes, area[half:])
        low_part, high_part = Signal(len(low)), Signal(len(high))
        m.d.sync += [
            codes.eq(self.i_codes),
            area.eq(self.i_area),
            low_part.eq(low),
            high_part.eq(high),
            self.o.eq(low_part + (high_part << half)),
        ]
        return m

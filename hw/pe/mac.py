"""Plain multiply-accumulate: one carry-propagate addition a cycle."""

from typing import ClassVar

from amaranth import Module, Mux, Signal

from golden.check import Choice, Parameter
from golden.pe.mac import MacSpec
from hw.arith.adder import ADDERS, resolve
from hw.pe.cell import PeCell
from hw.pe.stream import StreamPe

__all__ = ["Mac", "MacCell"]

# One gate clears the sum: its arrival in XOR gates.
_KEPT = 0.6


class MacCell(PeCell):
    """Adds each product to a sum that is an ordinary number at the end of every cycle.

    Product and sum share one bit heap, so that there is one carry propagation a cycle and not
    two. Members: see :class:`PeCell`; ``o`` has no carries.

    Parameters
    ----------
    adder : str
        How: carry propagation, see :func:`hw.arith.adder.resolve`.
    """

    module = "mac"
    PRODUCT_ROWS = 2
    HOWS: ClassVar[dict[str, Parameter]] = {
        **PeCell.HOWS,
        "adder": Choice("carry-propagate adder", "sklansky", ADDERS),
    }

    def __init__(
        self,
        spec: MacSpec,
        *,
        k: int = 1,
        encoding: str = "booth",
        pipeline: int = 0,
        adder: str = "sklansky",
    ):
        super().__init__(spec, k=k, encoding=encoding, pipeline=pipeline)
        self.HOWS["adder"].check("adder", adder)
        self.adder = adder

    def _heights(self) -> list[int]:
        return [1] * self.spec.accumulator_width

    def elaborate(self, platform):
        m = Module()
        self._clear(m)
        total = self.layout.register("total")
        kept = Signal(self.spec.accumulator_width)
        m.d.comb += kept.eq(Mux(self.o_done, 0, total.sum))
        heap = self._products(m, self.i_a, self.i_b, self.en)
        heap.add_term(list(kept), signed=False, arrival=_KEPT)
        added = resolve(m, heap.compress(m, [2] * heap.width), self.adder)
        with m.If(self.en):
            m.d.sync += total.sum.eq(added)
        m.d.comb += self.o.as_value().eq(total.as_value())
        return m


class Mac(StreamPe):
    """Sums products of operand pairs.

    Computes :func:`golden.pe.mac.mac`, exactly.
    """

    CELL = MacCell
    HOWS = MacCell.HOWS

"""Plain multiply-accumulate: one carry-propagate addition a cycle."""

from typing import ClassVar

from amaranth import Module, Value

from golden.check import Choice, Parameter
from golden.pe.mac import MacSpec
from hw.arith.adder import ADDERS, resolve
from hw.pe.cell import KEPT, PeCell
from hw.pe.stream import StreamPe

__all__ = ["Mac", "MacCell"]


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
        encoding: str = "booth",
        pipeline: int = 0,
        adder: str = "sklansky",
    ):
        super().__init__(spec, encoding=encoding, pipeline=pipeline)
        self.HOWS["adder"].check("adder", adder)
        self.adder = adder

    def _heights(self) -> list[int]:
        return [1] * self.spec.accumulator_width

    def step(
        self, m: Module, enable: Value, a: Value, b: Value, kept: list[list[Value]]
    ) -> list[list[Value]]:
        """Put the sum on the heap of the products, and resolve it."""
        heap = self._products(m, enable, a, b)
        heap.add_columns(kept, arrival=KEPT)
        return [[bit] for bit in resolve(m, heap.compress(m, [2] * heap.width), self.adder)]


class Mac(StreamPe):
    """Sums products of operand pairs.

    Computes :func:`golden.pe.mac.mac`, exactly.
    """

    CELL = MacCell
    HOWS = MacCell.HOWS

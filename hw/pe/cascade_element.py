"""An element whose blocks hold its sums and pass them on."""

from typing import ClassVar

from amaranth import C, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from golden.pe.mac import MacSpec
from hw.device import Family
from hw.device.cascade import Cascade
from hw.device.packing import Packing
from hw.pe.block_element import BlockElement

__all__ = ["CascadeElement", "make_block_element"]

_MOST = {"none": 1, "pair": 2}
"""Products in a block, by :data:`hw.device.PACKINGS`."""


class CascadeElement(BlockElement):
    """See :class:`BlockElement`; what a device's blocks can do themselves, no logic does.

    Parameters
    ----------
    spec, family, passes_a, passes_b : as for :class:`BlockElement`.
    cascade : Cascade
        How: the blocks.
    is_first : bool
        How: no element is above it.

    Members
    -------
    i_sums, o_down : In, Out
        Between elements: sums, and what belongs to them.
    o_sums : Out
        The same as ``o_down``, for logic.
    i_b, o_b : In, Out
        Where blocks pass codes of B on by themselves: from the element above, to the one below.
    """

    DOWN: ClassVar[str] = "o_down"

    o_down: Signal

    def __init__(
        self,
        spec: MacSpec,
        family: Family,
        cascade: Cascade,
        *,
        passes_a: bool = False,
        passes_b: bool = False,
        is_first: bool = False,
    ):
        self.cascade = cascade
        self.late = cascade.late
        self.is_first = is_first
        width = Out(cascade.width)
        ports = {"o_down": width, "o_sums": width, "i_sums": In(cascade.width)}
        self.passes_inside = passes_b and cascade.b_width is not None
        if passes_b and cascade.b_width is not None:
            ports["o_b"] = Out(cascade.b_width)
            if not is_first:
                ports["i_b"] = In(cascade.b_width)
        super().__init__(
            spec, family, cascade.packing, passes_a=passes_a, passes_b=passes_b, **ports
        )
        self._first: BlockElement = self
        if is_first:
            self.module = "element_first"
        else:
            self._first = CascadeElement(
                spec, family, cascade, passes_a=passes_a, passes_b=passes_b, is_first=True
            )

    @property
    def first(self) -> BlockElement:
        """The element that has no other one above it."""
        return self._first

    @property
    def blocks(self) -> int:
        """Multiplier blocks."""
        return -(-self.spec.k // self.cascade.pairs)

    @property
    def chained(self) -> bool:
        """Whether blocks add their products up one after the other."""
        return self.cascade.chains

    @property
    def latency(self) -> int:
        """Cycles from operands to the cycle in which their products are added."""
        return self.cascade.latency

    def elaborate(self, platform):
        m = Module()
        inside = self.passes_inside and not self.is_first
        a = [self.i_a.word_select(p, self.packing.a_width).as_signed() for p in range(self.spec.k)]
        b: list[Value] = [C(0, 1)]
        if not inside:
            width = self.packing.b_width
            b = [self.i_b.word_select(p, width).as_signed() for p in range(self.spec.k)]
        placed = self.cascade.place(
            m,
            a,
            b,
            self.i_keep,
            None if self.is_first else self.i_sums,
            self.i_b if inside else None,
        )
        m.d.comb += [self.o_down.eq(placed.down), self.o_sums.eq(placed.sums)]
        if self.passes_a:
            m.d.sync += [self.o_a.eq(self.i_a), self.o_keep.eq(self.i_keep)]
        if self.passes_inside:
            m.d.comb += self.o_b.eq(placed.b)
        elif self.passes_b:
            m.d.sync += self.o_b.eq(self.i_b)
        return m

    def finish(self, m: Module, sums: Value) -> list[Value]:
        """Return the sum of each column, from what the last element of a column has."""
        return self.cascade.finish(m, sums)


def make_block_element(
    spec: MacSpec,
    family: Family,
    packing: str,
    columns: int,
    *,
    passes_a: bool = False,
    passes_b: bool = False,
    gaps: bool = True,
) -> BlockElement:
    """Make an element of a device's blocks.

    Parameters
    ----------
    spec, family, passes_a, passes_b : as for :class:`BlockElement`.
    packing : of :data:`hw.device.PACKINGS`.
    columns : of the array.
    gaps : there are no products in cycles in which sums move.

    Raises
    ------
    ValueError
        If the operands do not fit a multiplier block.
    """
    cascade = family.cascade(spec, packing, columns)
    if cascade is not None and (gaps or not cascade.loads):
        return CascadeElement(spec, family, cascade, passes_a=passes_a, passes_b=passes_b)
    most = _MOST.get(family.packs if packing == "auto" else packing)
    formats = spec.a_format, spec.b_format, family.multiplier
    chosen = Packing.densest(*formats, most) if most else Packing.densest(*formats)
    return BlockElement(spec, family, chosen, passes_a=passes_a, passes_b=passes_b)

"""Blocks chained down a column, that hold sums of products, or weights of passing sums."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal, Value

from hw.device.packing import Packing

__all__ = ["Cascade", "Placed", "Stationary", "count_wraps"]


@dataclass(frozen=True)
class Placed:
    """What leaves the blocks of an element.

    Members
    -------
    down : to the element below, sums and whatever belongs to them.
    sums : the same, for logic; only the last element's is used.
    b : operands of B for the element below, one cycle late; None if the blocks pass none on.
    """

    down: Value
    sums: Value
    b: Value | None


class Cascade(ABC):
    """How an element's sums are held in its blocks, and how they move down.

    Members
    -------
    packing : of the operands; one row.
    width : bits from an element to the one below.
    b_width : bits of B from an element to the one below; None if blocks do not pass it on.
    latency : cycles from operands to the cycle in which their products are added.
    late : cycles from the last element's sums to those of :meth:`finish`.
    loads : where sums of the element above are taken, no product is added to them.
    chains : blocks add one pair after the other: pair p is p - 1 cycles late, if p > 1.
    pairs : pairs of operands that a block multiplies.
    """

    packing: Packing
    width: int
    b_width: int | None
    latency: int
    late: int
    loads: bool = False
    chains: bool = True
    pairs: int = 1

    @abstractmethod
    def place(
        self,
        m: Module,
        a: Sequence[Value],
        b: Sequence[Value],
        keep: Value,
        above: Value | None,
        b_above: Value | None,
    ) -> Placed:
        """Place the blocks of an element.

        Parameters
        ----------
        m : where.
        a, b : packed operands, one for each pair, late as ``chains`` says.
        keep : low: take the sums of the element above. In effect one cycle later.
        above : ``down`` of that element; None if there is none, and zeros are taken.
        b_above : B of that element in place of `b`, if there is one and its blocks pass B on.
        """

    @abstractmethod
    def finish(self, m: Module, sums: Value) -> list[Value]:
        """Return the sum of each column, from what the last element of a column holds."""


class Stationary(ABC):
    """How blocks hold a weight each, and add its product to a sum that passes down.

    Members
    -------
    width : bits of a sum on its way.
    latency : cycles from a code of A to the sum with its product.
    """

    width: int
    latency: int

    @abstractmethod
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
        """Place a block; returns its sum for the one below, and for logic.

        Parameters
        ----------
        m : where.
        a : code of A.
        b, load : weight, taken when `load` is set.
        swap : that weight is for this code of A and those after it.
        above : sum of the block above; or
        ring : sum from the last block, its clear, which comes a cycle after `a`, and 1 if the sum
            is to wait a cycle, else 0.
        """


def count_wraps(m: Module, name: str, top: Value, keep: Value, above: Value, width: int) -> Signal:
    """Count what a sum has above its bits in a block, one cycle late.

    As no beat adds more than a quarter of what these bits hold, the two topmost of them change by
    one at most: a step from 3 to 0 counts up, one from 0 to 3 down.

    Parameters
    ----------
    m, name : where, and of the register.
    top : the two topmost bits of the sum in the block.
    keep : low: take the sum of the element above, as in :meth:`Cascade.place`.
    above : that element's count.
    width : bits of the count.
    """
    count = Signal(width, name=name, reset_less=True)
    if not width:
        return count
    before, held = Signal(2, reset_less=True), Signal(2, reset_less=True)
    m.d.sync += [before.eq(top), held.eq(Cat(keep, held))]
    up, down = Signal(), Signal()
    m.d.comb += [
        up.eq(held[-1] & (before == 3) & (top == 0)),
        down.eq(held[-1] & (before == 0) & (top == 3)),
    ]
    step = Cat(up | down, down.replicate(width - 1))
    m.d.sync += count.eq(step + Mux(held[-1], count, above))
    return count

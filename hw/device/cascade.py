"""Blocks chained down a column, that hold sums of products, or weights of passing sums."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import Module, Value

from hw.device.packing import Packing

__all__ = ["Cascade", "Placed", "Stationary"]


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
    """

    packing: Packing
    width: int
    b_width: int | None
    latency: int
    late: int

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
        a, b : packed operands, one for each pair; pair p is p - 1 cycles late, if p > 1.
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

"""Carry-save numbers: a sum row and carry bits at some weights, resolved by one addition."""

from collections.abc import Sequence

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import data

from hw.arith.bit_heap import BitHeap

__all__ = ["CarrySave", "Planes"]


class CarrySave(data.StructLayout):
    """A number modulo 2^width held as a sum row and a sparse row of carries.

    Full carry-save has a carry at every weight; with no carries at all, the number is resolved.

    Parameters
    ----------
    heights : bits at each weight, 1 (sum) or 2 (sum and carry), lowest first.
    counted : this many weights more, the highest, share one second bit, the last of ``carry``: -1
        of the lowest of them, which a counter has yet to take away. See :class:`hw.pe.counted_sum`.

    Examples
    --------
    >>> number = CarrySave([1, 1, 2, 1, 2])
    >>> number, number.carries  # the weights that have a carry
    (StructLayout({'sum': 5, 'carry': 2}), (2, 4))
    """

    def __init__(self, heights: list[int], counted: int = 0):
        if not heights or any(height not in (1, 2) for height in heights):
            raise ValueError(f"heights must be a list of 1 or 2, not {heights!r}")
        self.width = len(heights) + counted
        self.counted = counted
        carries = [weight for weight, height in enumerate(heights) if height == 2]
        self.carries = tuple(carries + [len(heights)] * bool(counted))
        super().__init__({"sum": self.width, "carry": len(self.carries)})

    registers = 0
    """Cycles that :meth:`rows` takes."""

    def rows(self, m: Module, enable: Value, number: data.View) -> list[list[Value]]:
        """Columns of at most two bits that add up to the number."""
        return self.columns(number)

    def register(self, name: str) -> data.View:
        """Make a signal that holds such a number and is not reset."""
        return data.View(self, Signal(self.size, name=name, reset_less=True))

    def columns(self, number: data.View) -> list[list[Value]]:
        """Bits of a number, a list per weight."""
        columns: list[list[Value]] = [[bit] for bit in number.sum]
        for weight, bit in zip(self.carries, number.carry, strict=True):
            columns[weight].append(bit)
        for weight in range(self.width - self.counted + 1, self.width if self.counted else 0):
            columns[weight].append(number.carry[-1])
        return columns

    def pack(self, columns: list[list[Value]]) -> Value:
        """Bit pattern of the number made of these columns; the inverse of :meth:`columns`."""
        row = [column[0] for column in columns]
        carries = [columns[weight][1] for weight in self.carries]
        return Cat(*row, *carries)

    def carry_row(self, number: data.View) -> Value:
        """Carries as a row of `width` bits."""
        return Cat(column[1] if len(column) == 2 else C(0, 1) for column in self.columns(number))


class Planes(data.StructLayout):
    """Several carry-save numbers, each times a power of two, not added up yet.

    Parameters
    ----------
    parts : logarithm of the factor and the number's layout, for each.
    """

    def __init__(self, parts: Sequence[tuple[int, CarrySave]]):
        self.parts = tuple(parts)
        self.width = max(weight + part.width for weight, part in parts)
        self.carries = tuple(
            weight + carry for weight, part in self.parts for carry in part.carries
        )
        super().__init__({f"plane{weight}": part for weight, part in self.parts})

    registers = 1
    """Cycles that :meth:`rows` takes."""

    def rows(self, m: Module, enable: Value, number: data.View) -> list[list[Value]]:
        """Columns of at most two bits that add up to the number, in registers."""
        heap = BitHeap(self.width)
        for weight, part in self.parts:
            for offset, column in enumerate(part.columns(number[f"plane{weight}"])):
                for bit in column:
                    heap.add_bit(bit, weight + offset)
        columns = heap.register(m, enable).columns
        return [[bit for bit, _ in column] or [C(0, 1)] for column in columns]

    def register(self, name: str) -> data.View:
        """Make a signal that holds such a number and is not reset."""
        return data.View(self, Signal(self.size, name=name, reset_less=True))

    def columns(self, number: data.View) -> list[list[Value]]:
        """Bits of all parts, a list per weight of each, one part after the other."""
        return [
            column
            for weight, part in self.parts
            for column in part.columns(number[f"plane{weight}"])
        ]

    def pack(self, columns: list[list[Value]]) -> Value:
        """Bit pattern of the parts made of these columns; the inverse of :meth:`columns`."""
        rows, start = [], 0
        for _, part in self.parts:
            rows.append(part.pack(columns[start : start + part.width]))
            start += part.width
        return Cat(rows)

"""Bit heap: weighted bits to be added up, compressed to one or two bits a column."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from amaranth import C, Module, Signal, Value

from hw.arith.schedule import Schedule, balance, schedule, sparse_heights

__all__ = ["BitHeap"]

# Constants arrive before everything else.
_BEFORE = -1e9


class BitHeap:
    """A sum of weighted bits modulo 2^width.

    A bit of negative weight enters as its complement and a constant: -x 2^w is
    (1 - x) 2^w - 2^w. All constants are folded into one, so sign extension costs no rows.

    Parameters
    ----------
    width : columns, bits.

    Examples
    --------
    >>> heap = BitHeap(6)
    >>> for name in "abc":
    ...     heap.add_term(Signal(4, name=name), signed=True)
    >>> [len(column) for column in heap.columns], heap.constant  # minus three sign bits
    ([3, 3, 3, 3, 0, 0], -24)
    >>> rows = heap.compress(Module(), [2] * 6)
    >>> [len(column) for column in rows]
    [2, 2, 2, 2, 2, 2]
    """

    def __init__(self, width: int):
        self.width = width
        self.constant = 0
        self.columns: list[list[tuple[Value, float]]] = [[] for _ in range(width)]

    def add_bit(self, bit: Value, weight: int, *, arrival: float = 0.0, negative: bool = False):
        """Put one bit of weight 2^weight, or -2^weight; weights past the top are dropped.

        `arrival` is in delays of one XOR gate.
        """
        if weight >= self.width:
            return
        if negative:
            self.constant -= 1 << weight
            bit = ~bit
        self.columns[weight].append((bit, arrival))

    def add_term(
        self, bits: Sequence[Value], weight: int = 0, *, signed: bool, arrival: float = 0.0
    ) -> None:
        """Put an integer times 2^weight; its top bit has negative weight if `signed`."""
        for position, bit in enumerate(bits):
            negative = signed and position == len(bits) - 1
            self.add_bit(bit, weight + position, arrival=arrival, negative=negative)

    def add_columns(self, columns: Sequence[Sequence[Value]], *, arrival: float = 0.0) -> None:
        """Put columns of bits, such as those of a carry-save number."""
        for weight, column in enumerate(columns):
            for bit in column:
                self.add_bit(bit, weight, arrival=arrival)

    def add_heap(self, other: "BitHeap", weight: int = 0) -> None:
        """Put all of another heap, times 2^weight."""
        self.constant += other.constant << weight
        for shift, column in enumerate(other.columns):
            for bit, arrival in column:
                self.add_bit(bit, weight + shift, arrival=arrival)

    def copy(self) -> "BitHeap":
        """Make a heap with the same bits and constant."""
        other = BitHeap(self.width)
        other.constant = self.constant
        other.columns = [list(column) for column in self.columns]
        return other

    def _all(self) -> list[list[tuple[Value, float]]]:
        """Columns with the constant's ones."""
        return [
            column + [(C(1, 1), _BEFORE)] * (self.constant >> weight & 1)
            for weight, column in enumerate(self.columns)
        ]

    def schedule(self, heights: Sequence[int]) -> Schedule:
        """Plan the compression to these heights, without building it."""
        columns = [[arrival for _, arrival in column] for column in self._all()]
        return schedule(columns, heights)

    def sum_delay(self, heights: Sequence[int], arrival: float) -> float:
        """Delay of adding all bits to an accumulator of these heights, in XOR gates."""
        heap = self.copy()
        heap.add_columns([[C(0, 1)] * height for height in heights], arrival=arrival)
        return heap.schedule(heights).delay

    def sum_heights(self, arrival: float, most: int | Sequence[int] = 2) -> list[int]:
        """Choose the accumulator's heights: a carry is kept only where rippling it costs time."""
        return self._sparse(most, arrival)

    def _sparse(self, most: int | Sequence[int], arrival: float | None) -> list[int]:
        """Choose heights of columns, with an accumulator of these heights, or with none."""
        columns = tuple(tuple(at for _, at in column) for column in self.columns)
        rows = most if isinstance(most, int) else tuple(most)
        return list(_sparse(columns, self.constant, rows, arrival))

    def lowest(self, width: int) -> "BitHeap":
        """Make a heap of the lowest columns: the same sum modulo 2^width."""
        heap = self.copy()
        heap.width = width
        heap.columns = heap.columns[:width]
        return heap

    def compress(self, m: Module, heights: Sequence[int]) -> list[list[Value]]:
        """Build the adders that leave at most `heights` bits in each column.

        Columns with fewer bits are padded with zeros.
        """
        plan = self.schedule(heights)
        bits: dict[int, Value] = dict(enumerate(bit for column in self._all() for bit, _ in column))
        for number, adder in enumerate(plan.adders):
            inputs = [bits[index] for index in adder.inputs]
            total, carry = _add(inputs)
            bits[adder.sum] = Signal(name=f"s{adder.column}_{number}")
            m.d.comb += bits[adder.sum].eq(total)
            if adder.carry is not None:
                bits[adder.carry] = Signal(name=f"c{adder.column}_{number}")
                m.d.comb += bits[adder.carry].eq(carry)
        return [
            [bits[index] for index in column] + [C(0, 1)] * (height - len(column))
            for column, height in zip(plan.columns, heights, strict=True)
        ]

    @property
    def _occupied(self) -> int:
        """Count the columns that the sum of the bits can reach, without the constant."""
        highest = sum(len(column) << weight for weight, column in enumerate(self.columns))
        return min(self.width, highest.bit_length())

    def cuts(self, registers: int, last: Callable[["BitHeap"], float]) -> list[int]:
        """Choose the row counts of this many pipeline registers, to balance the stages.

        `last` gives the delay of the logic after the last register.
        """
        tallest = max(map(len, self.columns))

        def delay(above: int | None, below: int | None) -> float:
            heap = self
            if above is not None:
                heap = BitHeap(self.width)
                heap.constant = self.constant
                heap.add_columns([[C(0, 1)] * above] * self._occupied)
            return last(heap) if below is None else heap.schedule([below] * heap.width).delay

        # About half a level of full adders apart.
        rows = [2]
        while rows[-1] < tallest:
            rows.append(-(-rows[-1] * 5 // 4))
        return balance(registers, rows, delay)

    def register(self, m: Module, enable: Value, rows: int = 2) -> "BitHeap":
        """Compress to at most `rows`, register them, and return a heap of the registers.

        The constant moves to the new heap. Nothing wraps below the top column: the rows keep every
        carry that the bits can produce.
        """
        bits = self.copy()
        bits.constant = 0
        bits.width = self._occupied
        bits.columns = bits.columns[: bits.width]
        heights = bits._sparse(rows, None)
        registered = BitHeap(self.width)
        registered.constant = self.constant
        for weight, column in enumerate(bits.compress(m, heights)):
            for row, bit in enumerate(column):
                held = Signal(name=f"r{row}_{weight}", reset_less=True)
                with m.If(enable):
                    m.d.sync += held.eq(bit)
                registered.add_bit(held, weight)
        return registered


@lru_cache(maxsize=1024)
def _sparse(
    columns: tuple[tuple[float, ...], ...],
    constant: int,
    most: int | tuple[int, ...],
    arrival: float | None,
) -> tuple[int, ...]:
    """Choose heights, which depend on nothing but arrivals; elements of an array ask for the same.

    Parameters
    ----------
    columns : arrivals of the bits of each column, in XOR gates.
    constant : what is added to them.
    most : bits that a column may keep.
    arrival : of the accumulator's bits; None if there is none.
    """
    heap = BitHeap(len(columns))
    heap.constant = constant
    heap.columns = [[(C(0, 1), at) for at in column] for column in columns]

    def delay(heights: Sequence[int]) -> float:
        return heap.schedule(heights).delay if arrival is None else heap.sum_delay(heights, arrival)

    return tuple(sparse_heights(heap.width, delay, most))


def _add(inputs: list[Value]) -> tuple[Value, Value]:
    """Add two or three bits, the last of which arrives last; return sum and carry."""
    match inputs:
        case [Value() as one, x] if _is_one(one):
            return ~x, x
        case [x, y]:
            return x ^ y, x & y
        case [one, x, y] if _is_one(one):
            return ~(x ^ y), x | y
        case [x, y, z]:
            return x ^ y ^ z, (x & y) | ((x ^ y) & z)
    raise AssertionError(inputs)


def _is_one(bit: Value) -> bool:
    return isinstance(bit, C) and bit.value == 1

"""Lanes that look up sums of activations by weight bits, and accumulate them."""

from dataclasses import dataclass

from amaranth import C, Cat, Module, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap
from hw.device.lut6 import count_alike
from hw.lib.shared_module import SharedModule
from hw.pe.bitplane_lane import BitplaneLane
from hw.pe.entry_select import choose, gather, lines_of, multiplex, multiplex_tree
from hw.pe.lut_table import LutTable

__all__ = ["BitLane", "LutLane", "Selection"]

# Arrival times in XOR gates after the operands.
_GATED, _CHOSEN, _FLIPPED, _SIGN, _MADE = 0.6, 2.0, 3.0, 0.6, 5.0
_COUNTED = 4.0


class BitLane(BitplaneLane):
    """Adds the activations whose weight bit is set. Members: see :class:`BitplaneLane`.

    Of bipolar ones it adds twice the bits that are as the weight bit is: for each bit 1 more than
    the product of the two as signs.

    Parameters
    ----------
    fmt : IntFormat
        What: activations.
    count : int
        What: activations per cycle.
    negative : bool
        What: they are subtracted.
    bipolar : bool
        What: bits are signs.
    counters : str
        How: "lut6": signs are counted in tables of six inputs, placed by name.
    more
        As :class:`BitplaneLane`.
    """

    module = "bit_lane"

    def __init__(
        self,
        fmt: IntFormat,
        count: int,
        *,
        negative: bool = False,
        bipolar: bool = False,
        counters: str = "adders",
        **more: int,
    ):
        self.fmt = fmt
        self.counters = counters
        self.count = count
        self.negative = negative
        self.bipolar = bipolar
        super().__init__(count * fmt.width, count, **more)

    def _terms(self, m: Module, a: Value, b: Value) -> BitHeap:
        heap = BitHeap(self.width)
        fmt = self.fmt
        if self.counters == "lut6":
            for place in range(fmt.width):
                part = BitHeap(self.width)
                for weight, column in enumerate(
                    count_alike(m, a[place :: fmt.width], b, self.count.bit_length(), f"x{place}")
                ):
                    for bit in column:
                        part.add_bit(bit, weight + 1, arrival=_COUNTED)
                heap.add_heap(part, place)
            return heap
        for number in range(self.count):
            gated = Signal(fmt.width, name=f"x{number}")
            code = a.word_select(number, fmt.width)
            bits = b[number].replicate(fmt.width)
            if self.bipolar:
                m.d.comb += gated.eq(~(code ^ bits))
                heap.add_term(list(gated), 1, signed=False, arrival=1.0)
                continue
            m.d.comb += gated.eq(code & bits)
            _put(heap, gated, fmt.signed, self.negative, _GATED)
        return heap


@dataclass(frozen=True, kw_only=True)
class Selection:
    """How weight bits, or keys, select entries of tables, and what becomes of these.

    Parameters
    ----------
    weight : IntFormat
        What: the bits of a weight per cycle; entries of full tables selected by its sign are
        subtracted.
    folded : bool
        What: weights come as keys, see :func:`golden.lut.table.fold`.
    exact : bool
        What: entries of half tables are negated exactly, not just inverted.
    subtracts : bool
        How: a control line makes a plane's entries of full tables subtract.
    tree : bool
        How: entries are selected by a multiplexer tree, not by one select line each.
    """

    weight: IntFormat
    folded: bool
    exact: bool = True
    subtracts: bool = False
    tree: bool = False


class LutLane(BitplaneLane):
    """Adds the table entries that weight bits, or keys, select.

    Members: see :class:`BitplaneLane`; ``i_a`` has the entries of all tables, or the activations
    from which the lane makes them; ``i_b`` the bits of one plane, in the order of the weights, or
    of several planes, the least significant first. If the lane subtracts, ``i_a`` has a line after
    the entries: this plane's entries are subtracted.

    Parameters
    ----------
    table : LutTable
        What: a table.
    lookups : int
        What: tables.
    selection : Selection
        What and how: of their entries.
    makes : bool
        How: the lane makes the tables itself.
    more
        As :class:`BitplaneLane`.
    """

    module = "lut_lane"

    def __init__(
        self,
        table: LutTable,
        lookups: int,
        selection: Selection,
        *,
        makes: bool = False,
        **more: int,
    ):
        self.table = table
        self.lookups = lookups
        self.selection = selection
        self.makes = makes
        group = table.spec.group
        # Arrival time of entries.
        self._made = _MADE if makes else 0.0
        width = len(table.i if makes else table.o)
        self._entries = lookups * width
        planes = selection.weight.width
        super().__init__(self._entries + selection.subtracts, lookups * group * planes, **more)

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The table generator, if it is in the lane."""
        return (self.table,) if self.makes else ()

    def _terms(self, m: Module, a: Value, b: Value) -> BitHeap:
        heap = BitHeap(self.width)
        minus = a[self._entries :]
        tables = [a.word_select(at, self._entries // self.lookups) for at in range(self.lookups)]
        if self.makes:
            tables = [self._make(m, codes) for codes in tables]
        for plane in range(self.selection.weight.width):
            bits = b.word_select(plane, len(b) // self.selection.weight.width)
            for number, entries in enumerate(tables):
                key = list(bits.word_select(number, self.table.group))
                entry = self._look_up(m, entries, key, minus, plane, f"x{plane}_{number}")
                heap.add_heap(entry, plane)
        return heap

    def _make(self, m: Module, codes: Value) -> Value:
        """Make a table."""
        m.submodules += (table := self.table.place())
        m.d.comb += table.i.eq(codes)
        return table.o

    def _look_up(
        self, m: Module, a: Value, bits: list[Value], minus: Value, plane: int, name: str
    ) -> BitHeap:
        """Put the table entry for the bits of a plane on a heap."""
        heap = BitHeap(self.width - plane)
        table = self.table
        if self.selection.folded != (table.form == "half"):
            bits = [bit ^ bits[-1] for bit in bits[:-1]] + bits[-1:]
        if table.form == "full":
            if self.selection.tree:
                chosen, signed = choose(m, bits, table.entries(a), table.formats, name)
            else:
                lines = lines_of(m, bits, f"{name}_is")[1:]
                chosen, signed = gather(m, lines, table.entries(a), table.formats, name)
            if self.selection.subtracts:
                _negate(m, heap, chosen if signed else Cat(chosen, C(0, 1)), minus, name)
                return heap
            negative = self.selection.weight.signed and plane == self.selection.weight.width - 1
            _put(heap, chosen, signed, negative, self._made + _CHOSEN)
            return heap
        sign = bits.pop()
        select = multiplex_tree if self.selection.tree else multiplex
        entry = select(m, table.entries(a), bits, f"{name}_entry")
        flipped = Signal(len(entry), name=name)
        m.d.comb += flipped.eq(entry ^ sign.replicate(len(entry)))
        _put(heap, flipped, True, False, self._made + _FLIPPED)
        if self.selection.exact:
            # A halved odd entry is negated by inverting it.
            heap.add_bit(sign & ~a[-1] if table.halved else sign, 0, arrival=_SIGN)
        return heap


def _put(heap: BitHeap, bits: Value, signed: bool, negative: bool, arrival: float) -> None:
    """Put a number, or its negative, on a heap."""
    for weight, bit in enumerate(bits):
        top = signed and weight == len(bits) - 1
        heap.add_bit(bit, weight, arrival=arrival, negative=negative != top)


def _negate(m: Module, heap: BitHeap, bits: Value, minus: Value, name: str) -> None:
    """Put a two's complement number on a heap, or its negative: inverted, plus one."""
    inverted = Signal(len(bits), name=f"{name}_signed")
    m.d.comb += inverted.eq(bits ^ minus.replicate(len(bits)))
    heap.add_term(list(inverted), signed=True, arrival=_FLIPPED)
    heap.add_bit(minus, 0, arrival=_SIGN)

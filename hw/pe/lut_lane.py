"""Lanes that look up sums of activations by weight bits, and accumulate them."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.integer import IntFormat
from hw.arith.bit_heap import BitHeap
from hw.lib.shared_module import SharedModule
from hw.pe.bitplane_lane import BitplaneLane
from hw.pe.lut_table import LutTable

__all__ = ["BitLane", "LutLane", "gather", "multiplex"]

# Arrival times in XOR gates after the operands.
_GATED, _CHOSEN, _FLIPPED, _SIGN, _MADE = 0.6, 2.0, 3.0, 0.6, 5.0


class BitLane(BitplaneLane):
    """Adds the activations whose weight bit is set. Members: see :class:`BitplaneLane`.

    Parameters
    ----------
    fmt : IntFormat
        What: activations.
    count : int
        What: activations per cycle.
    negative : bool
        What: they are subtracted.
    more
        As :class:`BitplaneLane`.
    """

    module = "bit_lane"

    def __init__(self, fmt: IntFormat, count: int, *, negative: bool = False, **more: int):
        self.fmt = fmt
        self.count = count
        self.negative = negative
        super().__init__(count * fmt.width, count, **more)

    def _terms(self, m: Module, a: Value, b: Value) -> BitHeap:
        heap = BitHeap(self.width)
        fmt = self.fmt
        for number in range(self.count):
            gated = Signal(fmt.width, name=f"x{number}")
            own = a.word_select(number, fmt.width)
            m.d.comb += gated.eq(own & b[number].replicate(fmt.width))
            _put(heap, gated, fmt.signed, self.negative, _GATED)
        return heap


class LutLane(BitplaneLane):
    """Adds the table entries that weight bits, or keys, select.

    Members: see :class:`BitplaneLane`; ``i_a`` has the entries of all tables, or the activations
    from which the lane makes them; ``i_b`` the bits of one plane, in the order of the weights, or
    of several planes, the least significant first. If the lane `subtracts`, ``i_a`` has a line
    after the entries: this plane's entries are subtracted.

    Parameters
    ----------
    table : LutTable
        What: a table.
    lookups : int
        What: tables.
    makes : bool
        How: the lane makes the tables itself.
    folded : bool
        What: weights come as keys, see :func:`golden.lut.table.fold`.
    exact : bool
        What: entries of half tables are negated exactly, not just inverted.
    weight : IntFormat
        What: the bits of a weight per cycle; entries of full tables selected by its sign are
        subtracted.
    subtracts : bool
        How: a control line makes a plane's entries of full tables subtract.
    tree : bool
        How: entries are selected by a multiplexer tree, not by one select line each.
    more
        As :class:`BitplaneLane`.
    """

    module = "lut_lane"

    def __init__(
        self,
        table: LutTable,
        lookups: int,
        *,
        makes: bool = False,
        folded: bool,
        exact: bool = True,
        weight: IntFormat,
        subtracts: bool = False,
        tree: bool = False,
        **more: int,
    ):
        self.subtracts = subtracts
        self.tree = tree
        self.table = table
        self.lookups = lookups
        self.makes = makes
        self.folded = folded
        self.exact = exact
        self.weight = weight
        group = table.spec.group
        # Arrival time of entries.
        self._made = _MADE if makes else 0.0
        width = len(table.i if makes else table.o)
        self._entries = lookups * width
        super().__init__(self._entries + subtracts, lookups * group * weight.width, **more)

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
        for plane in range(self.weight.width):
            bits = b.word_select(plane, len(b) // self.weight.width)
            for number, entries in enumerate(tables):
                key = list(bits.word_select(number, self.table.group))
                found = self._look_up(m, entries, key, minus, plane, f"x{plane}_{number}")
                heap.add_heap(found, plane)
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
        if self.folded != (table.form == "half"):
            bits = [bit ^ bits[-1] for bit in bits[:-1]] + bits[-1:]
        if table.form == "full":
            if self.tree:
                chosen, signed = _choose(m, bits, table.entries(a), table.formats, name)
            else:
                lines = _lines(m, bits, f"{name}_is")[1:]
                chosen, signed = gather(m, lines, table.entries(a), table.formats, name)
            if self.subtracts:
                _negate(m, heap, chosen if signed else Cat(chosen, C(0, 1)), minus, name)
                return heap
            negative = self.weight.signed and plane == self.weight.width - 1
            _put(heap, chosen, signed, negative, self._made + _CHOSEN)
            return heap
        sign = bits.pop()
        choose = _tree if self.tree else multiplex
        found = choose(m, table.entries(a), bits, f"{name}_entry")
        flipped = Signal(len(found), name=name)
        m.d.comb += flipped.eq(found ^ sign.replicate(len(found)))
        _put(heap, flipped, True, False, self._made + _FLIPPED)
        if self.exact:
            # A halved odd entry is negated by inverting it.
            heap.add_bit(sign & ~a[-1] if table.halved else sign, 0, arrival=_SIGN)
        return heap


def gather(
    m: Module, lines: list[Value], entries: list[Value], formats: list[IntFormat], name: str
) -> tuple[Value, bool]:
    """Select the entry whose line is set; zero if none is.

    Returns
    -------
    The entry, and whether it is two's complement.
    """
    signed = any(fmt.signed for fmt in formats)
    chosen = Signal(max(fmt.width + (signed and not fmt.signed) for fmt in formats), name=name)
    m.d.comb += chosen.eq(
        Cat(
            Cat(
                line & entry[min(place, fmt.width - 1)]
                for line, entry, fmt in zip(lines, entries, formats, strict=True)
                if fmt.signed or place < fmt.width
            ).any()
            for place in range(len(chosen))
        )
    )
    return chosen, signed


def _put(heap: BitHeap, bits: Value, signed: bool, negative: bool, arrival: float) -> None:
    """Put a number, or its negative, on a heap."""
    for place, bit in enumerate(bits):
        top = signed and place == len(bits) - 1
        heap.add_bit(bit, place, arrival=arrival, negative=negative != top)


def _negate(m: Module, heap: BitHeap, bits: Value, minus: Value, name: str) -> None:
    """Put a two's complement number on a heap, or its negative: inverted, plus one."""
    inverted = Signal(len(bits), name=f"{name}_signed")
    m.d.comb += inverted.eq(bits ^ minus.replicate(len(bits)))
    heap.add_term(list(inverted), signed=True, arrival=_FLIPPED)
    heap.add_bit(minus, 0, arrival=_SIGN)


def _lines(m: Module, bits: list[Value], name: str) -> list[Value]:
    """Decode bits to one-hot lines."""
    lines: list[Value] = []
    for number in range(1 << len(bits)):
        line = Signal(name=f"{name}{number}")
        chosen = [bit if number >> at & 1 else ~bit for at, bit in enumerate(bits)]
        m.d.comb += line.eq(Cat(chosen).all())
        lines.append(line)
    return lines


def multiplex(m: Module, entries: list[Value], bits: list[Value], name: str) -> Value:
    """Select one of 2^n entries of equal width."""
    if len(bits) > 1:
        lines = _lines(m, bits, f"{name}_is")
        formats = [IntFormat(width=len(entries[0]))] * len(entries)
        return gather(m, lines, entries, formats, name)[0]
    found = Signal(len(entries[0]), name=name)
    m.d.comb += found.eq(Mux(bits[0], entries[1], entries[0]))
    return found


def _tree(m: Module, entries: list[Value], bits: list[Value], name: str) -> Value:
    """Select one of 2^n entries of equal width by a multiplexer tree."""
    for level, bit in enumerate(bits):
        below = entries
        entries = []
        for number, pair in enumerate(zip(below[::2], below[1::2], strict=True)):
            found = Signal(len(below[0]), name=f"{name}{level}_{number}")
            m.d.comb += found.eq(Mux(bit, pair[1], pair[0]))
            entries.append(found)
    return entries[0]


def _choose(
    m: Module, bits: list[Value], entries: list[Value], formats: list[IntFormat], name: str
) -> tuple[Value, bool]:
    """Select the entry of a full table by a tree, zero if no bit is set; tell if it is signed."""
    signed = any(fmt.signed for fmt in formats)
    width = max(fmt.width + (signed and not fmt.signed) for fmt in formats)
    wide: list[Value] = [C(0, width)]
    for entry, fmt in zip(entries, formats, strict=True):
        top = entry[-1] if fmt.signed else C(0, 1)
        wide.append(Cat(entry, top.replicate(width - fmt.width)))
    return _tree(m, wide, bits, name), signed

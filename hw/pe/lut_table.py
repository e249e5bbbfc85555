"""Tables over a few activations: their entries and their generator."""

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from golden.formats.integer import IntFormat
from golden.lut.table import TableSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.lib.shared_module import SharedModule

__all__ = ["LutTable", "Table"]

# Bits of a number, whether it is two's complement, and whether it is negated.
Term = tuple[Value, bool, bool]


class Table(SharedModule):
    """Makes the entries of one table of activations.

    Members
    -------
    i : In
        Activations, the first lowest.
    o : Out
        Entries, each as wide as its format in :attr:`formats`, the first lowest; then `more` bits.
    """

    CLOCKED = False

    i: Signal
    o: Signal

    def __init__(
        self, group: int, a_format: IntFormat, formats: list[IntFormat], adder: str, more: int = 0
    ):
        self.group = group
        self.a_format = a_format
        self.formats = formats
        self.adder = adder
        super().__init__({
            "i": In(group * a_format.width),
            "o": Out(sum(fmt.width for fmt in formats) + more),
        })

    def entries(self, bits: Value) -> list[Value]:
        """Split ``o``, or a copy of it, into entries."""
        entries, start = [], 0
        for fmt in self.formats:
            entries.append(bits[start : start + fmt.width])
            start += fmt.width
        return entries

    def make(self, m: Module, codes: list[Value]) -> list[Value]:
        """Make the entries."""
        raise NotImplementedError

    def elaborate(self, platform):
        m = Module()
        width = self.a_format.width
        codes = [self.i.word_select(at, width) for at in range(self.group)]
        m.d.comb += self.o.eq(Cat(self.make(m, codes)))
        return m

    def add(self, m: Module, one: Term, other: Term, fmt: IntFormat) -> Value:
        """Add two numbers."""
        heap = BitHeap(fmt.width)
        for bits, signed, negative in (one, other):
            for weight, bit in enumerate(bits):
                heap.add_bit(bit, weight, negative=negative != (signed and weight == len(bits) - 1))
        return resolve(m, heap.compress(m, [2] * fmt.width), self.adder)


class LutTable(Table):
    """Makes the entries of a full table, or of half a table of signed sums.

    A half table has the sums +-a_0 +-a_1 ... in which the last activation is negative, in the order
    of :func:`golden.lut.table.half_table`. A full table has, for each number except 0, the sum of
    the activations whose bits are set in it: what an unsigned bit plane of weights selects.

    The entries of a half table are all odd or all even. `halved` drops their lowest bit, which
    follows once, after the entries. With `inverted`, the sums of signed activations in a full table
    have their bits from the activations' sign bit up inverted: with select lines that takes fewer
    gates, as single activations have one bit for all these places. Members: see :class:`Table`.
    """

    module = "table"

    def __init__(
        self,
        spec: TableSpec,
        form: str,
        adder: str = "sklansky",
        *,
        halved: bool = False,
        inverted: bool = False,
    ):
        self.spec = spec
        self.form = form
        self.halved = halved
        self.inverted = inverted and form == "full" and spec.a_signed
        formats = [IntFormat(width=spec.entry_format.width - halved)] * spec.entries
        if form == "full":
            formats = [spec.sum_format(number.bit_count()) for number in range(1, 1 << spec.group)]
        super().__init__(spec.group, spec.a_format, formats, adder, int(halved))

    def entries(self, bits: Value) -> list[Value]:
        """Split ``o``, or a copy of it, into entries."""
        return self._turned(super().entries(bits))

    def narrow(self, entries: Value) -> Value:
        """Convert entries, all as wide as the widest and not halved, to ``o``."""
        width = len(entries) // len(self.formats)
        return Cat(
            self._coded([
                entries.word_select(at, width)[: fmt.width + self.halved]
                for at, fmt in enumerate(self.formats)
            ])
        )

    def widen(self, bits: Value, width: int) -> Value:
        """Convert ``o``, not halved, to entries of that width."""
        return Cat(
            Cat(entry, (entry[-1] if fmt.signed else C(0, 1)).replicate(width - fmt.width))
            for entry, fmt in zip(self.entries(bits), self.formats, strict=True)
        )

    @property
    def additions(self) -> int:
        """Number of two-operand additions or subtractions."""
        if self.form == "full":
            return len(self.formats) - self.group
        return self._half_additions(self.group)

    def _half_additions(self, count: int) -> int:
        if count == 1:
            return 0
        low = count // 2
        below = self._half_additions(low) + self._half_additions(count - low)
        return below + (1 << (count - 1))

    def _coded(self, entries: list[Value]) -> list[Value]:
        """Convert entries to ``o``: halve or invert them, if the table is so."""
        if self.halved:
            return [*(bits[1:] for bits in entries), entries[0][0]]
        return self._turned(entries)

    def _turned(self, entries: list[Value]) -> list[Value]:
        """Invert the bits that are inverted in ``o``; its own inverse."""
        if not self.inverted:
            return entries
        sign = self.spec.a_width - 1
        return [
            Cat(bits[:sign], ~bits[sign:]) if len(bits) > self.spec.a_width else bits
            for bits in entries
        ]

    def make(self, m: Module, codes: list[Value]) -> list[Value]:
        """Make the entries."""
        signed = self.spec.a_signed
        if self.form == "half":
            terms = self._half(m, [(code, signed, True) for code in codes])
            return self._coded([bits for bits, *_ in terms])
        sums: list[Value] = []
        for number, fmt in enumerate(self.formats, start=1):
            top = number.bit_length() - 1
            rest = number ^ 1 << top
            bits = codes[top]
            if rest:
                bits = self.add(m, (bits, signed, False), (sums[rest - 1], signed, False), fmt)
            sums.append(bits)
        return self._coded(sums)

    def _half(self, m: Module, terms: list[Term]) -> list[Term]:
        """Make a half table from those of the two halves of its activations."""
        if len(terms) == 1:
            return terms
        low = len(terms) // 2
        half = self._half(m, terms[:low])
        full = half + [(bits, signed, not negative) for bits, signed, negative in reversed(half)]
        fmt = IntFormat(width=(len(terms) * self.spec.greatest).bit_length() + 1)
        return [
            (self.add(m, below, above, fmt), True, False)
            for above in self._half(m, terms[low:])
            for below in full
        ]

"""Selectors of table entries: by one line for each, or by a tree of multiplexers."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.check import Choice
from golden.formats.integer import IntFormat

__all__ = ["SELECT", "choose", "gather", "lines_of", "multiplex", "multiplex_tree"]

SELECT = Choice(
    "entries are selected by one line each, or by a multiplexer tree", "lines", ("lines", "tree")
)
"""The parameter of a design that has tables."""


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
                line & entry[min(weight, fmt.width - 1)]
                for line, entry, fmt in zip(lines, entries, formats, strict=True)
                if fmt.signed or weight < fmt.width
            ).any()
            for weight in range(len(chosen))
        )
    )
    return chosen, signed


def lines_of(m: Module, bits: list[Value], name: str) -> list[Value]:
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
        lines = lines_of(m, bits, f"{name}_is")
        formats = [IntFormat(width=len(entries[0]))] * len(entries)
        return gather(m, lines, entries, formats, name)[0]
    chosen = Signal(len(entries[0]), name=name)
    m.d.comb += chosen.eq(Mux(bits[0], entries[1], entries[0]))
    return chosen


def multiplex_tree(m: Module, entries: list[Value], bits: list[Value], name: str) -> Value:
    """Select one of 2^n entries of equal width by a multiplexer tree."""
    for level, bit in enumerate(bits):
        below = entries
        entries = []
        for number, pair in enumerate(zip(below[::2], below[1::2], strict=True)):
            chosen = Signal(len(below[0]), name=f"{name}{level}_{number}")
            m.d.comb += chosen.eq(Mux(bit, pair[1], pair[0]))
            entries.append(chosen)
    return entries[0]


def choose(
    m: Module,
    bits: list[Value],
    entries: list[Value],
    formats: list[IntFormat],
    name: str,
    *,
    first: int = 1,
) -> tuple[Value, bool]:
    """Select an entry by a tree: `bits` are its number plus `first`; zero if there is none.

    Returns
    -------
    The entry, and whether it is two's complement.
    """
    signed = any(fmt.signed for fmt in formats)
    width = max(fmt.width + (signed and not fmt.signed) for fmt in formats)
    wide: list[Value] = [C(0, width)] * first
    for entry, fmt in zip(entries, formats, strict=True):
        top = entry[-1] if fmt.signed else C(0, 1)
        wide.append(Cat(entry, top.replicate(width - fmt.width)))
    wide += [C(0, width)] * ((1 << len(bits)) - len(wide))
    return multiplex_tree(m, wide, bits, name), signed

"""Carry-propagate adders, which resolve a carry-save number into an ordinary one."""

from amaranth import C, Cat, Module, Signal, Value

from golden.check import Choice

__all__ = ["ADDER", "ADDERS", "resolve"]

# Generate (None: never) and propagate of a group of columns.
_Group = tuple[Value | None, Value]

ADDERS = ("sklansky", "kogge_stone", "ripple", "operator")
ADDER = Choice("carry-propagate adder", "sklansky", ADDERS, searched=True, on_device="operator")
"""The parameter of a design that has one."""


def resolve(m: Module, columns: list[list[Value]], adder: str = "sklansky") -> Value:
    """Add up columns of one or two bits, modulo 2^columns.

    Parameters
    ----------
    m : where the gates go.
    columns : one or two bits for each weight, lowest first.
    adder : "sklansky" (fewest levels, fan-out doubles at each), "kogge_stone" (fewest levels,
        fan-out two), "ripple" (least area), or "operator", the synthesis tool's own (carry chains
        on FPGAs).

    Returns
    -------
    The sum, one bit for each column.
    """
    if adder not in ADDERS:
        raise ValueError(f"adder must be one of {', '.join(ADDERS)}, not {adder!r}")
    if adder == "operator":
        total = Signal(len(columns), name="total")
        rows = [Cat((c[row] if row < len(c) else C(0, 1)) for c in columns) for row in (0, 1)]
        m.d.comb += total.eq(rows[0] + rows[1])
        return total

    # A column with one bit generates nothing and propagates that bit.
    propagate: list[Value] = []
    generate: list[Value | None] = []
    for weight, column in enumerate(columns):
        half = Signal(name=f"half{weight}")
        m.d.comb += half.eq(column[0] ^ column[1] if len(column) == 2 else column[0])
        propagate.append(half)
        both = Signal(name=f"both{weight}") if len(column) == 2 else None
        if both is not None:
            m.d.comb += both.eq(column[0] & column[1])
        generate.append(both)
    carries = _carries(m, propagate, generate, adder)
    total = Signal(len(columns), name="total")
    m.d.comb += total.eq(
        Cat(
            half if carry is None else half ^ carry
            for half, carry in zip(propagate, [None, *carries], strict=False)
        )
    )
    return total


def _carries(
    m: Module, propagate: list[Value], generate: list[Value | None], adder: str
) -> list[Value | None]:
    """Return the carry out of each column; None where there is never one."""
    group: list[_Group] = list(zip(generate, propagate, strict=True))
    if adder == "ripple":
        for high in range(1, len(group)):
            group[high] = _join(m, group[high], group[high - 1], f"{high}")
        return [made for made, _ in group]
    level = 0
    while 1 << level < len(group):
        joined = list(group)
        for high in range(1 << level, len(group)):
            if adder == "kogge_stone":
                low = high - (1 << level)
            elif high >> level & 1:
                low = (high >> level << level) - 1
            else:
                continue
            joined[high] = _join(m, group[high], group[low], f"{level}_{high}")
        group = joined
        level += 1
    return [made for made, _ in group]


def _join(m: Module, high: _Group, low: _Group, name: str) -> _Group:
    """Generate and propagate of two neighbouring groups of columns together."""
    both = Signal(name=f"p{name}")
    m.d.comb += both.eq(high[1] & low[1])
    if high[0] is None and low[0] is None:
        return None, both
    made = Signal(name=f"g{name}")
    if low[0] is None:
        m.d.comb += made.eq(high[0])
    elif high[0] is None:
        m.d.comb += made.eq(high[1] & low[0])
    else:
        m.d.comb += made.eq(high[0] | (high[1] & low[0]))
    return made, both

"""Sums of a beat's values: of all, and of those before each group of lanes."""

from amaranth import C, Cat, Module, Signal, Value, signed

__all__ = ["GROUP", "group_sums", "held_sums"]

GROUP = 2
"""Lanes in a group."""


def held_sums(
    m: Module,
    move: Value,
    values: list[Value],
    group: int,
    carried: Value,
    clear: Value | None = None,
) -> tuple[list[Value], Signal]:
    """Add values of stage s up, and hold what comes out in stage t.

    Parameters
    ----------
    m : where the gates go.
    move : clock enable.
    values : of the lanes, two's complement, of one width.
    group : lanes in each group but the last.
    carried : what is left of the beats before, of stage t.
    clear : make zeros; None: never.

    Returns
    -------
    What is left before each group, as wide as `carried`; and the sum, two's complement.
    """
    *before, added = group_sums(m, values, group)
    total = Signal(len(added), name="t_sum", reset_less=True)
    starts = [carried]
    sums = [(total, added)]
    for number, summed in enumerate(before, 1):
        held = Signal(len(carried), name=f"t_before{number}", reset_less=True)
        start = Signal(len(carried), name=f"start{number}")
        m.d.comb += start.eq(held + carried)
        starts.append(start)
        sums.append((held, summed))
    for held, summed in sums:
        with m.If(move):
            m.d.sync += held.eq(summed)
        if clear is not None:
            with m.If(clear):
                m.d.sync += held.eq(0)
    return starts, total


def group_sums(m: Module, values: list[Value], group: int) -> list[Value]:
    """Add values up as Sklansky's network does, groups of them as trees.

    Parameters
    ----------
    m : where the gates go.
    values : of the lanes, two's complement, of one width.
    group : values in each group but the last.

    Returns
    -------
    Sums of all values up to the end of each group, two's complement; the last one is of all.
    """
    width = len(values[0])

    def named(start: int, end: int, low: Value, high: Value) -> Value:
        """Name the sum of two, which is of the values from one on, before another."""
        size = width + (end - start - 1).bit_length()
        summed = Signal(signed(size), name=f"summed{start}_{end}")
        # A zero below: else Yosys makes adders in series a compressor, of twice the LUTs of FPGAs.
        low, high = (Cat(C(0, 1), value).as_signed() for value in (low, high))
        m.d.comb += summed.eq(low + high >> 1)
        return summed

    def tree(start: int, end: int) -> Value:
        if end - start == 1:
            return values[start].as_signed()
        middle = _middle(start, end, 1)
        return named(start, end, tree(start, middle), tree(middle, end))

    def network(start: int, end: int) -> list[Value]:
        if end - start <= group:
            return [tree(start, end)]
        middle = _middle(start, end, group)
        low, high = network(start, middle), network(middle, end)
        ends = [min(middle + group * (number + 1), end) for number in range(len(high))]
        return low + [named(start, at, low[-1], more) for at, more in zip(ends, high, strict=True)]

    return network(0, len(values))


def _middle(start: int, end: int, group: int) -> int:
    """Split at the greatest power of two of groups that leaves any value."""
    groups = -(-(end - start) // group)
    return start + (group << (groups - 1).bit_length() - 1)

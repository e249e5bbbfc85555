"""Up/down counter: one more or one less, for numbers that seldom move."""

from amaranth import Cat, Module, Signal, Value

__all__ = ["count"]

# Bits whose carries ripple, before a gate that looks at all of them.
_GROUP = 4


def count(m: Module, number: Value, down: Value, name: str = "count") -> Value:
    """Add one to a number, or take one away, modulo 2^width.

    A bit changes if all below it are 1, going up, or 0, going down.

    Parameters
    ----------
    m : where the gates go.
    number : as many bits as the result.
    down : one bit: take one away.
    name : of the signals, unique in a module.
    """
    after: list[Value] = []
    below: Value | None = None  # all bits of the groups below are at their end
    for start in range(0, len(number), _GROUP):
        turn = below
        ends = []
        for place in range(start, min(start + _GROUP, len(number))):
            bit = number[place]
            after.append(~bit if turn is None else bit ^ turn)
            end = Signal(name=f"{name}_end{place}")
            m.d.comb += end.eq(bit ^ down)
            ends.append(end)
            turn = end if turn is None else turn & end
        group = Signal(name=f"{name}_group{start}")
        m.d.comb += group.eq(Cat(ends).all())
        passed = Signal(name=f"{name}_passed{start}")
        m.d.comb += passed.eq(group if below is None else group & below)
        below = passed
    return Cat(after)

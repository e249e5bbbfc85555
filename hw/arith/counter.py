"""Up/down counter: one more or one less, for numbers that seldom move."""

from amaranth import Cat, Module, Signal, Value

__all__ = ["count"]

# Bits whose carries ripple, before a gate that looks at all of them.
_GROUP = 4


def count(m: Module, number: Value, move: Value, down: Value, name: str = "count") -> Value:
    """Add one to a number, or take one away, or leave it; modulo 2^width.

    A bit changes if all bits below it are 1, going up, or 0, going down: if they are equal, and the
    lowest says so. So all but one gate after `down` look at the number alone, and nothing switches
    while it does not move.

    Parameters
    ----------
    m : where the gates go.
    number : as many bits as the result.
    move : one bit: it changes.
    down : one bit: by -1, else by 1; any value while `move` is 0.
    name : of the signals, unique in a module.
    """
    after: list[Value] = [number[0] ^ move]
    passes = Signal(name=f"{name}_passes")
    m.d.comb += passes.eq(move & (number[0] ^ down))
    equal: Value | None = None  # all bits up to the group's first
    for start in range(1, len(number), _GROUP):
        turn: Value = passes if equal is None else passes & equal
        run = []
        for place in range(start, min(start + _GROUP, len(number))):
            after.append(number[place] ^ turn)
            same = Signal(name=f"{name}_same{place}")
            m.d.comb += same.eq(number[place] == number[place - 1])
            run.append(same)
            turn = turn & same
        group = Signal(name=f"{name}_equal{start}")
        m.d.comb += group.eq(Cat(run).all() if equal is None else Cat(run).all() & equal)
        equal = group
    return Cat(after)

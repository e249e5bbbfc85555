"""Tables of six inputs of Xilinx families, placed by name: mappers make more of the same counts."""

import functools
from collections.abc import Callable, Sequence

from amaranth import C, Const, Instance, Module, Signal, Value

__all__ = ["count_alike", "table"]

_INPUTS = 6
_PAIRS = _INPUTS // 2


def table(
    m: Module, inputs: Sequence[Value], function: Callable[[list[int]], int], name: str
) -> Signal:
    """Place a LUT6.

    Parameters
    ----------
    inputs : up to six bits.
    function : of six bits, 0 where there is no input: what the table has for them.
    name : of its output.
    """
    out = Signal(name=name)
    words = ([word >> bit & 1 for bit in range(_INPUTS)] for word in range(1 << _INPUTS))
    held = sum((function(word) & 1) << at for at, word in enumerate(words))
    given = [*inputs, *[C(0, 1)] * (_INPUTS - len(inputs))]
    m.submodules[f"table_{name}"] = Instance(
        "LUT6",
        p_INIT=Const(held, 1 << _INPUTS),
        o_O=out,
        **{f"i_I{number}": bit for number, bit in enumerate(given)},
    )
    return out


def count_alike(m: Module, a: Value, b: Value, width: int, name: str) -> list[list[Value]]:
    """Count bits that are alike: in columns of fewer than six bits, the lowest weight first.

    Two tables count three pairs, and three tables six bits of one weight: one table for each bit
    that is no longer there, where full adders take two.

    Parameters
    ----------
    m : gets the tables.
    a, b : as many bits each.
    width : columns; what is beyond is left out.
    name : what names of tables begin with.
    """
    columns: list[list[Value]] = [[] for _ in range(width)]
    for start in range(0, len(a), _PAIRS):
        pairs = list(zip(a[start : start + _PAIRS], b[start : start + _PAIRS], strict=True))
        _put(
            m,
            columns,
            0,
            [bit for pair in pairs for bit in pair],
            f"{name}_alike{start}",
            of_pairs=True,
        )
    for weight, column in enumerate(columns):
        while len(column) >= _INPUTS:
            bits = [column.pop(0) for _ in range(_INPUTS)]
            _put(m, columns, weight, bits, f"{name}_count{weight}_{len(column)}", of_pairs=False)
    return columns


def _put(
    m: Module,
    columns: list[list[Value]],
    weight: int,
    bits: list[Value],
    name: str,
    *,
    of_pairs: bool,
) -> None:
    """Put a count into columns: of the bits, or of pairs of them that are alike."""

    def counted(word: list[int], at: int) -> int:
        given = word[: len(bits)]
        if of_pairs:
            given = [one == other for one, other in zip(given[::2], given[1::2], strict=True)]
        return sum(given) >> at

    most = len(bits) // 2 if of_pairs else len(bits)
    for at in range(min(most.bit_length(), len(columns) - weight)):
        columns[weight + at].append(
            table(m, bits, functools.partial(counted, at=at), f"{name}_{at}")
        )

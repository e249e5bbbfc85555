"""Proof of tables of ternary sums, and of what weights or their keys select, against golden."""

import numpy as np
import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.integer import IntFormat
from golden.lut.ternary import entry_count, key_width, look_up, ternary_table
from hw.pe.ternary_table import TernaryTable, halves
from verif.support.cases import long
from verif.support.formal import holds

WIDTHS = {2: 8, 3: 5, 4: 3, 5: 2, 6: 2, 7: 1}
"""Bits of activations, by those of a table: of wider ones proofs take hours."""


def makes_the_sums(group: int, fmt: IntFormat, adder: str = "sklansky", *, slip: int = 0) -> bool:
    """Prove each entry, for all activations.

    Entries of one activation are it; each other is the sum of two entries whose signs, by golden,
    are its own together. `slip` takes the first entry for the one after so many.
    """
    signs = ternary_table(np.eye(group, dtype=np.int64)).T

    def claim(m: Module, a: Signal) -> Value:
        m.submodules.table = table = TernaryTable(group, fmt, adder)
        m.d.comb += table.i.eq(a)
        entries = [
            entry.as_signed() if made.signed else entry
            for entry, made in zip(table.entries(table.o), table.formats, strict=True)
        ]
        right = []
        for number, line in enumerate(signs):
            places = np.flatnonzero(line).tolist()
            code = a.word_select(places[0], fmt.width)
            due: Value = code.as_signed() if fmt.signed else code
            if len(places) > 1:
                low, high = halves(line.tolist())
                below, above = abs(low) - 1, high - 1
                flip = -1 if low < 0 else 1
                assert np.array_equal(line, signs[above] + flip * signs[below])
                assert not (signs[above] * signs[below]).any()
                due = entries[above] + flip * entries[below + slip]
            right.append(entries[number] == due)
        return Cat(right).all()

    return holds(claim, group * fmt.width)


def selects(group: int, fmt: IntFormat, keys: str, *, tree: bool = False, slip: int = 0) -> bool:
    """Prove what is looked up, for all activations, and for all codes or keys of weights."""

    def claim(m: Module, a: Signal, b: Signal) -> Value:
        m.submodules.table = table = TernaryTable(group, fmt, tree=tree)
        m.d.comb += table.i.eq(a)
        chosen, sign, signed = table.look_up(m, table.o, b, keys, "x")
        number = chosen.as_signed() if signed else chosen
        due: Value = C(0, 1)
        for at, (plus, minus) in enumerate(weights(b, group, keys)):
            code = a.word_select(at, fmt.width)
            value = code.as_signed() if fmt.signed else code
            due = due + Mux(plus, value, 0) - Mux(minus, value, 0)
        return Mux(sign, -number, number) == due + slip

    return holds(claim, group * fmt.width, 2 * group)


def weights(b: Value, group: int, keys: str) -> list[tuple[Value, Value]]:
    """Whether each weight is 1, and whether -1: as golden reads codes or keys."""
    if keys == "none":
        codes = [b.word_select(at, 2) for at in range(group)]
        return [(code[0] & ~code[1], code[0] & code[1]) for code in codes]
    width = 4 if keys == "pair" else key_width(group)
    every = np.arange(1 << width)
    unit = np.eye(group, dtype=np.int64)
    if keys == "pair":
        entries = ternary_table(unit)[:, every & 3]
        signs = np.where(every & 8, np.where(every & 4, -entries, entries), 0)
    else:
        signs = look_up(unit[:, None], every[None], group)

    def is_one_of(numbers: list[int]) -> Value:
        return Cat(b[:width] == number for number in numbers).any()

    return [
        (
            is_one_of(np.flatnonzero(line == 1).tolist()),
            is_one_of(np.flatnonzero(line == -1).tolist()),
        )
        for line in signs
    ]


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("group", long(list(WIDTHS), 3, 4, 5))
def test_table_makes_the_sums(group: int, signed: bool) -> None:
    assert makes_the_sums(group, IntFormat(width=WIDTHS[group], signed=signed))


@pytest.mark.prove
@pytest.mark.parametrize("group", [2, 3, 4])
@pytest.mark.parametrize("adder", ["ripple", "operator"])
def test_table_of_other_adders_makes_the_sums(group: int, adder: str) -> None:
    assert makes_the_sums(group, IntFormat(width=3), adder)


SELECTIONS = [
    (2, "none", False),
    (2, "pair", False),
    (2, "pair", True),
    (3, "none", False),
    (3, "table", False),
    (3, "table", True),
    (4, "none", False),
    (4, "table", False),
    (4, "table", True),
    (5, "none", False),
    (5, "table", False),
    (5, "table", True),
    (6, "none", False),
    (6, "table", False),
]


@pytest.mark.parametrize(("group", "keys", "tree"), long(SELECTIONS, *range(9, len(SELECTIONS))))
def test_weights_select_their_sum(group: int, keys: str, tree: bool) -> None:
    assert selects(group, IntFormat(width=2 if group < 4 else 1), keys, tree=tree)


def test_proofs_of_tables_can_fail() -> None:
    assert not makes_the_sums(3, IntFormat(width=2), slip=1)
    assert not selects(2, IntFormat(width=2), "pair", tree=True, slip=1)


@pytest.mark.parametrize(("group", "levels"), [(2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 3)])
def test_entries_take_one_addition_each_and_few_in_a_row(group: int, levels: int) -> None:
    """The fewest: no entry of several activations is another, or its negative."""
    table = TernaryTable(group, IntFormat(width=8))
    places = {3**place: 0 for place in range(group)}

    def depth(value: int) -> int:
        if value not in places:
            low, high = halves(table.digits[value - 1])
            places[value] = 1 + max(depth(abs(low)), depth(high))
        return places[value]

    assert max(depth(value) for value in range(1, entry_count(group) + 1)) == levels
    assert table.additions == len(places) - group == entry_count(group) - group

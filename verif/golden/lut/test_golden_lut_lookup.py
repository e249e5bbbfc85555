"""Half tables, keys and lookups: against sums and products written out."""

from itertools import product
from math import ceil, log2
from operator import mul
from typing import Any

import numpy as np
import pytest

from golden.formats.bipolar import odd
from golden.formats.integer import IntFormat
from golden.lut.lookup import LookupSpec, constants, lookup_matmul, planes
from golden.lut.table import TableSpec, fold, half_table, keys, lookup, tables
from golden.tpe import lut_core as core
from golden.tpe.lut_core import LutCoreSpec, lut_core

GROUPS = (2, 3, 4, 5)


def signed_sum(row: list[int], pattern: int) -> int:
    return sum(a if pattern >> place & 1 else -a for place, a in enumerate(row))


@pytest.mark.parametrize("group", GROUPS)
def test_half_table_is_half_of_all_signed_sums(group: int) -> None:
    a = np.random.default_rng(group).integers(-128, 128, (40, group))
    a[0], a[1] = -128, 127
    found = half_table(a)
    assert found.shape == (40, 1 << group - 1)
    for row, entries in zip(a.tolist(), found.tolist(), strict=True):
        assert entries == [signed_sum(row, index) for index in range(1 << group - 1)]


def test_table_of_four_is_the_published_one() -> None:
    a, b, c, d = 1, 10, 100, 1000
    h1, h2, g1, g2 = a + b, a - b, c - d, c + d
    expected = [-h1 - g2, h2 - g2, -h2 - g2, h1 - g2, -h1 + g1, h2 + g1, -h2 + g1, h1 + g1]
    assert half_table(np.array([[a, b, c, d]])).tolist() == [expected]


@pytest.mark.parametrize(("group", "adders"), [(2, 2), (3, 6), (4, 12), (5, 24)])
def test_generator_needs_as_many_adders_as_stated(group: int, adders: int) -> None:
    count = 0

    def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        nonlocal count
        # A sum and its negative are one adder, and so is each entry.
        count += np.unique(np.abs(x + y)).size
        return x + y

    half_table(np.array([1, 10, 100, 1000, 10000])[:group], add)
    assert count == adders


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("signed", "symmetric"), [(True, False), (True, True), (False, False)])
def test_entries_are_as_wide_as_the_worst_sum(group: int, signed: bool, symmetric: bool) -> None:
    for width in (2, 3, 8, 16):
        spec = TableSpec(group=group, a_width=width, a_signed=signed, symmetric=symmetric)
        low = -(1 << width - 1) + symmetric if signed else 0
        high = (1 << width - 1) - 1 if signed else (1 << width) - 1
        rows = np.array(list(product((low, high), repeat=group)))
        entries = tables(spec, rows)
        fmt = spec.entry_format
        worst = max(entries.max(), -entries.min())
        # Both signs, and the complement of the greatest, which is one less than its negative.
        assert fmt.low <= -worst - 1
        assert worst <= fmt.high
        assert worst > fmt.high >> 1
        if group & (group - 1) == 0:
            published = width + ceil(log2(group)) + (0 if symmetric else 1)
            assert fmt.width == published
        elif signed and width == 8:
            # Not a power of two: the published width of the full range has one bit too many.
            assert fmt.width == width + ceil(log2(group))


def test_symmetric_tables_refuse_the_least_code() -> None:
    spec = TableSpec(symmetric=True)
    with pytest.raises(ValueError, match=r"a must be -127\.\. where symmetric, not -128"):
        tables(spec, np.array([[-128]]))


@pytest.mark.parametrize(("group", "width"), [(2, 4), (2, 8), (3, 5), (4, 4), (5, 3)])
def test_fold_is_a_bijection_that_undoes_itself(group: int, width: int) -> None:
    every = np.arange(1 << group * width)
    codes = every >> (width * np.arange(group)[:, None]) & (1 << width) - 1
    folded = fold(codes, group)
    assert np.array_equal(fold(folded, group), codes)
    assert np.unique(folded.T @ (1 << width * np.arange(group))).size == every.size


@pytest.mark.parametrize("group", GROUPS)
def test_keys_select_the_signed_sum_of_every_pattern(group: int) -> None:
    row = [3, -50, 127, -128, 77][:group]
    entries = tables(TableSpec(group=group), np.array([row]))
    patterns = np.arange(1 << group)
    codes = patterns >> np.arange(group)[:, None] & 1
    index, sign = keys(fold(codes, group), group, 0)
    found = lookup(entries, index)[0, 0]
    expected = [signed_sum(row, pattern) for pattern in patterns.tolist()]
    assert np.where(sign[0], -found, found).tolist() == expected
    assert np.array_equal(sign[0], codes[-1])


@pytest.mark.parametrize("width", range(1, 9))
def test_weights_are_sums_of_planes_of_signs(width: int) -> None:
    codes = np.arange(1 << width)[:, None]
    found = odd(codes, width)
    assert found.tolist() == [[2 * q - (2**width - 1)] for q in range(1 << width)]
    signs = planes(codes, width)
    assert set(signs.reshape(-1).tolist()) == {-1, 1}
    assert np.array_equal((signs << np.arange(width)[:, None, None]).sum(axis=0), found)


@pytest.mark.parametrize(
    ("group", "width"), [(4, 1), (4, 2), (4, 3), (4, 4), (2, 8), (5, 3), (3, 5), (2, 5)]
)
def test_lookup_of_every_pattern_of_weights(group: int, width: int) -> None:
    every = np.arange(1 << group * width)
    codes = every >> (width * np.arange(group)[:, None]) & (1 << width) - 1
    rng = np.random.default_rng(width)
    a = np.concatenate([rng.integers(-128, 128, (2, group)), np.full((1, group), -128)])
    exact = a @ (2 * codes - ((1 << width) - 1))
    for negation in ("carry", "constant"):
        spec = LookupSpec(group=group, planes=width, lookups=1, negation=negation)
        sums = lookup_matmul(spec, a, codes)
        if negation == "constant":
            assert not np.array_equal(sums, exact)
            sums = sums + constants(codes, group)
        assert np.array_equal(sums, exact)


@pytest.mark.parametrize("order", ["inner", "outer"])
@pytest.mark.parametrize("negation", ["carry", "constant"])
def test_lookup_equals_the_product(order: str, negation: str) -> None:
    rng = np.random.default_rng(7)
    tried = 0
    for group, lookups, width in product(GROUPS, (1, 3, 4), range(1, 9)):
        a_width = int(rng.choice([4, 8, 16]))
        # K and the groups of a beat do not divide it, but by chance.
        depth = int(rng.integers(1, 70))
        a = rng.integers(-(1 << a_width - 1), 1 << a_width - 1, (3, depth))
        codes = rng.integers(0, 1 << width, (depth, 5))
        spec = LookupSpec(
            group=group,
            lookups=lookups,
            planes=width,
            a_width=a_width,
            order=order,
            negation=negation,
        )
        sums = lookup_matmul(spec, a, codes)
        if negation == "constant":
            sums = sums + constants(codes, group)
        assert np.array_equal(sums, a @ (2 * codes - ((1 << width) - 1)))
        tried += 1
    assert tried == 96


@pytest.mark.parametrize("code", [0, 255])
def test_worst_sums_fit(code: int) -> None:
    spec = LutCoreSpec(b_width=8, b_signed=False, weights="odd", table="half", k_max=100)
    worst = np.full((1, 100), -128)
    b = np.full((100, 1), code)
    c = lut_core(spec, worst, b)
    assert abs(int(c[0, 0])) == 100 * 128 * 255
    assert spec.c_format.check("c", c).tolist() == c.tolist()
    assert spec.c_format.high >> 1 < 100 * 128 * 255
    sums = lookup_matmul(spec.lookup, worst, b)
    assert sums.tolist() == c.tolist()


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", range(1, 9))
def test_lut_core_is_an_engine_of_integers(width: int, signed: bool) -> None:
    """Corrected by the sums of activations, lookups give the product of ordinary integers."""
    spec = LutCoreSpec(b_width=width, b_signed=signed, group=3, lookups=2, k_max=50)
    rng = np.random.default_rng(width)
    a = rng.integers(-128, 128, (2, 50))
    b = rng.integers(spec.b_format.low, spec.b_format.high + 1, (50, 64))
    b[:, 0], b[:, 1], a[0] = spec.b_format.low, spec.b_format.high, -128
    patterns = spec.b_patterns(b)
    codes = fold(patterns, 3)
    assert codes.shape == (54, 64)
    sums = lookup_matmul(spec.lookup, np.pad(a, ((0, 0), (0, 4))), codes)
    zero = 1 if signed else 1 - (1 << width)
    twice = sums - zero * a.sum(axis=1, keepdims=True)
    assert not (twice & 1).any()
    assert np.array_equal(twice >> 1, lut_core(spec, a, b))
    assert np.array_equal(lut_core(spec, a, b), a @ b)
    spec.c_format.check("c", a @ b)
    raw = LutCoreSpec(b_width=width, b_signed=signed, group=3, lookups=2, folded=False)
    assert np.array_equal(raw.b_patterns(b)[:50], b & (1 << width) - 1)


def test_lut_core_leaves_constants_to_be_added() -> None:
    odd: dict[str, Any] = {
        "b_signed": False,
        "weights": "odd",
        "table": "half",
        "negation": "constant",
        "group": 4,
    }
    spec = LutCoreSpec(b_width=3, **odd)
    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, (2, 37)), rng.integers(0, 8, (37, 9))
    c = lut_core(spec, a, b)
    assert np.array_equal(c, lookup_matmul(spec.lookup, a, b))
    assert np.array_equal(c + constants(b, spec.group), a @ (2 * b - 7))
    # What inverting leaves out is room of its own: 31 times -1, and 7 keys with a sign.
    low = LutCoreSpec(a_width=2, symmetric=True, b_width=1, k_max=31, **odd)
    worst = lut_core(low, np.full((1, 31), -1), np.ones((31, 1), int))
    assert worst.tolist() == [[-38]]
    low.c_format.check("c", worst)


def test_lut_core_counts_a_cycle_for_each_plane() -> None:
    spec = LutCoreSpec(b_width=3)
    tile = (np.zeros((2, 40), int), np.zeros((40, 64), int))
    alone = core.cycles(spec, [tile], 5)
    assert core.cycles(spec, [tile, tile], 5) - alone == 3 * 3
    assert LutCoreSpec(b_width=6).operations_per_cycle * 2 == spec.operations_per_cycle


def test_passes_of_a_lut_core_bring_one_plane_each() -> None:
    """All beats of the greatest plane first, so that the sum doubles between passes."""
    how: dict[str, Any] = {"b_width": 3, "group": 2, "lookups": 2, "order": "outer", "k_max": 50}
    spec = LutCoreSpec(**how, folded=False)
    rng = np.random.default_rng(5)
    a, b = rng.integers(-128, 128, (2, 7)), rng.integers(-4, 4, (7, 5))
    patterns = spec.b_patterns(b)
    assert patterns.shape == (3 * 8, 5)
    total = np.zeros((2, 5), dtype=np.int64)
    for bits in patterns.reshape(3, 8, 5):
        total = 2 * total + np.pad(a, ((0, 0), (0, 1))) @ bits
    # In offset binary, and filled up with the code 0.
    assert np.array_equal(total - 4 * a.sum(axis=1, keepdims=True), lut_core(spec, a, b))
    keys = LutCoreSpec(**how).b_patterns(b)
    unfolded = fold(keys.reshape(-1, 5), 2)
    assert np.array_equal(unfolded, patterns)
    tile = (a, b)
    assert core.cycles(spec, [tile, tile], 5) - core.cycles(spec, [tile], 5) == 3 * 2
    assert (spec.planes, spec.passes, spec.operations_per_cycle) == (1, 3, 2 * 2 * 64 * 4 / 3)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("form", ["full", "half"])
@pytest.mark.parametrize("group", [2, 3, 4, 5])
def test_ready_made_tables_have_all_sums(group: int, form: str, signed: bool) -> None:
    """Each entry against sums in Python; the greatest and the least fit, and need the width."""
    spec = LutCoreSpec(
        m=2, group=group, lookups=2, table=form, a_signed=signed, a_width=4, generator="external"
    )
    fmt = spec.a_format
    codes = np.random.default_rng(group).integers(fmt.low, fmt.high + 1, (9, 2 * 2 * group))
    codes[0], codes[1] = fmt.low, fmt.high
    found = spec.a_patterns(codes)
    assert found.shape == (9, 2 * spec.a_codes)
    for beat, rows in zip(codes.tolist(), found.reshape(9, 4, -1).tolist(), strict=True):
        for number, entries in enumerate(rows):
            own = beat[group * number : group * (number + 1)]
            if form == "half":
                signs = product(*[(-1,)], *[(-1, 1)] * (group - 1))
                due = [sum(map(mul, reversed(own), sign)) for sign in signs]
            else:
                bits = list(product(*[(0, 1)] * group))[1:]
                due = [sum(map(mul, reversed(own), bit)) for bit in bits]
            assert entries == due
    narrower = IntFormat(width=spec.a_code_width - 1, signed=spec.made.code_format.signed)
    # A half table's width is that of the complements of its entries too.
    widest = ~found if form == "half" else found
    assert max(found.max(), widest.max()) > narrower.high or found.min() < narrower.low
    assert not spec.plain


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"group": 6}, "group must be 2..5 activations, not 6"),
        ({"b_width": 9}, "b_width must be 1..8 planes, not 9"),
        ({"weights": "odd"}, "b_signed must be false where weights is odd, not True"),
        ({"weights": "odd", "b_signed": False}, "table must be half where weights is odd"),
        ({"order": "outer", "parallel": True}, "order must be inner where parallel is true"),
        ({"negation": "constant"}, "negation must be carry where weights is integer"),
        ({"symmetric": True, "a_signed": False}, "symmetric must be false where a_signed"),
    ],
)
def test_lut_core_rejects(parameters: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        LutCoreSpec(**parameters)  # type: ignore[arg-type]

"""Golden Laconic against direct loops and the fewest signed powers of two, found by recursion."""

import functools
import itertools
from statistics import NormalDist

import numpy as np
import pytest

from carrysave.sim.operands import normal, uniform
from golden.formats.integer import IntFormat
from golden.pe.laconic import LaconicSpec, cycles, terms
from golden.pe.mac import MacSpec

INT8 = IntFormat(width=8)
SIGNS = list(itertools.product([True, False], repeat=2))


@functools.cache
def fewest(value: int) -> int:
    """Fewest signed powers of two that add up to a value: halve it, or take a term off first."""
    if abs(value) < 2:
        return abs(value)
    if value % 2 == 0:
        return fewest(value // 2)
    return 1 + min(fewest((value - 1) // 2), fewest((value + 1) // 2))


def chances(fmt: IntFormat) -> dict[int, float]:
    """Chance of each code of a normal operand."""
    centre = 0 if fmt.signed else (fmt.high + 1) // 2
    below = NormalDist(centre, 20 * 2.0 ** (fmt.width - 8)).cdf
    return {
        code: (1 if code == fmt.high else below(code + 0.5))
        - (0 if code == fmt.low else below(code - 0.5))
        for code in range(fmt.low, fmt.high + 1)
    }


@pytest.mark.parametrize("width", [2, 3, 8, 11, 16])
@pytest.mark.parametrize("signed", [True, False])
def test_terms_are_the_fewest(width: int, signed: bool) -> None:
    fmt = IntFormat(width=width, signed=signed)
    codes = np.arange(fmt.low, fmt.high + 1)
    assert terms(codes, fmt).tolist() == [fewest(code) for code in codes.tolist()]


@pytest.mark.parametrize(
    ("code", "count"),
    [(0, 0), (1, 1), (-1, 1), (3, 2), (7, 2), (-128, 1), (127, 2), (85, 4), (-86, 4), (-85, 4)],
)
def test_terms_of_known_codes(code: int, count: int) -> None:
    assert terms(np.array(code), INT8) == count


def test_mean_terms() -> None:
    """Means that the spec states for int8: uniform, and normal with a deviation of 20."""
    counts = terms(np.arange(-128, 128), INT8)
    assert round(counts.mean(), 3) == 2.777
    assert round(float(counts @ list(chances(INT8).values())), 3) == 2.063


@pytest.mark.parametrize("k", [1, 3, 16])
@pytest.mark.parametrize(("a_signed", "b_signed"), SIGNS)
def test_cycles_match_a_direct_loop(k: int, a_signed: bool, b_signed: bool) -> None:
    spec = LaconicSpec(k=k, a_width=7, a_signed=a_signed, b_signed=b_signed)
    rng = np.random.default_rng(k)
    a, b = uniform(rng, spec.a_format, (200, k)), uniform(rng, spec.b_format, (200, k))
    a[rng.random(a.shape) < 0.3] = 0
    a[:5] = 0
    expected = []
    for lefts, rights in zip(a.tolist(), b.tolist(), strict=True):
        lanes = [fewest(x) * fewest(y) for x, y in zip(lefts, rights, strict=True)]
        expected.append(max([1, *lanes]))
    found = cycles(spec, a, b, np.ones(200, bool))
    assert found.dtype == np.int64
    assert found.tolist() == expected
    assert {1, max(expected)} < set(expected)


@pytest.mark.parametrize(
    ("a_width", "a_signed", "b_width", "b_signed"),
    [(2, True, 3, False), (3, True, 3, True), (4, False, 2, True)],
)
def test_operations_per_cycle_match_all_beats(
    a_width: int, a_signed: bool, b_width: int, b_signed: bool
) -> None:
    """The mean over every beat of two lanes, each with its chance."""
    spec = LaconicSpec(k=2, a_width=a_width, a_signed=a_signed, b_width=b_width, b_signed=b_signed)
    lanes = [
        (fewest(x) * fewest(y), p * q)
        for (x, p), (y, q) in itertools.product(
            chances(spec.a_format).items(), chances(spec.b_format).items()
        )
    ]
    mean = sum(max(1, s, t) * p * q for (s, p), (t, q) in itertools.product(lanes, repeat=2))
    assert spec.operations_per_cycle == pytest.approx(4 / mean, rel=1e-12)


@pytest.mark.parametrize("k", [1, 16])
@pytest.mark.parametrize("width", [4, 8])
def test_operations_per_cycle_match_samples(k: int, width: int) -> None:
    """Beats drawn at random spend the stated mean, to within four standard errors."""
    spec = LaconicSpec(k=k, a_width=width, b_width=8)
    rng, beats = np.random.default_rng(width), 40_000
    a, b = (normal(rng, fmt, (beats, k)) for fmt in (spec.a_format, spec.b_format))
    spent = cycles(spec, a, b, np.zeros(beats, bool))
    error = spent.std() / np.sqrt(beats)
    assert abs(spent.mean() - 2 * k / spec.operations_per_cycle) < 4 * error


def test_default_is_sixteen_lanes() -> None:
    assert LaconicSpec().k == 16
    assert MacSpec().k == 1


def test_spec_rejects() -> None:
    with pytest.raises(ValueError, match=r"k must be 1\.\.64 pairs, not 0"):
        LaconicSpec(k=0)
    with pytest.raises(TypeError, match=r"k must be 1\.\.64 pairs, not 2\.0"):
        LaconicSpec(k=2.0)  # type: ignore[arg-type]

"""Golden MAC and matmul against Python's own integers."""

import itertools
import random

import numpy as np
import pytest

from golden.engine import EngineSpec, matmul
from golden.formats.integer import IntFormat
from golden.pe.mac import MacSpec, mac
from golden.tpe.systolic_os import SystolicOsSpec, cycles
from hw.catalog import Design

SIGNS = list(itertools.product([True, False], repeat=2))


def wrapped(value: int, fmt: IntFormat) -> int:
    """Reduce modulo 2^width into the format's range, in Python integers."""
    bits = value % (1 << fmt.width)
    return bits - (1 << fmt.width) if bits > fmt.high else bits


@pytest.mark.parametrize("width", [1, 2, 8, 31, 63])
@pytest.mark.parametrize("signed", [True, False])
def test_int_format_range_and_wrap(width: int, signed: bool) -> None:
    fmt = IntFormat(width=width, signed=signed)
    assert fmt.high - fmt.low + 1 == 1 << width
    draw = random.Random(width)
    values = [draw.randint(-(1 << 63), (1 << 63) - 1) for _ in range(200)]
    values += [fmt.low, fmt.high, -1, 0, 1]
    expected = [wrapped(value, fmt) for value in values]
    assert fmt.wrap(np.array(values)).tolist() == expected


def test_int_format_check_refuses() -> None:
    fmt = IntFormat(width=4)
    with pytest.raises(ValueError, match=r"a must be -8\.\.7 \(int4\), not 8"):
        fmt.check("a", np.array([0, 8]))
    with pytest.raises(ValueError, match="not -9"):
        fmt.check("a", np.array([-9, 0]))
    with pytest.raises(TypeError, match="a must be integers"):
        fmt.check("a", np.array([0.5]))


@pytest.mark.parametrize(("a_signed", "b_signed"), SIGNS)
@pytest.mark.parametrize(("a_width", "b_width", "width"), [(8, 8, 32), (2, 16, 12), (16, 16, 63)])
def test_mac_matches_integers(
    a_signed: bool, b_signed: bool, a_width: int, b_width: int, width: int
) -> None:
    spec = MacSpec(
        a_width=a_width,
        b_width=b_width,
        a_signed=a_signed,
        b_signed=b_signed,
        accumulator_width=width,
    )
    draw = random.Random(a_width)
    a = [draw.randint(spec.a_format.low, spec.a_format.high) for _ in range(300)]
    b = [draw.randint(spec.b_format.low, spec.b_format.high) for _ in range(300)]
    a[:20], b[:20] = [spec.a_format.low] * 20, [spec.b_format.high] * 20
    last = [draw.random() < 0.2 for _ in range(300)]
    expected, total = [], 0
    for x, y, end in zip(a, b, last, strict=True):
        total += x * y
        if end:
            expected.append(wrapped(total, spec.sum_format))
            total = 0
    assert mac(spec, np.array(a), np.array(b), np.array(last)).tolist() == expected
    assert len(expected) > 20


@pytest.mark.parametrize(("a_signed", "b_signed"), SIGNS)
@pytest.mark.parametrize(
    ("a_width", "b_width", "k_max"),
    [(2, 2, 1), (8, 8, 3), (8, 8, 65536), (16, 16, 1 << 24), (3, 11, 100)],
)
def test_c_format_is_the_least_that_holds_every_sum(
    a_signed: bool, b_signed: bool, a_width: int, b_width: int, k_max: int
) -> None:
    spec = EngineSpec(
        a_width=a_width, b_width=b_width, a_signed=a_signed, b_signed=b_signed, k_max=k_max
    )
    sums = [
        k_max * x * y
        for x in (spec.a_format.low, spec.a_format.high)
        for y in (spec.b_format.low, spec.b_format.high)
    ]
    fmt = spec.c_format
    assert fmt.low <= min(sums)
    assert max(sums) <= fmt.high
    less = IntFormat(width=fmt.width - 1, signed=fmt.signed)
    assert min(sums) < less.low or max(sums) > less.high


def test_default_engine_has_32_bit_sums() -> None:
    assert EngineSpec().c_format == IntFormat(width=32, signed=True)


@pytest.mark.parametrize("width", [8, 16])
def test_matmul_is_exact(width: int) -> None:
    """Also where double precision would round: 16-bit codes and 2^24 products need 55 bits."""
    spec = EngineSpec(a_width=width, b_width=width, k_max=1 << 24)
    rng = np.random.default_rng(1)
    low, high = spec.a_format.low, spec.a_format.high
    a, b = rng.integers(low, high + 1, (5, 40)), rng.integers(low, high + 1, (40, 3))
    a[0], b[:, 0] = low, low
    expected = [
        [sum(int(x) * int(y) for x, y in zip(row, column, strict=True)) for column in b.T]
        for row in a
    ]
    assert matmul(spec, a, b).tolist() == expected


def test_matmul_refuses() -> None:
    spec = EngineSpec(k_max=4)
    with pytest.raises(ValueError, match=r"K must be 0\.\.4, not 5"):
        matmul(spec, np.zeros((2, 5), int), np.zeros((5, 2), int))
    with pytest.raises(ValueError, match="a and b must be M x K and K x N"):
        matmul(spec, np.zeros((2, 3), int), np.zeros((4, 2), int))
    with pytest.raises(ValueError, match=r"b must be -128\.\.127 \(int8\), not 200"):
        matmul(spec, np.zeros((2, 1), int), np.full((1, 2), 200))


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("m", 0, ValueError, r"m must be 1\.\.256 rows, not 0"),
        ("n", 257, ValueError, r"n must be 1\.\.256 columns, not 257"),
        ("a_width", 17, ValueError, r"a_width must be 2\.\.16 bits, not 17"),
        ("k_max", True, TypeError, r"k_max must be 1\.\.16777216, not True"),
        ("b_signed", 1, TypeError, "b_signed must be true or false, not 1"),
        ("m", 2.0, TypeError, r"m must be 1\.\.256 rows, not 2\.0"),
    ],
)
def test_spec_rejects(name: str, value: object, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        SystolicOsSpec(**{name: value})  # type: ignore[arg-type]


def test_cycles_of_long_tiles_are_their_k() -> None:
    """No gap between tiles that are at least as long as the drain."""
    spec = SystolicOsSpec(m=4, n=4)
    long, short = ((np.zeros((4, k)), np.zeros((k, 4))) for k in (100, 1))
    once = cycles(spec, [long], 7)
    assert cycles(spec, [long] * 10, 7) - once == 900
    assert cycles(spec, [short] * 10, 7) - cycles(spec, [short], 7) == 9 * spec.drain


@pytest.mark.parametrize("design", ["cube", "adder_tree", "systolic_ws"])
def test_beats_that_are_too_wide_are_refused(design: str) -> None:
    """Before anything is built: no tool downstream says it as clearly."""
    with pytest.raises(ValueError, match=r"must be 1\.\.65472 bits, not 65536"):
        Design(design, {"m": 64, "n": 64, "k": 64})

"""Golden cycles and throughput of digit-serial designs, by counting digits one by one."""

import math

import numpy as np
import pytest

from golden.pe.opt3 import ENCODINGS, Opt3Spec, cycles, terms
from golden.pe.opt4c import Opt4cSpec
from golden.pe.opt4e import Opt4eSpec
from golden.tpe import digit_column
from golden.tpe.digit_column import DigitColumnSpec


def digits_of(value: int, count: int) -> list[int]:
    """Digits of the non-adjacent form, by its definition, two at a time."""
    bits = []
    while value:
        bit = 2 - value % 4 if value % 2 else 0
        bits.append(bit)
        value = (value - bit) // 2
    bits += [0] * (2 * count - len(bits))
    return [bits[2 * place] + 2 * bits[2 * place + 1] for place in range(count)]


def test_terms_count_the_digits_of_the_fullest_lane() -> None:
    rng = np.random.default_rng(1)
    for spec in (Opt3Spec(k=3), Opt4cSpec(k=1), Opt4eSpec(k=8), Opt4eSpec(k=6, a_width=5)):
        a = rng.integers(spec.a_format.low, spec.a_format.high + 1, (60, spec.k))
        a[:20][rng.random((20, spec.k)) < 0.8] = 0
        expected = []
        for beat in a.tolist():
            lanes = [0] * spec.lanes
            for place, code in enumerate(beat):
                lanes[place % spec.lanes] += sum(
                    digit != 0 for digit in digits_of(code, spec.digits)
                )
            expected.append(max(1, *lanes))
        assert terms(spec, a).tolist() == expected
        last = rng.random(60) < 0.3
        spent = cycles(spec, a, a, last)
        assert spent.tolist() == [x + spec.drain * y for x, y in zip(expected, last, strict=True)]


@pytest.mark.parametrize("spec", [Opt3Spec(constant_time=True), Opt4eSpec(constant_time=True, k=8)])
def test_constant_time_is_constant(spec: Opt3Spec) -> None:
    rng = np.random.default_rng(2)
    a = np.concatenate([np.zeros((1, spec.k), int), rng.integers(-128, 128, (50, spec.k))])
    assert set(terms(spec, a).tolist()) == {4 * spec.k // spec.lanes}
    assert spec.expected_cycles(3) == 4 * spec.k // spec.lanes


@pytest.mark.parametrize(
    ("encoding", "count"), [("naf", 2.063), ("booth", 2.294), ("ent", 2.115), ("ent_direct", 2.344)]
)
def test_mean_of_long_beats_is_the_mean_of_digits(encoding: str, count: float) -> None:
    """Beats of 32 codes are hardly ever empty: their mean is that of the published table."""
    spec = Opt3Spec(k=32, encoding=encoding)
    assert spec.expected_cycles() / 32 == pytest.approx(count, abs=5e-4)


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("spec", [Opt3Spec(), Opt3Spec(k=4, a_width=6), Opt4eSpec(k=6)])
def test_expected_cycles_are_those_of_many_beats(spec: Opt3Spec, rows: int) -> None:
    rng = np.random.default_rng(3)
    scale = 20 * 2.0 ** (spec.a_width - 8)
    drawn = np.rint(rng.normal(0, scale, (40000, rows, spec.k))).astype(np.int64)
    drawn = drawn.clip(spec.a_format.low, spec.a_format.high)
    spent = terms(spec, drawn).max(axis=1)
    error = spent.std() / math.sqrt(len(spent))
    assert abs(spent.mean() - spec.expected_cycles(rows)) < 5 * error


def test_operations_per_cycle_are_those_of_long_runs() -> None:
    """Tiles of 256 normal codes take the cycles that the sustained rate says, within the noise."""
    rng = np.random.default_rng(4)
    for spec in (DigitColumnSpec(), DigitColumnSpec(m=3, n=2, k=8, pe="opt4e")):
        element = spec.element
        tiles = []
        for _ in range(2000):
            a = np.rint(rng.normal(0, 20, (spec.m, 256))).astype(np.int64).clip(-128, 127)
            tiles.append((a, np.zeros((256, spec.n), np.int64)))
        spent = digit_column.cycles(spec, tiles, element.drain)
        rate = 2 * spec.m * spec.n * 256 * len(tiles) / spent
        assert rate == pytest.approx(spec.operations_per_cycle, rel=2e-3)


def test_encodings_are_known_to_every_spec() -> None:
    for encoding in ENCODINGS:
        assert DigitColumnSpec(encoding=encoding).element.encoding == encoding

"""Sigmoids and blends of rows in golden, held to exact arithmetic."""

from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

import mpmath
import numpy as np
import pytest

from golden.npe.elements import blend, gate
from golden.npe.requantiser import Requantisation
from golden.npe.vector import VectorUnitSpec
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor
from golden.tpe.systolic_os import SystolicOsSpec

UNIT = VectorUnitSpec(operations="softmax,sigmoid", lanes=4, length=40, width=16, out_width=16)
SPEC = CoprocessorSpec(engine=SystolicOsSpec(m=2, n=2), vector=UNIT, blend=True, code_bytes=2)


def scaling(multiplier: int, shift: int, low: int = -(1 << 15)) -> Requantisation:
    return Requantisation(
        multiplier=np.array([multiplier]),
        shift=np.array([shift]),
        zero_point=np.array([0]),
        low=low,
        high=(1 << 15) - 1,
    )


@pytest.mark.parametrize(("width", "scale_width", "error"), [(8, 4, 0.0215), (16, 8, 0.0155)])
def test_a_sigmoid_is_near_its_function(width: int, scale_width: int, error: float) -> None:
    """Of every code; the bound is a rounded-up measurement, of an exponential of straight lines."""
    spec = replace(UNIT, width=width, scale_width=scale_width)
    x = np.arange(spec.in_format.low, spec.in_format.high + 1)
    how = scaling(1 << 15, 1)
    made = gate(spec, "sigmoid", x, spec.scaling, how) / 2**14
    few = np.unique(np.concatenate([x[:: max(len(x) // 997, 1)], x[abs(x) < 300]]))
    exact = [float(1 / (1 + mpmath.exp(-mpmath.mpf(int(one)) / 2**scale_width))) for one in few]
    off = abs(made[few - x[0]] - exact).max()
    assert 0.9 * error < off < error, off
    assert (np.diff(made) >= 0).all()


def exactly(a: int, b: int, factor: int, places: int, limits: tuple[int, int]) -> int:
    f = Fraction(factor, 1 << places)
    return min(max(floor(a * f + b * (1 - f) + Fraction(1, 2)), limits[0]), limits[1])


@pytest.mark.parametrize("places", range(16))
def test_a_blend_is_rounded_once(places: int) -> None:
    rng = np.random.default_rng(places)
    ends = np.array([-(1 << 15), -1, 0, 1, (1 << 15) - 1])
    mixed = np.stack([each.reshape(-1) for each in np.meshgrid(ends, ends, ends)])
    drawn = rng.integers(-(1 << 15), 1 << 15, (3, 400))
    for a, b, factors in (mixed, drawn):
        for limits in ((-(1 << 15), (1 << 15) - 1), (-100, 3000)):
            blended = blend(a, b, factors, places, limits).tolist()
            assert blended == [
                exactly(*one, places, limits)
                for one in zip(a.tolist(), b.tolist(), factors.tolist(), strict=True)
            ]


def test_blends_of_few_bits_are_right_for_all() -> None:
    """Every pair of codes of 4 bits, and every factor of 3 places from 0 to 1, and beyond."""
    values = np.arange(-8, 8)
    a, b, factors = (each.reshape(-1) for each in np.meshgrid(values, values, values))
    blended = blend(a, b, factors, 3, (-8, 7))
    zipped = zip(a.tolist(), b.tolist(), factors.tolist(), strict=True)
    assert blended.tolist() == [exactly(*one, 3, (-8, 7)) for one in zipped]
    between = (factors >= 0) & (factors <= 8)
    assert (blended[between] >= np.minimum(a, b)[between]).all()
    assert (blended[between] <= np.maximum(a, b)[between]).all()


def _job(**more: Any) -> Job:
    given = {"a": 0, "b": 1000, "c": 3000, "m": 3, "n": 9, "k": 0, "lda": 20, "ldb": 40, "ldc": 22}
    how = scaling(0, 14)
    return Job(**{**given, "a_format": 1, "vector": "blend", "requantisation": how, **more})


@pytest.mark.parametrize("once", [False, True])
def test_a_job_weighs_rows_by_the_factors_behind_them(once: bool) -> None:
    memory = np.random.default_rng(4).integers(256, size=4096).astype(np.uint8)
    before, job = memory.copy(), _job(ldb=0 if once else 40)
    assert coprocessor(SPEC, memory, job) == Error.NONE

    def row(at: int, count: int) -> np.ndarray:
        return before[at : at + 2 * count].view("<i2").astype(np.int64)

    for number in range(3):
        a, second = row(20 * number, 9), row(1000 + job.ldb * number, 18)
        limits = (-(1 << 15), (1 << 15) - 1)
        wanted = blend(a, second[:9], second[9:], 14, limits)
        at = 3000 + 22 * number
        assert memory[at : at + 18].view("<i2").tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"requantisation": None}, Error.MODE),
        ({"requantisation": scaling(0, 16)}, Error.MODE),
        ({"ldb": 35}, Error.LEADING_DIMENSION),
        ({"n": 41, "lda": 100, "ldb": 200, "ldc": 100}, Error.LONG_ROW),
        ({"vector": "silu"}, Error.MODE),
        ({"b": (1 << 64) - 35, "m": 1}, Error.WRAPS),
    ],
)
def test_blends_that_cannot_be(change: dict[str, Any], error: Error) -> None:
    memory = np.zeros(4096, np.uint8)
    assert coprocessor(SPEC, memory, _job(**change)) == error
    assert not memory.any()

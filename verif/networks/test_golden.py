"""Works that golden computes together: each has what it has alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.lowered import golden
from carrysave.compiler.timing.golden_job import scales_of
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from golden.soc.coprocessor import requantise
from hw.catalog import Design

SPEC = Design("coprocessor", {"engine": "systolic_os(m=4,n=4)", "code_bytes": 2}).spec
HOW = Requantisation(multiplier=3 << 28, shift=37, zero_point=3)


def works_of(*changes: dict[str, Any], m: int = 9, n: int = 5) -> list[Work]:
    """Return works that differ in their operands, and in this."""
    rng = np.random.default_rng(3)
    return [
        replace(
            Work(
                a=rng.integers(-128, 128, (m, 7)),
                b=rng.integers(-128, 128, (7, n)),
                bias=rng.integers(-99, 99, n),
                requantisation=HOW,
            ),
            **change,
        )
        for change in changes
    ]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([{}] * 70, id="more columns than are requantised at once"),
        pytest.param(
            [{}, {"requantisation": replace(HOW, shift=np.arange(33, 38))}, {}], id="scales"
        ),
        pytest.param([{}, {"requantisation": None}, {}], id="sums"),
        pytest.param([{}, {"wide": True}, {}], id="codes of two bytes"),
        pytest.param([{}, {"requantisation": replace(HOW, low=-9)}, {}], id="least code"),
        pytest.param([{}, {"requantisation": replace(HOW, high=9)}, {}], id="most code"),
        pytest.param([{}, {"requantisation": replace(HOW, relu=True)}, {}], id="relu"),
        pytest.param([{}, {"a": np.full((2, 7), 127)}, {}], id="rows"),
    ],
)
def test_works_are_as_each_alone(changes: list[dict[str, Any]]) -> None:
    works = works_of(*changes)
    made = golden.run(SPEC, works)
    assert len(made) == len(works)
    for one, work in zip(made, works, strict=True):
        np.testing.assert_array_equal(one, golden.run(SPEC, [work])[0])


def test_one_scale_is_that_of_every_column() -> None:
    """Of more sums than are requantised at once, whatever their order in memory."""
    sums = np.random.default_rng(4).integers(-(1 << 20), 1 << 20, (300, 301)).T
    one = scales_of(replace(HOW, low=-128, high=127))
    each = replace(one, multiplier=np.full(300, 3 << 28), shift=np.full(300, 37))
    np.testing.assert_array_equal(requantise(SPEC, sums, one), requantise(SPEC, sums, each))

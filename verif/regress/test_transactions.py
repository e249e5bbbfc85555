"""Fewer transactions, as reduced failures send: the tests of each bench pass with few, too."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim import runner
from carrysave.sim.results import cases
from hw.catalog import CATALOG, Design

SMALL: dict[str, dict[str, Any]] = {
    "coprocessor": {"engine": "systolic_os(m=2,n=2,k_max=200)"},
    "coprocessor_stream": {"engine": "systolic_os(m=2,n=2,k_max=200)"},
    "coprocessor_uart": {"engine": "systolic_os(m=2,n=2,k_max=200)", "divisor": 4},
    "npe": {"m": 2, "n": 2, "result": "fp32", "scale": "e8m0"},
    "shiftmax": {"length": 15},
    "shift_gelu": {"length": 15},
    "vector_unit": {"length": 40},
}
"""Parameters of those whose default takes long; others with a side have one of 2."""


def small(name: str) -> Design:
    sides: dict[str, Any] = {key: 2 for key in ("m", "n") if key in CATALOG[name].parameters}
    return Design(name, SMALL.get(name, sides))


def times(
    design: Design, folder: Path, tests: str | None = None, **options: Any
) -> dict[str, float]:
    """Run a bench, which must pass; return the simulated time of each test, ns."""
    result = runner.verify(design, seed=5, tests=tests, bench_parameters=options, directory=folder)
    assert result.ok, result.failed
    return {
        case.name: case.stop - case.start
        for case in cases(result.xml)
        if case.start is not None and case.stop is not None
    }


@pytest.mark.prove
def test_few_are_sent(tmp_path: Path) -> None:
    """One operation of the LUT unit, in place of sixteen, twelve resets, and all its registers."""
    design = Design("lut_unit", {"m": 1, "n": 2, "k_max": 30})
    tests = r"(=flowing|test_every_register|test_refuses|test_reset_forgets)$"
    whole, few = (times(design, tmp_path, tests, transactions=count) for count in (1 << 20, 1))
    assert len(whole) == 8
    assert all(few[name] < 0.6 * whole[name] for name in whole)


@pytest.mark.prove
@pytest.mark.parametrize("name", CATALOG)
@pytest.mark.parametrize("count", [1, 3])
def test_none_fails_for_having_sent_few(tmp_path: Path, name: str, count: int) -> None:
    assert times(small(name), tmp_path, transactions=count)

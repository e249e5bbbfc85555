"""Comparisons in Python: designs by name, and what is said beside the figures."""

import pytest

import carrysave
from carrysave.api.comparison import _at, _differences
from carrysave.api.design import Design
from carrysave.asic.options import Verilog
from carrysave.errors import UsageError

SMALL = "a_width=2,b_width=2,accumulator_width=6"


def test_designs_may_be_text() -> None:
    names = [f"mac({SMALL})", f"opt1({SMALL})"]
    found = carrysave.compare(*names, target="generic", activity="none")
    assert found.names == names
    mapped = carrysave.Design("opt1", a_width=2, b_width=2, accumulator_width=6)
    assert found.results[1].module == mapped.module
    with pytest.raises(UsageError, match="must be like NAME or NAME"):
        carrysave.compare("mac", "mac(a")


def test_numbers_that_differ_by_chance_are_named() -> None:
    """An array of short sums beside one whose sums are as long as they are by default."""
    array, matrix = Design("systolic_os"), Design("matrix_2d", k_max=1024)
    (note,) = _differences(["a", "b"], [array, matrix])
    assert note.startswith("k_max differs: 65536 of a, 1024 of b; give it in all")
    # What was asked for is no surprise, variants differ, and what others have is not known.
    assert _differences(["a", "b"], [Design("systolic_os", k_max=2048), matrix]) == []
    assert _differences(["a", "b"], [array, Design("systolic_os", k_max=1024)]) == []
    assert _differences(["a", "b"], [array, Verilog(["b.v"], "b")]) == []
    assert _differences(["a", "b"], [array, Design("matrix_2d")]) == []


@pytest.mark.parametrize(
    ("period", "says"),
    [
        (None, []),
        (2.0, ["at 2 ns: a", "b misses that: its least period is 2.001 ns"]),
        (3, ["at 3 ns: a, b"]),
        (
            1,
            [
                "at 1 ns: no design",
                "a misses that: its least period is 2.000 ns",
                "b misses that: its least period is 2.001 ns",
            ],
        ),
    ],
)
def test_a_period_that_was_asked_for_is_answered(period: float | None, says: list[str]) -> None:
    assert _at(period, ["a", "b"], [{"period_ns": 2.0}, {"period_ns": 2.001}]) == says


def test_gates_without_a_technology_have_no_period_in_ns() -> None:
    assert _at(2.0, ["a"], [{"period_ns": None}]) == []

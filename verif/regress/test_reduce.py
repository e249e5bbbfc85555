"""Failures made small: parameters, tests and transactions."""

from collections.abc import Sequence
from typing import Any

import pytest

from carrysave.regress.reduce import shortest, smallest
from hw.catalog import Design


def test_smallest_keeps_what_the_fault_needs() -> None:
    """One that fails from a width on, and with one choice, keeps these and nothing else."""
    tried: list[Design] = []

    def fails(designs: Sequence[Design]) -> list[bool]:
        tried.extend(designs)
        return [
            one.parameters["a_width"] >= 5 and one.parameters["adder"] == "ripple"
            for one in designs
        ]

    wanted = {"a_width": 11, "b_width": 9, "accumulator_width": 40, "k": 3, "adder": "ripple"}
    found = smallest(Design("mac", wanted), fails)
    assert {name: found.parameters[name] for name in wanted} == {
        "a_width": 5,
        "b_width": 2,
        "accumulator_width": 4,
        "k": 1,
        "adder": "ripple",
    }
    assert len(tried) == len({one.key for one in tried}) < 60


def test_smallest_of_a_design_that_always_fails_takes_few_steps() -> None:
    tried: list[Design] = []

    def fails(designs: Sequence[Design]) -> list[bool]:
        tried.extend(designs)
        return [True for _ in designs]

    found = smallest(Design("mac", {"a_width": 7, "pipeline": 3}), fails)
    assert found == Design("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 4})
    assert len(tried) <= 12


def test_smallest_ends_in_time() -> None:
    wanted = Design("mac", {"a_width": 7})
    assert smallest(wanted, lambda designs: [True for _ in designs], seconds=0.0) == wanted


@pytest.mark.prove
def test_smallest_reduces_the_engine_inside() -> None:
    def fails(designs: Sequence[Design]) -> list[bool]:
        return [one.engine is not None and one.engine.parameters["m"] >= 2 for one in designs]

    engine = "systolic_os(m=4,n=3)"
    found = smallest(Design("coprocessor", {"engine": engine, "sums": 256}), fails)
    assert found.engine is not None
    assert found.engine.parameters["m"] == 2
    assert found.engine.parameters["n"] == 1


def case(name: str, stop: float | None, why: str = "3 of 9 sums differ") -> dict[str, Any]:
    return {
        "name": name,
        "outcome": "failed",
        "start": 100.0,
        "stop": stop,
        "why": why,
        "seconds": 1.0,
    }


def test_shortest_takes_the_shortest_test_and_the_fewest_transactions() -> None:
    asked: list[tuple[str, int | None]] = []

    def run(tests: Sequence[tuple[str, int | None]]) -> list[Any]:
        asked.extend(tests)
        found: list[Any] = []
        for name, count in tests:
            if count is None:
                found.append({"cases": [case(name, {"a": 900.0, "b": 500.0}[name])]})
            elif count < 4:
                # It passes, or fails for being cut.
                why = "wrong place" if count == 2 else ""
                found.append({"cases": [case(name, 200.0, why)] if why else []})
            else:
                found.append({"cases": [case(name, 100.0 + 20 * count, "1 of 1 sums differ")]})
        return found

    result = {"cases": [case("a", 800.0), case("b", 600.0), case("simulation", None, "hangs")]}
    found, count = shortest(result, run)
    assert (found["name"], found["stop"], count) == ("b", 180.0, 4)
    assert ("a", 1) not in asked


def test_shortest_where_nothing_is_shorter() -> None:
    """A bench that cannot be cut, a test that fails with others only, a hang."""
    result = {"cases": [case("a", 800.0)]}
    whole = {"cases": [case("a", 800.0)]}
    assert shortest(result, lambda tests: [whole for _ in tests]) == (whole["cases"][0], None)
    assert shortest(result, lambda tests: [None for _ in tests]) == (result["cases"][0], None)
    hang = {"cases": [case("simulation", None, "it did not end")]}
    assert shortest(hang, lambda tests: [whole for _ in tests]) == (hang["cases"][0], None)

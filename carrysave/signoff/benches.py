"""Sums up what benches and lists of crossings came to."""

from collections.abc import Mapping, Sequence
from typing import Any

from carrysave.jobs import Outcome
from carrysave.signoff.part import FAILED, PASSED, Part, failed

__all__ = ["bench_part", "crossings_part", "passed_tests"]


def crossings_part(listed: Mapping[str, Any]) -> Part:
    """Say which clocks there are, and what goes from one to another."""
    clocks, count = listed["clocks"], len(listed["crossings"])
    if len(clocks) <= 1:
        says = f"one clock, {clocks[0]}: nothing crosses" if clocks else "no register, no clock"
    else:
        related = "edges of one source" if listed["related"] else "clocks that nothing relates"
        says = f"{', '.join(clocks)}, {related}: {count} registers read another clock's"
    return Part("crossings", PASSED if listed["related"] else FAILED, says, dict(listed))


def bench_part(name: str, outcomes: Sequence[Outcome], where: str) -> Part:
    """Sum up runs of a bench: all must have passed, each with a test at least."""
    for outcome in outcomes:
        if (part := failed(name, outcome)) is not None:
            return part
    values = [outcome.value for outcome in outcomes]
    wrong = list(dict.fromkeys(test for one in values for test in one["failed"]))
    tests = sum(one["tests"] for one in values)
    ok = all(one["ok"] and one["tests"] for one in values)
    says = f"{tests} tests, {where}" + (f"; failed: {'; '.join(wrong)}" if wrong else "")
    return Part(name, PASSED if ok else FAILED, says, {"tests": tests, "failed": wrong})


def passed_tests(values: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the tests that passed, and never failed."""
    cases = [case for one in values for case in one["cases"]]
    wrong = {case["name"] for case in cases if case["outcome"] == "failed"}
    passed = [case["name"] for case in cases if case["outcome"] == "passed"]
    return [name for name in dict.fromkeys(passed) if name not in wrong]

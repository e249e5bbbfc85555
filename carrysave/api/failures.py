"""What is said of a bench that failed: why, and the shortest stimulus that shows it."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from carrysave.api.options import VerifyOptions
from carrysave.regress.configurations import options as words_of
from carrysave.regress.reduce import reason, shortest
from carrysave.sim import runner
from carrysave.sim.options import BenchOptions
from carrysave.sim.results import cases
from hw.catalog import Design

__all__ = ["Failure", "alike", "shortest_failure"]

Again = Callable[[BenchOptions, int | None], runner.Result]
"""Runs the bench with options, and a number of transactions at most."""

_NAMED = 3
"""Tests that failed for one reason, and are named."""


@dataclass(frozen=True)
class Failure:
    """The shortest stimulus that fails.

    Members
    -------
    test : that has it.
    transactions : that the test sends at most; None: all that it has.
    why : the reason.
    command : line that repeats it.
    """

    test: str
    transactions: int | None
    why: str
    command: str


def shortest_failure(
    design: Design, options: VerifyOptions, result: runner.Result, again: Again
) -> Failure | None:
    """Find the shortest stimulus that fails as a run did; None if it failed without a test."""
    failed = [asdict(case) for case in cases(result.xml)]
    # What ended the simulation is no test that could run alone.
    if not any(case["outcome"] == "failed" and case["stop"] is not None for case in failed):
        return None

    def run(tests: Sequence[tuple[str, int | None]]) -> list[dict[str, Any]]:
        made = []
        for name, count in tests:
            one = again(BenchOptions(seed=result.seed, tests=runner.named(name)), count)
            made.append({"cases": [asdict(case) for case in cases(one.xml)]})
        return made

    case, count = shortest({"cases": failed}, run)
    words = ["carrysave", "verify", *words_of(design), "--seed", str(result.seed)]
    if isinstance(options.netlist, str):
        words += ["--netlist", options.netlist]
    if options.verilog is not None:
        words += ["--verilog", str(options.verilog)]
    if options.simulator != "verilator":
        words += ["--simulator", options.simulator]
    words += ["--test", case["name"]]
    if count is not None:
        words += ["--transactions", str(count)]
    return Failure(case["name"], count, case["why"], shlex.join(words))


def alike(result: runner.Result) -> list[str]:
    """Return lines that say which tests failed and why, one for each reason but for its numbers."""
    failed = [case for case in cases(result.xml) if case.outcome == "failed"]
    reasons: dict[str, list[int]] = {}
    for place, case in enumerate(failed):
        reasons.setdefault(reason(case.why), []).append(place)
    lines = []
    for places in reasons.values():
        first, *others = (failed[place] for place in places)
        lines.append(f"{first.name}: {first.why}" if first.why else first.name)
        if others:
            names = ", ".join(case.name for case in others[:_NAMED])
            more = ", ..." if len(others) > _NAMED else ""
            lines.append(f"  and {len(others)} more for the like reason: {names}{more}")
    known = {case.name for case in failed}
    return [*lines, *(name for name in result.failed if name not in known)]

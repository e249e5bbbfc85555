"""Makes failures small: the least parameters and the shortest stimulus that still fail."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from golden.check import Integer, Parameter
from hw.catalog import Design, EngineText

__all__ = ["reason", "shortest", "smallest"]

_MOST = 60
"""Designs that are tried for a failure."""
_TESTS = 4
"""Tests that are tried alone: those that failed after the shortest time."""
_TRANSACTIONS = ((1, 2), (4, 8), (16, 32))
"""Numbers of transactions that are tried, some side by side."""

Fails = Callable[[Sequence[Design]], Sequence[bool]]


def smallest(design: Design, fails: Fails, seconds: float = 1800.0) -> Design:
    """Return the design of least parameters that still fails: each at its default, or low.

    Parameters are made less one after the other, integers towards the least legal value, until
    none can be: another failing design may be smaller still.

    Parameters
    ----------
    fails : returns for some designs, which may be tried side by side, whether they fail.
    seconds : after which no more are tried; what is known is no job the next time, which gets on.
    """
    end = time.monotonic() + seconds
    tried = {design.key}
    smallest = design
    kinds, values = design.entry.parameters, design.parameters
    least = {key: next(_lesser(kind, values[key]), values[key]) for key, kind in kinds.items()}
    # All at once, or all that are not as they are by default.
    given = {key: least[key] for key in smallest.changed}
    first = [least, {**values, **given}]
    steps: Iterator[list[dict[str, Any]]] = iter([first])
    while len(tried) <= _MOST and time.monotonic() < end:
        step = next(steps, None)
        if step is None:
            return smallest
        legal = [one for values in step if (one := _legal(smallest.name, values))]
        wanted = [one for one in legal if one.key not in tried]
        tried |= {one.key for one in wanted}
        worse = [one for one, bad in zip(wanted, fails(wanted), strict=True) if bad]
        if worse or step is first:
            smallest = worse[0] if worse else smallest
            steps = _steps(smallest)
    return smallest


def _steps(design: Design) -> Iterator[list[dict[str, Any]]]:
    """List, parameter by parameter, the lesser values, the least first, with all others kept."""
    for key, kind in design.entry.parameters.items():
        values = [*_lesser(kind, design.parameters[key])]
        if values:
            yield [{**design.parameters, key: value} for value in values]


def _lesser(kind: Parameter, value: Any) -> Iterator[Any]:
    """Yield values that are simpler than one, the simplest first."""
    if isinstance(kind, Integer):
        yield from dict.fromkeys(
            less
            for less in (kind.low, (kind.low + value) // 2, value - 1)
            if kind.low <= less < value
        )
    elif isinstance(kind, EngineText):
        engine = kind.design("engine", value)
        for step in _steps(engine):
            yield from (
                EngineText.text(one) for values in step if (one := _legal(engine.name, values))
            )
    elif value != kind.default:
        yield kind.default


def _legal(name: str, values: dict[str, Any]) -> Design | None:
    """Return a design; None if there is no such one."""
    try:
        design = Design(name, values)
        design.component()
    except ValueError:
        return None
    return design


def shortest(
    result: dict[str, Any], run: Callable[[Sequence[tuple[str, int | None]]], Sequence[Any]]
) -> tuple[dict[str, Any], int | None]:
    """Find the shortest stimulus that fails as a run of all tests did.

    Parameters
    ----------
    result : of that run, see :func:`carrysave.asic.bench_job.run_bench`.
    run : runs single tests, by name and number of transactions at most (None: all that it has);
        results, None where there is none.

    Returns
    -------
    The test, as :class:`carrysave.sim.results.Case` has it, and the number of transactions; None if
    fewer make no difference.
    """
    failed = sorted(_failed(result), key=_length)
    alone = run([(case["name"], None) for case in failed[:_TESTS] if case["stop"] is not None])
    failures = [case for one in alone if one for case in _failed(one)]
    if not failures:
        # Only together, or with the simulator itself.
        return failed[0], None
    test = min(failures, key=_length)
    for counts in _TRANSACTIONS:
        fewer = run([(test["name"], count) for count in counts])
        for count, one in zip(counts, fewer, strict=True):
            for case in _failed(one) if one else ():
                if reason(case["why"]) == reason(test["why"]) and _length(case) < _length(test):
                    return case, count
    return test, None


def _failed(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [case for case in result["cases"] if case["outcome"] == "failed"]


def _length(case: dict[str, Any]) -> float:
    """Return the simulated time of a test, ns."""
    return float("inf") if case["stop"] is None else case["stop"] - case["start"]


def reason(why: str) -> str:
    """Return why a test failed, without numbers."""
    return re.sub(r"-?\d+", "#", why)

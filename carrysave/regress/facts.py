"""What a regression's runs came to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from carrysave.regress.plan import RTL, Request

__all__ = ["facts_of"]

_OUTCOMES = (
    *("passed", "failed", "error", "skipped"),
    *("killed", "equivalent", "unreachable", "alive", "undecided"),
)
"""Of runs, and of those on mutants."""


def facts_of(request: Request, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum up runs, see :func:`carrysave.regress.execution.execute`."""
    counts = Counter(row["outcome"] for row in rows)
    part, parts = request.shard
    return {
        "ok": not counts["failed"]
        and not counts["error"]
        and not counts["alive"]
        and (counts["passed"] > 0 or not rows),
        "counts": {name: counts[name] for name in _OUTCOMES},
        "designs": _by_design(rows),
        "configurations": request.configurations,
        "seeds": [request.seed, request.seed + request.seeds - 1],
        "simulators": list(request.simulators),
        "levels": [RTL, *request.netlists],
        "shard": f"{part}/{parts}",
        "runs": [{name: value for name, value in row.items() if name != "cases"} for row in rows],
    }


def _by_design(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sum up the runs of each design."""
    result = []
    for name in dict.fromkeys(row["design"] for row in rows):
        of_design = [row for row in rows if row["design"] == name]
        counts = Counter(row["outcome"] for row in of_design)
        result.append({
            "design": name,
            "configurations": len({row["module"] for row in of_design}),
            **{outcome: counts[outcome] for outcome in _OUTCOMES},
            "tests": sum(row["tests"] for row in of_design),
            "seconds": sum(row["seconds"] for row in of_design),
        })
    return result

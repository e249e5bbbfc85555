"""Mutants of one design: which its bench kills, and what those are that live."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from carrysave import jobs
from carrysave.asic.bench_job import bench_job
from carrysave.regress.mutants import Mutants, decision_job
from carrysave.signoff.part import FAILED, NOT_RUN, PASSED, Part, failed
from hw.catalog import Design

__all__ = ["mutants_part"]

Run = Callable[[str, Sequence[jobs.Job]], list[jobs.Outcome]]
"""Runs jobs, with what is said of them."""


def mutants_part(
    design: Design, made: jobs.Outcome | None, *, asked: int, seed: int, seconds: int, run: Run
) -> Part:
    """Run the bench on mutants, and decide of each that lives whether it is a fault.

    Parameters
    ----------
    made : what :func:`carrysave.regress.mutants.mutants_job` returned; None: none are asked for.
    asked : how many were wanted; a design may have fewer places.
    seed : of the bench's stimulus.
    seconds : for each way to decide.
    run : what runs jobs.
    """
    if made is None:
        return Part("mutants", NOT_RUN, "none asked for")
    if (part := failed("mutants", made)) is not None:
        return part
    mutants = Mutants(**made.value)
    file = jobs.File.keep("mutants.v", mutants.verilog.encode()).path
    count = len(mutants.changes)
    # Mutant 0 changes nothing: a bench that fails on it kills all others for no reason.
    benches = [
        bench_job(
            design,
            seed=seed,
            verilog=file,
            stop=True,
            bench_parameters={"constants": {"mutant": number}},
            facts={"kind": "signoff"},
        )
        for number in range(count + 1)
    ]
    outcomes = run(f"run the bench on {count} mutants", benches)
    if (part := failed("mutants", outcomes[0])) is not None:
        return part
    if not outcomes[0].value["ok"]:
        return Part("mutants", FAILED, "the bench fails on the netlist that has no change")
    rows: list[dict[str, Any]] = []
    for number, outcome in enumerate(outcomes[1:], 1):
        row = {"mutant": number, "change": mutants.changes[number - 1], "outcome": "killed"}
        if outcome.failure is not None:
            row |= {"outcome": "undecided", "why": str(outcome.failure)}
        elif outcome.value["ok"]:
            row["outcome"] = "lives"
        rows.append(row)
    living = [row for row in rows if row["outcome"] == "lives"]
    deciding = [decision_job(design, file, row["mutant"], seconds) for row in living]
    for row, outcome in zip(living, run(f"decide {len(living)} that live", deciding), strict=True):
        verdict = outcome.value or {"outcome": "undecided", "why": str(outcome.failure)}
        row |= {"outcome": verdict["outcome"], "why": verdict["why"]}
    return _part(rows, asked, count)


def _part(rows: list[dict[str, Any]], asked: int, count: int) -> Part:
    """Sum up mutants."""
    counts = Counter(row["outcome"] for row in rows)
    names = ("killed", "equivalent", "unreachable", "alive", "undecided")
    facts = {
        "asked": asked,
        "made": count,
        # Fewer than asked for are all that the netlist has.
        "places": count if count < asked else asked,
        **{name: counts[name] for name in names},
        "living": [row for row in rows if row["outcome"] != "killed"],
    }
    bad = counts["alive"] or counts["undecided"] or not counts["killed"]
    says = ", ".join(f"{counts[name]} {name}" for name in names if counts[name] or name == "alive")
    return Part("mutants", FAILED if bad else PASSED, f"{count} mutants: {says}", facts)

"""Measure searches of designs and estimates, on a space that was enumerated in full.

    .venv/bin/python scripts/figures/bench_explore.py                    search, estimate: minutes
    .venv/bin/python scripts/figures/bench_explore.py --parts estimate
    .venv/bin/python scripts/figures/bench_explore.py --parts enumerate  synthesises what
                                                                         the model has not: an hour
    .venv/bin/python scripts/figures/bench_explore.py --docs             also rewrites docs/figures
                                                                         and picture

The space is scripts/figures/spaces/int8.toml. Its figures are the model of osu018 that `carrysave
estimate` has, carrysave/exploration/models/osu018.json, which ``enumerate`` writes: power is at an
assumed activity. Searches see figures only of what they ask for, and no model but their own.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import moocore
import numpy as np
from rich.console import Console

from carrysave import cache, jobs
from carrysave.asic.design_job import design_job
from carrysave.exploration.estimate import FIGURES, LEVEL, Estimator, Measured
from carrysave.exploration.front import values_of
from carrysave.exploration.search import search
from carrysave.exploration.space import Point, Space
from carrysave.progress import Steps
from carrysave.report.tables import as_text, svg
from hw.catalog import Design
from scripts.tables import ROOT, markdown, show
from scripts.upkeep.pages import PAGES, write_table

SPACE = ROOT / "scripts" / "figures" / "spaces" / "int8.toml"
MODEL = ROOT / "carrysave" / "exploration" / "models" / "osu018.json"
PICTURE = PAGES / "int8.svg"
PARTS = ("enumerate", "search", "estimate")
PAIRS = (("area_um2", "gops"), ("gops_per_mm2", "pj_per_mac"))
METHODS = ("model", "tpe", "nsga2", "random")
SHARE = 0.15
"""Of the space, that a search may measure."""
SEEDS = range(1, 21)
BATCH = 4
EVERY = 40
"""Of so many designs that the model has, one is measured again."""
WORST = 1.1
"""Reference of the hypervolume: the worst figure of the space is 1, the best 0."""
FOLDS = {"designs": 5, "shapes": 10}


def enumerate_space(steps: Steps, workers: int | None) -> None:
    """Synthesise designs of the space, by one run of the flow, and write the model.

    What the model has is kept if one in `EVERY` of it is measured as it was, else all is
    measured again: the flow, or the designs, are not what they were.
    """
    designs = [point.design for point in Space.read(SPACE).points()]
    before = Estimator.read(MODEL).measured if MODEL.is_file() else []
    known = {one.design.key: one for one in before}
    checked = [design for design in designs if design.key in known][::EVERY]
    new = [design for design in designs if design.key not in known]
    steps.step(f"synthesise {len(checked)} designs again, and {len(new)} new ones")
    by_key, about = _measured([*checked, *new], steps, workers)
    if any(by_key[design.key].figures != known[design.key].figures for design in checked):
        steps.step(f"designs are not as they were: synthesise all {len(designs)}")
        by_key, about = _measured(designs, steps, workers)
    measured = [by_key.get(design.key) or known[design.key] for design in designs]
    steps.step("fit the model")
    cache.write(MODEL, Estimator.fit("osu018", *about, measured).text())


def _measured(
    designs: Sequence[Design], steps: Steps, workers: int | None
) -> tuple[dict[str, Measured], tuple[str, dict[str, str]]]:
    """Return figures of designs by their keys, and what they are for: activity, versions."""
    wanted = [
        design_job(design, "osu018", facts={"kind": "explore"}, activity="assumed")
        for design in designs
    ]
    with jobs.session(jobs.Options(jobs=workers, progress=steps.jobs)):
        results = [outcome.get() for outcome in jobs.run(wanted, ordered=True)]
    measured = {
        design.key: Measured(
            design, {name: float(one[name]) for name in FIGURES if one.get(name) is not None}
        )
        for design, one in zip(designs, results, strict=True)
    }
    return measured, (results[0]["activity"], results[0]["versions"])


def figures_of(one: Measured) -> dict[str, float]:
    """Return the figures of a design, those included that follow from others."""
    figures = dict(one.figures)
    figures["gops_per_mm2"] = 1e6 * figures["gops"] / figures["area_um2"]
    figures["pj_per_mac"] = 2 * figures["power_mw"] / figures["gops"]
    return figures


def scaled(known: Estimator, objectives: Sequence[str]) -> np.ndarray:
    """Return the objectives of all designs, 0 the best and 1 the worst."""
    table = np.array([values_of(figures_of(one), objectives) for one in known.measured])
    low, high = table.min(axis=0), table.max(axis=0)
    return (table - low) / (high - low)


def volume(table: np.ndarray) -> float:
    """Return the hypervolume of points."""
    return float(moocore.hypervolume(table, ref=[WORST] * table.shape[1]))


def replay(
    known: Estimator, objectives: Sequence[str], method: str, seed: int, *, skip: bool, most: int
) -> list[int]:
    """Return the designs that a search measures."""
    axes = Space.read(SPACE).parameters
    points = [
        Point(one.design, {n: one.design.parameters[n] for n in axes if n in one.design.parameters})
        for one in known.measured
    ]
    values = [values_of(figures_of(one), objectives) for one in known.measured]
    ways = search(method, points, seed, len(objectives), most, skip=skip)
    seen: list[int] = []
    while len(seen) < most and (numbers := ways.ask(min(BATCH, most - len(seen)))):
        for number in numbers:
            ways.tell(number, values[number])
            seen.append(number)
    return seen


def measure_searches(known: Estimator, steps: Steps) -> list[dict[str, Any]]:
    """Replay each method from every seed."""
    count = len(known.measured)
    most = round(SHARE * count)
    rows = []
    for objectives in PAIRS:
        table = scaled(known, objectives)
        whole = volume(table)
        for method in METHODS:
            steps.step(f"{' and '.join(objectives)} by {method}")
            runs = [replay(known, objectives, method, seed, skip=True, most=most) for seed in SEEDS]
            shares = [volume(table[run]) / whole for run in runs]
            rows.append({
                "objectives": ", ".join(objectives),
                "method": method,
                "measured": f"{most} of {count}",
                "median": float(np.median(shares)),
                "worst": min(shares),
            })
    return rows


def measure_stages(known: Estimator, steps: Steps) -> list[dict[str, Any]]:
    """Let the search end when all that is left looks hopeless."""
    rows = []
    for objectives in PAIRS:
        table = scaled(known, objectives)
        steps.step(f"{' and '.join(objectives)} to the end")
        runs = [
            replay(known, objectives, "model", seed, skip=True, most=len(table))
            for seed in SEEDS[:3]
        ]
        shares = [volume(table[run]) / volume(table) for run in runs]
        rows.append({
            "objectives": ", ".join(objectives),
            "skipped": 1 - float(np.mean([len(run) for run in runs])) / len(table),
            "median": float(np.median(shares)),
            "worst": min(shares),
        })
    return rows


def measure_estimates(known: Estimator, steps: Steps) -> list[dict[str, Any]]:
    """Estimate designs from models that did not see them: a fifth, or all of a shape."""
    count = len(known.measured)
    random = np.random.default_rng(2).permutation(count) % FOLDS["designs"]
    shapes: dict[Any, int] = {}
    shape_of = [
        shapes.setdefault(
            (one.design.name, *(one.design.parameters.get(n) for n in "mnk")), len(shapes)
        )
        for one in known.measured
    ]
    shape = np.random.default_rng(3).permutation(len(shapes))[shape_of] % FOLDS["shapes"]
    rows = []
    for what, part in (("designs", random), ("shapes", shape)):
        errors_of: dict[str, list[tuple[float, bool, float]]] = {}
        for fold in range(FOLDS[what]):
            steps.step(f"estimate {what}, part {fold + 1} of {FOLDS[what]}")
            inside = [one for one, of in zip(known.measured, part, strict=True) if of != fold]
            made = Estimator.fit(known.target, known.activity, {}, inside)
            outside = [one for one, of in zip(known.measured, part, strict=True) if of == fold]
            for one, guesses in zip(outside, made.guess([o.design for o in outside]), strict=True):
                for name, guess in guesses.items():
                    true = one.figures[name]
                    errors_of.setdefault(name, []).append((
                        abs(guess["estimate"] / true - 1),
                        guess["low"] <= true <= guess["high"],
                        guess["high"] / guess["estimate"] - 1,
                    ))
        for name, each in errors_of.items():
            errors, inside_it, reach = zip(*each, strict=True)
            rows.append({
                "never seen": what,
                "figure": name,
                "median error": float(np.median(errors)),
                "90 % below": float(np.quantile(errors, 0.9)),
                f"in {LEVEL:.0%} intervals": float(np.mean(inside_it)),
                "interval, +": float(np.median(reach)),
            })
    return rows


def draw(known: Estimator) -> bytes:
    """Draw the space and its fronts as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with as_text():
        figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
        for plot, (x, y) in zip(axes, PAIRS, strict=True):
            rows = [{"design": one.design.name, **figures_of(one)} for one in known.measured]
            for design in dict.fromkeys(row["design"] for row in rows):
                some = [row for row in rows if row["design"] == design]
                plot.scatter([row[x] for row in some], [row[y] for row in some], s=9, label=design)
            best = moocore.is_nondominated(scaled(known, (x, y)))
            line = sorted((row[x], row[y]) for row, one in zip(rows, best, strict=True) if one)
            plot.plot(*zip(*line, strict=True), color="0.3", linewidth=0.8, label="front")
            plot.set_xlabel(x)
            plot.set_ylabel(y)
        axes[0].legend(fontsize=7)
        return svg(figure)


TABLES: dict[str, tuple[str, dict[str, str]]] = {
    "explore": ("Searches", {
        "objectives": "{}", "method": "{}", "measured": "{}", "median": "{:.1%}", "worst": "{:.1%}",
    }),
    "stages": ("Searches that end by themselves", {
        "objectives": "{}", "skipped": "{:.0%}", "median": "{:.1%}", "worst": "{:.1%}",
    }),
    "estimate": ("Estimates", {
        "never seen": "{}", "figure": "{}", "median error": "{:.1%}", "90 % below": "{:.1%}",
        f"in {LEVEL:.0%} intervals": "{:.0%}", "interval, +": "{:.1%}",
    }),
}  # fmt: skip


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS[1:])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--docs", action="store_true", help="rewrite the tables and the picture of docs/figures"
    )
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    arguments = parser.parse_args()
    tables: dict[str, list[dict[str, Any]]] = {}
    measures: dict[str, list[tuple[str, Callable[[Estimator, Steps], list[dict[str, Any]]]]]] = {
        "search": [("explore", measure_searches), ("stages", measure_stages)],
        "estimate": [("estimate", measure_estimates)],
    }
    with Steps(Console(stderr=True)) as steps:
        if "enumerate" in arguments.parts:
            enumerate_space(steps, arguments.jobs)
        known = Estimator.read(MODEL)
        for part in arguments.parts:
            for name, measure in measures.get(part, ()):
                tables[name] = measure(known, steps)
    if arguments.docs:
        cache.write(PICTURE, draw(known))
    if arguments.json:
        print(json.dumps(tables, indent=2))
        return
    console = Console() if sys.stdout.isatty() else Console(width=180)
    for name, rows in tables.items():
        title, columns = TABLES[name]
        show(console, title, rows, columns)
        if arguments.docs:
            write_table(name, markdown(rows, columns))


if __name__ == "__main__":
    main()

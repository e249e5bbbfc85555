"""A search of designs: proposes points, has them measured and verified, keeps the front."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from carrysave import jobs
from carrysave.asic.bench_job import bench_job
from carrysave.asic.design_job import design_job
from carrysave.asic.liberty.cells import Library
from carrysave.errors import ArgumentError, UsageError, installed, remedy
from carrysave.exploration.estimated import estimated
from carrysave.exploration.front import compare, front, less_of, values_of
from carrysave.exploration.options import ExploreOptions
from carrysave.exploration.search import search
from carrysave.exploration.space import Point, Space
from carrysave.progress import Steps
from hw.catalog import Design
from hw.device import NAMES

__all__ = ["Request", "run"]


def _as_it_is(point: Point) -> Design:
    return point.design


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request.

    Parameters
    ----------
    space : where to search.
    target : a library of cells, or a family of FPGAs.
    objectives : figures, of :data:`carrysave.exploration.front.OBJECTIVES`.
    options : of the search and of each synthesis.
    batch : points that are proposed at a time.
    prepare : returns the design of a point as it is built for the target.
    """

    space: Space
    target: str | Library
    objectives: tuple[str, ...]
    options: ExploreOptions
    batch: int = 4
    prepare: Callable[[Point], Design] = _as_it_is


class _Exploration:
    """Points, and what is known of them."""

    def __init__(self, request: Request, steps: Steps) -> None:
        self.request = request
        self.steps = steps
        self.space, self.left = request.space.on(cells=request.target not in NAMES)
        self.points = [
            replace(point, design=request.prepare(point)) for point in self.space.points()
        ]
        self.rows: dict[int, dict[str, Any]] = {}
        self.versions: dict[str, str] = {}  # of what measured them
        options = request.options
        self.search = search(
            options.method,
            self.points,
            options.seed,
            len(request.objectives),
            options.trials,
            skip=options.estimate,
        )

    def measure(self) -> None:
        """Measure points until there were enough trials, or none is left that has a chance."""
        total = min(self.request.options.trials, len(self.points))
        self.steps.plan(-(-total // self.request.batch))
        while len(self.rows) < total:
            numbers = self.search.ask(min(self.request.batch, total - len(self.rows)))
            if not numbers:
                return
            self.steps.step(f"points {len(self.rows) + 1} to {len(self.rows) + len(numbers)}")
            wanted = [self.job(self.points[number]) for number in numbers]
            outcomes = jobs.run(wanted, ordered=True, progress=self.steps.jobs)
            for number, outcome in zip(numbers, outcomes, strict=True):
                self.take(number, outcome)

    def check(self) -> None:
        """Refuse constraints of figures that none of the results fulfils."""
        able = [number for number, row in self.rows.items() if row["error"] is None]
        if able and not any(self.rows[number]["allowed"] for number in able):
            texts = (one.text for one in self.space.of_figures(self.points[able[0]]))
            raise UsageError(
                f"constraints must allow a design: none of {len(able)} that were measured fulfils"
                f" {' and '.join(map(repr, texts))}"
            )

    def job(self, point: Point) -> jobs.Job:
        """Return the job that measures a point."""
        request = self.request
        return design_job(
            point.design, request.target, request.options.synthesis, facts={"kind": "explore"}
        )

    def take(self, number: int, outcome: jobs.Outcome) -> None:
        """Keep what is known of a point now, and tell the search."""
        point, request = self.points[number], self.request
        row: dict[str, Any] = {
            "design": point.design.name,
            "module": point.design.module,
            "parameters": dict(point.design.parameters),
            "values": dict(point.values),
            "front": False,
            "beaten_by": [],
            "placed": None,
            "verified": None,
            "allowed": False,
            "error": None,
            "log": None,
            "key": outcome.key,
            "seconds": outcome.seconds,
        }
        values = None
        if outcome.failure is not None:
            row |= {"error": str(outcome.failure), "log": outcome.failure.log}
            row |= dict.fromkeys(request.objectives)
        else:
            figures = {"latency": point.design.latency, **outcome.get()}
            self.versions |= figures.get("versions") or {}
            row |= {name: figures.get(name) for name in request.objectives}
            row["allowed"] = self.space.allows(point, figures)
            values = values_of(figures, request.objectives)
            if values is None:
                lacking = [name for name in request.objectives if figures.get(name) is None]
                raise ArgumentError(
                    "{objective} must be a figure of the target; it has none of {lacking}",
                    lacking=", ".join(lacking),
                )
        self.rows[number] = row
        self.search.tell(number, values if row["allowed"] else None)

    def fronted(self) -> list[dict[str, Any]]:
        """Mark the front: of all that is allowed and did not fail its bench."""
        able = [
            row for row in self.rows.values() if row["allowed"] and row["verified"] is not False
        ]
        for row in self.rows.values():
            row["front"] = False
        marks = front([less_of(row, self.request.objectives) for row in able]) if able else []
        for row, mark in zip(able, marks, strict=True):
            row["front"] = mark
        return [row for row in able if row["front"]]

    def verify(self) -> None:
        """Run benches; who fails leaves the front, and who comes into it is verified, too."""
        while True:
            chosen = self.fronted()
            if self.request.options.verify == "all":
                chosen = [row for row in self.rows.values() if row["allowed"]]
            wanted = [row for row in chosen if row["verified"] is None]
            if self.request.options.verify == "none" or not wanted:
                return
            self.steps.step(f"verify {len(wanted)} designs")
            outcomes = jobs.run(
                [bench_job(Design(row["design"], row["parameters"])) for row in wanted],
                ordered=True,
                progress=self.steps.jobs,
            )
            for row, outcome in zip(wanted, outcomes, strict=True):
                row["verified"] = outcome.failure is None and outcome.value["ok"]
                if not row["verified"]:
                    failed = outcome.failure or f"bench fails: {', '.join(outcome.value['failed'])}"
                    row["error"] = str(failed)
            self.fronted()

    def place(self) -> None:
        """Place the front, and tell which of it is beaten by none with wires, too."""
        request = self.request
        chosen = [row for row in self.rows.values() if row["front"]]
        if not request.options.place or not chosen:
            return
        self.steps.step(f"place {len(chosen)} designs")
        wanted = [
            design_job(
                Design(row["design"], row["parameters"]),
                request.target,
                replace(request.options.synthesis, place=True),
                facts={"kind": "explore"},
            )
            for row in chosen
        ]
        outcomes = jobs.run(wanted, ordered=True, progress=self.steps.jobs)
        for row, outcome in zip(chosen, outcomes, strict=True):
            figures: dict[str, Any] = {}
            if outcome.failure is None:
                record = outcome.get()
                figures = {**row, **record, **record["placed"]}
            row["placed"] = {
                "error": None if outcome.failure is None else str(outcome.failure),
                "front": False,
                **{name: figures.get(name) for name in request.objectives},
            }
        able = [row["placed"] for row in chosen if row["placed"]["error"] is None]
        marks = front([less_of(placed, request.objectives) for placed in able]) if able else []
        for placed, mark in zip(able, marks, strict=True):
            placed["front"] = mark


def run(request: Request, steps: Steps) -> dict[str, Any]:
    """Search, verify, and place.

    Returns
    -------
    ``objectives points front verified wrong failed space_points trials estimated hopeless method
    command versions notes files``; of each point ``design module parameters values front beaten_by
    verified allowed error`` and every objective, those of the front first. ``beaten_by`` has the
    numbers of those of the front that are as good in all objectives, and better in one. No file is
    written.
    """
    exploration = _Exploration(request, steps)
    exploration.measure()
    exploration.check()
    exploration.verify()
    exploration.place()
    rows = sorted(
        exploration.rows.values(),
        key=lambda row: (
            not row["front"],
            not row["allowed"],
            row[request.objectives[0]] is None,
            values_of(row, request.objectives[:1]) or [],
        ),
    )
    compare(rows, request.objectives)
    notes = [] if installed("matplotlib") else [f"no picture, which needs {remedy('matplotlib')}"]
    library = request.target if isinstance(request.target, Library) else None
    name = library.name if library else request.target
    return {
        "objectives": list(request.objectives),
        "target": name,
        "points": rows,
        "front": sum(row["front"] for row in rows),
        "wrong": [row["module"] for row in rows if row["verified"] is False],
        "failed": sum(row["error"] is not None and row["verified"] is None for row in rows),
        "space_points": len(exploration.points),
        "trials": len(rows),
        "estimated": estimated(
            exploration.points, exploration.rows, request.objectives, request.options.seed
        ),
        "hopeless": exploration.search.hopeless,
        "method": request.options.method,
        "command": "",
        "versions": exploration.versions,
        "notes": [
            *notes,
            *(library.notes if library else ()),
            *(
                f"constraint {text!r} is left out: {name} has no {', '.join(names)}"
                for text, names in exploration.left.items()
            ),
        ],
        "files": [],
    }

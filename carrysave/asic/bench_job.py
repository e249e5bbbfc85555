"""A design's bench as one job of many: on its Verilog, a netlist of it, or other Verilog."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from carrysave import cache as store
from carrysave import jobs
from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.liberty.cells import Library
from carrysave.keywords import by_name, differing
from carrysave.sim import code_coverage, icarus, runner
from carrysave.sim.cocotb.coverage import FILE as TRANSFERS
from carrysave.sim.options import BenchOptions
from carrysave.sim.results import cases
from carrysave.sim.verilator import COVERAGE
from hw.catalog import Design
from hw.device import models_of
from hw.emit import tools, yosys
from hw.emit.verilog import verilog_of

__all__ = ["LARGEST", "bench_job", "netlist_sources", "run_bench"]

LARGEST = 900_000
"""Bytes of Verilog of which a regression builds simulators: of more it takes minutes each."""
_DEADLINE = 3600.0
"""Seconds of a simulation; Icarus takes a hundred times as long as Verilator for some."""
_SEED = 1
"""Of the stimulus, by default."""
_DEFAULTS = BenchOptions()
_LOG = 4000
"""Characters of a log's end that are kept of what failed."""


@by_name(BenchOptions)
def bench_job(
    design: Design,
    options: BenchOptions = _DEFAULTS,
    *,
    simulator: str = "verilator",
    library: Library | None = None,
    verilog: Path | None = None,
    bench_parameters: Mapping[str, Any] | None = None,
    largest: int | None = None,
    facts: Mapping[str, Any] | None = None,
) -> jobs.Job:
    """Return the job that runs a design's bench, see :func:`run_bench`; the seed is 1 by default.

    Parameters
    ----------
    options, simulator, bench_parameters : see :func:`carrysave.sim.runner.verify`.
    library : of the netlist to run it on.
    verilog : a file to run it on.
    largest : bytes of generated Verilog of which it is not run.
    facts : what the store says of it besides the design.
    """
    tools: list[jobs.Tool] = ["cocotb", icarus.version if simulator == "icarus" else "verilator"]
    if library is not None:
        tools.append(yosys.version)
    named = [library.name] if library is not None else []
    parameters = dict(design.parameters)
    return jobs.Job(
        function=run_bench,
        arguments={
            "name": design.name,
            "parameters": parameters,
            "simulator": simulator,
            "library": library and library.plain(jobs.File),
            "verilog": verilog and jobs.File(verilog),
            "options": differing(options),
            "bench_parameters": dict(bench_parameters or {}),
            "largest": largest,
        },
        content=[jobs.source_digest(), _digest(design.entry.bench)],
        tools=tools,
        label=", ".join([design.module, f"seed {options.seed or _SEED}", simulator, *named]),
        facts={
            "kind": "verify",
            "design": design.name,
            "parameters": parameters,
            "tier": "simulated",
            **({"library": {"name": library.name, "sha256": library.sha}} if library else {}),
            **(facts or {}),
        },
    )


def run_bench(
    name: str,
    parameters: dict[str, Any],
    simulator: str,
    library: dict[str, Any] | None,
    verilog: Path | None,
    options: dict[str, Any],
    bench_parameters: dict[str, Any],
    largest: int | None,
) -> dict[str, Any]:
    """Run a design's bench by plain arguments: the job's function.

    Returns
    -------
    ``ok tests failed cases coverage bench_seconds log skipped``: the tests that ran and those that
    failed, each :class:`carrysave.sim.results.Case`, the functional coverage that the bench wrote,
    the end of the log if it failed, and why it was not run, if it was not. With the option
    ``coverage`` also ``points``, see :func:`carrysave.sim.code_coverage.read`.
    """
    design = Design(name, parameters)
    outcome: dict[str, Any] = {
        "ok": True,
        "tests": 0,
        "failed": [],
        "cases": [],
        "coverage": [],
        "bench_seconds": 0.0,
        "log": "",
        "skipped": None,
    }
    if largest is not None and (size := len(verilog_of(design))) > largest:
        return outcome | {"skipped": f"{size:,} bytes of Verilog, more than {largest:,}"}
    with tools.workplace() as folder:
        sources = None if verilog is None else [verilog, *models_of(verilog.read_text())]
        if library is not None:
            sources = netlist_sources(design, Library.of_plain(library), folder)
        result = runner.verify(
            design,
            BenchOptions(**{"seed": _SEED, "deadline": _DEADLINE, **options}),
            directory=folder,
            netlist=sources,
            simulator=simulator,
            bench_parameters=bench_parameters,
        )
        coverages = (result.directory / name for name in ("coverage.json", TRANSFERS))
        counted = result.directory / COVERAGE
        if options.get("coverage") and counted.exists():
            outcome["points"] = code_coverage.read(counted)
        log = "" if result.ok else result.log.read_text(errors="replace")
        return outcome | {
            "ok": result.ok,
            "tests": result.tests,
            "failed": [said.replace(f"; see {result.log}", "") for said in result.failed],
            "cases": [asdict(case) for case in cases(result.xml)],
            "coverage": [
                one for path in coverages if path.exists() for one in json.loads(path.read_text())
            ],
            "bench_seconds": result.seconds,
            "log": log[-_LOG:],
        }


def netlist_sources(design: Design, library: Library, folder: Path) -> list[Path]:
    """Synthesise a design for a library; return its netlist, and models of cells in `folder`."""
    file = re.sub(r"\W", "_", library.name) + ".v"
    models = store.write(folder / "cells" / file, cells.cell_models(library))
    mapped = synthesis.synthesise_design(design, library, activity="assumed")
    return [Path(mapped["netlist"]), models]


@cache
def _digest(bench: str) -> str:
    """Return the digest of the package that a bench is in: it is made of several modules."""
    spec = find_spec(bench.partition(".")[0])
    assert spec is not None
    roots = map(Path, spec.submodule_search_locations or ())
    files = sorted(
        path for root in roots for path in root.rglob("*.py") if not path.name.startswith("test_")
    )
    return store.digest(part for path in files for part in (path.name, path.read_bytes()))

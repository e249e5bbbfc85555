"""Run a design's cocotb bench, or its matrix products, in simulation."""

import dataclasses
import json
import os
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from carrysave import paths
from carrysave.network.work import Work
from carrysave.simulator import BENCH_VARIABLE, Build, build, call_runner
from hw.catalog import Design
from hw.emit import verilog_of
from verif.tpe import tiling

__all__ = [
    "Build",
    "Result",
    "bench_parameters",
    "build",
    "multiply",
    "new_folder",
    "run",
    "run_works",
    "verify",
]


@dataclass(frozen=True)
class Result:
    """Outcome of one simulation run.

    Members
    -------
    tests, failures : tests executed and those that failed, a crash or a hang among them.
    failed : names of the tests that failed.
    seconds : wall-clock time of the simulation, start-up included, build excluded.
    seed : seed of the random stimulus.
    directory : the run's own folder, in which are
    xml, log, waves : the JUnit results, the simulator's output, the trace if one was asked for.
    """

    tests: int
    failures: int
    failed: tuple[str, ...]
    seconds: float
    seed: int
    directory: Path
    xml: Path
    log: Path
    waves: Path | None

    @property
    def ok(self) -> bool:
        """True if at least one test ran and none failed."""
        return self.tests > 0 and self.failures == 0


def new_folder(parent: Path, name: str) -> Path:
    """Make a folder `name`-1, `name`-2, ... in `parent` that nobody else has, and return it."""
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = parent.resolve() / f"{name}-{number}"
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder


def run(
    build: Build,
    bench: str,
    *,
    tests: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int | None = None,
    directory: Path,
    waves: bool = False,
    deadline: float = 600.0,
    stop: bool = False,
    poll: Callable[[], None] | None = None,
) -> Result:
    """Run the tests of a bench on a simulator.

    Parameters
    ----------
    build : the simulator.
    bench : cocotb module, such as ``verif.pe.tb_mac``.
    tests : regular expression that picks tests by name; all by default.
    parameters : what the bench reads by :func:`verif.streams.bench_parameters`; plain JSON types.
    seed : seed of the random stimulus, 0..2^31 - 1; drawn by default.
    directory : folder of this run alone, for the results, the log and the waves.
    waves : record waves; the simulator must be built for it.
    deadline : seconds after which a simulation that still runs is ended, and has failed.
    stop : end with the first test that fails.
    poll : called a few times a second while the simulation runs.
    """
    seed = int.from_bytes(os.urandom(4), "little") >> 1 if seed is None else seed
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    xml, log, dump = directory / "results.xml", directory / "simulation.log", directory / "dump.vcd"
    for old in (xml, log, dump):
        old.unlink(missing_ok=True)
    start = time.monotonic()
    code = call_runner(
        "test",
        {
            "test_module": bench,
            "hdl_toplevel": build.top,
            "hdl_toplevel_lang": "verilog",
            "test_filter": tests,
            "seed": seed,
            "plusargs": ["+verilator+rand+reset+2", f"+verilator+seed+{seed % 0x7FFFFFFF + 1}"],
            "build_dir": str(build.directory),
            "test_dir": str(directory),
            "results_xml": str(xml),
            "waves": waves,
            "extra_env": {
                BENCH_VARIABLE: json.dumps({**(parameters or {}), "seed": seed}),
                "COCOTB_MAX_FAILURES": str(int(stop)),
            },
        },
        log=log,
        deadline=deadline,
        poll=poll,
    )
    seconds = time.monotonic() - start
    count, failed = _junit(xml)
    reason = None
    if code is None:
        reason = f"the simulation did not end within {deadline:g} s"
    elif not failed and code != 0:
        reason = f"the simulator ended with exit code {code}"
    elif count == 0:
        reason = f"no test of {bench} ran"
    if reason is not None:
        failed.append(f"{bench}: {reason}; see {log}")
        _add_error(xml, bench, reason)
    return Result(
        tests=count,
        failures=len(failed),
        failed=tuple(failed),
        seconds=seconds,
        seed=seed,
        directory=directory,
        xml=xml,
        log=log,
        waves=dump if waves and dump.exists() else None,
    )


def verify(
    design: Design,
    *,
    seed: int | None = None,
    waves: bool = False,
    netlist: Sequence[Path] | None = None,
    tests: str | None = None,
    directory: Path,
    deadline: float = 600.0,
) -> Result:
    """Run a design's bench on its Verilog, or on a netlist of it.

    Parameters
    ----------
    design : what to verify.
    seed, waves, tests, deadline : see :func:`run`.
    netlist : the netlist and the models of its cells, to simulate instead of generated Verilog.
    directory : folder in which this run gets a new folder of its own.
    """
    folder = new_folder(directory, design.module)
    sources = list(netlist) if netlist is not None else [_verilog(design, folder)]
    return run(
        build(sources, design.module, waves=waves),
        design.entry.bench,
        tests=tests,
        parameters=bench_parameters(design),
        seed=seed,
        directory=folder,
        waves=waves,
        deadline=deadline,
    )


def multiply(
    design: Design,
    pairs: Sequence[tuple[np.ndarray, np.ndarray]],
    directory: Path,
    progress: Callable[[int, int], None] | None = None,
    deadline: float = 3600.0,
) -> list[np.ndarray]:
    """Multiply matrices on the simulated engine.

    Each product is cut into tiles, padded with zeros at its edges, and K into chunks of at most
    the engine's depth, whose products are summed here.

    Parameters
    ----------
    design : an engine.
    pairs : integer matrices A (M x K) and B (K x N), codes of the engine's formats.
    directory : folder in which this run gets a new folder of its own.
    progress : called with the tiles multiplied so far and their total.
    deadline : seconds after which the simulation is ended.

    Returns
    -------
    int64 products, M x N, in the order of `pairs`.

    Raises
    ------
    RuntimeError : if the simulation fails; names the log.
    """
    folder = new_folder(directory, design.module)
    spec = design.spec
    jobs = [tiling.cut(spec, a, b) for a, b in pairs]
    total = sum(len(job.lengths) for job in jobs)
    if total == 0:
        return [tiling.join(spec, job, np.zeros((0, spec.n), np.int64)) for job in jobs]
    tiling.save(folder / "operands.npz", jobs)
    counter = folder / "progress"

    def poll() -> None:
        if progress is not None and counter.exists():
            progress(int(counter.read_text() or 0), total)

    simulator = build([_verilog(design, folder)], design.module)
    parameters = bench_parameters(design)
    bench = "verif.tpe.multiply"
    result = run(
        simulator, bench, parameters=parameters, directory=folder, deadline=deadline, poll=poll
    )
    if not result.ok:
        raise RuntimeError(f"simulation failed: {', '.join(result.failed)}; see {result.log}")
    if progress is not None:
        progress(total, total)
    rows = np.load(folder / "products.npy")
    ends = np.cumsum([len(job.lengths) * spec.m for job in jobs])
    return [
        tiling.join(spec, job, part)
        for job, part in zip(jobs, np.split(rows, ends[:-1]), strict=True)
    ]


def run_works(
    design: Design,
    works: Sequence[Work],
    directory: Path,
    *,
    one_start: bool = False,
    progress: Callable[[int, int], None] | None = None,
    deadline: float = 3600.0,
) -> tuple[list[np.ndarray], list[dict[str, Any]]]:
    """Run products on the simulated co-processor, by its driver.

    Parameters
    ----------
    design : a co-processor.
    works : products; what one hands to the next stays in the simulated memory.
    directory : folder in which this run gets a new folder of its own.
    one_start : all on one start, else a start for each.
    progress : called with the works done so far and their total.
    deadline : seconds after which the simulation is ended.

    Returns
    -------
    C of each, and the hardware's counters of each start.

    Raises
    ------
    RuntimeError : if the simulation fails; names the log.
    """
    folder = new_folder(directory, design.module)
    (folder / "works.pickle").write_bytes(pickle.dumps(list(works)))
    counter = folder / "progress"

    def poll() -> None:
        if progress is not None and counter.exists():
            progress(int(counter.read_text() or 0), len(works))

    result = run(
        build([_verilog(design, folder)], design.module),
        "verif.soc.works",
        parameters={**bench_parameters(design), "one_start": one_start},
        directory=folder,
        deadline=deadline,
        poll=poll,
    )
    if not result.ok:
        raise RuntimeError(f"simulation failed: {', '.join(result.failed)}; see {result.log}")
    with np.load(folder / "results.npz") as data:
        results = [data[str(number)] for number in range(len(works))]
    return results, json.loads((folder / "counters.json").read_text())


def _verilog(design: Design, folder: Path) -> Path:
    """Write the design's Verilog into `folder`."""
    return paths.write(folder / f"{design.module}.v", verilog_of(design))


def bench_parameters(design: Design) -> dict[str, Any]:
    """Describe the design to its bench, which then need not load Amaranth."""
    spec = design.spec
    return {
        "design": design.name,
        "key": design.key,
        "spec": _described(spec),
        "latency": design.component().latency,
    }


def _described(spec: Any) -> list[Any]:
    """Name a spec's class and its fields, those that are specs themselves in the same way."""
    fields = {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)}
    values = {
        name: _described(value) if dataclasses.is_dataclass(value) else value
        for name, value in fields.items()
    }
    return [type(spec).__module__, type(spec).__name__, values]


def _junit(xml: Path) -> tuple[int, list[str]]:
    """Count the tests that ran and name those that failed, by the results file if there is one."""
    if not xml.exists():
        return 0, []
    cases = [
        case
        for case in ElementTree.parse(xml).getroot().iter("testcase")
        if case.find("skipped") is None
    ]
    failed = [
        case.get("name", "?")
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    return len(cases), failed


def _add_error(xml: Path, bench: str, reason: str) -> None:
    """Record in the results file, made if need be, that the simulation itself failed."""
    root = ElementTree.parse(xml).getroot() if xml.exists() else ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name=bench, tests="1", errors="1")
    case = ElementTree.SubElement(suite, "testcase", classname=bench, name="simulation")
    ElementTree.SubElement(case, "error", message=reason)
    paths.write(xml, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))

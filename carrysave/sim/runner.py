"""Run a design's cocotb bench, or its matrix products, in simulation."""

import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from carrysave import cache
from carrysave.sim import icarus, verilator
from carrysave.sim.parameters import BENCH_VARIABLE, describe
from carrysave.sim.results import cases
from carrysave.sim.rules.bound import BROKEN, bound
from carrysave.sim.verilator import Build, simulate
from hw.catalog import Design
from hw.device import models_of
from hw.emit.verilog import verilog_of

__all__ = ["SIMULATORS", "Result", "named", "new_folder", "run", "sources_of", "verify"]

SIMULATORS = {"verilator": verilator.build, "icarus": icarus.build}
"""What builds a simulator, by the name of its kind."""


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


def named(test: str) -> str:
    """Return the regular expression that picks one test, by its name in the results."""
    return rf"\.{re.escape(test)}$"


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
    folders: Sequence[Path] = (),
) -> Result:
    """Run the tests of a bench on a simulator.

    Parameters
    ----------
    build : the simulator.
    bench : cocotb module, such as ``verif.pe.benches.tb_mac``.
    tests : regular expression that picks tests by name; all by default.
    parameters : what the bench reads by :func:`carrysave.sim.parameters.bench_parameters`; plain
        JSON types.
    seed : seed of the random stimulus, 0..2^31 - 1; by default ``$CARRYSAVE_SEED``, else drawn.
    directory : folder of this run alone, for the results, the log and the waves.
    waves : record waves; the simulator must be built for it.
    deadline : seconds after which a simulation that still runs is ended, and has failed.
    stop : end with the first test that fails.
    poll : called a few times a second while the simulation runs.
    folders : where Python looks for the bench first.
    """
    seed = _seed() if seed is None else seed
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    xml, log, dump = directory / "results.xml", directory / "simulation.log", directory / "dump.vcd"
    for old in (xml, log, dump):
        old.unlink(missing_ok=True)
    start = time.monotonic()
    variables = {
        BENCH_VARIABLE: json.dumps({**(parameters or {}), "seed": seed}),
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_RESULTS_FILE": str(xml),
        "COCOTB_MAX_FAILURES": str(int(stop)),
    }
    if tests is not None:
        variables["COCOTB_TEST_FILTER"] = tests
    code = simulate(
        build,
        bench,
        []
        if build.program
        else [
            *(["--trace"] if waves else []),
            "+verilator+rand+reset+2",
            f"+verilator+seed+{seed % 0x7FFFFFFF + 1}",
        ],
        variables,
        directory=directory,
        log=log,
        deadline=deadline,
        poll=poll,
        folders=folders,
    )
    seconds = time.monotonic() - start
    ran = [case for case in cases(xml) if case.outcome != "skipped"]
    count, failed = len(ran), [case.name for case in ran if case.outcome == "failed"]
    reason = None
    if code is None:
        reason = f"the simulation did not end within {deadline:g} s"
    elif not failed and code != 0:
        reason = _broken(log) or f"the simulator ended with exit code {code}"
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
    simulator: str = "verilator",
    options: Mapping[str, Any] | None = None,
    directory: Path,
    deadline: float = 600.0,
    stop: bool = False,
) -> Result:
    """Run a design's bench on its Verilog, or on a netlist of it.

    Parameters
    ----------
    design : what to verify.
    seed, waves, tests, deadline, stop : see :func:`run`.
    netlist : the netlist and the models of its cells, to simulate instead of generated Verilog.
    simulator : of :data:`SIMULATORS`.
    options : what the bench is told besides the design, such as ``constants`` of inputs.
    directory : folder in which this run gets a new folder of its own.
    """
    folder = new_folder(directory, design.module)
    # Icarus knows no `bind`.
    rules = simulator == "verilator"
    sources = list(netlist) if netlist is not None else sources_of(design, folder, rules=rules)
    return run(
        SIMULATORS[simulator](sources, design.module, waves=waves),
        design.entry.bench,
        tests=tests,
        parameters=describe(design) | dict(options or {}),
        seed=seed,
        directory=folder,
        waves=waves,
        deadline=deadline,
        stop=stop,
    )


def _seed() -> int:
    """Return the seed that the environment gives, or draw one."""
    given = os.environ.get("CARRYSAVE_SEED")
    return int.from_bytes(os.urandom(4), "little") >> 1 if given is None else int(given)


def sources_of(design: Design, folder: Path, *, rules: bool = False) -> list[Path]:
    """Write the design's Verilog into `folder`; also return the models of a device's blocks.

    With `rules`, those of the buses at its ports are bound to it: a broken one ends a simulation.
    """
    verilog = verilog_of(design)
    found = [cache.write(folder / f"{design.module}.v", verilog), *models_of(verilog)]
    text = bound(design) if rules else ""
    return [*found, cache.write(folder / f"{design.module}_rules.sv", text)] if text else found


def _broken(log: Path) -> str:
    """Return what the log tells of a bus's rule that was broken, if it does."""
    found = re.search(rf"^{BROKEN}.*", log.read_text(errors="replace"), re.MULTILINE)
    return found[0] if found else ""


def _add_error(xml: Path, bench: str, reason: str) -> None:
    """Record in the results file, made if need be, that the simulation itself failed."""
    root = ElementTree.parse(xml).getroot() if xml.exists() else ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name=bench, tests="1", errors="1")
    case = ElementTree.SubElement(suite, "testcase", classname=bench, name="simulation")
    ElementTree.SubElement(case, "error", message=reason)
    cache.write(xml, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))

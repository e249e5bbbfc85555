"""One run of a bench in a simulator, and what came of it."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from carrysave import cache
from carrysave.sim.options import BenchOptions
from carrysave.sim.parameters import BENCH_VARIABLE
from carrysave.sim.results import cases
from carrysave.sim.rules.bound import BROKEN
from carrysave.sim.verilator import LOG, Build, simulate
from hw.emit.naming import renamed

__all__ = ["Result", "attempt"]

_PLAIN = ",".join((
    "carrysave.sim.cocotb.plain:start",
    "cocotb.logging:_configure",
    "cocotb._init:init_package_from_simulation",
    "cocotb.regression:_run_regression",
))
"""What runs in a simulator without pytest, see :mod:`carrysave.sim.cocotb.plain`: cocotb's own
start comes after it."""


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


def attempt(
    build: Build,
    bench: str,
    directory: Path,
    *,
    options: BenchOptions,
    parameters: Mapping[str, Any] | None,
    poll: Callable[[], None] | None,
    folders: Sequence[Path],
    plain: bool,
) -> Result:
    """Run the tests of a bench, with pytest unless `plain`; the seed is given."""
    directory.mkdir(parents=True, exist_ok=True)
    xml, log, dump = directory / "results.xml", directory / LOG, directory / "dump.vcd"
    for old in (xml, log, dump):
        old.unlink(missing_ok=True)
    seed = options.seed or 0
    variables = {
        BENCH_VARIABLE: json.dumps({**(parameters or {}), "seed": seed}),
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_RESULTS_FILE": str(xml),
        "COCOTB_MAX_FAILURES": str(int(options.stop)),
    }
    if options.tests is not None:
        variables["COCOTB_TEST_FILTER"] = options.tests
    if plain:
        variables["PYGPI_USERS"] = _PLAIN
    arguments = [*(["--trace"] if options.waves else []), *_random(seed)]
    start = time.monotonic()
    code = simulate(
        build,
        bench,
        [] if build.program else arguments,
        variables,
        directory=directory,
        deadline=options.deadline,
        poll=poll,
        folders=folders,
    )
    seconds = time.monotonic() - start
    _rename(log, build.names)
    count, failed = _outcome(bench, directory, code, options.deadline)
    return Result(
        tests=count,
        failures=len(failed),
        failed=tuple(failed),
        seconds=seconds,
        seed=seed,
        directory=directory,
        xml=xml,
        log=log,
        waves=dump if options.waves and dump.exists() else None,
    )


def _random(seed: int) -> list[str]:
    """Return Verilator's options for registers that start random."""
    return ["+verilator+rand+reset+2", f"+verilator+seed+{seed % 0x7FFFFFFF + 1}"]


def _outcome(
    bench: str, directory: Path, code: int | None, deadline: float
) -> tuple[int, list[str]]:
    """Return how many tests ran, and which failed; a crash or a hang is one of these."""
    xml, log = directory / "results.xml", directory / LOG
    ran = [case for case in cases(xml) if case.outcome != "skipped"]
    count, failed = len(ran), [case.name for case in ran if case.outcome == "failed"]
    reason = None
    if code is None:
        reason = f"the simulation did not end within {deadline:g} s"
    elif broken := _broken(log):
        reason = broken
    elif not failed and code != 0:
        reason = f"the simulator ended with exit code {code}"
    elif count == 0:
        reason = f"no test of {bench} ran"
    if reason is not None:
        failed.append(f"{bench}: {reason}; see {log}")
        _add_error(xml, bench, reason)
    return count, failed


def _rename(log: Path, names: Mapping[str, Path]) -> None:
    """Give the sources in a log the names that the user knows."""
    said = log.read_text(errors="replace")
    if (text := renamed(said, names)) != said:
        cache.write(log, text)


def _broken(log: Path) -> str:
    """Return what the log says of a bus's rule that was broken, if it does."""
    match = re.search(rf"^{BROKEN}.*", log.read_text(errors="replace"), re.MULTILINE)
    return match[0] if match else ""


def _add_error(xml: Path, bench: str, reason: str) -> None:
    """Record in the results file, made if need be, that the simulation itself failed."""
    root = ElementTree.parse(xml).getroot() if xml.exists() else ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", name=bench, tests="1", errors="1")
    case = ElementTree.SubElement(suite, "testcase", classname=bench, name="simulation")
    ElementTree.SubElement(case, "error", message=reason)
    cache.write(xml, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))

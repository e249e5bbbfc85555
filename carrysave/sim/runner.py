"""Run a design's cocotb bench, or its matrix products, in simulation."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

from carrysave import cache
from carrysave.sim import icarus, verilator
from carrysave.sim.attempt import Result, attempt
from carrysave.sim.parameters import describe
from carrysave.sim.results import cases
from carrysave.sim.rules.bound import bound
from carrysave.sim.unknowns import shell, shell_name
from carrysave.sim.verilator import Build
from hw.catalog import Design
from hw.device import models_of
from hw.emit.verilog import verilog_of

__all__ = ["SIMULATORS", "Result", "named", "new_folder", "run", "sources_of", "verify"]

SIMULATORS = {"verilator": verilator.build, "icarus": icarus.build}
"""What builds a simulator, by the name of its kind."""
_OURS = ("carrysave.", "verif.")
"""Where benches are that do without pytest."""
_SILENT = ("", "AssertionError")
"""What an assertion says without it, if it has no text of its own."""


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

    Benches of ours run without pytest first. If an assertion fails that says nothing, they run
    again with it, for the values; the files are then those of the second run. With `stop`, and
    all tests, there is no second run: whether any fails is what is asked then.
    """
    plain = bench.startswith(_OURS) and not folders
    once = partial(
        attempt, build, bench, tests=tests, parameters=parameters,
        seed=_seed() if seed is None else seed, waves=waves, deadline=deadline, stop=stop,
        poll=poll, folders=folders,
    )  # fmt: skip
    result = once(directory.resolve(), plain=plain)
    failed = [case for case in cases(result.xml) if case.outcome == "failed"]
    ended = len(failed) == result.failures
    wanted = tests is not None or not stop
    if plain and wanted and ended and any(case.why in _SILENT for case in failed):
        again = once(result.directory / "again", plain=False)
        if again.failed == result.failed:
            for name in ("xml", "log", "waves"):
                if path := getattr(again, name):
                    path.replace(getattr(result, name))
        rmtree(again.directory, ignore_errors=True)
    return result


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
    top = design.module
    if netlist is not None:
        sources = list(netlist)
    elif simulator == "verilator":
        sources = sources_of(design, folder, rules=True)
    else:  # It knows no `bind`, but it does know x.
        top = shell_name(design)
        own = cache.write(folder / f"{top}.v", shell(design))
        sources = [*sources_of(design, folder), own]
    return run(
        SIMULATORS[simulator](sources, top, waves=waves),
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

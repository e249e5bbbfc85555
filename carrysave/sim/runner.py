"""Run a design's cocotb bench, or its matrix products, in simulation."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

from carrysave import cache
from carrysave.keywords import by_name
from carrysave.sim import emission, icarus, verilator
from carrysave.sim.attempt import Result, attempt
from carrysave.sim.options import BenchOptions
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


DEFAULTS = BenchOptions()


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


@by_name(BenchOptions)
def run(
    build: Build,
    bench: str,
    options: BenchOptions = DEFAULTS,
    *,
    directory: Path,
    parameters: Mapping[str, Any] | None = None,
    poll: Callable[[], None] | None = None,
    folders: Sequence[Path] = (),
) -> Result:
    """Run the tests of a bench on a simulator.

    Parameters
    ----------
    build : the simulator.
    bench : cocotb module, such as ``verif.pe.benches.tb_mac``.
    directory : folder of this run alone, for the results, the log and the waves.
    parameters : what the bench reads by :func:`carrysave.sim.parameters.bench_parameters`; plain
        JSON types.
    poll : called a few times a second while the simulation runs.
    folders : where Python looks for the bench first.

    Benches of ours run without pytest first. If an assertion fails that says nothing, they run
    again with it, for the values; the files are then those of the second run. With ``stop``, and
    all tests, there is no second run: whether any fails is what is asked then.
    """
    plain = bench.startswith(_OURS) and not folders
    options = replace(options, seed=_seed() if options.seed is None else options.seed)
    once = partial(
        attempt, build, bench, options=options, parameters=parameters, poll=poll, folders=folders
    )
    result = once(directory.resolve(), plain=plain)
    failed = [case for case in cases(result.xml) if case.outcome == "failed"]
    ended = len(failed) == result.failures
    wanted = options.tests is not None or not options.stop
    if plain and wanted and ended and any(case.why in _SILENT for case in failed):
        again = once(result.directory / "again", plain=False)
        if again.failed == result.failed:
            for name in ("xml", "log", "waves"):
                if path := getattr(again, name):
                    path.replace(getattr(result, name))
        rmtree(again.directory, ignore_errors=True)
    return result


@by_name(BenchOptions)
def verify(
    design: Design,
    options: BenchOptions = DEFAULTS,
    *,
    directory: Path,
    netlist: Sequence[Path] | None = None,
    simulator: str = "verilator",
    bench_parameters: Mapping[str, Any] | None = None,
) -> Result:
    """Run a design's bench on its Verilog, or on a netlist of it.

    Parameters
    ----------
    directory : folder in which this run gets a new folder of its own.
    netlist : the netlist and the models of its cells, to simulate instead of generated Verilog.
    simulator : of :data:`SIMULATORS`.
    bench_parameters : of the bench, besides the design, such as ``constants`` of inputs.
    """
    folder = new_folder(directory, design.module)
    top = design.module
    if netlist is not None:
        sources = list(netlist)
    elif simulator == "verilator":
        sources = sources_of(design, folder, rules=True)
    else:  # It knows no `bind`, but it does know x.
        top = shell_name(design)
        wrapper = cache.write(folder / f"{top}.v", shell(design))
        sources = [*sources_of(design, folder), wrapper]
    return run(
        SIMULATORS[simulator](
            sources, top, waves=options.waves, **({"coverage": True} if options.coverage else {})
        ),
        design.entry.bench,
        options,
        directory=folder,
        parameters=describe(design) | dict(bench_parameters or {}),
    )


def _seed() -> int:
    """Return the seed that the environment gives, or draw one."""
    given = os.environ.get("CARRYSAVE_SEED")
    return int.from_bytes(os.urandom(4), "little") >> 1 if given is None else int(given)


def sources_of(
    design: Design, folder: Path, *, rules: bool = False, from_cache: bool = False
) -> list[Path]:
    """Write the design's Verilog into `folder`; also return the models of a device's blocks.

    With `rules`, those of the buses at its ports are bound to it: a broken one ends a simulation.
    With `from_cache`, the Verilog that the same sources have made before is taken.
    """
    verilog = emission.verilog_of(design) if from_cache else verilog_of(design)
    sources = [cache.write(folder / f"{design.module}.v", verilog), *models_of(verilog)]
    text = bound(design) if rules else ""
    return [*sources, cache.write(folder / f"{design.module}_rules.sv", text)] if text else sources

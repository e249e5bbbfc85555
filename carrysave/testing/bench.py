"""Outside of the simulator: somebody's Verilog with generated designs inside, built and run."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import pytest

from carrysave import cache
from carrysave.sim.results import cases
from carrysave.sim.runner import Result, named, new_folder, run
from carrysave.sim.verilator import build
from hw.catalog import Design
from hw.device import models_of
from hw.emit.verilog import Emission

__all__ = ["Bench"]


class Bench:
    """Runs the cocotb tests of a file on a design; the fixture ``carrysave_bench`` is one.

    Parameters
    ----------
    path : the file with the tests: names of sources are beside it.
    folder : each run gets a folder of its own there.
    seed : of the stimulus; None: of ``$CARRYSAVE_SEED``, else drawn.
    waves : record waves.
    """

    def __init__(self, path: Path, folder: Path, *, seed: int | None, waves: bool) -> None:
        self._path, self._folder, self._seed, self._waves = path, folder, seed, waves

    def __call__(
        self,
        top: str,
        sources: Sequence[str | PathLike[str]],
        *designs: Design,
        bench: str | None = None,
        test: str | None = None,
        deadline: float = 600.0,
    ) -> Result:
        """Build a simulator of a design, by Verilator, and run cocotb tests; fail if one fails.

        Parameters
        ----------
        top : name of its top module.
        sources : its Verilog or SystemVerilog; what ends with .vh, .svh or .h is there for the
            others to include.
        designs : generated designs in it, instances of which tests watch; they are written here.
        bench : module with the cocotb tests; by default the file that this is called in.
        test : run this test alone.
        deadline : seconds after which the simulation is ended, and has failed.

        Returns
        -------
        The run: ``seed seconds directory log waves``.
        """
        __tracebackhide__ = True
        files = [self._path.parent / source for source in sources]
        for file in files:
            if not file.is_file():
                raise FileNotFoundError(f"sources must be files, not {str(file)!r}")
        folder = new_folder(self._folder, top)
        inner: dict[str, list[str]] = {}
        for design in {design.module: design for design in designs}.values():
            emission = Emission(design)
            files.append(cache.write(folder / f"{design.module}.v", emission.verilog))
            files += [file for file in models_of(emission.verilog) if file not in files]
            inner[design.module] = [port["name"] for port in emission.ports]
        inner.pop(top, None)  # of the top, all can be read anyway
        try:
            built = build(files, top, waves=self._waves, inner=inner, inside=True)
        except RuntimeError as error:
            pytest.fail(str(error), pytrace=False)
        parent, module = _module(self._path)
        result = run(
            built,
            bench or module,
            tests=test and named(test),
            seed=self._seed,
            directory=folder,
            waves=self._waves,
            deadline=deadline,
            folders=[parent],
        )
        if not result.ok:
            pytest.fail(_reasons(top, result), pytrace=False)
        return result


def _module(path: Path) -> tuple[Path, str]:
    """Return the folder in which Python finds a file's module, and the module's name."""
    folder, names = path.parent, [path.stem]
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def _reasons(top: str, result: Result) -> str:
    """Say what failed, why, and how to see it again."""
    failed = [case for case in cases(result.xml) if case.outcome == "failed"]
    lines = [f"{top}: {result.failures} of {max(result.tests, result.failures)} tests failed:"]
    lines += [f"  {case.name}: {case.why}" for case in failed]
    lines.append(
        f"again with --carrysave-seed {result.seed}; what the simulator said: {result.log}"
    )
    if result.waves:
        lines.append(f"waves: {result.waves}")
    return "\n".join(lines)

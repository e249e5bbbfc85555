"""What takes longer than a page may: done in a process of its own, and written into a folder."""

import shlex
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from carrysave import cache
from carrysave.api.design import Design
from carrysave.drawings import block_diagram
from carrysave.drawings.structure import structure_of
from carrysave.drawings.timing import drawn
from carrysave.progress import Steps
from carrysave.regress.configurations import options as words_of
from carrysave.sim.bench_tests import bench_tests
from hw.emit import tools

__all__ = ["KINDS", "PROGRESS", "blocks", "verilog", "waves"]

PROGRESS = "progress.txt"
"""File in the folder whose last line says what is done now."""
_TRANSACTIONS = 4
_SEED = 1
_FIRST = "test_matches_golden"
"""The test of most benches that sends operands, and nothing else."""
_YEAR = (1980, 1, 1, 0, 0, 0)
"""Time of all files of an archive: the same design is the same bytes."""


def blocks(name: str, parameters: Mapping[str, Any], folder: str) -> dict[str, str]:
    """Draw a design's submodules and streams.

    Parameters
    ----------
    name, parameters : of the design.
    folder : where the picture is written.

    Returns
    -------
    ``file``, relative to the folder, and ``said``: a sentence about it.
    """
    design = Design(name, parameters)
    with _steps(folder) as steps:
        steps.step(f"take {design.module} apart")
        picture = block_diagram.draw(structure_of(design))
    path = cache.write(Path(folder) / f"{design.module}.blocks.svg", picture)
    return {
        "file": path.name,
        "said": "Boxes are submodules, lines data with their bits, dashed lines control.",
    }


def waves(name: str, parameters: Mapping[str, Any], folder: str) -> dict[str, str]:
    """Run the first test of a design's bench with few transactions, and draw its streams.

    Icarus, where it is installed, starts soonest; else it is Verilator, which compiles first.

    Returns
    -------
    ``file`` as of :func:`blocks`, ``more``: the waves as VCD, ``said``, and the ``command`` that
    runs the same.

    Raises
    ------
    RuntimeError
        The bench has no test.
    """
    design = Design(name, parameters)
    with _steps(folder) as steps:
        steps.step(f"read the bench of {design.module}")
        tests = bench_tests(design)
        if not tests:
            raise RuntimeError(f"the bench of {design.module} has no test that can be loaded")
        test = next((one for one in tests if one.startswith(_FIRST)), tests[0])
        result = design.verify(
            seed=_SEED,
            waves=True,
            test=test,
            transactions=_TRANSACTIONS,
            simulator=_simulator(),
            folder=folder,
            progress=steps,
        )
        if result.waves is None:
            raise RuntimeError(f"{design.module}: {test} has no waves: see {result.log}")
        steps.step("draw the waves")
        picture = drawn(design, result.waves)
    path = cache.write(Path(folder) / f"{design.module}.waves.svg", picture)
    outcome = "passed" if result.ok else "failed"
    words = ["--test", test, "--transactions", str(_TRANSACTIONS), "--waves", "--seed", str(_SEED)]
    words += ["--simulator", _simulator()]
    return {
        "file": path.name,
        "more": result.waves.relative_to(Path(folder).resolve()).as_posix(),
        "said": f"{test} {outcome}: the first cycles of its streams, simulated.",
        "command": shlex.join(["carrysave", "verify", *words_of(design), *words]),
    }


def verilog(name: str, parameters: Mapping[str, Any], folder: str) -> dict[str, str]:
    """Write what ``generate`` writes, and an archive of it.

    Returns
    -------
    ``file`` as of :func:`blocks`, of the archive, and ``said``.
    """
    design = Design(name, parameters)
    place = Path(folder) / design.module
    with _steps(folder) as steps:
        files = design.generate(place, progress=steps).files
    path = Path(folder) / f"{design.module}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(files):
            inside = zipfile.ZipInfo(file.relative_to(place).as_posix(), _YEAR)
            inside.compress_type = zipfile.ZIP_DEFLATED
            inside.external_attr = 0o644 << 16
            archive.writestr(inside, file.read_bytes())
    return {"file": path.name, "said": f"{len(files)} files, {path.stat().st_size:,} bytes."}


KINDS: dict[str, Callable[[str, Mapping[str, Any], str], dict[str, str]]] = {
    "blocks": blocks,
    "waves": waves,
    "verilog": verilog,
}
"""What can be asked for, by its name in addresses."""


def _simulator() -> str:
    try:
        tools.find("iverilog")
        tools.find("vvp")
    except tools.MissingToolError:
        return "verilator"
    return "icarus"


@contextmanager
def _steps(folder: str) -> Iterator[Steps]:
    """Write each step into a file, for whoever waits."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with (place / PROGRESS).open("w", buffering=1) as file, Steps(Console(file=file)) as steps:
        yield steps

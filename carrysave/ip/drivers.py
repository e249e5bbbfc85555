"""Drivers in a pack, and what its README says of them."""

from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.driver_modes import modes
from carrysave.ip import driver_sources, mode_tables
from carrysave.ip.facts import Facts
from carrysave.ip.registers import write_header
from golden.npe.npe import NpeSpec
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.spec import CoprocessorSpec
from hw.soc.registers.rdl import MAP, parameters_of, register_map

__all__ = ["facts", "write", "write_for_line"]

_ONES = {"e8m0": 127, "e4m3": 56, "e5m3": 120}
"""The code of 1.0, by format of scales."""


def facts(block: Facts) -> dict[str, Any]:
    """Gather what the template README_drivers.md takes; formats are the last of the engine's."""
    result: dict[str, Any] = {"block": block, "spec": block.spec, "pair": None, "one": None}
    if isinstance(block.spec.engine, NpeSpec):
        result["pair"] = list(modes(block.spec))[-1]
        result["one"] = _ONES.get(block.spec.engine.scale)
    return result


def write(block: Facts, pack: Path) -> list[str]:
    """Write all drivers into a pack; return their file names."""
    files = _write(block.spec, pack / "drivers")
    return sorted(str(path.relative_to(pack)) for path in files)


def write_for_line(spec: CoprocessorUartSpec, folder: Path) -> list[Path]:
    """Write all drivers of a co-processor behind a serial line; return the files."""
    # What the drivers use of the map is the same in every build.
    top = register_map(dict.fromkeys(parameters_of(), 0))
    (folder / "c").mkdir(parents=True, exist_ok=True)
    write_header(top, folder / "c" / f"{MAP}.h")
    return sorted(_write(spec, folder))


def _write(spec: CoprocessorSpec, folder: Path) -> list[Path]:
    python, c = folder / "python", folder / "c"
    driver_sources.python(python / "carrysave_driver")
    driver_sources.c(c, stream=spec.STREAM, uart=isinstance(spec, CoprocessorUartSpec))
    if mode_list := modes(spec):
        cache.write(python / mode_tables.PYTHON_NAME, mode_tables.python(mode_list))
        cache.write(c / mode_tables.C_NAME, mode_tables.c(mode_list))
    return [path for path in folder.rglob("*") if path.is_file()]

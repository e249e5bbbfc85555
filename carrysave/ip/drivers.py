"""Drivers in a pack, and what its README says of them."""

from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.driver_modes import modes
from carrysave.ip import driver_sources, mode_tables
from carrysave.ip.facts import Facts
from golden.npe.npe import NpeSpec

__all__ = ["facts", "write"]

_ONES = {"e8m0": 127, "e4m3": 56}
"""The code of 1.0, by format of scales."""


def facts(block: Facts) -> dict[str, Any]:
    """Gather what the template README_drivers.md takes; formats are the last of the engine's."""
    found: dict[str, Any] = {"block": block, "spec": block.spec, "pair": None, "one": None}
    if isinstance(block.spec.engine, NpeSpec):
        found["pair"] = list(modes(block.spec))[-1]
        found["one"] = _ONES.get(block.spec.engine.scale)
    return found


def write(block: Facts, pack: Path) -> list[str]:
    """Write all drivers into a pack; return their file names."""
    python, c = (pack / "drivers" / language for language in ("python", "c"))
    driver_sources.python(python / "carrysave_driver")
    driver_sources.c(c, stream=block.spec.STREAM)
    if found := modes(block.spec):
        cache.write(python / mode_tables.PYTHON_NAME, mode_tables.python(found))
        cache.write(c / mode_tables.C_NAME, mode_tables.c(found))
    files = (path for path in (pack / "drivers").rglob("*") if path.is_file())
    return sorted(str(path.relative_to(pack)) for path in files)

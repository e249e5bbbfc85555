"""Resources of designs on FPGAs."""

from typing import Any

from carrysave import cache
from carrysave.asic import synthesis
from carrysave.asic.options import Verilog
from hw.catalog import Design
from hw.emit.verilog import verilog_of

__all__ = ["count", "count_plain"]


def count(design: Design, target: str) -> dict[str, float]:
    """Count the ``luts``, ``ffs`` and ``dsps`` of a design, mapped but not placed."""
    path = cache.folder() / "verilog" / f"{design.module}.v"
    cache.write(path, verilog_of(design))
    result = synthesis.synthesise(Verilog([path], design.module), target, place=False)
    return {key: result[key] for key in ("luts", "ffs", "dsps")}


def count_plain(name: str, parameters: dict[str, Any], target: str) -> dict[str, float]:
    """Do :func:`count` by plain arguments: a job of :mod:`carrysave.jobs`."""
    return count(Design(name, parameters), target)

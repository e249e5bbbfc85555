"""Verilog of designs, from the cache where the same sources have made it before."""

import platform
from pathlib import Path

import golden
import hw
from carrysave import cache
from carrysave.jobs.job import source_digest
from hw.catalog import Design
from hw.emit import verilog

__all__ = ["verilog_of"]

_FILE = "design.v"
_MOST = 64
"""Designs that stay in the cache: those that were asked for last."""


def verilog_of(design: Design) -> str:
    """Return the Verilog of a design, as :func:`hw.emit.verilog.verilog_of` does.

    It depends on the parameters, on the source of generators, and on the versions of what emits it.
    Designs of plug-ins, whose source may be anywhere, are emitted anew.
    """
    parts = (design, design.engine, design.vector)
    if any(one is not None and one.entry.plugin for one in parts):
        return verilog.verilog_of(design)
    versions = [f"{name} {number}" for name, number in verilog.versions().items()]
    key = [platform.python_version(), *versions, source_digest(golden, hw), design.key]

    def make(folder: Path) -> None:
        (folder / _FILE).write_text(verilog.verilog_of(design))

    path = cache.entry("emitted", key, make, most=_MOST) / _FILE
    try:
        return path.read_text()
    except OSError:  # another process has just taken it away, for newer ones
        return verilog.verilog_of(design)

"""FPGA families: what each has, how engines are built of it, and what its tools are called.

A family is one file, and its name in :data:`NAMES`.
"""

import importlib
import re
from functools import cache
from pathlib import Path

from hw.device.description import PACKINGS
from hw.device.family import Family

__all__ = ["DEVICES", "GENERIC", "NAMES", "PACKINGS", "Family", "family", "models_of"]

GENERIC = "generic"
"""No device: logic that every tool maps."""

NAMES = ("ecp5", "ice40", "gowin", "nexus", "xilinx7", "ultrascale")
"""Families, each a module of this package with a ``FAMILY``."""

DEVICES = {
    name: family
    for family, names in {
        "ecp5": ("lfe5u", "lfe5um", "ecp5-12", "ecp5-25", "ecp5-45", "ecp5-85"),
        "ice40": ("ice40up5k", "up5k", "ice40hx", "ice40lp"),
        "gowin": ("gw1n", "gw2a", "littlebee", "arora"),
        "nexus": ("certuspro-nx", "certus-nx", "crosslink-nx", "lifcl"),
        "xilinx7": ("artix7", "kintex7", "spartan7", "virtex7", "zynq", "zynq7000"),
        "ultrascale": ("ultrascale+", "ultrascaleplus", "kintexu", "zynqmp", "zynqu"),
    }.items()
    for name in names
}
"""What makers and users call devices, and the family of each."""


@cache
def family(name: str) -> Family:
    """Return a family by its name.

    Raises
    ------
    ValueError
        If there is no such family.
    """
    if name not in NAMES:
        raise ValueError(f"target must be one of {', '.join(NAMES)}, not {name!r}")
    chosen: Family = importlib.import_module(f"{__name__}.{name}").FAMILY
    return chosen


def models_of(design: str) -> list[Path]:
    """Return the simulation models of the blocks in a design's Verilog or RTLIL, a file each.

    They hold what carrysave uses of a block. A maker's own models have the same names.
    """
    folder = Path(__file__).parent / "models"
    used = set(re.findall(r"^ *(?:cell \\)?([A-Z]\w+) ", design, re.MULTILINE))
    return [path for path in sorted(folder.glob("*.v")) if path.stem in used]

"""FuseSoC's description of a generated block: a CAPI2 core file."""

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version

__all__ = ["core"]

_LINT = ("WIDTHEXPAND", "WIDTHTRUNC", "PROCASSINIT", "SYMRSVDWORD")
"""Verilator's style warnings that Verilog written by Yosys triggers."""


def core(
    module: str,
    summary: str,
    filesets: Mapping[str, tuple[str, Sequence[str]]],
    *,
    name: str | None = None,
) -> str:
    """Write a core file.

    Parameters
    ----------
    module : the top module; its Verilog is the file of this name, ``.v``.
    summary : one line.
    filesets : beside the Verilog: type, and names of files; ``models`` is for simulation and lint.
    name : vendor, library, name, version; by default, of the module and of this package.
    """
    name = name or f"carrysave::{module}:{version('carrysave')}"
    every = {"rtl": ("verilogSource", [f"{module}.v"]), **filesets}
    lines = [
        "CAPI=2:",
        "",
        f"name: {json.dumps(name)}",
        f"description: {json.dumps(summary)}",
        "",
        "filesets:",
        *(
            f"  {key}:\n    files: [{', '.join(files)}]\n    file_type: {kind}"
            for key, (kind, files) in every.items()
        ),
        "",
        "targets:",
        "  default:",
        "    filesets: [rtl]",
        f"    toplevel: {module}",
        "  lint:",
        f"    filesets: [{', '.join(['rtl', *({'models'} & {*filesets})])}]",
        f"    toplevel: {module}",
        "    flow: lint",
        "    flow_options:",
        "      tool: verilator",
        f"      verilator_options: [{', '.join(f'-Wno-{warning}' for warning in _LINT)}]",
    ]
    return "\n".join(lines) + "\n"

"""The files of a design: Verilog, manifest, constraints, file list, FuseSoC core."""

import json
from collections.abc import Collection
from pathlib import Path

from hw.catalog import Design
from hw.device import models_of
from hw.emit.constraints import sdc
from hw.emit.flat_ports import clock_and_reset
from hw.emit.fusesoc import core
from hw.emit.verilog import Emission

__all__ = ["file_list", "generate", "models"]

_GUARD = """\
// Stand-ins for a device's blocks, for simulation alone. Synthesis tools have these blocks: they
// read nothing here, by the macro SYNTHESIS (Vivado, Yosys, Synplify), or else by these comments.
`ifndef SYNTHESIS
// synthesis translate_off
{}
// synthesis translate_on
`endif
"""
_ONCE = """\
`ifndef {name}
`define {name}
{text}
`endif
"""


def generate(
    design: Design,
    folder: Path,
    *,
    period_ns: float = 10.0,
    outside: float = 0.0,
    name: str | None = None,
) -> list[Path]:
    """Write the files of a design, and return their paths.

    Parameters
    ----------
    design : what to write.
    folder : where; created if missing.
    period_ns, outside : of the constraints, see :func:`hw.emit.constraints.sdc`.
    name : its FuseSoC name, see :func:`hw.emit.fusesoc.core`.

    Returns
    -------
    ``<module>.v``, ``.json`` (manifest), ``.sdc``, ``.f`` (file list), ``.core`` (FuseSoC); and
    ``<module>_models.v``, for simulation alone, if it has blocks of a device.
    """
    emission = Emission(design)
    module = design.module
    clock, _ = clock_and_reset(emission.component)
    blocks = models(emission)
    texts = {
        ".v": emission.verilog,
        ".json": json.dumps(emission.manifest, indent=2) + "\n",
        ".sdc": sdc(emission.ports, clock, period_ns=period_ns, outside=outside),
        ".f": file_list(module, blocks),
        ".core": core(
            module,
            design.entry.summary,
            {
                "constraints": ("SDC", [f"{module}.sdc"]),
                **({"models": ("verilogSource", list(blocks))} if blocks else {}),
            },
            name=name,
        ),
        **{file.removeprefix(module): text for file, text in blocks.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for ending, text in texts.items():
        path = folder / f"{module}{ending}"
        partial = path.with_name(f".{path.name}.partial")
        partial.write_text(text)
        partial.replace(path)
        paths.append(path)
    return paths


def file_list(module: str, blocks: Collection[str]) -> str:
    """Return the list of a design's files for synthesis; it names those for simulation alone."""
    notes = "".join(
        f"// Simulation needs {name}, too; it is not for synthesis.\n" for name in blocks
    )
    return f"{notes}{module}.v\n"


def models(emission: Emission) -> dict[str, str]:
    """Return a file of simulation models of the blocks that a design has, or none.

    A tool's own blocks must win in synthesis: there the file is empty. Two designs of a family have
    blocks in common, which are declared once where both are compiled.
    """
    texts = [
        _ONCE.format(name=f"CARRYSAVE_{path.stem.upper()}", text=path.read_text().rstrip())
        for path in models_of(emission.verilog)
    ]
    text = _GUARD.format("\n".join(texts).rstrip())
    return {f"{emission.design.module}_models.v": text} if texts else {}

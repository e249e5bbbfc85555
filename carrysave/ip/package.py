"""Writes a pack: a co-processor's Verilog and all accompanying files, as one folder."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from carrysave import cache
from carrysave.errors import needs
from carrysave.ip import block_design, diagram, drivers, ip_xact, licences, litex, readme, registers
from carrysave.ip.facts import OUTSIDE, Facts
from hw.catalog import Design
from hw.emit import folders
from hw.emit.constraints import sdc, xdc
from hw.emit.files import file_list, models
from hw.emit.fusesoc import core
from hw.emit.verilog import Emission
from hw.soc.registers.rdl import MAP

__all__ = ["generate", "write"]


def generate(
    design: Design,
    folder: Path,
    *,
    period_ns: float = 10.0,
    outside: float = OUTSIDE,
    name: str | None = None,
    docs: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> list[Path]:
    """Write the pack of a co-processor.

    Parameters
    ----------
    design : the co-processor.
    folder : parent of the pack, which is named as the module.
    period_ns, outside : of the constraints, see :func:`hw.emit.constraints.sdc`.
    name : what FuseSoC calls it, see :func:`hw.emit.fusesoc.core`.
    docs : write the register map as HTML too: 9 MB in 150 files.
    progress : called with what is done.

    Returns
    -------
    Its files, the Verilog first, the manifest second.
    """
    if docs:
        needs("peakrdl_html")
    emission = Emission(design)
    progress(f"pack {design.module}")
    return write(Facts(emission, period_ns, docs, outside), folder, name=name)


def write(block: Facts, folder: Path, *, name: str | None = None) -> list[Path]:
    """Write the pack of a block atomically: nothing is written if something fails.

    Existing files of the same names are replaced, others kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pack = folder / block.module
    # On the same file system as the pack, so that moving is renaming.
    with folders.temporary(folder, f".{block.module[:80]}-") as temporary:
        made = temporary / block.module
        _fill(block, made, name)
        files = sorted(path.relative_to(made) for path in made.rglob("*") if path.is_file())
        if pack.exists():
            for entry in made.iterdir():
                _replace(entry, pack / entry.name)
        else:
            made.replace(pack)
    first = [Path(f"{block.module}.{ending}") for ending in ("v", "json")]
    return [pack / file for file in (*first, *(file for file in files if file not in first))]


def _replace(made: Path, path: Path) -> None:
    """Replace a file or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    made.replace(path)


def _fill(block: Facts, folder: Path, name: str | None) -> None:
    """Write everything; the folder is new."""
    module, emission = block.module, block.emission
    clock = block.interface("clock").name
    constraints = [f"constraints/{module}.sdc"]
    out_of_context = [f"constraints/{module}_ooc.xdc"]
    software = [f"registers/{MAP}.h", *drivers.write(block, folder)]
    blocks = models(emission)
    texts = {
        **blocks,
        f"{module}.v": emission.verilog,
        f"{module}.json": json.dumps(emission.manifest, indent=2) + "\n",
        f"{module}.f": file_list(module, blocks),
        f"{module}.core": core(
            module,
            block.design.entry.summary,
            {
                "constraints": ("SDC", constraints),
                "out_of_context": ("xdc", out_of_context),
                "software": ("user", software),
                **({"models": ("verilogSource", list(blocks))} if blocks else {}),
            },
            name=name,
        ),
        f"{module}_litex.py": litex.module(block),
        block_design.NAME: block_design.write(block),
        constraints[0]: sdc(emission.ports, clock, **block.timing),
        out_of_context[0]: xdc(clock, period_ns=block.period_ns),
        "block.svg": diagram.draw(block),
        "README.md": readme.write(block),
    }
    for path, text in texts.items():
        cache.write(folder / path, text)
    registers.export(folder / "registers", block.discovery, docs=block.docs)
    sets = {
        "rtl": [f"{module}.v"],
        "constraints": [*constraints, *out_of_context],
        "software": software,
    }
    component = ip_xact.component(block, folder / "registers" / f"{MAP}.xml", sets)
    cache.write(folder / f"{module}.xml", component)
    licences.write(folder / "licences", block.docs)

"""All generated pages of the site."""

from collections.abc import Callable
from pathlib import Path

from carrysave.docs import cells, design_page, reference, status
from carrysave.docs.markdown import table, toctree
from hw.catalog import CATALOG, STAGES

__all__ = ["write"]

_STAGES = {
    "pe": "Elements",
    "tpe": "Integer engines",
    "npe": "Mixed precision, floats, scales",
    "soc": "Co-processors",
}


def write(folder: Path, progress: Callable[[str], None]) -> None:
    """Write the generated pages beside those that are written by hand.

    Parameters
    ----------
    folder : a copy of docs.
    progress : called with what is being done.
    """
    out = folder / "reference"
    designs = out / "designs"
    designs.mkdir(parents=True, exist_ok=True)
    for name in CATALOG:
        progress(f"page of {name}")
        design_page.write(name, designs, folder / "figures")
    (designs / "index.md").write_text(_index())
    progress("other pages")
    pages = {
        "commands": reference.commands(),
        "formats": reference.formats(),
        "registers": reference.registers(),
        "files": reference.files(),
        "python": reference.modules(),
        "cells": cells.cells(),
        "status": status.status(folder / "figures"),
        "rules": reference.rules(),
    }
    for name, text in pages.items():
        (out / f"{name}.md").write_text(text)


def _index() -> str:
    """Write the list of designs."""
    parts = ["# Designs"]
    for stage, names in STAGES.items():
        rows = [(f"[{name}]({name}.md)", CATALOG[name].summary) for name in names]
        parts += [f"## {_STAGES[stage]}", table(("design", "what it is"), rows)]
    return "\n\n".join([*parts, toctree(CATALOG, "hidden")]) + "\n"

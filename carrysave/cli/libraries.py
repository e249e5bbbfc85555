"""Which cell library a command works with."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carrysave.api import targets
from carrysave.cli.options import read_settings

if TYPE_CHECKING:
    from carrysave.asic.liberty import cells

__all__ = ["target_of"]

_SETTINGS = Path("carrysave.toml")
"""In the working folder: its `library` is taken where the command line names none."""


def target_of(
    target: str | None, liberty: Sequence[Path] | None, config: Path | None = None
) -> "cells.Library | str":
    """Return what to synthesise for: the name of a library or an FPGA, or a library.

    In this order: ``--target``, ``--liberty``, ``library`` of the settings file or of that in the
    working folder, osu018 if it is there, the generic library.
    """
    from carrysave.asic.kits import KITS
    from carrysave.asic.liberty import cells  # slow to load, and not always needed

    if target is not None:
        return targets.target_of(target)
    if liberty:
        return cells.Library.load(*liberty)
    file = config if config is not None or not _SETTINGS.is_file() else _SETTINGS
    named: list[str] = read_settings(file).get("library", []) if file is not None else []
    if file is None or not named:
        return cells.default()
    if len(named) == 1 and named[0] in (*KITS, "osu018", "generic"):
        return targets.target_of(named[0])
    for name in named:
        targets.check_suffix(name, f"{file}: library", ", ".join(("osu018", "generic", *KITS)))
    return cells.Library.load(*(file.parent / name for name in named))

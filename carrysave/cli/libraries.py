"""Which cell library a command works with."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from carrysave.cli.options import read_settings
from carrysave.errors import UsageError

if TYPE_CHECKING:
    from carrysave.asic.liberty import cells

__all__ = ["cells_for_energy", "library_of", "target_of"]

_SETTINGS = Path("carrysave.toml")
"""In the working folder: its `library` is taken where the command line names none."""


def target_of(
    target: str | None, liberty: Sequence[Path] | None, config: Path | None = None
) -> "cells.Library | str":
    """Return what to synthesise for: the name of a library or an FPGA, or a library.

    In this order: ``--target``, ``--liberty``, ``library`` of the settings file or of that in the
    working folder, osu018 if it is there, the generic library.
    """
    from carrysave.asic.liberty import cells  # slow to load, and not always needed

    if target is not None:
        return target
    if liberty:
        return cells.Library.load(*liberty)
    file = config if config is not None or not _SETTINGS.is_file() else _SETTINGS
    named: list[str] = read_settings(file).get("library", []) if file is not None else []
    if file is None or not named:
        return cells.default()
    if named in (["osu018"], ["generic"]):
        return named[0]
    for name in named:
        _check_suffix(name, f"{file}: library", "osu018, generic")
    return cells.Library.load(*(file.parent / name for name in named))


def _check_suffix(name: str, option: str, names: str) -> None:
    if Path(name).suffix not in (".lib", ".gz"):
        raise UsageError(
            f"{option} must be {names} or a Liberty file (.lib, .lib.gz), not {name!r}"
        )


def library_of(target: str, option: str = "--netlist") -> "cells.Library":
    """Load the cell library named by an option."""
    from carrysave.asic.liberty import cells  # slow to load, and not always needed

    if target == "osu018":
        return cells.osu018()
    energies = option == "--energy"  # which the generic library has not
    if target == "generic" and not energies:
        return cells.generic()
    _check_suffix(target, option, "osu018" if energies else "osu018, generic")
    path = Path(target)
    try:
        return cells.Library.load(path)
    except FileNotFoundError:
        raise UsageError(f"{option}: no such file: {target}") from None


def cells_for_energy(energy: str | None) -> "cells.Library | str | None":
    """Load the library that ``--energy`` names.

    None is what ``none`` names; and if nothing is named, and there is no library with energies or
    nothing to time it by, a text says so.
    """
    if energy == "none":
        return None
    if energy is not None:
        return library_of(energy, "--energy")
    from carrysave.asic import sta

    try:
        sta.version()
        found = target_of(None, None)
        # Without osu018, its error says what brings it.
        return library_of("osu018") if isinstance(found, str) else found
    except (FileNotFoundError, sta.StaError) as error:
        return str(error)

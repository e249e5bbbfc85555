"""Which cell library or FPGA is meant."""

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from carrysave.errors import ArgumentError, refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from carrysave.asic.liberty import cells

    Target = str | PathLike[str] | Sequence[str | PathLike[str]] | cells.Library | None

__all__ = ["cells_for_energy", "check_suffix", "library_of", "target_of"]


def target_of(target: "Target") -> "cells.Library | str":
    """Return what to synthesise for: the name of a library or an FPGA, or a library.

    Parameters
    ----------
    target : a library, an open process or a family of FPGAs by its name; a Liberty file, or one for
        each corner, of which the first is mapped to; a library; None: osu018 if it is there, else
        the generic one.
    """
    from carrysave.asic.kits import KITS
    from carrysave.asic.liberty import cells  # slow to load, and not always needed
    from hw.device import DEVICES

    if target is None:
        return cells.default()
    if isinstance(target, cells.Library):
        return target
    if isinstance(target, str | PathLike):
        name = fspath(target)
        if name in KITS:
            return KITS[name].library()
        if Path(name).suffix not in _SUFFIXES:
            return DEVICES.get(name, name)
        return cells.Library.load(Path(name))
    for file in target:
        check_suffix(fspath(file), "target", "a name")
    return cells.Library.load(*map(Path, target))


_SUFFIXES = (".lib", ".gz")


def check_suffix(name: str, argument: str, names: str) -> None:
    """Refuse what is no name of a Liberty file."""
    if Path(name).suffix not in _SUFFIXES:
        raise refusal(argument, f"{names} or a Liberty file (.lib, .lib.gz)", repr(name))


def library_of(
    target: str, argument: str = "netlist", others: "Iterable[str]" = ()
) -> "cells.Library":
    """Load the cell library that an argument names.

    Parameters
    ----------
    others : what else the argument may be, for who is refused.
    """
    from carrysave.asic.kits import KITS
    from carrysave.asic.liberty import cells  # slow to load, and not always needed

    if target in KITS:
        return KITS[target].library()
    if target == "osu018":
        return cells.osu018()
    energies = argument == "energy"  # which the generic library has not
    if target == "generic" and not energies:
        return cells.generic()
    names = "osu018", *(() if energies else ("generic",)), *KITS, *others
    check_suffix(target, argument, ", ".join(names))
    path = Path(target)
    try:
        return cells.Library.load(path)
    except FileNotFoundError:
        raise ArgumentError(f"{{{argument}}}: no such file: {{_file}}", _file=target) from None


def cells_for_energy(energy: str | None) -> "cells.Library | None":
    """Load the library that ``energy`` names; None, and ``none``, are no library."""
    return None if energy in (None, "none") else library_of(str(energy), "energy")

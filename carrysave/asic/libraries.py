"""What can be synthesised for, by name."""

from collections.abc import Callable

from carrysave.asic.liberty import cells
from carrysave.asic.liberty.cells import Library
from carrysave.errors import check_choice
from carrysave.fpga import implementation

__all__ = ["LIBRARIES", "TARGETS", "is_fpga", "library_of"]

LIBRARIES: dict[str, Callable[[], Library]] = {
    "osu018": cells.osu018,
    "generic": cells.generic,
}
TARGETS = (*LIBRARIES, *implementation.TARGETS)
"""Cell libraries and families of FPGAs."""


def is_fpga(target: str | Library) -> bool:
    """Return whether a target is a family of FPGAs."""
    return target in implementation.TARGETS


def library_of(target: str | Library) -> Library:
    """Return a cell library, which may be given by its name."""
    if isinstance(target, Library):
        return target
    check_choice("target", target, TARGETS)
    return LIBRARIES[target]()

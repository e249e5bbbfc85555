"""Formats of a multi-format engine, as tables for the drivers of its pack."""

from collections.abc import Mapping

from carrysave.driver import Mode
from carrysave.ip.templates import fill

__all__ = ["C_NAME", "PYTHON_NAME", "c", "python"]

PYTHON_NAME = "carrysave_modes.py"
C_NAME = "carrysave_modes.h"

Modes = Mapping[tuple[str, str], Mode]


def python(modes: Modes) -> str:
    """Write them as a module beside the driver package ``carrysave_driver``."""
    return fill(PYTHON_NAME, modes=modes, numbers={a: mode.a for (a, _), mode in modes.items()})


def c(modes: Modes) -> str:
    """Write them as a header beside the C driver."""
    return fill(C_NAME, modes=modes)

"""Numbers and units of Liberty files."""

import math
import re

__all__ = ["number", "unit"]

_MOST = 1e30  # magnitude of any number, in the file's units
_UNITS = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}


def number(name: str, text: str, low: float = -_MOST, high: float = _MOST) -> float:
    """Return a number of a Liberty file.

    Raises
    ------
    ValueError
        If it is none, not finite or not in the range.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise ValueError(f"{name} must be {low:g}..{high:g}, not {text!r}")
    return value


def unit(name: str, text: str, symbol: str) -> float:
    """Return a unit such as 10ps in terms of its symbol; the errors of :func:`number`."""
    match = re.fullmatch(rf'"?\s*([^\s,"munpf]+)[\s,"]*([munpf]?){symbol}\s*"?', text, re.I)
    if match is None:
        raise ValueError(f"{name} must be like 1n{symbol}, not {text!r}")
    return number(name, match[1], 1e-6, 1e6) * _UNITS[match[2].lower()]

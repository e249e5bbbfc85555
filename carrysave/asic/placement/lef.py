"""Reads wires and rows from LEF, in which makers write what routers must know."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from carrysave.asic.lef_text import blocks, statements
from hw.emit.user_files import FileError

__all__ = ["Lef", "read_lef"]

_LEAST, _MOST = 1e-12, 1e9
"""Of any number: far beyond what is made, and quotients of two are finite."""


@dataclass(frozen=True)
class Lef:
    """What LEF files say of wires and rows; None is what they do not say.

    Attributes
    ----------
    capacitance, resistance : fF/um and ohm/um, the mean of the routing layers that wires between
        cells are on: the second to the fourth, or all that there are of less. Capacitance is to
        what is below, and of the edges: other wires beside it are not in LEF.
    row_height, site_width : um, of the site of core cells; of several the lowest.
    """

    capacitance: float | None
    resistance: float | None
    row_height: float | None
    site_width: float | None = None


def read_lef(paths: Sequence[Path]) -> Lef:
    """Read LEF files: of a technology, of cells, or both.

    Raises
    ------
    FileError
        A number is none or out of range, layers or sites do not end, or there is nothing of use.
    """
    wires: dict[str, tuple[float | None, float | None]] = {}
    sites: dict[float, float] = {}  # width by height
    for path in paths:
        for kind, name, words in blocks(path):
            inside = statements(words)
            if kind == "LAYER" and _words(inside, "TYPE")[:1] == ["ROUTING"]:
                wires.setdefault(name, _wire(path, name, inside))
            elif kind == "SITE" and _words(inside, "CLASS")[:1] == ["CORE"]:
                size, what = _words(inside, "SIZE"), f"SIZE of site {name}"
                sites.setdefault(_number(path, what, size[2:]), _number(path, what, size))
    if not wires and not sites:
        raise FileError(paths[0], "no routing layer and no site of core cells in it")
    height = min(sites, default=None)
    if height is not None and any(abs(one / height - round(one / height)) > 1e-6 for one in sites):
        listed = ", ".join(f"{one:g}" for one in sorted(sites))
        raise FileError(
            paths[0], f"sites of core cells must have one height or multiples, not {listed} um"
        )
    used = list(wires.values())[1:4] or list(wires.values())
    return Lef(
        _mean([one[0] for one in used]),
        _mean([one[1] for one in used]),
        height,
        None if height is None else sites[height],
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _wire(path: Path, name: str, inside: list[list[str]]) -> tuple[float | None, float | None]:
    """Return capacitance and resistance of a layer, for a wire of its usual width."""

    def number(*words: str) -> float | None:
        words_found = _words(inside, words[0])
        if not words_found or words_found[: len(words) - 1] != list(words[1:]):
            return None
        return _number(path, f"{words[0]} of layer {name}", words_found[len(words) - 1 :])

    width = number("WIDTH")
    plane, edge = number("CAPACITANCE", "CPERSQDIST"), number("EDGECAPACITANCE")
    square = number("RESISTANCE", "RPERSQ")
    if width is None:
        return None, None
    farads = None if plane is None else 1e3 * (plane * width + 2 * (edge or 0))  # from pF
    return farads, None if square is None else square / width


def _words(inside: list[list[str]], key: str) -> list[str]:
    """Return what follows a word in the statement that it begins."""
    return next((words[1:] for words in inside if words[0] == key), [])


def _number(path: Path, what: str, words: list[str]) -> float:
    try:
        value = float(words[0])
    except (IndexError, ValueError):
        raise FileError(path, f"{what} must be a number, not {' '.join(words)!r}") from None
    if not _LEAST <= value <= _MOST:
        raise FileError(path, f"{what} must be {_LEAST:g}..{_MOST:g}, not {words[0]}")
    return value

"""The rows of a die: how many, how wide, on which sites, and what ties their wells."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from carrysave.asic.options import SynthesisOptions
from carrysave.asic.placement.technology import Technology
from carrysave.errors import ArgumentError

__all__ = ["Floorplan", "Tap", "floorplan_of", "orientation", "sites_of", "tap_room", "with_taps"]

_UTILISATION, _ASPECT = (0.05, 0.95), (0.1, 10.0)
_EXACT = 1e-4
"""Share of a site below which a width is whole: Liberty rounds areas."""

Point = tuple[float, float]
Tap = tuple[float, float, float]
"""Left edge, lower edge and width of a tap cell, um."""


@dataclass(frozen=True)
class Floorplan:
    """How large a die is.

    Attributes
    ----------
    utilisation : share of the die that the cells of the mapped netlist take, 0.05 to 0.95.
    aspect : width by height, 0.1 to 10; whole rows and sites come as near as they can.
    """

    utilisation: float = 0.7
    aspect: float = 1.0

    def __post_init__(self) -> None:
        for name, (least, most) in (("utilisation", _UTILISATION), ("aspect", _ASPECT)):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ArgumentError(
                    f"{{{name}}} must be {{least}} to {{most}}, not {{value}}",
                    least=f"{least:g}",
                    most=f"{most:g}",
                    value=f"{value:g}",
                )

    def size(self, area: float, technology: Technology) -> tuple[float, float]:
        """Return width and height of a die of at least an area (um2): whole rows and sites, um."""
        height, site = technology.row_height, technology.site_width
        rows = max(math.ceil(math.sqrt(area / self.aspect) / height), 1)
        width = area / (rows * height)
        return (sites_of(width, site) * site if site else width), rows * height


def floorplan_of(options: SynthesisOptions) -> Floorplan:
    """Return the floorplan that is asked for."""
    given = {"utilisation": options.utilisation, "aspect": options.aspect}
    return Floorplan(**{name: value for name, value in given.items() if value is not None})


def sites_of(width: float, site: float) -> int:
    """Return the sites that a width takes."""
    return math.ceil(width / site - _EXACT)


def orientation(row: int) -> str:
    """Return how cells lie in a row, as DEF has it: neighbours share a supply rail."""
    return "FS" if row % 2 else "N"


def tap_room(width: float, technology: Technology) -> float:
    """Return what the taps of a row take of its width at most, um."""
    return (
        technology.tap_sites
        * technology.site_width
        * max(len(_columns(width, technology, row)) for row in (0, 1))
    )


def with_taps(
    corners: Sequence[Point], widths: Sequence[float], size: Point, technology: Technology
) -> tuple[list[Point], list[Tap]]:
    """Put tap cells between cells that are in rows, on sites, and leave room for them.

    Taps of every second row are in columns between those of the others. Cells and taps keep their
    order by their middles, and move no further than others push them.
    """
    site, height = technology.site_width, technology.row_height
    rows: dict[int, list[tuple[float, int, int]]] = {}  # middle, sites, number; taps below 0
    for number, ((x, y), width) in enumerate(zip(corners, widths, strict=True)):
        rows.setdefault(round(y / height), []).append((x + width / 2, round(width / site), number))
    moved, taps = list(corners), list[Tap]()
    for row in range(round(size[1] / height)):
        members = rows.get(row, [])
        wide = technology.tap_sites
        members += [(x, wide, -1) for x in _columns(size[0], technology, row)]
        members.sort()
        lefts = _pushed(
            [(round(x / site - sites / 2 + 1e-9), sites) for x, sites, _ in members],
            round(size[0] / site),
        )
        for (_, sites, number), left in zip(members, lefts, strict=True):
            if number < 0:
                taps.append((left * site, row * height, sites * site))
            else:
                moved[number] = left * site, row * height
    return moved, taps


def _columns(width: float, technology: Technology, row: int) -> list[float]:
    """Return where the middles of the taps of a row should be, um."""
    if not technology.tap or not technology.site_width:
        return []
    reach = technology.tap_distance
    first = min(reach * (0.5 if row % 2 else 1.5), width / 2)
    return [first + 2 * reach * turn for turn in range(int((width - first) / (2 * reach)) + 1)]


def _pushed(wanted: Sequence[tuple[int, int]], end: int) -> list[int]:
    """Return left edges of boxes (left edge, width) in a row that ends: in order, beside others."""
    lefts, at = list[int](), 0
    for left, width in wanted:
        lefts.append(max(left, at))
        at = lefts[-1] + width
    for index in range(len(lefts) - 1, -1, -1):
        lefts[index] = min(lefts[index], end - wanted[index][1])
        end = lefts[index]
    return lefts

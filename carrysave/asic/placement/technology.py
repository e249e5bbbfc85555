"""What wires are made of, and how high rows of cells are, by library."""

from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from typing import Any

from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement.lef import Lef
from carrysave.errors import ArgumentError

__all__ = ["TECHNOLOGIES", "Technology", "known_technology", "rows_and_sites", "technology"]


@dataclass(frozen=True)
class Technology:
    """Wires and rows.

    Attributes
    ----------
    capacitance : of a wire, fF/um, to all around it.
    resistance : of a wire, ohm/um.
    row_height : um; the width of a cell is its area by this.
    source : where the figures come from.
    site_width : um, of a site of a row; cells begin on whole ones. 0: not known.
    tap : cell that ties the wells to the supplies; none if every cell does.
    tap_sites, tap_distance : its width in sites; um from any place of a row to the nearest tap of
        this row or the next, at most.
    """

    capacitance: float
    resistance: float
    row_height: float
    source: str
    site_width: float = 0.0
    tap: str = ""
    tap_sites: int = 1
    tap_distance: float = 0.0

    def describe(self) -> dict[str, Any]:
        """Return it as plain values, for a result."""
        return asdict(self)


_SKY130 = (
    "metal 1 to 3 of sky130: OpenROAD's flow has 0.14 to 0.21 fF/um and 0.16 to 0.89 ohm/um,"
    " fitted to routed designs"
)
_GF180 = (
    "metal 2 and 3 of gf180mcu: OpenROAD's flow has 0.135 to 0.146 fF/um and 0.21 to 0.39 ohm/um,"
    " fitted to routed designs"
)
TECHNOLOGIES = {
    "sky130_fd_sc_hd*": Technology(
        0.2, 0.9, 2.72, _SKY130, 0.46, "sky130_fd_sc_hd__tapvpwrvgnd_1", 1, 13.0
    ),
    "sky130_fd_sc_hs*": Technology(0.2, 0.9, 3.33, _SKY130, 0.48),
    "gf180mcu_fd_sc_mcu7t*": Technology(0.15, 0.39, 3.92, _GF180, 0.56),
    "gf180mcu_fd_sc_mcu9t*": Technology(0.15, 0.39, 5.04, _GF180, 0.56),
    "osu018*": Technology(
        0.2,
        0.3,
        10.0,
        "0.18 um aluminium in general: 0.2 fF/um, 0.08 ohm a square at 0.28 um",
        0.8,
    ),
}
"""By pattern of the library's name."""


def technology(
    library: Library,
    capacitance: float | None = None,
    resistance: float | None = None,
    row_height: float | None = None,
    lef: Lef | None = None,
) -> Technology:
    """Return the technology of a library; figures that are given, or in LEF, come first.

    Raises
    ------
    ValueError
        If it is not known, and not all of it is given.
    """
    if library.relative:
        raise ValueError(f"a library to place with must have um and ns, not {library.name}")
    known = known_technology(library)
    source = "as given"
    if lef is not None:
        source = "LEF (without capacitance between neighbours), or as given"
        capacitance = lef.capacitance if capacitance is None else capacitance
        resistance = lef.resistance if resistance is None else resistance
        row_height = lef.row_height if row_height is None else row_height
    site_width = None if lef is None else lef.site_width
    given = capacitance, resistance, row_height
    if known is None:
        if None in given:
            raise ArgumentError(
                "wires of {library} must be given: {wire_cap}, {wire_res} and {row_height}, or"
                " {lef} with all of them",
                library=library.name,
            )
        known = Technology(0.0, 0.0, 0.0, "")
    if given == (None, None, None):
        return known
    if None in given:
        source += f", the rest: {known.source}"
    other_rows = row_height is not None and row_height != known.row_height
    if other_rows:  # sites and taps are those of rows of the known height
        known = replace(known, site_width=0.0, tap="", tap_distance=0.0)
    return replace(
        known,
        capacitance=known.capacitance if capacitance is None else capacitance,
        resistance=known.resistance if resistance is None else resistance,
        row_height=known.row_height if row_height is None else row_height,
        source=source,
        site_width=known.site_width if site_width is None else site_width,
    )


def known_technology(library: Library) -> Technology | None:
    """Return what is known of a library; None if nothing is."""
    return next((one for glob, one in TECHNOLOGIES.items() if fnmatch(library.name, glob)), None)


def rows_and_sites(technology: Technology) -> str:
    """Say how cells lie in rows."""
    rows = f"rows of {technology.row_height:g} um, N and FS in turn from the bottom"
    if not technology.site_width:
        return f"{rows}; cells anywhere in them: the width of a site is not known"
    ties = f"{technology.tap} every {2 * technology.tap_distance:g} um of a row"
    tied = ties if technology.tap else "no tap cells"
    return f"{rows}; cells on whole sites of {technology.site_width:g} um; {tied}"

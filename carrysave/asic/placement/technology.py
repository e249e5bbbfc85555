"""What wires are made of, and how high rows of cells are, by library."""

from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from typing import Any

from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement.lef import Lef
from carrysave.errors import ArgumentError

__all__ = ["TECHNOLOGIES", "Technology", "technology"]


@dataclass(frozen=True)
class Technology:
    """Wires and rows.

    Attributes
    ----------
    capacitance : of a wire, fF/um, to all around it.
    resistance : of a wire, ohm/um.
    row_height : um; the width of a cell is its area by this.
    source : where the figures come from.
    """

    capacitance: float
    resistance: float
    row_height: float
    source: str

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
    "sky130_fd_sc_hd*": Technology(0.2, 0.9, 2.72, _SKY130),
    "sky130_fd_sc_hs*": Technology(0.2, 0.9, 3.33, _SKY130),
    "gf180mcu_fd_sc_mcu7t*": Technology(0.15, 0.39, 3.92, _GF180),
    "gf180mcu_fd_sc_mcu9t*": Technology(0.15, 0.39, 5.04, _GF180),
    "osu018*": Technology(
        0.2, 0.3, 10.0, "0.18 um aluminium in general: 0.2 fF/um, 0.08 ohm a square at 0.28 um"
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
    known = next((one for glob, one in TECHNOLOGIES.items() if fnmatch(library.name, glob)), None)
    source = "as given"
    if lef is not None:
        source = "LEF (without capacitance between neighbours), or as given"
        capacitance = lef.capacitance if capacitance is None else capacitance
        resistance = lef.resistance if resistance is None else resistance
        row_height = lef.row_height if row_height is None else row_height
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
    return Technology(
        known.capacitance if capacitance is None else capacitance,
        known.resistance if resistance is None else resistance,
        known.row_height if row_height is None else row_height,
        source,
    )

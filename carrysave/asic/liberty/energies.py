"""Reads the energies of cells from a Liberty file: internal by edge and state, leakage."""

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from carrysave.asic.liberty.cells import Library
from carrysave.asic.liberty.tables import Floats, LibertyError, Table, read_cells, read_table
from carrysave.asic.liberty.text import Group
from carrysave.asic.liberty.units import number, unit

__all__ = ["Energies", "Internal", "LibertyError", "Table", "energies"]


@dataclass(frozen=True)
class Internal:
    """One ``internal_power`` group: energy when ``pin`` switches because ``related`` did."""

    pin: str
    related: str | None
    when: str | None
    supply: str | None
    tables: tuple[Table, ...]  # of rise and fall

    def energy(self, slew: Floats, load: Floats) -> Floats:
        """Mean energy of one transition, fJ."""
        total = sum((table.look_up(slew, load) for table in self.tables), np.zeros(slew.shape))
        return total / 2


@dataclass(frozen=True)
class Energies:
    """Energies of one cell: internal energies, leakage (nW) by condition."""

    internal: tuple[Internal, ...]
    leakage: tuple[tuple[str | None, float], ...]


def energies(library: Library, names: Collection[str]) -> dict[str, Energies]:
    """Read the energies of cells.

    Raises
    ------
    LibertyError
        If the file has units or tables that are not understood.
    """
    try:
        return _all(library, names)
    except (ValueError, IndexError, KeyError) as error:
        raise LibertyError(f"energies of {library.name} are not understood: {error}") from None


def _all(library: Library, names: Collection[str]) -> dict[str, Energies]:
    cells, templates = read_cells(library, names, frozenset({"timing", "test_cell"}))
    text = library.text
    first = re.search(r"\bcell\s*\(", text)
    units = dict(_UNIT.findall(text, 0, first.start() if first else len(text)))
    volt = unit("voltage_unit", units.get("voltage_unit", "1V"), "V")
    scale = library.capacitance_unit * volt * volt * 1e15
    leak = unit("leakage_power_unit", units.get("leakage_power_unit", "1nW"), "W") * 1e9
    return {name: _energies(cell, templates, library, scale, leak) for name, cell in cells.items()}


_UNIT = re.compile(r'\b(\w+_unit)\s*:\s*"([^"]+)"')


def _energies(
    cell: Group, templates: dict[str, Group], library: Library, scale: float, leak: float
) -> Energies:
    internal = []
    for pin in cell.all("pin"):
        for name in pin.name.split(","):
            for group in pin.all("internal_power"):
                tables = tuple(
                    read_table(table, templates, library, scale)
                    for table in group.groups
                    if table.kind in {"rise_power", "fall_power", "power"}
                )
                if len(tables) == 1:
                    tables *= 2  # `power` is that of either edge
                internal += [
                    Internal(
                        name.strip(),
                        related or None,
                        group.attributes.get("when"),
                        group.attributes.get("related_pg_pin"),
                        tables,
                    )
                    for related in group.attributes.get("related_pin", "").split() or [""]
                ]
    leakage = [
        (
            group.attributes.get("when"),
            number("value of leakage_power", group.attributes["value"]) * leak,
        )
        for group in cell.all("leakage_power")
    ]
    if not leakage:
        leakage = [
            (
                None,
                number("cell_leakage_power", cell.attributes.get("cell_leakage_power", "0")) * leak,
            )
        ]
    return Energies(tuple(internal), tuple(leakage))

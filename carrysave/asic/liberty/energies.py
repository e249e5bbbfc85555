"""Reads the energies of cells from a Liberty file: internal by edge and state, leakage."""

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.liberty.cells import Library
from carrysave.asic.liberty.facts import number, unit
from carrysave.asic.liberty.text import Group, parse

__all__ = ["Energies", "Internal", "LibertyError", "Table", "energies"]

Floats = NDArray[np.float64]


class LibertyError(ValueError):
    """A library's energies are not understood."""


@dataclass(frozen=True)
class Table:
    """Energy (fJ) over input transition time (ns) and load (fF); either axis may be one point."""

    slews: Floats
    loads: Floats
    values: Floats

    def look_up(self, slew: Floats, load: Floats) -> Floats:
        """Interpolate, and extrapolate, linearly; arguments of one shape."""
        i, x = _place(self.slews, slew)
        j, y = _place(self.loads, load)
        i1 = np.minimum(i + 1, len(self.slews) - 1)
        j1 = np.minimum(j + 1, len(self.loads) - 1)
        low = self.values[i, j] * (1 - x) + self.values[i1, j] * x
        high = self.values[i, j1] * (1 - x) + self.values[i1, j1] * x
        return low * (1 - y) + high * y


def _place(axis: Floats, at: Floats) -> tuple[NDArray[np.intp], Floats]:
    if len(axis) == 1:
        return np.zeros(at.shape, np.intp), np.zeros(at.shape)
    index = np.clip(np.searchsorted(axis, at) - 1, 0, len(axis) - 2)
    return index, (at - axis[index]) / (axis[index + 1] - axis[index])


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
    text = library.text
    starts = list(_GROUP.finditer(text))
    first = next((m.start() for m in starts if m[1] == "cell"), len(text))
    units = dict(_UNIT.findall(text, 0, first))
    volt = unit("voltage_unit", units.get("voltage_unit", "1V"), "V")
    scale = library.capacitance_unit * volt**2 * 1e15
    leak = unit("leakage_power_unit", units.get("leakage_power_unit", "1nW"), "W") * 1e9
    templates, found = {}, {}
    for match in starts:
        if match[1] == "power_lut_template":
            templates[match[2]] = _part(text, match.start())
        elif match[2] in names:
            cell = _part(text, match.start())
            found[match[2]] = _energies(cell, templates, library, scale, leak)
    return found


_GROUP = re.compile(r'\b(cell|power_lut_template)\s*\(\s*"?([\w.]+)"?\s*\)\s*\{')
_UNIT = re.compile(r'\b(\w+_unit)\s*:\s*"([^"]+)"')
_BRACE = re.compile(r"[{}]")


def _part(text: str, start: int) -> Group:
    """Return the group that begins at an offset."""
    depth = 0
    for found in _BRACE.finditer(text, start):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            inside = f"library (part) {{ {text[start : found.end()]} }}"
            return parse(inside, frozenset({"timing", "test_cell"})).groups[0]
    raise LibertyError("Liberty text must have a closing brace for every opening one")


def _energies(
    cell: Group, templates: dict[str, Group], library: Library, scale: float, leak: float
) -> Energies:
    internal = []
    for pin in cell.all("pin"):
        for name in pin.name.split(","):
            for group in pin.all("internal_power"):
                tables = tuple(
                    _table(table, templates, library, scale)
                    for table in group.groups
                    if table.kind in {"rise_power", "fall_power", "power"}
                )
                if len(tables) == 1:
                    tables *= 2  # `power` is that of either edge
                internal += [
                    Internal(
                        name.strip(), related or None, group.attributes.get("when"),
                        group.attributes.get("related_pg_pin"), tables,
                    )
                    for related in group.attributes.get("related_pin", "").split() or [""]
                ]  # fmt: skip
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


def _numbers(text: str) -> Floats:
    return np.array([number("table", one) for one in re.findall(r'[^\s,"\\]+', text)])


def _table(table: Group, templates: dict[str, Group], library: Library, scale: float) -> Table:
    template = templates.get(table.name)
    axes: dict[str, Floats] = {}
    for place in "12":
        kind = template.attributes.get(f"variable_{place}") if template else None
        if kind is None or template is None:
            continue
        name = f"index_{place}"
        index = table.attributes.get(name) or template.attributes.get(name, "")
        slew = "transition" in kind
        axes["slew" if slew else "load"] = _numbers(index) * (
            library.time_unit * 1e9 if slew else library.capacitance_unit * 1e15
        )
    one = np.zeros(1)
    slews, loads = axes.get("slew", one), axes.get("load", one)
    for axis in (slews, loads):
        if not axis.size or (np.diff(axis) <= 0).any():
            raise LibertyError(f"index of {table.name} must be one number or more, ascending")
    values = _numbers(table.attributes.get("values", "")) * scale
    if len(values) != len(slews) * len(loads):
        raise LibertyError(f"table of {table.name} must be {len(slews)} x {len(loads)}")
    if next(iter(axes), "slew") == "slew":
        return Table(slews, loads, values.reshape(len(slews), len(loads)))
    return Table(slews, loads, values.reshape(len(loads), len(slews)).T)

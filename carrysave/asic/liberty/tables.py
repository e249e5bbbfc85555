"""Tables of a Liberty file over transition time and load, and the cells that have them."""

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.liberty.cells import Library
from carrysave.asic.liberty.text import Group, parse
from carrysave.asic.liberty.units import number

__all__ = ["Floats", "LibertyError", "Table", "read_cells", "read_table"]

Floats = NDArray[np.float64]


class LibertyError(ValueError):
    """A library's tables are not understood."""


@dataclass(frozen=True)
class Table:
    """Values over input transition time (ns) and load (fF); either axis may be one point."""

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


_GROUP = re.compile(r'\b(cell|power_lut_template|lu_table_template)\s*\(\s*"?([\w.]+)"?\s*\)\s*\{')
_BRACE = re.compile(r"[{}]")


def read_cells(
    library: Library, names: Collection[str], skipped: frozenset[str]
) -> tuple[dict[str, Group], dict[str, Group]]:
    """Return the groups of cells, but for the kinds that are skipped, and of all templates."""
    templates, cells = {}, {}
    for match in _GROUP.finditer(library.text):
        if match[1] != "cell":
            templates[match[2]] = _part(library.text, match.start(), skipped)
        elif match[2] in names:
            cells[match[2]] = _part(library.text, match.start(), skipped)
    return cells, templates


def _part(text: str, start: int, skipped: frozenset[str]) -> Group:
    """Return the group that begins at an offset."""
    depth = 0
    for brace in _BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            inside = f"library (part) {{ {text[start : brace.end()]} }}"
            return parse(inside, skipped).groups[0]
    raise LibertyError("Liberty text must have a closing brace for every opening one")


def _numbers(text: str) -> Floats:
    return np.array([number("table", one) for one in re.findall(r'[^\s,"\\]+', text)])


def read_table(table: Group, templates: dict[str, Group], library: Library, scale: float) -> Table:
    """Return a table whose axes are a transition time and a load, in whichever order.

    A constraint's axes are two transition times: the clock's is its load here, in ns.

    Raises
    ------
    LibertyError
        If an axis or the number of values is not right.
    """
    template = templates.get(table.name)
    nanoseconds = library.time_unit * 1e9
    axes: dict[str, Floats] = {}
    for digit in "12":
        kind = template.attributes.get(f"variable_{digit}") if template else None
        if kind is None or template is None:
            continue
        name = f"index_{digit}"
        index = _numbers(table.attributes.get(name) or template.attributes.get(name, ""))
        if kind == "related_pin_transition":
            axes["load"] = index * nanoseconds
        elif "transition" in kind:
            axes["slew"] = index * nanoseconds
        else:
            axes["load"] = index * (library.capacitance_unit * 1e15)
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

"""Timing arcs of cells: from which pin's edge to which, with delay and transition time."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from carrysave.asic.liberty.cells import Library
from carrysave.asic.liberty.tables import LibertyError, Table, read_cells, read_table
from carrysave.asic.liberty.text import Group

__all__ = ["FALL", "RISE", "Arc", "Arcs", "Setup", "arcs"]

FALL, RISE = 0, 1
_EDGES = {"fall": FALL, "rise": RISE}


@dataclass(frozen=True)
class Arc:
    """One edge of an output that one edge of an input causes; delay and transition in ns."""

    start: str
    start_edge: int
    end: str
    end_edge: int
    delay: Table
    transition: Table

    @property
    def key(self) -> tuple[str, int, str, int]:
        """The key that the same arc of a larger cell has, too."""
        return self.start, self.start_edge, self.end, self.end_edge


@dataclass(frozen=True)
class Setup:
    """How long before the clock an edge of an input must come, ns; the clock's is the load."""

    pin: str
    edge: int
    time: Table


@dataclass(frozen=True)
class Arcs:
    """Arcs of a cell, in order of their keys: of logic, from its clock, setup times."""

    logic: tuple[Arc, ...]
    clocked: tuple[Arc, ...]
    setup: tuple[Setup, ...]


def arcs(library: Library, names: Collection[str]) -> dict[str, Arcs]:
    """Read the arcs of cells; asynchronous sets and resets, enables of tri-states are left out.

    Raises
    ------
    LibertyError
        If the file has tables that are not understood.
    """
    skipped = frozenset({"internal_power", "leakage_power", "test_cell"})
    try:
        cells, templates = read_cells(library, names, skipped)
        return {name: _arcs(cell, templates, library) for name, cell in cells.items()}
    except (ValueError, IndexError, KeyError) as error:
        raise LibertyError(f"timing of {library.name} is not understood: {error}") from None


def _arcs(cell: Group, templates: dict[str, Group], library: Library) -> Arcs:
    logic: list[Arc] = []
    clocked: list[Arc] = []
    setup: list[Setup] = []
    scale = library.time_unit * 1e9
    for pin in cell.all("pin"):
        for name in pin.name.split(","):
            for group in pin.all("timing"):
                kind = group.attributes.get("timing_type", "combinational")
                tables = {
                    table.kind: read_table(table, templates, library, scale)
                    for table in group.groups
                    if table.kind.split("_")[0] in {*_EDGES, "cell"}
                }
                for start in group.attributes.get("related_pin", "").split():
                    if kind == "combinational":
                        logic += _of_edges(group, start, name.strip(), tables)
                    elif kind == "rising_edge":
                        clocked += _of_edges(group, start, name.strip(), tables, RISE)
                    elif kind == "setup_rising":
                        setup += [
                            Setup(name.strip(), edge, tables[f"{word}_constraint"])
                            for word, edge in _EDGES.items()
                            if f"{word}_constraint" in tables
                        ]
    return Arcs(_merged(logic), _merged(clocked), tuple(setup))


_SENSES = {"positive_unate": (0,), "negative_unate": (1,)}


def _of_edges(
    group: Group, start: str, end: str, tables: dict[str, Table], start_edge: int | None = None
) -> list[Arc]:
    """Return the arcs of a ``timing`` group; of one edge of the input if one is given."""
    flips = _SENSES.get(group.attributes.get("timing_sense", ""), (0, 1))
    return [
        Arc(start, edge, end, end_edge, tables[f"cell_{word}"], tables[f"{word}_transition"])
        for word, end_edge in _EDGES.items()
        if f"cell_{word}" in tables
        for edge in ([end_edge ^ flip for flip in flips] if start_edge is None else [start_edge])
    ]


def _merged(arcs: list[Arc]) -> tuple[Arc, ...]:
    """Join arcs that differ by the state of other pins: the slowest counts."""
    merged: dict[tuple[str, int, str, int], Arc] = {}
    for arc in arcs:
        other = merged.get(arc.key)
        merged[arc.key] = (
            arc
            if other is None
            else Arc(
                *arc.key, _slower(arc.delay, other.delay), _slower(arc.transition, other.transition)
            )
        )
    return tuple(merged[key] for key in sorted(merged))


def _slower(one: Table, other: Table) -> Table:
    """Return the greater of two tables, on the axes of the first."""
    slews = np.broadcast_to(one.slews[:, None], one.values.shape)
    loads = np.broadcast_to(one.loads, one.values.shape)
    return Table(one.slews, one.loads, np.maximum(one.values, other.look_up(slews, loads)))

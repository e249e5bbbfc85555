"""Which cells can stand for which, and their arcs as one stack of tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from carrysave.asic.liberty.arcs import Arcs, arcs
from carrysave.asic.liberty.cells import Cell, Library
from carrysave.asic.liberty.tables import Floats, Table
from carrysave.asic.placement.lookup import Ids, Stack

__all__ = ["Kind", "Sizes"]


@dataclass(frozen=True)
class _Signature:
    """What cells of one function have in common: pins, what they compute, arcs."""

    pins: tuple[str, ...]
    computes: object
    arcs: object


_Key = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Kind:
    """A cell of a library, and which of its pins have changed places.

    ``moved`` says of a pin to which one its net goes: a gate computes the same, but its inputs are
    not equally fast. Pins that are not in it stay.
    """

    name: str
    moved: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> _Key:
        """Its key in tables of cells."""
        return self.name, tuple(sorted(self.moved.items()))

    def swapped(self, one: str, other: str) -> "Kind":
        """Return it with the nets of two pins exchanged."""
        pins = {pin: pin for pin in (one, other)} | dict(self.moved)
        places = {one: other, other: one}
        moved = {pin: places.get(to, to) for pin, to in pins.items()}
        return Kind(self.name, {pin: to for pin, to in moved.items() if pin != to})


class Sizes:
    """Cells of a library by function, from weak to strong, with their pins in any order.

    Members
    -------
    arcs : of each cell by name.
    family : names of the cells of the function of one; itself alone if there is no other.
    kinds : what a cell of a netlist can be; ``number`` has those whose pins are where they were.
    tables : delay and transition of arcs; ``rows`` has that of each arc of a kind, of logic first,
        then from the clock.
    slots : arcs of a kind as they are numbered once its pins have moved; ``plain`` is what it is
        then.
    setup : setup time of each constraint for an ideal clock, from ``setup_bases`` of a kind on.
    weaker, stronger : of each kind the one that is two and one sizes weaker, one and two stronger;
        -1 if there is none.
    swaps : of each kind the one with two pins exchanged, pair after pair; -1 if there is none.
    """

    def __init__(self, library: Library, kinds: Iterable[str]) -> None:
        usable = {cell.name for cell in library.cells.values()} - set(library.dont_use)
        wanted = sorted(usable | set(kinds))
        self.library = library
        self.arcs = arcs(library, wanted)
        groups: dict[_Signature, list[str]] = {}
        signatures = {name: _signature(library.cells[name], self.arcs[name]) for name in wanted}
        for name in wanted:
            if name in usable:
                groups.setdefault(signatures[name], []).append(name)
        for group in groups.values():
            group.sort(key=lambda name: _strength(library.cells[name]))
        families = [groups[signatures[name]] if name in usable else [name] for name in set(kinds)]
        self.family = {name: family for family in families for name in family}
        names = sorted(self.family)
        pairs = {name: _pairs(library.cells[name], self.arcs[name]) for name in names}
        self.kinds = [Kind(name) for name in names]
        self.number = {name: index for index, name in enumerate(names)}
        self._places = {kind.key: index for index, kind in enumerate(self.kinds)}
        for kind in self.kinds:  # grows meanwhile
            for pair in pairs[kind.name]:
                other = kind.swapped(*pair)
                if other.key not in self._places:
                    self._places[other.key] = len(self.kinds)
                    self.kinds.append(other)
        self.plain = np.array([self.number[kind.name] for kind in self.kinds])
        tables: list[tuple[Table, ...]] = []
        setups: list[tuple[Table, ...]] = []
        bases, setup_bases = [], []
        for name in names:
            bases.append(len(tables))
            setup_bases.append(len(setups))
            arcs_of = self.arcs[name]
            tables += [(arc.delay, arc.transition) for arc in (*arcs_of.logic, *arcs_of.clocked)]
            setups += [(setup.time,) for setup in arcs_of.setup]
        self.tables, self.setup = Stack(tables), Stack(setups) if setups else None
        self.setup_bases = np.array(setup_bases)[self.plain]
        self.slots = self._slots()
        self.rows = np.array(bases)[self.plain][:, None] + self.slots
        self.areas = np.array([library.cells[kind.name].area for kind in self.kinds])
        self.weaker = [self._step(step) for step in (-2, -1)]
        self.stronger = [self._step(step) for step in (1, 2)]
        most = max(map(len, pairs.values()))
        self.swaps = [
            self._shift({
                kind.key: kind.swapped(*pairs[kind.name][number])
                for kind in self.kinds
                if number < len(pairs[kind.name])
            })
            for number in range(most)
        ]

    def _step(self, step: int) -> Ids:
        """Return the kind that is some sizes stronger than each."""
        others = {}
        for kind in self.kinds:
            family = self.family[kind.name]
            at = family.index(kind.name) + step
            if 0 <= at < len(family):
                others[kind.key] = Kind(family[at], kind.moved)
        return self._shift(others)

    def _shift(self, others: Mapping[_Key, Kind]) -> Ids:
        """Return the number of another kind for each; -1 if there is none."""
        return np.array([
            self._places[others[kind.key].key] if kind.key in others else -1 for kind in self.kinds
        ])

    def _slots(self) -> Ids:
        """Return the arc of each kind that takes the place of each of its arcs."""
        count = max(len((*arcs.logic, *arcs.clocked)) for arcs in self.arcs.values())
        slots = np.tile(np.arange(count), (len(self.kinds), 1))
        for index, kind in enumerate(self.kinds):
            if kind.moved:
                arcs = self.arcs[kind.name]
                keys = [arc.key for arc in (*arcs.logic, *arcs.clocked)]
                slots[index, : len(keys)] = [
                    keys.index((kind.moved.get(start, start), edge, end, end_edge))
                    for start, edge, end, end_edge in keys
                ]
        return slots

    def pins(self, names: list[str]) -> Ids:
        """Return for each kind where each of some pins has moved to, by its place among them."""
        index_of = {pin: index for index, pin in enumerate(names)}
        indices = np.tile(np.arange(len(names)), (len(self.kinds), 1))
        for index, kind in enumerate(self.kinds):
            for pin, to in kind.moved.items():
                if pin in index_of:
                    indices[index, index_of[pin]] = index_of[to]
        return indices

    def capacitances(self, pins: list[str]) -> Floats:
        """Return the capacitance of pins by kind, fF; 0 where a kind has no such pin."""
        farads = np.zeros((len(self.kinds), len(pins)))
        index_of = {pin: index for index, pin in enumerate(pins)}
        for index, kind in enumerate(self.kinds):
            loads = {pin.name: pin.capacitance for pin in self.library.cells[kind.name].inputs}
            for pin in loads.keys() & index_of.keys():
                farads[index, index_of[pin]] = loads[kind.moved.get(pin, pin)]
        return farads


def _pairs(cell: Cell, arcs: Arcs) -> list[tuple[str, str]]:
    """Return the inputs of a gate that can be exchanged: what it computes stays."""
    tables = [cell.table(pin) for pin in cell.outputs]
    if not tables or None in tables:
        return []
    keys = {arc.key for arc in arcs.logic}
    pairs = []
    for (i, one), (j, other) in combinations(enumerate(pin.name for pin in cell.inputs), 2):
        places = {one: other, other: one}
        turned = {(places.get(start, start), *rest) for start, *rest in keys}
        same = all(
            table[point] == table[point ^ (1 << i) ^ (1 << j)]
            for table in tables
            if table is not None
            for point in range(len(table))
            if (point >> i ^ point >> j) & 1
        )
        if same and turned == keys:
            pairs.append((one, other))
    return pairs


def _signature(cell: Cell, arcs: Arcs) -> _Signature:
    tables = tuple((pin.name, cell.table(pin)) for pin in cell.outputs)
    computes: object = tables
    if cell.sequential or any(table is None for _, table in tables):
        computes = cell.register or cell.name
        if cell.gate:
            computes = tuple(sorted(cell.gate.items()))
    keys = tuple(arc.key for arc in (*arcs.logic, *arcs.clocked))
    setups = tuple((setup.pin, setup.edge) for setup in arcs.setup)
    pins = tuple(pin.name for pin in cell.pins if pin.direction in {"input", "output"})
    return _Signature(pins, computes, (keys, setups))


def _strength(cell: Cell) -> tuple[float, float, str]:
    limits = [pin.max_capacitance or 0.0 for pin in cell.outputs]
    return max(limits, default=0.0), cell.area, cell.name

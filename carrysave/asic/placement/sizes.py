"""Which cells can stand for which, and their arcs as one stack of tables."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from carrysave.asic.liberty.arcs import Arcs, arcs
from carrysave.asic.liberty.cells import Cell, Library
from carrysave.asic.liberty.tables import Floats, Table
from carrysave.asic.placement.lookup import Ids, Stack

__all__ = ["Sizes"]


@dataclass(frozen=True)
class _Signature:
    """What cells of one function have in common: pins, what they compute, arcs."""

    pins: tuple[str, ...]
    computes: object
    arcs: object


class Sizes:
    """Cells of a library by function, from weak to strong.

    Members
    -------
    arcs : of each kind.
    family : kinds of the function of a kind; itself alone if there is no other.
    tables : delay and transition of each arc: those of a kind follow one another from ``base``,
        of logic first, then from the clock.
    setup : setup time of each constraint for an ideal clock, from ``setup_base``.
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
        self.kinds = sorted(self.family)
        self.number = {name: index for index, name in enumerate(self.kinds)}
        pairs: list[tuple[Table, ...]] = []
        setups: list[tuple[Table, ...]] = []
        self.base: dict[str, int] = {}
        self.setup_base: dict[str, int] = {}
        for name in self.kinds:
            self.base[name], self.setup_base[name] = len(pairs), len(setups)
            own = self.arcs[name]
            pairs += [(arc.delay, arc.transition) for arc in (*own.logic, *own.clocked)]
            setups += [(setup.time,) for setup in own.setup]
        self.tables, self.setup = Stack(pairs), Stack(setups) if setups else None
        self.bases = np.array([self.base[name] for name in self.kinds])
        self.areas = np.array([library.cells[name].area for name in self.kinds])
        self.shifts = {step: self._shift(step) for step in (-2, -1, 1, 2)}

    def _shift(self, step: int) -> Ids:
        """Return the kind so many steps stronger than each; -1 if there is none."""
        found = np.full(len(self.kinds), -1)
        for name, index in self.number.items():
            family = self.family[name]
            at = family.index(name) + step
            if 0 <= at < len(family):
                found[index] = self.number[family[at]]
        return found

    def capacitances(self, pins: list[str]) -> Floats:
        """Return the capacitance of pins by kind, fF; 0 where a kind has no such pin."""
        found = np.zeros((len(self.kinds), len(pins)))
        place = {pin: index for index, pin in enumerate(pins)}
        for name, index in self.number.items():
            for pin in self.library.cells[name].inputs:
                if pin.name in place:
                    found[index, place[pin.name]] = pin.capacitance
        return found


def _signature(cell: Cell, own: Arcs) -> _Signature:
    tables = tuple((pin.name, cell.table(pin)) for pin in cell.outputs)
    computes: object = tables
    if cell.sequential or any(table is None for _, table in tables):
        computes = cell.register or cell.name
        if cell.gate:
            computes = tuple(sorted(cell.gate.items()))
    keys = tuple(arc.key for arc in (*own.logic, *own.clocked))
    setups = tuple((setup.pin, setup.edge) for setup in own.setup)
    pins = tuple(pin.name for pin in cell.pins if pin.direction in {"input", "output"})
    return _Signature(pins, computes, (keys, setups))


def _strength(cell: Cell) -> tuple[float, float, str]:
    limits = [pin.max_capacitance or 0.0 for pin in cell.outputs]
    return max(limits, default=0.0), cell.area, cell.name

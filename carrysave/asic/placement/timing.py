"""Times a placed netlist in numpy, fast enough to try sizes: arrivals, slopes of the period.

OpenSTA times the result; this finds what to change. Both use the library's tables in the same way:
linear between points, the worst slew and the latest arrival of each edge go on, clocks are ideal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.liberty.tables import Floats
from carrysave.asic.liberty.wire_load import WireLoad
from carrysave.asic.placement.lookup import Ids, TableValue
from carrysave.asic.placement.netlist import Netlist, Sink
from carrysave.asic.placement.sizes import Kind, Sizes
from carrysave.asic.placement.timing_graph import TimingGraph
from carrysave.asic.sta import Conditions
from golden.elementary import exp, log

__all__ = ["Loop", "Slopes", "Times", "Timing"]

_NEVER = -1e9


class Loop(ValueError):
    """Gates of a netlist form a loop."""


@dataclass(frozen=True)
class Times:
    """Times of nodes, 2 x net + edge, in ns.

    Members
    -------
    delay, transition : of each arc.
    arrival, slew : of each node.
    late : of each endpoint: arrival and setup time; the period is the greatest.
    setup : of each endpoint.
    """

    delay: TableValue
    transition: TableValue
    arrival: Floats
    slew: Floats
    late: Floats
    setup: TableValue

    @property
    def period(self) -> float:
        """The least period, ns."""
        return float(self.late.max(initial=0.0))

    def soft_period(self, softness: float) -> float:
        """Return the soft maximum of all paths' times: above the period, by what is near it."""
        return self.period + softness * float(log(exp((self.late - self.period) / softness).sum()))


@dataclass(frozen=True)
class Slopes:
    """How the period, softly, grows with the delay of each arc, the slew of a node, its load."""

    arcs: Floats
    slew: Floats
    load: Floats
    passes: Floats  # of each arc: its share in the slew of its node


class Timing:
    """The arcs of a netlist.

    Parameters
    ----------
    netlist : its cells by number are those of ``names``.
    sizes : kinds of cells.
    conditions : clock and ideal resets.
    group : of each cell, those that have the same kind: of a module that is there several times.
    """

    def __init__(
        self,
        netlist: Netlist,
        sizes: Sizes,
        conditions: Conditions,
        group: Sequence[int] | None = None,
    ) -> None:
        self.netlist, self.sizes = netlist, sizes
        self._group = None if group is None else np.array(group, int)
        library = sizes.library
        self.names = list(netlist.cells)
        graph = TimingGraph(netlist, sizes, conditions)
        self.inputs, self.nets, self.count = graph.inputs, graph.nets, len(graph.nets)
        self.clock_slew, self.pseudo = 0.0, len(self.names)  # cells from here on drive the inputs
        kinds = [netlist.cells[name].kind for name in self.names]
        kinds += [library.driver.name] * len(self.inputs)
        self.kind = np.array([sizes.number[kind] for kind in kinds], int)
        self.port_load = np.zeros(self.count)
        np.add.at(self.port_load, np.array(graph.outputs, int), library.load_ff)
        self.pin_names = sorted({pin for _, pin, _ in graph.pins})
        self.capacitance = sizes.capacitances(self.pin_names)
        number = {pin: index for index, pin in enumerate(self.pin_names)}
        self.pin_cell = np.array([cell for cell, _, _ in graph.pins], int)
        self.pin_name = np.array([number[pin] for _, pin, _ in graph.pins], int)
        self.pin_net = np.array([net for _, _, net in graph.pins], int)
        self._arcs(np.array(graph.arcs, int).reshape(-1, 5))
        ends = np.array(graph.ends, int).reshape(-1, 4)
        self.end_node, self.end_cell, self.end_slot, self.end_pin = ends.T
        self.set_wires(np.zeros(self.count), np.zeros(len(graph.pins) + 1))

    def _arcs(self, rows: Ids) -> None:
        """Order the arcs by level, and by the node that they lead to."""
        _, _, start, end, _ = rows.T
        level = np.zeros(2 * self.count, int)
        while True:
            new = level.copy()
            np.maximum.at(new, end, level[start] + 1)
            if (new == level).all():
                break
            if new.max() > min(2 * self.count, 100_000):
                raise Loop(f"{self.netlist.top} must be without loops of gates")
            level = new
        order = np.lexsort((end, level[end]))
        self.arc_cell, self.arc_slot, self.arc_from, self.arc_to, self.arc_pin = rows[order].T
        borders = np.searchsorted(level[self.arc_to], np.arange(1, level.max(initial=0) + 2))
        self.levels = [slice(a, b) for a, b in pairwise(borders)]
        self.heads = []
        for nets in self.levels:
            to = self.arc_to[nets]
            self.heads.append(np.flatnonzero(np.append(True, to[1:] != to[:-1])))

    def adopt(self) -> None:
        """Give the netlist's cells the kinds that were chosen; here, too, pins have moved then."""
        for name, kind in zip(self.names, self.chosen(), strict=True):
            cell = self.netlist.cells[name]
            cell.kind = kind.name
            cell.nets = {kind.moved.get(pin, pin): net for pin, net in cell.nets.items()}
        self.arc_slot = self.sizes.slots[self.kind[self.arc_cell], self.arc_slot]
        moved = self.sizes.pins(self.pin_names)
        self.pin_name = moved[self.kind[self.pin_cell], self.pin_name]
        self.kind = self.sizes.plain[self.kind]

    def chosen(self) -> list[Kind]:
        """Return the kind of each cell of the netlist."""
        return [self.sizes.kinds[kind] for kind in self.kind[: self.pseudo].tolist()]

    def sink(self, pin: int) -> Sink:
        """Return a pin of ``pin_cell`` by its names."""
        return Sink(self.names[self.pin_cell[pin]], self.pin_names[self.pin_name[pin]])

    def set_wires(self, farads: Floats, delays: Floats) -> None:
        """Take the wires of nets, fF, and the delay to each pin of ``pin_cell``, ns; 0 last."""
        self.wire, self.delays, self.arc_wire = farads, delays, delays[self.arc_pin]
        self.end_wire = delays[self.end_pin]

    @property
    def area(self) -> float:
        """Area of all cells, um2."""
        return float(self.sizes.areas[self.kind[: self.pseudo]].sum())

    def together(self, values: NDArray[Any]) -> Floats:
        """Add up the values of cells that must be of one kind; cells at ports are alone."""
        result = values.astype(float)
        if self._group is not None and len(self._group):
            result[: self.pseudo] = np.bincount(self._group, result[: self.pseudo])[self._group]
        return result

    def all_of(self, cells: Ids) -> Ids:
        """Return all cells that must have the same kind as these."""
        if self._group is None or not len(self._group):
            return cells
        return np.flatnonzero(np.isin(self._group, self._group[cells]))

    def guess_wires(self) -> None:
        """Take the wire load of the library for the wires, if it has one."""
        wires = WireLoad.of(self.sizes.library)
        if wires is None:
            return
        pins = np.bincount(self.pin_net, minlength=self.count)
        # Two edges of each output of the design.
        outputs = self.end_node[self.end_cell < 0] // 2
        pins += np.bincount(outputs, minlength=self.count) // 2
        pin_load = self.capacitance[self.kind[self.pin_cell], self.pin_name]
        delays = wires.delay(pins[self.pin_net], pin_load)
        self.set_wires(wires.farads(pins), np.append(delays, 0.0))

    @property
    def loads(self) -> Floats:
        """Load of each net, fF."""
        pin_load = self.capacitance[self.kind[self.pin_cell], self.pin_name]
        return self.wire + self.port_load + np.bincount(self.pin_net, pin_load, self.count)

    def times(self) -> Times:
        """Time the netlist with its wires and sizes as they are."""
        load = self.loads
        table = self.sizes.rows[self.kind[self.arc_cell], self.arc_slot]
        parts = [TableValue(*np.zeros((3, len(self.arc_cell)))) for _ in range(2)]
        arrival, slew = np.full(2 * self.count, _NEVER), np.zeros(2 * self.count)
        arrival[:2], slew[:2] = 0.0, self.clock_slew
        for level, heads in zip(self.levels, self.heads, strict=True):
            start, end = self.arc_from[level], self.arc_to[level]
            free = self.arc_cell[level] >= self.pseudo
            at_start = np.where(free, 0.0, slew[start]), load[end // 2]
            looked_up = self.sizes.tables.look_up(table[level], *at_start)
            if free.any():  # of the cell before a port only what the load adds counts
                idle = self.sizes.tables.look_up(table[level][free], *np.zeros((2, free.sum())))
                looked_up[0].value[free] -= idle[0].value
            for part, new in zip(parts, looked_up, strict=True):
                part.value[level], part.by_slew[level] = new.value, new.by_slew
                part.by_load[level] = new.by_load
            at = arrival[start] + looked_up[0].value + self.arc_wire[level]
            if len(heads):
                nodes = end[heads]
                arrival[nodes] = np.maximum.reduceat(at, heads)
                slew[nodes] = np.maximum.reduceat(looked_up[1].value, heads)
        setup = TableValue(*(np.zeros(len(self.end_node)) for _ in range(3)))
        inside = self.end_cell >= 0
        if inside.any() and self.sizes.setup is not None:
            rows = self.sizes.setup_bases[self.kind[self.end_cell[inside]]] + self.end_slot[inside]
            slews = slew[self.end_node[inside]]
            edges = np.full_like(slews, self.clock_slew)
            (own_setup,) = self.sizes.setup.look_up(rows, slews, edges)
            setup.value[inside], setup.by_slew[inside] = own_setup.value, own_setup.by_slew
        late = arrival[self.end_node] + self.end_wire + setup.value
        return Times(parts[0], parts[1], arrival, slew, late, setup)

    def slack(self, times: Times) -> Floats:
        """Return how much later the edges of each pin of ``pin_cell`` may come, ns."""
        required = np.full(2 * self.count, -_NEVER)
        until = times.period - times.setup.value - self.end_wire
        np.minimum.at(required, self.end_node, until)
        pins = np.full(len(self.pin_cell) + 1, -_NEVER)
        slack = until - times.arrival[self.end_node]
        np.minimum.at(pins, self.end_pin, slack)
        for level in reversed(self.levels):
            start, end = self.arc_from[level], self.arc_to[level]
            until = required[end] - times.delay.value[level] - self.arc_wire[level]
            np.minimum.at(required, start, until)
            np.minimum.at(pins, self.arc_pin[level], until - times.arrival[start])
        return pins[:-1]

    def cell_slacks(self, times: Times) -> dict[str, float]:
        """Return by cell how much later its inputs may come, ns; infinite if no path goes on."""
        slacks = np.full(len(self.kind), np.inf)
        np.minimum.at(slacks, self.pin_cell, self.slack(times))
        return dict(zip(self.names, np.minimum(slacks, times.period).tolist(), strict=False))

    def slopes(self, times: Times, softness: float) -> Slopes:
        """Return how a soft maximum of all paths' times grows: the worst `softness` ns count."""
        weight = exp((times.late - times.period) / softness)
        weight /= weight.sum()
        node, by_slew = np.zeros(2 * self.count), np.zeros(2 * self.count)
        by_load = np.zeros(self.count)
        np.add.at(node, self.end_node, weight)
        np.add.at(by_slew, self.end_node, weight * times.setup.by_slew)
        arcs, passes = np.zeros(len(self.arc_cell)), np.zeros(len(self.arc_cell))
        late = times.arrival[self.arc_from] + times.delay.value + self.arc_wire
        late -= times.arrival[self.arc_to]
        shares = exp(np.maximum(late, -50 * softness) / softness)
        for level, heads in zip(reversed(self.levels), reversed(self.heads), strict=True):
            if not len(heads):
                continue
            start, end, share = self.arc_from[level], self.arc_to[level], shares[level]
            sizes = np.diff(np.append(heads, len(share)))
            share /= np.repeat(np.add.reduceat(share, heads), sizes)
            arcs[level] = share * node[end]
            worst = times.transition.value[level] >= times.slew[end] - 1e-12
            passes[level] = worst / np.repeat(np.add.reduceat(worst.astype(float), heads), sizes)
            slewed = by_slew[end] * passes[level]
            np.add.at(node, start, arcs[level])
            np.add.at(
                by_slew,
                start,
                arcs[level] * times.delay.by_slew[level] + slewed * times.transition.by_slew[level],
            )
            np.add.at(
                by_load,
                end // 2,
                arcs[level] * times.delay.by_load[level] + slewed * times.transition.by_load[level],
            )
        return Slopes(arcs, by_slew, by_load, passes)

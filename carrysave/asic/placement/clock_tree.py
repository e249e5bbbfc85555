"""The clock tree: buffers in netlist and places, as many on the way to each flip-flop.

From the flip-flops up: pins of one height that are near each other get a driver of the next. Behind
a clock gate that is the gate, if it can drive them all, or buffers and then the gate; a gate stands
beside the buffers of its height. So each way from the port has as many cells, whether it is gated
or not, and what is left of a difference is for :mod:`carrysave.asic.placement.clock_timing`.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from carrysave.asic.placement.buffers import Limits
from carrysave.asic.placement.die import Die, Point
from carrysave.asic.placement.netlist import Instance, Netlist, Sink
from carrysave.asic.placement.wires import Tree, joined

__all__ = ["PREFIX", "ClockNet", "add_buffer", "branches", "clock_nets", "grow", "split", "without"]

PREFIX = "clock_buffer_"
"""How names of its buffers begin."""
_LEAF = Limits(pins=64, wire=300.0, load=200.0)
_TRUNK = Limits(pins=16, wire=500.0, load=250.0)
_GATE = Limits(pins=16, wire=300.0, load=60.0)
"""Gates are weaker than buffers: what one may drive itself."""
_LEAST = 2
"""Pins that a port may drive without a buffer: those of a design with fewer get no tree."""


@dataclass(frozen=True)
class ClockNet:
    """A net of the clock, with its wires.

    Attributes
    ----------
    net, parent : its number; place of the net before its driver in the list that it is in, or -1.
    driver : a port, a buffer, or a clock gate.
    pins : driver and sinks, in the order of the tree.
    tree : its wires.
    """

    net: int
    parent: int
    driver: Sink
    pins: tuple[Sink, ...]
    tree: Tree


def clock_nets(die: Die) -> list[ClockNet]:
    """Return the nets of the clock that drive something, each after those before it."""
    drivers, sinks = die.netlist.drivers(), die.netlist.sinks()
    listed: list[ClockNet] = []
    clock = die.conditions.clock
    waiting = [] if clock is None else [(bit, -1) for bit in die.netlist.ports[clock][1]]
    while waiting:
        net, parent = waiting.pop()
        if not isinstance(net, int) or not sinks.get(net):
            continue
        pins = (drivers[net], *sinks[net])
        order, above, lengths = joined([die.at(pin) for pin in pins])
        tree = Tree(tuple(above), tuple(lengths))
        listed.append(ClockNet(net, parent, drivers[net], tuple(pins[i] for i in order), tree))
        waiting += [(after, len(listed) - 1) for after in _after(die, sinks[net])]
    return listed


def branches(die: Die) -> list[tuple[str, str, list[tuple[str, float]], float]]:
    """Return the tree below the port and each clock gate, for power.

    Of each cell and pin that drive it, kind and load (fF) of its buffers, and its wires, fF.
    """
    nets, farads = clock_nets(die), die.technology.capacitance
    roots, parts = list[int](), dict[int, tuple[list[tuple[str, float]], float]]()
    for index, net in enumerate(nets):
        if net.driver.cell.startswith(PREFIX):
            roots.append(roots[net.parent])
            loads = (_pin_load(die, pin) for pin in net.pins[1:])
            load = sum(loads) + net.tree.length * farads
            parts[roots[index]][0].append((die.netlist.cells[net.driver.cell].kind, load))
        else:
            roots.append(index)
            parts[index] = [], 0.0
        buffers, wires = parts[roots[index]]
        parts[roots[index]] = buffers, wires + net.tree.length * farads
    return [(nets[root].driver.cell, nets[root].driver.pin, *part) for root, part in parts.items()]


def without(netlist: Netlist) -> Netlist:
    """Return a netlist without the buffers of the tree: what it computes, for an ideal clock."""
    same = copy.deepcopy(netlist)
    before: dict[int | str, int | str] = {}
    for name in [name for name in same.cells if name.startswith(PREFIX)]:
        cell = same.cells.pop(name)
        known = same.library.cells[cell.kind]
        before[cell.nets[known.outputs[0].name]] = cell.nets[known.inputs[0].name]
    for cell in same.cells.values():
        for pin, net in cell.nets.items():
            while net in before:
                net = before[net]
            cell.nets[pin] = net
    return same


def _pin_load(die: Die, sink: Sink) -> float:
    pins = die.netlist.cell(sink.cell).pins if sink.cell else ()
    return next((pin.capacitance for pin in pins if pin.name == sink.pin), 0.0)


def _after(die: Die, sinks: Sequence[Sink]) -> Iterator[int]:
    """Yield the nets of the clock behind some pins of a net of it."""
    for sink in sinks:
        for pin in die.netlist.cell(sink.cell).outputs if sink.cell else ():
            net = die.netlist.cells[sink.cell].nets.get(pin.name)
            if isinstance(net, int) and net in die.clocks:
                yield net


def grow(die: Die) -> int:
    """Put buffers into the nets of the clock; return how many."""
    clock, count = die.conditions.clock, 0
    nets = [] if clock is None else die.netlist.ports[clock][1]
    for net in nets:
        if isinstance(net, int) and len(die.netlist.sinks().get(net, ())) > 0:
            count += _Branch(die, net).grow(root=True)[1]
    return count


class _Branch:
    """The part of a tree below a net, grown from the flip-flops up."""

    def __init__(self, die: Die, net: int) -> None:
        self.die, self.net = die, net
        self.buffers = 0

    def grow(self, root: bool = False) -> tuple[int, int]:
        """Return the height of what drives the net, flip-flops having none; and its buffers."""
        heights: dict[int, list[Sink]] = {0: []}
        sinks = self.die.netlist.sinks().get(self.net, [])
        for sink in sinks:
            height = 0
            for after in _after(self.die, [sink]):
                branch = _Branch(self.die, after)
                height = max(height, branch.grow()[0])
                self.buffers += branch.buffers
            heights.setdefault(height, []).append(sink)
        height, now, alone = 0, heights.pop(0), _TRUNK if root else _GATE
        while heights or not self._fits(now, alone):
            groups = self._groups(now, _TRUNK if height else _LEAF) if now else []
            now = [self._buffer([now[index] for index in group]) for group in groups]
            height += 1
            now += heights.pop(height, [])
        if root and len(now) > _LEAST and height:
            self._buffer(now)
            height += 1
        return height + 1, self.buffers

    def _groups(self, sinks: Sequence[Sink], limits: Limits) -> list[list[int]]:
        """Split pins into the fewest groups, about as large as each other, within limits.

        There are half as many as pins at most, or a tree of pins far apart would not end.
        """
        points = [self.die.at(sink) for sink in sinks]
        loads = [_pin_load(self.die, sink) for sink in sinks]
        fewest = math.ceil(len(sinks) / limits.pins)
        for count in range(fewest, max(len(sinks) // 2, fewest) + 1):
            groups = split(points, count)
            if all(self._within(points, loads, group, limits) for group in groups):
                break
        return groups

    def _fits(self, sinks: Sequence[Sink], limits: Limits) -> bool:
        """Return whether one driver can have all of some pins: one it can have in any case."""
        points = [self.die.at(sink) for sink in sinks]
        loads = [_pin_load(self.die, sink) for sink in sinks]
        every = list(range(len(sinks)))
        return len(sinks) <= 1 or self._within(points, loads, every, limits)

    def _within(
        self, points: Sequence[Point], loads: Sequence[float], group: list[int], limits: Limits
    ) -> bool:
        xs, ys = [points[i][0] for i in group], [points[i][1] for i in group]
        wire = max(xs) - min(xs) + max(ys) - min(ys)
        farads = sum(joined([points[i] for i in group])[2]) * self.die.technology.capacitance
        load = sum(loads[i] for i in group) + farads
        return len(group) <= limits.pins and wire <= limits.wire and load <= limits.load

    def _buffer(self, sinks: Sequence[Sink]) -> Sink:
        self.buffers += 1
        return add_buffer(self.die, self.net, sinks)


def add_buffer(die: Die, net: int, sinks: Sequence[Sink]) -> Sink:
    """Put a buffer between a net of the clock and some of its pins, in their middle."""
    netlist, kind = die.netlist, die.netlist.library.driver
    points = [die.at(sink) for sink in sinks]
    after = netlist.fresh()
    name = f"{PREFIX}{after}"
    nets: dict[str, int | str] = {kind.inputs[0].name: net, kind.outputs[0].name: after}
    netlist.cells[name] = Instance(kind.name, nets)
    die.places[name] = (
        sum(x for x, _ in points) / len(points),
        sum(y for _, y in points) / len(points),
    )
    for sink in sinks:
        netlist.drive(sink, after)
    die.clocks.add(after)
    return Sink(name, kind.inputs[0].name)


def split(points: Sequence[Point], count: int) -> list[list[int]]:
    """Split points into so many groups of neighbours, of sizes that differ by few."""
    waiting, done = [(list(range(len(points))), count)], []
    while waiting:
        members, parts = waiting.pop()
        if parts == 1:
            done.append(members)
            continue
        xs, ys = [points[i][0] for i in members], [points[i][1] for i in members]
        axis = 0 if max(xs) - min(xs) >= max(ys) - min(ys) else 1
        members.sort(key=lambda i: points[i][axis])
        half = parts // 2
        cut = round(len(members) * half / parts)
        waiting += [(members[:cut], half), (members[cut:], parts - half)]
    return done

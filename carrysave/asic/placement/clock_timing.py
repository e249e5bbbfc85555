"""Times a clock tree, and sizes its cells so that the clock comes to all flip-flops at once."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from carrysave.asic.liberty.arcs import RISE, Arc
from carrysave.asic.placement.clock_tree import PREFIX, ClockNet, add_buffer, clock_nets
from carrysave.asic.placement.die import Die
from carrysave.asic.placement.netlist import Sink
from carrysave.asic.placement.sizes import Sizes

__all__ = ["ClockTimes", "balance", "clock_times", "delay_early"]

_SLEW, _WORST = 0.12, 0.25
"""ns: transition times that sizes begin with, and that none may exceed for the sake of balance."""
_ROUNDS = 12
_EARLY, _DELAYS = 0.06, 3
"""ns by which flip-flops must be early to get a buffer more, and how many at most."""
_AREA = 2e-6
"""What 1 um2 is worth beside the square of a difference, ns^2."""


@dataclass(frozen=True)
class ClockTimes:
    """When the clock comes, in ns.

    Attributes
    ----------
    latency : to each cell that is no part of the tree, from the port.
    skew : between the first and the last of these that are flip-flops or latches.
    mean : of the flip-flops; that of clocks outside, for ports.
    slew : transition time at flip-flops, in the mean.
    """

    latency: Mapping[str, float]
    skew: float
    mean: float
    slew: float

    @property
    def late(self) -> dict[str, float]:
        """How much later than at the ports the clock comes to each cell."""
        return {cell: latency - self.mean for cell, latency in self.latency.items()}


class _Walk:
    """A tree with times at each of its nets."""

    def __init__(self, die: Die, sizes: Sizes) -> None:
        self.die, self.sizes = die, sizes
        self.nets = clock_nets(die)
        self.below: list[list[int]] = [[] for _ in self.nets]
        for index, net in enumerate(self.nets):
            if net.parent >= 0:
                self.below[net.parent].append(index)
        self.loads: list[float] = [0.0] * len(self.nets)
        self.at: list[tuple[float, float, int]] = [(0.0, 0.0, RISE)] * len(self.nets)
        self.latency: dict[str, float] = {}
        self.time()

    def time(self) -> None:
        """Find when the clock comes to each pin: rising at the port, without a slope."""
        inner = {net.driver.cell: index for index, net in enumerate(self.nets)}
        arrivals: dict[str, tuple[float, float, int]] = {}
        technology = self.die.technology
        for index, net in enumerate(self.nets):
            loads = [0.0, *(self.pin_load(pin.cell, pin.pin) for pin in net.pins[1:])]
            self.loads[index] = sum(loads) + net.tree.length * technology.capacitance
            time, slew, edge = self.at[index] = arrivals.get(net.driver.cell, (0.0, 0.0, RISE))
            if net.driver.cell:
                delay, slew, edge = self.through(
                    index, self.die.netlist.cells[net.driver.cell].kind
                )
                time += delay
            for pin, wire in zip(net.pins, net.tree.delays(technology, loads), strict=True):
                if pin.cell and pin != net.driver:
                    arrivals[pin.cell] = time + wire, slew, edge
        self.latency = {cell: time for cell, (time, _, _) in arrivals.items()}
        self.slews = {cell: slew for cell, (_, slew, _) in arrivals.items()}
        self.ends = {
            cell: time
            for cell, time in self.latency.items()
            if cell not in inner and self.die.netlist.cell(cell).sequential
        }

    def pin_load(self, cell: str, pin: str) -> float:
        pins = self.die.netlist.cell(cell).pins if cell else ()
        return next((one.capacitance for one in pins if one.name == pin), 0.0)

    def through(self, index: int, kind: str) -> tuple[float, float, int]:
        """Return delay, transition time and edge behind the driver of a net, if it is of a kind."""
        _, slew, edge = self.at[index]
        arc = self._arc(self.nets[index], kind, edge)
        if arc is None:
            return 0.0, slew, edge
        at = np.array([max(slew, 0.0)]), np.array([self.loads[index]])
        return float(arc.delay.look_up(*at)[0]), float(arc.transition.look_up(*at)[0]), arc.end_edge

    def _arc(self, net: ClockNet, kind: str, edge: int) -> Arc | None:
        parent = self.nets[net.parent].net
        nets = self.die.netlist.cells[net.driver.cell].nets
        arcs = self.sizes.arcs[kind]
        fits = [
            arc
            for arc in (*arcs.logic, *arcs.clocked)
            if arc.end == net.driver.pin
            and nets.get(arc.start) == parent
            and arc.start_edge == edge
        ]
        return max(fits, key=lambda arc: arc.end_edge) if fits else None

    def times(self) -> ClockTimes:
        """Return what came of it."""
        ends = list(self.ends.values()) or [0.0]
        slews = [self.slews[cell] for cell in self.ends] or [0.0]
        means = [sum(values) / len(values) for values in (ends, slews)]
        return ClockTimes(self.latency, max(ends) - min(ends), *means)


def clock_times(die: Die, sizes: Sizes) -> ClockTimes:
    """Time the clock's nets as they are."""
    return _Walk(die, sizes).times()


def balance(die: Die, sizes: Sizes) -> ClockTimes:
    """Choose sizes for buffers and clock gates of the tree; the function of a net stays."""
    walk = _Walk(die, sizes)
    if not any(net.driver.cell.startswith(PREFIX) for net in walk.nets):
        return walk.times()
    for index in range(len(walk.nets) - 1, -1, -1):
        _strong_enough(walk, index)
    walk.time()
    height = _heights(walk)
    best, least = _kinds(walk), walk.times().skew
    for turn in range(_ROUNDS):
        target = _target(walk)
        level = 1 + (turn + 1) % 2 if turn < _ROUNDS // 2 else 1
        for index in range(len(walk.nets)):
            if height[index] == level:
                _nearest(walk, index, target)
        walk.time()
        if (skew := walk.times().skew) < least:
            best, least = _kinds(walk), skew
    for name, kind in best.items():
        die.netlist.cells[name].kind = kind
    walk.time()
    return walk.times()


def delay_early(die: Die, sizes: Sizes) -> ClockTimes:
    """Balance, with a buffer more before groups that no size makes late enough.

    Few flip-flops behind a driver are such a group: their load is small.
    """
    best = balance(die, sizes)
    for _ in range(_DELAYS):
        cells, places, clocks = copy.deepcopy(die.netlist.cells), dict(die.places), set(die.clocks)
        walk = _Walk(die, sizes)
        target = _target(walk)
        for net in walk.nets:
            times = [walk.ends[pin.cell] for pin in net.pins[1:] if pin.cell in walk.ends]
            movable = net.driver.cell.startswith(PREFIX)
            if movable and times and max(times) < target - _EARLY:
                pin = die.netlist.cell(net.driver.cell).inputs[0].name
                add_buffer(die, walk.nets[net.parent].net, [Sink(net.driver.cell, pin)])
        after = balance(die, sizes)
        if after.skew >= best.skew:
            die.netlist.cells, die.places, die.clocks = cells, places, clocks
            break
        best = after
    return best


def _kinds(walk: _Walk) -> dict[str, str]:
    names = [net.driver.cell for net in walk.nets if net.driver.cell]
    return {name: walk.die.netlist.cells[name].kind for name in names}


def _family(walk: _Walk, index: int) -> Sequence[str]:
    cell = walk.nets[index].driver.cell
    return walk.sizes.family[walk.die.netlist.cells[cell].kind] if cell else ()


def _heights(walk: _Walk) -> list[int]:
    """Return how many nets there are from each to a flip-flop, itself included."""
    heights = [1] * len(walk.nets)
    for index in range(len(walk.nets) - 1, -1, -1):
        if walk.below[index]:
            heights[index] = 1 + max(heights[child] for child in walk.below[index])
    return heights


def _ends(walk: _Walk, index: int) -> list[float]:
    """Return when the clock comes to flip-flops behind a net, of each net below in the mean."""
    cells = {pin.cell for pin in walk.nets[index].pins[1:]} & walk.ends.keys()
    means = [sum(walk.ends[cell] for cell in cells) / len(cells)] if cells else []
    return means + [end for child in walk.below[index] for end in _ends(walk, child)]


def _strong_enough(walk: _Walk, index: int) -> None:
    """Take the smallest size whose edges are steep."""
    library, family = walk.sizes.library, _family(walk, index)
    if not family:
        return
    net = walk.nets[index]
    loads = [walk.pin_load(pin.cell, pin.pin) for pin in net.pins[1:]]
    walk.loads[index] = sum(loads) + net.tree.length * walk.die.technology.capacitance
    walk.at[index] = (0.0, _SLEW, walk.at[index][2])
    slews = {kind: walk.through(index, kind)[1] for kind in family}
    steep = [kind for kind in family if slews[kind] <= _SLEW] or [
        min(family, key=slews.__getitem__)
    ]
    kind = min(steep, key=lambda kind: library.cells[kind].area)
    walk.die.netlist.cells[net.driver.cell].kind = kind


def _target(walk: _Walk) -> float:
    """Return the least time that all flip-flops can have, with the drivers before theirs as is."""
    least = []
    for index, net in enumerate(walk.nets):
        if not walk.ends.keys() & {pin.cell for pin in net.pins[1:]}:
            continue
        family, ends = _family(walk, index), _ends(walk, index)
        now = (
            walk.through(index, walk.die.netlist.cells[net.driver.cell].kind)[0] if family else 0.0
        )
        change = min((walk.through(index, kind)[0] - now for kind in family), default=0.0)
        least.append(ends[0] + change)
    return max(least, default=0.0)


def _nearest(walk: _Walk, index: int, target: float) -> None:
    """Take the size with which the clock comes nearest to a time, behind the driver of a net."""
    family, ends = _family(walk, index), _ends(walk, index)
    if not family or not ends:
        return
    cell = walk.die.netlist.cells[walk.nets[index].driver.cell]
    now, steep, _ = walk.through(index, cell.kind)

    def cost(kind: str) -> float:
        delay, slew, _ = walk.through(index, kind)
        errors = [end + delay - now - target for end in ends]
        far = sum(error * error for error in errors) / len(ends)
        blunt = max(slew - max(_WORST, steep), 0.0)
        return far + blunt + _AREA * walk.sizes.library.cells[kind].area

    cell.kind = min(family, key=cost)

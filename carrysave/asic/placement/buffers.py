"""Buffers where a net has too many pins or is too long; and before pins that are not critical."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from carrysave.asic.placement.die import Die, Point
from carrysave.asic.placement.netlist import Instance, Sink
from carrysave.asic.placement.resize import PRICE
from carrysave.asic.placement.timing import Timing

__all__ = ["Limits", "add_buffers", "bypass", "clusters", "insert", "isolate"]

_WAITS = 0.3
"""ns that a pin may wait, at least, to get a buffer of its own kind."""
_SOFT = 0.02
"""Softness of the maximum over all paths, as a share of the period."""


@dataclass(frozen=True)
class Limits:
    """What one driver may have: pins, um of wire (half the box around them), fF of both."""

    pins: int
    wire: float
    load: float


def clusters(
    points: Sequence[Point], loads: Sequence[float], limits: Limits, capacitance: float
) -> list[list[int]]:
    """Split points in two along their longer side until each cluster is within the limits.

    Parameters
    ----------
    loads : of the pin at each point, fF.
    capacitance : of wires, fF/um.
    """
    waiting, done = [list(range(len(points)))], []
    while waiting:
        members = waiting.pop()
        xs, ys = [points[i][0] for i in members], [points[i][1] for i in members]
        wide, high = max(xs) - min(xs), max(ys) - min(ys)
        load = sum(loads[i] for i in members) + (wide + high) * capacitance
        within = len(members) <= limits.pins and wide + high <= limits.wire and load <= limits.load
        if within or len(members) == 1:
            done.append(members)
            continue
        members.sort(key=lambda i: points[i][0 if wide >= high else 1])
        half = len(members) // 2
        waiting += [members[:half], members[half:]]
    return done


def add_buffers(die: Die, limits: Limits) -> int:
    """Make trees of all nets that are beyond the limits, but those of the clock; count buffers."""
    netlist, drivers, added = die.netlist, die.netlist.drivers(), 0
    for net, sinks in netlist.sinks().items():
        if net in die.clocks or net not in drivers:
            continue
        while True:
            points = [die.at(sink) for sink in sinks]
            loads = [_load(die, sink) for sink in sinks]
            groups = clusters(points, loads, limits, die.technology.capacitance)
            # Of clusters of one pin a buffer on the way to each would be no tree.
            if len(groups) == 1 or len(groups) == len(sinks):
                break
            sinks = [insert(die, net, [sinks[index] for index in group]) for group in groups]
            added += len(sinks)
    return added


def isolate(die: Die, timing: Timing) -> int:
    """Put a buffer before the pins of a net that may wait, where it has others that may not.

    The load that goes must be worth more to the period than the buffer's area. Returns how many.
    """
    library = die.netlist.library
    times = timing.times()
    slopes = timing.slopes(times, _SOFT * times.period)
    slack = timing.slack(times)
    price = PRICE * times.period / die.netlist.area * library.driver.area
    before = library.driver.inputs[0].capacitance
    numbers = {number: net for net, number in timing.nets.items()}
    pins: dict[int, list[int]] = {}
    for pin, number in enumerate(timing.pin_net.tolist()):
        if slopes.load[number] > 0:
            pins.setdefault(number, []).append(pin)
    loads = timing.capacitance[timing.kind[timing.pin_cell], timing.pin_name]
    added = 0
    for number, sinks in pins.items():
        late = [pin for pin in sinks if slack[pin] > _WAITS]
        if not late or len(late) == len(sinks):
            continue
        gone = float(loads[late].sum()) - before
        gone += timing.wire[number] * len(late) / len(sinks) / 2  # wires that go: half, at a guess
        if slopes.load[number] * gone > price:
            insert(die, numbers[number], [timing.sink(pin) for pin in late])
            added += 1
    return added


def bypass(die: Die, timing: Timing) -> int:
    """Take out buffers on long paths where what drives them does better alone; return how many.

    The time that they take must be worth more to the period than the load that their driver gets.
    Of two that follow one another only one goes.
    """
    netlist, kind = die.netlist, timing.sizes.kinds
    buffers = {cell.name for cell in netlist.library.with_table((0, 1))}
    times = timing.times()
    slopes = timing.slopes(times, _SOFT * times.period)
    gained = np.bincount(
        timing.arc_cell, slopes.arcs * (times.delay.value + timing.arc_wire), len(timing.kind)
    )
    loads, drivers = timing.loads, netlist.drivers()
    pins = timing.capacitance[timing.kind[timing.pin_cell], timing.pin_name]
    sinks, done, gone = netlist.sinks(), set[int](), 0
    for pin in range(len(timing.pin_cell)):
        index, before = int(timing.pin_cell[pin]), int(timing.pin_net[pin])
        if gained[index] <= 0 or index >= timing.pseudo:
            continue
        name, known = timing.names[index], netlist.library.cells[kind[timing.kind[index]].name]
        if known.name not in buffers:
            continue
        cell = netlist.cells[name]
        source, net = (cell.nets[side[0].name] for side in (known.inputs, known.outputs))
        assert isinstance(source, int)
        assert isinstance(net, int)
        own_sinks = sinks.get(net, [])
        after = timing.nets[net]
        free = source in drivers and drivers[source].cell and source not in die.clocks
        if not free or {before, after} & done or not all(sink.cell for sink in own_sinks):
            continue
        if slopes.load[before] * (loads[after] - pins[pin]) < gained[index]:
            for sink in own_sinks:
                netlist.drive(sink, source)
            del netlist.cells[name], die.places[name]
            done |= {before, after}
            gone += 1
    return gone


def insert(die: Die, net: int, sinks: Sequence[Sink], prefix: str = "buffer_") -> Sink:
    """Put the library's driver between a net and some of its pins, in their middle."""
    netlist, kind = die.netlist, die.netlist.library.driver
    points = [die.at(sink) for sink in sinks]
    scope = next((netlist.cells[sink.cell].scope for sink in sinks if sink.cell), "")
    after = netlist.fresh()
    name = f"{prefix}{after}"
    nets: dict[str, int | str] = {kind.inputs[0].name: net, kind.outputs[0].name: after}
    netlist.cells[name] = Instance(kind.name, nets, scope)
    die.places[name] = (
        sum(x for x, _ in points) / len(points),
        sum(y for _, y in points) / len(points),
    )
    for sink in sinks:
        netlist.drive(sink, after)
    return Sink(name, kind.inputs[0].name)


def _load(die: Die, sink: Sink) -> float:
    if not sink.cell:
        return die.netlist.library.load_ff
    pins = die.netlist.cell(sink.cell).pins
    return next(pin.capacitance for pin in pins if pin.name == sink.pin)

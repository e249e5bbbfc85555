"""An estimate of the clock tree: buffers and wires to all that the clock reaches."""

from dataclasses import dataclass

from carrysave.asic.placement.buffers import Limits, clusters
from carrysave.asic.placement.die import Die, Point
from carrysave.asic.placement.netlist import Sink
from carrysave.asic.placement.wires import joined

__all__ = ["Tree", "clock_tree"]

_LIMITS = Limits(pins=20, wire=200.0, load=100.0)


@dataclass(frozen=True)
class Tree:
    """The tree below one net of the clock: what drives it, its buffers, um of wire."""

    driver: Sink
    buffers: int
    wire: float


def clock_tree(die: Die) -> list[Tree]:
    """Cluster the pins of each clock net by place, and the clusters, until one drives all.

    Trees are for energy and area: clocks are ideal in timing, without skew.
    """
    drivers, sinks = die.netlist.drivers(), die.netlist.sinks()
    return [
        Tree(drivers[net], *_below(die, drivers[net], sinks[net]))
        for net in sorted(die.clocks)
        if net in drivers and sinks.get(net)
    ]


def _below(die: Die, driver: Sink, sinks: list[Sink]) -> tuple[int, float]:
    kind = die.netlist.library.driver
    points: list[Point] = [die.at(sink) for sink in sinks]
    loads = []
    for sink in sinks:
        pins = die.netlist.cell(sink.cell).pins if sink.cell else ()
        loads.append(next((pin.capacitance for pin in pins if pin.name == sink.pin), 0.0))
    buffers, wire = 0, 0.0
    while True:
        groups = clusters(points, loads, _LIMITS, die.technology.capacitance)
        if len(groups) == 1 or len(groups) == len(points):
            return buffers, wire + _length([die.at(driver), *points])
        centres = []
        for cluster in groups:
            inside = [points[index] for index in cluster]
            centre = (
                sum(x for x, _ in inside) / len(inside),
                sum(y for _, y in inside) / len(inside),
            )
            centres.append(centre)
            wire += _length([centre, *inside])
        buffers += len(groups)
        points, loads = centres, [kind.inputs[0].capacitance] * len(groups)


def _length(points: list[Point]) -> float:
    return sum(joined(points)[2])

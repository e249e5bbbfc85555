"""A die: where the cells of a netlist and its ports are, and the wires between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from carrysave.asic.placement.floorplan import Floorplan, Tap, sites_of, tap_room, with_taps
from carrysave.asic.placement.netlist import Netlist, Sink
from carrysave.asic.placement.placer import Job, PlacementError, place
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.technology import Technology
from carrysave.asic.placement.timing import Timing
from carrysave.asic.placement.wires import Tree, joined, spef
from carrysave.asic.sta import Conditions
from carrysave.errors import ArgumentError

__all__ = ["Die", "Point", "Pull", "Wire", "Wires"]

Point = tuple[float, float]
Pull = tuple[str, str]
"""Two cells that are pulled together, besides by the nets that they are on."""
Wire = tuple[int, list[Sink], Tree]
"""A net, its pins in the order of its tree, the driver first, and the tree."""
Wires = Sequence[Wire]
_ROOM = 1.5
"""How much wider than it is a cell may be spread."""
_DENSE = 0.9
"""Share of the rows from which it may be for want of room that cells are not placed."""
_LEAST = 200
"""Gate equivalents of a die: rows long enough for any cell."""
_ON_TIME: Mapping[str, float] = MappingProxyType({})
_TOGETHER = 64
"""Pins of a net up to which it pulls them together; a clock or reset of more pulls at nothing."""


@dataclass
class Die:
    """Rows with a netlist's cells.

    Members
    -------
    conditions : which port is the clock, and which are resets.
    clocks : nets of the clock; :mod:`carrysave.asic.placement.clock_tree` has their wires.
    size : width and height, um.
    pads : where the ports are, in their order around the die, inputs before outputs.
    places : the centre of each cell, um; empty before :meth:`place`.
    spread : share of the die that cells take while they are spread.
    taps : cells that tie the wells, between the others in their rows.
    """

    netlist: Netlist
    conditions: Conditions
    clocks: set[int]
    technology: Technology
    size: Point
    pads: dict[Sink, Point]
    places: dict[str, Point] = field(default_factory=dict)
    taps: Sequence[Tap] = ()
    spread: float = 0.85

    @classmethod
    def of(
        cls,
        netlist: Netlist,
        conditions: Conditions,
        technology: Technology,
        plan: Floorplan,
        area: float | None = None,
    ) -> "Die":
        """Return a die of which cells of an area (um2) take a share; a few cells take less.

        The area is that of the netlist unless another is given.
        """
        least = _LEAST * netlist.library.nand2.area
        size = plan.size(max((area or netlist.area) / plan.utilisation, least), technology)
        bits = [
            Sink("", name, bit)
            for name, (_, nets) in netlist.ports.items()
            for bit in range(len(nets))
        ]
        around = 2 * (size[0] + size[1])
        pads = {
            sink: _on_edge(size, (index + 0.5) / len(bits) * around)
            for index, sink in enumerate(bits)
        }
        clocks = netlist.clock_nets(conditions.clock)
        return cls(netlist, conditions, clocks, technology, size, pads)

    def at(self, sink: Sink) -> Point:
        """Return where a pin is: in the middle of its cell, or on the edge."""
        return self.places[sink.cell] if sink.cell else self.pads[sink]

    def width(self, kind: str) -> float:
        """Return the width of a cell, um: whole sites, if they are known."""
        width = self.netlist.library.cells[kind].area / self.technology.row_height
        site = self.technology.site_width
        return sites_of(width, site) * site if site else width

    def place(self, pulls: Iterable[Pull] = (), *, anew: bool = False, rough: bool = False) -> None:
        """Place all cells; what has a place moves no further than it must.

        Parameters
        ----------
        pulls : each counts as a net more.
        anew : forget the places that there are.
        rough : places are looked at, not kept.

        Raises
        ------
        ArgumentError
            If the cells do not fit.
        PlacementError
            If the placer fails.
        """
        netlist, height = self.netlist, self.technology.row_height
        names = list(netlist.cells)
        number = {name: index for index, name in enumerate(names)}
        pads = {pad: len(names) + index for index, pad in enumerate(self.pads)}
        drivers, nets = netlist.drivers(), []
        for net, sinks in netlist.sinks().items():
            if net not in drivers or (net in self.clocks and len(sinks) > _TOGETHER):
                continue
            pins = (drivers[net], *sinks)
            cells = {number[pin.cell] if pin.cell else pads[pin] for pin in pins}
            if len(cells) > 1:
                nets.append(sorted(cells))
        nets += [sorted((number[one], number[other])) for one, other in pulls]
        widths = [self.width(cell.kind) for cell in netlist.cells.values()]
        area = sum(widths) * height
        self._check_room(area, 1.0)
        start, site, (wide, high) = None, 0.0, self.size
        if anew or not self.places:
            # Spread, so that there is room beside each cell for what is added, and for its growth.
            room = self.spread * self.size[0] * self.size[1] / (sum(widths) * height)
            widths = [min(max(room, 1.0), _ROOM) * width for width in widths]
        else:
            corners = zip(names, widths, strict=True)
            start = [
                (self.places[name][0] - width / 2, self.places[name][1] - height / 2)
                for name, width in corners
            ]
            site = self.technology.site_width
            wide -= tap_room(wide, self.technology)
        job = Job(widths, height, (wide, high), nets, list(self.pads.values()), start, rough, site)
        try:
            placed = place(job)
        except PlacementError:
            self._check_room(area, _DENSE)  # the cause, if rows are nearly full
            raise
        if site:
            placed, self.taps = with_taps(placed, widths, self.size, self.technology)
        self.places = {
            name: (x + width / 2, y + height / 2)
            for name, width, (x, y) in zip(names, widths, placed, strict=True)
        }

    def _check_room(self, area: float, share: float) -> None:
        """Refuse a die of which cells of an area (um2) would take more than a share."""
        wide, high = self.size
        room = (wide - tap_room(wide, self.technology)) * high
        if area > share * room:
            raise ArgumentError(
                "{utilisation} must be lower: the die of {wide:.2f} x {high:.2f} um is too small"
                " for cells of {area:,.0f} um2, as they are once sized and buffered",
                wide=wide,
                high=high,
                area=area,
            )

    def wires(self) -> Iterator[Wire]:
        """Yield each net but those of the clock, its pins from the driver on, and its wires."""
        drivers = self.netlist.drivers()
        for net, sinks in self.netlist.sinks().items():
            if net in drivers and net not in self.clocks:
                pins = [drivers[net], *sinks]
                order, above, lengths = joined([self.at(pin) for pin in pins])
                yield net, [pins[i] for i in order], Tree(tuple(above), tuple(lengths))

    def timing(
        self,
        sizes: Sizes,
        wires: Wires | None = None,
        clock_late: Mapping[str, float] = _ON_TIME,
        clock_slew: float = 0.0,
    ) -> Timing:
        """Return a timing with the capacitance of wires, and Elmore's delay to their ends.

        Parameters
        ----------
        wires : those of :meth:`wires`, if they are at hand.
        clock_late : how much later than at the ports the clock comes to each cell, ns.
        clock_slew : its transition time there, ns.
        """
        timing = Timing(self.netlist, sizes, self.conditions)
        farads, delays = np.zeros(timing.count), np.zeros(len(timing.pin_cell) + 1)
        row_of = {
            (timing.names[cell], timing.pin_names[name]): index
            for index, (cell, name) in enumerate(zip(timing.pin_cell, timing.pin_name, strict=True))
        }
        loads = [*timing.capacitance[timing.kind[timing.pin_cell], timing.pin_name], 0.0]
        for net, pins, tree in self.wires() if wires is None else wires:
            farads[timing.nets[net]] = tree.length * self.technology.capacitance
            rows = [row_of.get((pin.cell, pin.pin), -1) for pin in pins]
            late = tree.delays(self.technology, [loads[index] for index in rows])
            delays[rows] = late
        delays[-1] = 0.0
        timing.set_wires(farads, delays)
        after = np.array(
            [clock_late.get(name, 0.0) for name in timing.names] + [0.0] * len(timing.inputs)
        )
        launched = timing.arc_from < 2
        timing.arc_wire[launched] += after[timing.arc_cell[launched]]
        timing.clock_slew = clock_slew
        timing.end_wire -= np.where(timing.end_cell >= 0, after[timing.end_cell], 0.0)
        return timing

    def spef(self, wires: Wires) -> str:
        """Return the wires of :meth:`wires` as SPEF, for the netlist as it is written."""
        names = self.netlist.net_names()
        nets = ((names[net], [self.word(pin) for pin in pins], tree) for net, pins, tree in wires)
        return spef(self.netlist.top, nets, self.technology)

    def word(self, sink: Sink) -> str:
        """Return a pin as SPEF has it."""
        if sink.cell:
            return f"{sink.cell}:{sink.pin}"
        bits = self.netlist.ports[sink.pin][1]
        return f"{sink.pin}[{sink.bit}]" if len(bits) > 1 else sink.pin


def _on_edge(size: Sequence[float], at: float) -> Point:
    """Return the point at a distance around the edge of a die, from the lower left corner up."""
    wide, high = size
    if at < high:
        return 0.0, at
    if at < high + wide:
        return at - high, high
    if at < 2 * high + wide:
        return wide, 2 * high + wide - at
    return 2 * (high + wide) - at, 0.0

"""The graph that timing walks: nets, arcs and endpoints of a netlist, by numbers."""

from carrysave.asic.liberty.arcs import FALL, RISE
from carrysave.asic.placement.netlist import Instance, Netlist
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.sta import Conditions

__all__ = ["TimingGraph"]


class TimingGraph:
    """Nets, pins, arcs and endpoints of a netlist, by numbers.

    Members
    -------
    nets : number of each net; the first is the source of all that begins at the clock or a port.
    arcs : cell, arc of it, from node, to node, pin.
    ends : node, cell, constraint of it, pin.
    pins : cell, name, net.
    """

    SOURCE = 0

    def __init__(self, netlist: Netlist, sizes: Sizes, conditions: Conditions) -> None:
        self.netlist, self.sizes = netlist, sizes
        self.clocks = netlist.clock_nets(conditions.clock)
        self.ideal = {bit for name in conditions.resets for bit in netlist.ports[name][1]}
        self.nets: dict[int, int] = {-1: self.SOURCE}
        self.arcs: list[tuple[int, int, int, int, int]] = []
        self.ends: list[tuple[int, int, int, int]] = []
        self.pins: list[tuple[int, str, int]] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        for index, cell in enumerate(netlist.cells.values()):
            self._add_cell(index, cell)
        self._add_ports()

    def _number(self, bit: int | str | None) -> int | None:
        return self.nets.setdefault(bit, len(self.nets)) if isinstance(bit, int) else None

    def _add_cell(self, index: int, cell: Instance) -> None:
        """Add the pins of a cell, its arcs, and the endpoints that its constraints make."""
        arcs = self.sizes.arcs[cell.kind]
        pin_of: dict[str, int] = {}
        for pin in self.sizes.library.cells[cell.kind].inputs:
            net = self._number(cell.nets.get(pin.name))
            if net is not None and cell.nets[pin.name] not in self.clocks:
                pin_of[pin.name] = len(self.pins)
                self.pins.append((index, pin.name, net))
        for slot, arc in enumerate((*arcs.logic, *arcs.clocked)):
            start, end = cell.nets.get(arc.start), cell.nets.get(arc.end)
            after = self._number(end)
            if after is None or end in self.clocks:
                continue
            if slot < len(arcs.logic):
                before = self._number(start)
                if before is not None and start not in self.clocks:
                    nodes = 2 * before + arc.start_edge, 2 * after + arc.end_edge
                    self.arcs.append((index, slot, *nodes, pin_of[arc.start]))
            elif start in self.clocks:
                self.arcs.append((index, slot, self.SOURCE, 2 * after + arc.end_edge, -1))
        for slot, setup in enumerate(arcs.setup):
            net = self._number(cell.nets.get(setup.pin))
            if net is not None and cell.nets[setup.pin] not in self.clocks:
                self.ends.append((2 * net + setup.edge, index, slot, pin_of[setup.pin]))

    def _add_ports(self) -> None:
        """Add cells that drive the inputs, after all others, and endpoints at the outputs."""
        for direction, bits in self.netlist.ports.values():
            for bit in bits:
                net = self._number(bit)
                if net is None or bit in self.clocks:
                    continue
                if direction == "output":
                    self.outputs.append(net)
                elif bit not in self.ideal:
                    self.inputs.append(net)
        first = len(self.netlist.cells)
        driver = self.sizes.arcs[self.sizes.library.driver.name]
        for index, net in enumerate(self.inputs):
            for slot, arc in enumerate(driver.logic):
                node = 2 * net + arc.end_edge
                self.arcs.append((first + index, slot, self.SOURCE, node, -1))
        self.ends += [(2 * net + edge, -1, 0, -1) for net in self.outputs for edge in (FALL, RISE)]

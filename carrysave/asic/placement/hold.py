"""Buffers behind input ports whose data would come to a register before it has taken the last.

From register to register a balanced tree leaves more hold slack than it has skew. Data at a port
change with the clock, without the delay of a register, so there is no more than that of the cell
that drives the port, and a register whose clock is late in the tree takes the wrong value.
"""

from carrysave.asic import propagated
from carrysave.asic.placement.buffers import insert
from carrysave.asic.placement.clock_timing import clock_times
from carrysave.asic.placement.clock_tree import clock_nets
from carrysave.asic.placement.die import Die
from carrysave.asic.placement.netlist import Sink
from carrysave.asic.placement.sizes import Sizes
from hw.emit import tools

__all__ = ["PREFIX", "delay_ports"]

PREFIX = "hold_buffer_"
"""How names of its buffers begin."""
_MARGIN = 0.02
"""Hold slack that data from ports have after placement, ns: routing takes some of it."""
_ROUNDS = 4
"""Times that buffers are put in, at most: cells that make room for some move the clock's."""


def delay_ports(die: Die, sizes: Sizes) -> int:
    """Put buffers between ports and registers, where hold asks for it; return how many.

    Raises
    ------
    PlacementError
        If the placer fails.
    StaError
        If OpenSTA is missing or fails.
    """
    added = 0
    for _ in range(_ROUNDS):
        behind: dict[int, set[Sink]] = {}
        drivers = {_port_word(die, sink): net for net, sink in die.netlist.drivers().items()}
        for port, cell, pin in _early(die, sizes):
            net = drivers[port]
            behind.setdefault(net, set()).update(_between(die, net, Sink(cell, pin)))
        if not behind:
            break
        for net, sinks in behind.items():
            insert(die, net, sorted(sinks), PREFIX)
        added += len(behind)
        die.place()
    return added


def _early(die: Die, sizes: Sizes) -> list[tuple[str, str, str]]:
    netlist = die.netlist
    every = [*die.wires(), *((net.net, list(net.pins), net.tree) for net in clock_nets(die))]
    with tools.workplace() as work:
        netlist.write(work / "netlist.v")
        text = (work / "netlist.v").read_text()
    return propagated.early_inputs(
        text,
        top=netlist.top,
        library=netlist.library,
        conditions=die.conditions,
        wires=die.spef(every),
        latency_ns=clock_times(die, sizes).mean,
        margin_ns=_MARGIN,
    )


def _port_word(die: Die, sink: Sink) -> str:
    return "" if sink.cell else die.word(sink)


def _between(die: Die, net: int, end: Sink) -> set[Sink]:
    """Return the pins of a net from which gates, or nothing, lead to a pin."""
    netlist, sinks = die.netlist, set[Sink]()
    drivers, waiting, seen = netlist.drivers(), [end], {end}
    while waiting:
        sink = waiting.pop()
        before = netlist.cells[sink.cell].nets.get(sink.pin)
        if before == net:
            sinks.add(sink)
            continue
        cell = drivers[before].cell if isinstance(before, int) and before in drivers else ""
        if not cell or netlist.cell(cell).sequential:
            continue
        more = {Sink(cell, pin.name) for pin in netlist.cell(cell).inputs} - seen
        waiting += sorted(more)
        seen |= more
    return sinks

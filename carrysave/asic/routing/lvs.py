"""Compares a routed layout with its netlist (LVS): cells by kind, nets by what metal joins.

Names of nets in DEF play no part: shapes that touch are one net, and a pin of a cell is where the
LEF of its kind has it. What is inside a cell is not looked at.
"""

from collections import defaultdict
from collections.abc import Iterator

from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.routing.check import Violation
from carrysave.asic.routing.layout import Layout, read_layout
from carrysave.asic.routing.lef import RoutingLef
from carrysave.asic.routing.touching import EXACT, Sets, pairs

__all__ = ["compare"]

_Terminal = tuple[str, str]
"""Cell and pin; a port has no cell."""


def compare(text: str, lef: RoutingLef, netlist: Netlist) -> list[Violation]:
    """Return where a DEF file is not its netlist, as violations of the rule ``lvs``.

    Returns
    -------
    One for each cell that is missing, or is there too much, or is of another kind; one for each net
    whose pins are not joined; one for each two nets that are. Supplies are nets where there are
    straps for them.
    """
    layout = read_layout(text, lef)
    wanted = _wanted(netlist)
    for cell, pin, _ in layout.terminals:
        if cell and pin in lef.macros[layout.kinds[cell]].supplies:
            wanted[cell, pin] = pin
    return [*_devices(layout, lef, netlist), *_nets(layout, lef, wanted)]


def _wanted(netlist: Netlist) -> dict[_Terminal, str]:
    """Return the net of each terminal, by the netlist."""
    names = netlist.net_names()
    wanted: dict[_Terminal, str] = {}
    for name, cell in netlist.cells.items():
        wanted |= {
            (name, pin): names[net] for pin, net in cell.nets.items() if isinstance(net, int)
        }
    for port, (_, bits) in netlist.ports.items():
        for bit, net in enumerate(bits):
            if isinstance(net, int):
                wanted["", f"{port}[{bit}]" if len(bits) > 1 else port] = names[net]
    return wanted


def _devices(layout: Layout, lef: RoutingLef, netlist: Netlist) -> Iterator[Violation]:
    drawn = {name: kind for name, kind in layout.kinds.items() if lef.macros[kind].pins}
    wanted = {name: cell.kind for name, cell in netlist.cells.items()}
    for name in sorted(drawn.keys() | wanted.keys()):
        if drawn.get(name) != wanted.get(name):
            yield Violation("lvs", name, "", 0.0, 0.0, f"{drawn.get(name)}, {wanted.get(name)}")


def _nets(layout: Layout, lef: RoutingLef, wanted: dict[_Terminal, str]) -> Iterator[Violation]:
    """Yield nets that metal does not join, and such that it joins to others."""
    sets = Sets(len(layout.shapes))
    blocks = {n for n in range(layout.of_cells) if not layout.shapes[n][2]}
    for one, other, far in pairs(layout, {layer.name: 0.0 for layer in lef.layers}):
        if far <= EXACT and not {one, other} & blocks:
            sets.join(one, other)
    for one, other in layout.cuts:
        sets.join(one, other)
    for _, _, shapes in layout.terminals:
        for number in shapes[1:]:
            sets.join(shapes[0], number)
    groups = defaultdict[str, dict[int, int]](dict)  # of a net, by group: a shape
    joined = defaultdict[int, dict[str, int]](dict)
    for cell, pin, shapes in layout.terminals:
        net = wanted.pop((cell, pin), f"{cell}/{pin}")
        if shapes:
            root = sets.root(shapes[0])
            groups[net][root] = joined[root][net] = shapes[0]
    supplies = {pin for macro in lef.macros.values() for pin in macro.supplies} - layout.wired
    for net, shape_of in groups.items():
        if len(shape_of) > 1 and net not in supplies:
            yield _at(layout, net, max(shape_of.values()))
    for nets in joined.values():
        first, *more = sorted(nets)
        for net in more:
            yield _at(layout, first, nets[net], net)
    pins = {name for name, kind in layout.kinds.items() if lef.macros[kind].pins}
    lost = {net for (cell, _), net in wanted.items() if cell in pins or net in groups}
    yield from (Violation("lvs", net, "", 0.0, 0.0) for net in sorted(lost))


def _at(layout: Layout, net: str, number: int, other: str = "") -> Violation:
    layer, box, _ = layout.shapes[number]
    return Violation("lvs", net, layer, box[0], box[1], other)

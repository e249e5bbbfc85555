"""What is to be routed: cells and ports on a grid, nodes that metal blocks, pins of nets."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave.asic.placement.netlist import Netlist, Sink
from carrysave.asic.routing.access import Access, Accesses, flipped, moved
from carrysave.asic.routing.agreement import check_macros
from carrysave.asic.routing.apart import keep_apart
from carrysave.asic.routing.grid import Grid, gap, grid_of
from carrysave.asic.routing.lef import Box, Macro, RoutingLef
from carrysave.asic.routing.supplies import Strap, straps
from carrysave.errors import ArgumentError

__all__ = ["Cell", "Pin", "Problem", "problem_of"]

_EXACT = 1e-6
_PAIR = 4
"""Lines around a node in which metal may be too near to it."""


@dataclass(frozen=True)
class Cell:
    """A cell on the die: its kind, lower left corner (um), and whether it lies upside down."""

    kind: str
    x: float
    y: float
    upside: bool


@dataclass(frozen=True)
class Pin:
    """A pin of a net: of a cell, or a port; ways to it, and nodes that go with each."""

    sink: Sink
    ways: list[tuple[int, int, Access]]  # layer, node, way
    halos: list[list[int]]


@dataclass
class Problem:
    """A placed netlist on a grid.

    Members
    -------
    cells : by name, taps included; ``nets`` has pins, the driver first, by number.
    block : per node, 1: no wire, 2: no via.
    """

    netlist: Netlist
    lef: RoutingLef
    grid: Grid
    size: tuple[float, float]
    cells: dict[str, Cell]
    straps: list[Strap]
    block: NDArray[np.uint8]
    nets: dict[int, list[Pin]] = field(default_factory=dict)


def problem_of(netlist: Netlist, places: dict[str, Any], lef: RoutingLef, tap: str) -> Problem:
    """Return the problem of a placement, as ``places.json`` has it.

    Raises
    ------
    ArgumentError
        LEF lacks cells, pins or layers, or a cell has not the size that Liberty says.
    """
    width, height = places["facts"]["die_um"]
    size = float(width), float(height)
    check_macros(netlist, lef, tap if places["taps"] else "")
    grid = grid_of(lef, size)
    cells = {}
    row = size[1] / places["facts"]["rows"]
    for name, (kind, _, x, y, _) in places["cells"].items():
        wide, high = lef.macros[kind].size
        cells[name] = Cell(kind, x - wide / 2, y - high / 2, round(y / row - 0.5) % 2 == 1)
    for number, (x, y, _) in enumerate(places["taps"]):
        cells[f"tap_{number}"] = Cell(tap, x, y, round(y / row) % 2 == 1)
    rails = straps(lef, grid, size, row, {cell.kind for cell in cells.values()})
    block = np.zeros(len(grid.layers) * grid.columns * grid.rows, np.uint8)
    problem = Problem(netlist, lef, grid, size, cells, rails, block)
    _block_cells(problem)
    for strap in rails:
        for layer, box in strap.shapes:
            _block(problem, layer, box)
    _find_nets(problem, places["pads"])
    return problem


def _near(grid: Grid, layer: int, box: Box) -> Iterable[tuple[int, int, int]]:
    """Yield column and row of nodes that a shape is too near to, and whether for wires or vias."""
    one = grid.layers[layer]
    half = one.layer.width / 2
    pads = [one.below.shapes[one.layer.name]]
    if layer + 1 < len(grid.layers):
        pads.append(grid.layers[layer + 1].below.shapes[one.layer.name])
    pad = tuple(max(abs(box[side]) for box in pads) for side in (0, 1))
    reach = one.layer.spacing + max(half, *pad)
    columns, rows = (
        range(
            max(int((low - reach) / pitch - 0.5), 0),
            min(int((high + reach) / pitch + 0.5) + 1, count),
        )
        for low, high, pitch, count in (
            (box[0], box[2], grid.pitch[0], grid.columns),
            (box[1], box[3], grid.pitch[1], grid.rows),
        )
    )
    for i, j in product(columns, rows):
        x, y = grid.place(i, j)
        far = gap((x - pad[0], y - pad[1], x + pad[0], y + pad[1]), box)
        if far < one.layer.spacing - _EXACT:
            wire = gap((x - half, y - half, x + half, y + half), box) < one.layer.spacing - _EXACT
            # Wires of upper layers end in pads anywhere: no wire where there can be no via.
            yield i, j, 3 if wire or layer else 2


def _block(problem: Problem, name: str, box: Box) -> None:
    for layer, one in enumerate(problem.grid.layers):
        if one.layer.name == name:
            for i, j, bits in _near(problem.grid, layer, box):
                problem.block[problem.grid.node(layer, i, j)] |= bits


def _block_cells(problem: Problem) -> None:
    """Block what the metal of cells is too near to, but for that of signal pins."""
    grid = problem.grid
    names = [one.layer.name for one in grid.layers]
    known: dict[Any, list[tuple[int, int, int, int]]] = {}
    for cell in problem.cells.values():
        at = int(cell.x / grid.pitch[0] + _EXACT), int(cell.y / grid.pitch[1] + _EXACT)
        # Shapes are looked at away from the edges of the die, which cut nothing off.
        phase = cell.x - at[0] * grid.pitch[0], cell.y - at[1] * grid.pitch[1]
        key = cell.kind, cell.upside, round(phase[0] * 1e3), round(phase[1] * 1e3)
        if key not in known:
            macro = problem.lef.macros[cell.kind]
            away = [_PAIR * pitch + part for pitch, part in zip(grid.pitch, phase, strict=True)]
            known[key] = [
                (names.index(name), i - _PAIR, j - _PAIR, bits)
                for name, box in _fixed(macro)
                if name in names
                for lying in [flipped(box, macro.size[1]) if cell.upside else box]
                for i, j, bits in _near(grid, names.index(name), moved(lying, *away))
            ]
        for layer, i, j, bits in known[key]:
            column, row = at[0] + i, at[1] + j
            if 0 <= column < grid.columns and 0 <= row < grid.rows:
                problem.block[grid.node(layer, column, row)] |= bits


def _fixed(macro: Macro) -> list[tuple[str, Box]]:
    return [*macro.blocks, *(shape for each in macro.supplies.values() for shape in each)]


def _find_nets(problem: Problem, pads: list[tuple[str, int, float, float]]) -> None:
    """Fill in the nets: ways to the pins of cells, and nodes for ports at the edges."""
    netlist, grid = problem.netlist, problem.grid
    accesses = Accesses(problem.lef, grid)
    ways = {
        name: accesses.of(cell.kind, cell.x, cell.y, cell.upside)
        for name, cell in problem.cells.items()
    }
    places = {(port, bit): (x, y) for port, bit, x, y in pads}
    taken = set[int]()
    drivers, sinks = netlist.drivers(), netlist.sinks()
    for net, driver in drivers.items():
        every = [driver, *sinks.get(net, [])]
        if len(every) < 2:
            continue
        pins = []
        for sink in every:
            if sink.cell:
                pins.append(_cell_pin(problem, sink, ways[sink.cell].get(sink.pin, [])))
            else:
                layer, node = _port_node(problem, places[sink.pin, sink.bit], taken)
                _, i, j = grid.parts(node)
                pins.append(Pin(sink, [(layer, node, Access(i, j, (0.0, 0.0), False))], [[]]))
        problem.nets[net] = pins
    all_pins = (pin for pins in problem.nets.values() for pin in pins)
    keep_apart(grid, ((pin.ways, pin.halos) for pin in all_pins))


def _cell_pin(problem: Problem, sink: Sink, ways: list[Access]) -> Pin:
    grid, cell = problem.grid, problem.cells[sink.cell]
    legal = [
        way
        for way in ways
        if 0 <= way.column < grid.columns
        and 0 <= way.row < grid.rows
        and not problem.block[grid.node(0, way.column, way.row)] & (3 if way.via else 1)
    ]
    if not legal:
        raise ArgumentError(
            "{lef}: a router gets at no place of pin {pin} of {kind}", pin=sink.pin, kind=cell.kind
        )
    nodes = [(0, grid.node(0, way.column, way.row), way) for way in legal]
    return Pin(sink, nodes, [_halo(problem, cell, sink.pin, way) for way in legal])


def _halo(problem: Problem, cell: Cell, pin: str, way: Access) -> list[int]:
    """Return nodes that others cannot have: near a via off its node, or the pin's own metal."""
    grid, one = problem.grid, problem.grid.layers[0]
    boxes = []
    if not way.via:
        macro = problem.lef.macros[cell.kind]
        shapes = [box for layer, box in macro.pins[pin] if layer == one.layer.name]
        lying = [flipped(box, macro.size[1]) if cell.upside else box for box in shapes]
        boxes = [moved(box, cell.x, cell.y) for box in lying]
    elif way.offset != (0.0, 0.0):
        x, y = grid.place(way.column, way.row)
        boxes = [moved(one.below.shapes[one.layer.name], x + way.offset[0], y + way.offset[1])]
    # Two vias on the same line across the tracks are looked at by the router itself.
    near = {
        grid.node(0, i, j)
        for box in boxes
        for i, j, bits in _near(grid, 0, box)
        if bits & 1 or not way.via or i != way.column
    }
    return sorted(near - {grid.node(0, way.column, way.row)})


def _port_node(problem: Problem, at: tuple[float, float], taken: set[int]) -> tuple[int, int]:
    """Return a free node at the edge that a port is on, of a layer whose tracks end there."""
    grid, wide = problem.grid, problem.size[0]
    side = at[0] < _EXACT or at[0] > wide - _EXACT
    layers = range(1, len(grid.layers))
    layer = next((k for k in layers if grid.layers[k].layer.horizontal == side), 0)
    step, (lines, along) = grid.layers[layer].step, (grid.rows, 1) if side else (grid.columns, 0)
    first = 0 if at[0 if side else 1] < _EXACT else (grid.columns if side else grid.rows) - 1
    wanted = int(at[along] / grid.pitch[along]) // step * step
    for far in range(0, lines, step):
        for line in (wanted + far, wanted - far):
            node = grid.node(layer, first, line) if side else grid.node(layer, line, first)
            if 0 <= line < lines and node not in taken and not problem.block[node]:
                taken.add(node)
                return layer, node
    raise ArgumentError(
        "{aspect} and {utilisation} must leave more tracks at an edge for its ports"
    )

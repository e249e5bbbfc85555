"""What is on a routed die, as plain values: cells, metal and vias, ports, straps."""

from typing import Any

from carrysave.asic.routing.lef import Box
from carrysave.asic.routing.problem import Problem
from carrysave.asic.routing.router import Route
from carrysave.asic.routing.supplies import rail_names
from carrysave.asic.routing.wires import Wiring

__all__ = ["shapes_of"]


def shapes_of(
    problem: Problem, routes: dict[int, Route], wiring: dict[int, Wiring]
) -> dict[str, Any]:
    """Return what GDS, the LEF abstract and a picture are made of; lengths in um.

    Returns
    -------
    ``top``, ``size``; ``cells``: kind, x, y, whether upside down; ``metal``: layer and box;
    ``vias``: name, x, y; ``via_shapes``: box by layer of each; ``ports``: name, direction, use,
    layer, box;
    ``layers``, that of the pins of cells first. Nets without a way have none of it but their ports.
    """
    grid, netlist = problem.grid, problem.netlist
    widths = {one.layer.name: one.layer.width for one in grid.layers}
    metal: list[tuple[str, Box]] = []
    vias: list[tuple[str, float, float]] = []
    ports: list[tuple[str, str, str, str, Box]] = []
    for net, route in routes.items():
        if route.routed:
            for layer, x0, y0, x1, y1 in wiring[net].pieces:
                half = widths[layer] / 2
                box = min(x0, x1) - half, min(y0, y1) - half, max(x0, x1) + half, max(y0, y1) + half
                metal.append((layer, box))
            metal += wiring[net].patches
            vias += [(name, x, y) for _, name, x, y in wiring[net].vias]
        for pin in route.pins:
            if not pin.sink.cell:
                ((layer_number, node, _),) = pin.ways
                layer = grid.layers[layer_number].layer.name
                x, y = grid.place(*grid.parts(node)[1:])
                half = widths[layer] / 2
                way, bits = netlist.ports[pin.sink.pin]
                name = f"{pin.sink.pin}[{pin.sink.bit}]" if len(bits) > 1 else pin.sink.pin
                box = x - half, y - half, x + half, y + half
                ports.append((name, way.upper(), "SIGNAL", layer, box))
                metal.append((layer, box))
    kinds = {cell.kind for cell in problem.cells.values()}
    supplies = rail_names(problem.lef, grid.layers[0].layer.name, kinds) or ("", "")
    for strap in problem.straps:
        layer, box = strap.shapes[0]
        use = "GROUND" if strap.supply == supplies[0] else "POWER"
        ports.append((strap.supply, "INOUT", use, layer, box))
        metal += strap.shapes  # its vias among them
    cells = [(cell.kind, cell.x, cell.y, cell.upside) for cell in problem.cells.values()]
    return {
        "top": netlist.top,
        "size": problem.size,
        "cells": cells,
        "metal": metal,
        "vias": vias,
        "via_shapes": {via.name: via.shapes for via in problem.lef.vias},
        "ports": ports,
        "layers": [grid.pin_layer.name, *(one.layer.name for one in grid.layers)],
    }

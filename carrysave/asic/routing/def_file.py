"""Writes a routed die as DEF: rows, tracks, cells, ports, supplies, nets with their wires."""

from carrysave.asic.placement.floorplan import orientation
from carrysave.asic.routing.grid import Grid
from carrysave.asic.routing.lef import Box
from carrysave.asic.routing.problem import Pin, Problem
from carrysave.asic.routing.router import Route
from carrysave.asic.routing.supplies import WIDTH, rail_names
from carrysave.asic.routing.wires import Wiring

__all__ = ["write_def"]

_UNITS = 1000


def write_def(
    problem: Problem,
    routes: dict[int, Route],
    wiring: dict[int, Wiring],
    names: dict[int, str],
    site_width: float,
) -> str:
    """Return the text of a DEF file.

    Parameters
    ----------
    names : of nets. Nets that are not routed have pins and no wires.
    site_width : um.
    """
    wide, high = problem.size
    cells = [problem.lef.macros[cell.kind] for cell in problem.cells.values()]
    rows, site = round(high / min(cell.size[1] for cell in cells)), cells[0].site
    lines = [
        "VERSION 5.8 ;",
        'DIVIDERCHAR "/" ;',
        'BUSBITCHARS "[]" ;',
        f"DESIGN {problem.netlist.top} ;",
        f"UNITS DISTANCE MICRONS {_UNITS} ;",
        f"DIEAREA ( 0 0 ) ( {_unit(wide)} {_unit(high)} ) ;",
    ]
    lines += [
        f"ROW ROW_{row} {site} 0 {_unit(row * high / rows)} {orientation(row)}"
        f" DO {round(wide / site_width)} BY 1 STEP {_unit(site_width)} 0 ;"
        for row in range(rows)
    ]
    lines += _tracks(problem.grid)
    lines.append(f"COMPONENTS {len(problem.cells)} ;")
    lines += [
        f"- {name} {cell.kind} + PLACED ( {_unit(cell.x)} {_unit(cell.y)} )"
        f" {orientation(int(cell.upside))} ;"
        for name, cell in problem.cells.items()
    ]
    lines.append("END COMPONENTS")
    ports = [
        (pin, names[net])
        for net, route in routes.items()
        for pin in route.pins
        if not pin.sink.cell
    ]
    lines += [f"PINS {len(ports)} ;", *(_port(problem, *port) for port in ports), "END PINS"]
    lines += _supplies(problem)
    lines.append(f"NETS {len(routes)} ;")
    for net, route in routes.items():
        pins = " ".join(
            f"( {pin.sink.cell} {pin.sink.pin} )"
            if pin.sink.cell
            else f"( PIN {_port_name(problem, pin)} )"
            for pin in route.pins
        )
        lines += [f"- {names[net]} {pins}", *_wires(wiring[net], route.routed), ";"]
    return "\n".join([*lines, "END NETS", "END DESIGN", ""])


def _unit(length: float) -> int:
    return round(length * _UNITS)


def _tracks(grid: Grid) -> list[str]:
    lines = []
    for one in grid.layers:
        axis, pitch = ("Y", grid.pitch[1]) if one.layer.horizontal else ("X", grid.pitch[0])
        count = ((grid.rows if one.layer.horizontal else grid.columns) - 1) // one.step + 1
        lines.append(
            f"TRACKS {axis} {_unit(pitch / 2)} DO {count} STEP {_unit(one.step * pitch)}"
            f" LAYER {one.layer.name} ;"
        )
    return lines


def _port_name(problem: Problem, pin: Pin) -> str:
    bits = problem.netlist.ports[pin.sink.pin][1]
    return f"{pin.sink.pin}[{pin.sink.bit}]" if len(bits) > 1 else pin.sink.pin


def _port(problem: Problem, pin: Pin, net: str) -> str:
    ((layer, node, _),) = pin.ways
    one, half = problem.grid.layers[layer], problem.grid.layers[layer].layer.width / 2
    _, i, j = problem.grid.parts(node)
    x, y = problem.grid.place(i, j)
    way = "INPUT" if problem.netlist.ports[pin.sink.pin][0] == "input" else "OUTPUT"
    return (
        f"- {_port_name(problem, pin)} + NET {net} + DIRECTION {way} + USE SIGNAL"
        f" + LAYER {one.layer.name} ( {_unit(-half)} {_unit(-half)} )"
        f" ( {_unit(half)} {_unit(half)} ) + PLACED ( {_unit(x)} {_unit(y)} ) N ;"
    )


def _supplies(problem: Problem) -> list[str]:
    """Return the supplies: rails are in the cells, straps and their vias are here."""
    kinds = {cell.kind for cell in problem.cells.values()}
    supplies = rail_names(problem.lef, problem.grid.layers[0].layer.name, kinds) or ()
    lines = [f"SPECIALNETS {len(supplies)} ;"]
    for number, supply in enumerate(supplies):
        lines.append(f"- {supply} ( * {supply} ) + USE {('GROUND', 'POWER')[number]}")
        word = "+ ROUTED"
        for strap in problem.straps:
            if strap.supply == supply:
                at, top = _unit(strap.x), _unit(problem.size[1])
                lines.append(
                    f"{word} {strap.layer} {_unit(WIDTH)} + SHAPE STRIPE ( {at} 0 ) ( {at} {top} )"
                )
                lines += [
                    f"NEW {strap.layer} 0 + SHAPE STRIPE ( {_unit(x)} {_unit(y)} ) {via}"
                    for via, x, y in strap.vias
                ]
                lines += [
                    f"NEW {on} {_unit(width)} + SHAPE STRIPE ( {_unit(x0)} {_unit(y0)} )"
                    f" ( {_unit(x1)} {_unit(y1)} )"
                    for on, width, x0, y0, x1, y1 in strap.bars
                ]
                word = "NEW"
        lines.append(";")
    return [*lines, "END SPECIALNETS"]


def _wires(wiring: Wiring, routed: bool) -> list[str]:
    if not routed:
        return []
    parts = [
        f"{layer} ( {_unit(x0)} {_unit(y0)} ) ( {_unit(x1)} {_unit(y1)} )"
        for layer, x0, y0, x1, y1 in wiring.pieces
    ]
    parts += [f"{lower} ( {_unit(x)} {_unit(y)} ) {via}" for lower, via, x, y in wiring.vias]
    parts += [_patch(layer, box) for layer, box in wiring.patches]
    return [f"{'NEW' if number else '+ ROUTED'} {part}" for number, part in enumerate(parts)]


def _patch(layer: str, box: Box) -> str:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    edges = " ".join(str(_unit(edge - at)) for edge, at in zip(box, (x, y, x, y), strict=True))
    return f"{layer} ( {_unit(x)} {_unit(y)} ) RECT ( {edges} )"

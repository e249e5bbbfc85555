"""Wires of routed nets: straight pieces, vias, metal for its area; and what they load, as SPEF."""

from collections import defaultdict
from dataclasses import dataclass, field

from carrysave.asic.placement.wires import spef_head
from carrysave.asic.routing.grid import Grid
from carrysave.asic.routing.lef import Box
from carrysave.asic.routing.router import Route

__all__ = ["Wiring", "spef", "wiring_of"]


@dataclass
class Wiring:
    """The metal of a net.

    Members
    -------
    pieces : layer, and both ends of a straight piece on a track, um.
    vias : the layer below each, its name and its middle.
    patches : layer and box of metal that is there for the area alone.
    length : um of wire.
    """

    pieces: list[tuple[str, float, float, float, float]] = field(default_factory=list)
    vias: list[tuple[str, str, float, float]] = field(default_factory=list)
    patches: list[tuple[str, Box]] = field(default_factory=list)
    length: float = 0.0


def wiring_of(route: Route, grid: Grid) -> Wiring:
    """Return the metal of a routed net."""
    wiring, lines = Wiring(), defaultdict[tuple[int, int], set[int]](set)
    for pin, chosen in zip(route.pins, route.chosen, strict=True):
        if chosen >= 0:
            _, _, way = pin.ways[chosen]
            x, y = grid.place(way.column, way.row)
            if way.via:
                via = grid.pin_layer.name, grid.layers[0].below.name
                wiring.vias.append((*via, x + way.offset[0], y + way.offset[1]))
    for a, b in route.edges:
        (layer, i, j), other = grid.parts(min(a, b)), grid.parts(max(a, b))[0]
        if layer != other:
            names = grid.layers[layer].layer.name, grid.layers[other].below.name
            wiring.vias.append((*names, *grid.place(i, j)))
        else:
            flat = grid.layers[layer].layer.horizontal
            start = i if flat else j
            lines[layer, j if flat else i].add(start)
    for (layer, line), starts in lines.items():
        _pieces(wiring, grid, layer, line, starts)
    return wiring


def _pieces(wiring: Wiring, grid: Grid, layer: int, line: int, starts: set[int]) -> None:
    """Join the steps of a line to straight pieces; short ones get the metal that they lack."""
    one = grid.layers[layer]
    flat, name = one.layer.horizontal, one.layer.name
    for start in sorted(starts):
        if start - 1 in starts:
            continue
        end = start
        while end in starts:
            end += 1
        ends = [grid.place(k, line) if flat else grid.place(line, k) for k in (start, end)]
        wiring.pieces.append((name, *ends[0], *ends[1]))
        wiring.length += (end - start) * grid.pitch[0 if flat else 1]
        if one.least > 1 and end - start + 1 <= one.least:
            half, (x0, y0), (x1, y1) = one.layer.width / 2, *ends
            box = (x0 - one.end, y0 - half, x1 + one.end, y1 + half)
            upright = (x0 - half, y0 - one.end, x1 + half, y1 + one.end)
            wiring.patches.append((name, box if flat else upright))


def spef(top: str, nets: dict[str, tuple[list[str], Route]], grid: Grid, capacitance: float) -> str:
    """Return routed wires as SPEF, in fF and ohm: each step of a wire and each via.

    Parameters
    ----------
    nets : by name, the words for the pins, and the route.
    capacitance : of wires, fF/um.
    """
    lines = spef_head(top)
    for name, (words, route) in nets.items():
        lines += _net(name, words, route, grid, capacitance)
    return "\n".join([*lines, ""])


def _net(name: str, words: list[str], route: Route, grid: Grid, capacitance: float) -> list[str]:
    farads, ohms = defaultdict[str, float](float), list[tuple[str, str, float]]()
    node = {number: f"{name}:{at + 1}" for at, number in enumerate(_nodes(route))}
    for pin, word, chosen in zip(route.pins, words, route.chosen, strict=True):
        _, number, way = pin.ways[max(chosen, 0)]
        farads[word] += 0.0
        via = grid.layers[0].below.resistance if way.via else 0.0
        ohms.append((word, node[number], max(via, 0.001)))
    for a, b in route.edges:
        layer, other = grid.parts(a)[0], grid.parts(b)[0]
        if layer != other:
            resistance = grid.layers[max(layer, other)].below.resistance
        else:
            one = grid.layers[layer].layer
            length = grid.pitch[0 if one.horizontal else 1]
            resistance = one.resistance * length / one.width
            for end in (a, b):
                farads[node[end]] += length * capacitance / 2
        ohms.append((node[a], node[b], max(resistance, 0.001)))
    lines = [f"*D_NET {name} {sum(farads.values()):.4f}", "*CONN"]
    for index, word in enumerate(words):
        kind = "*I" if ":" in word else "*P"
        lines.append(f"{kind} {word} {'O' if (index == 0) == (kind == '*I') else 'I'}")
    lines.append("*CAP")
    lines += [f"{at + 1} {end} {load:.5f}" for at, (end, load) in enumerate(farads.items())]
    lines.append("*RES")
    lines += [f"{at + 1} {a} {b} {value:.4f}" for at, (a, b, value) in enumerate(ohms)]
    return [*lines, "*END"]


def _nodes(route: Route) -> list[int]:
    pins = {pin.ways[max(way, 0)][1] for pin, way in zip(route.pins, route.chosen, strict=True)}
    return sorted({node for edge in route.edges for node in edge} | pins)

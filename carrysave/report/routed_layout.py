"""A picture of a routed die: its cells, the wires of each layer, and the ports."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave.report.tables import svg

__all__ = ["draw"]

_DOTS = 1600
"""Of the longer side of the picture."""
_CELL, _METAL = 0.35, 0.75
"""How much of what lies below is covered."""

Floats = NDArray[np.float64]


def draw(result: dict[str, Any]) -> bytes:
    """Draw a result of ``synth --route`` as SVG.

    Cells are grey; wires have a colour for each layer, those of upper layers above; ports are dots.
    Cuts are not drawn, nor the metal of cells.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.patches import Patch

    routed, areas = result["routed"], result["placed"]["cell_areas"]
    shapes = json.loads(Path(routed["shapes"]).read_text())
    wide, high = shapes["size"]
    dot = max(wide, high) / _DOTS
    image = np.ones((max(round(high / dot), 1), max(round(wide / dot), 1), 3))
    row = result["placed"]["technology"]["row_height"]
    cells = [
        (x, y, x + areas[kind] / row, y + row)
        for kind, x, y, _ in shapes["cells"]
        if kind in areas  # taps are left white
    ]
    _paint(image, np.array(cells) / dot, (0.55, 0.55, 0.55), _CELL, gap=1)
    colours = {
        layer: pyplot.get_cmap("tab10")(index)[:3] for index, layer in enumerate(routed["layers"])
    }
    metal: dict[str, list[tuple[float, ...]]] = {layer: [] for layer in colours}
    for layer, box in shapes["metal"]:
        if layer in metal:
            metal[layer].append(box)
    for layer, boxes in metal.items():
        _paint(image, np.array(boxes).reshape(-1, 4) / dot, colours[layer], _METAL)
    figure, axis = pyplot.subplots(figsize=(9, 9), layout="constrained")
    axis.imshow(image, origin="lower", extent=(0, wide, 0, high), interpolation="nearest")
    middles = np.array([
        ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)
        for _, _, use, _, box in shapes["ports"]
        if use == "SIGNAL"
    ])
    axis.plot(middles[:, 0], middles[:, 1], "k.", ms=4)
    axis.set_xlabel("um")
    axis.set_ylabel("um")
    lost = len(routed["unrouted"])
    axis.set_title(
        f"{result['module']}: {routed['nets'] - lost:,} of {routed['nets']:,} nets,"
        f" {routed['wire_um']:,.0f} um of wire, {routed['vias']:,} vias",
        fontsize=10,
    )
    handles = [Patch(color=colour, label=layer) for layer, colour in colours.items()]
    figure.legend(handles=handles, fontsize=8, loc="outside lower center", ncols=6)
    return svg(figure)


def _paint(
    image: Floats, boxes: Floats, colour: tuple[float, ...], share: float, gap: int = 0
) -> None:
    """Cover boxes (edges in dots), of one dot at least, once each with a share of a colour."""
    covered = np.zeros(image.shape[:2], bool)
    for left, low, right, up in np.rint(boxes).astype(int):
        rows = slice(max(low, 0), max(up - gap, low + 1))
        covered[rows, max(left, 0) : max(right - gap, left + 1)] = True
    image[covered] += share * (np.array(colour) - image[covered])

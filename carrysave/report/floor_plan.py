"""Pictures of a placed netlist: its cells by module and by slack, and the critical path."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave.report.tables import svg

__all__ = ["draw"]

_DOTS = 900
"""Of the longer side of the picture of the cells."""
_MODULES = 10
"""Modules with a colour and a name of their own: those with most cells."""

Floats = NDArray[np.float64]


def draw(result: dict[str, Any]) -> bytes:
    """Draw the floor plan of a result of ``synth --place`` as SVG.

    On the left cells have the colour of the module that they come from, on the right that of their
    slack at the least period; the critical path goes through both, from a dot.
    """
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.patches import Patch

    placed = result["placed"]
    cells = json.loads(Path(placed["places"]).read_text())["cells"]
    wide, high = placed["die_um"]
    areas = placed["cell_areas"]
    height = placed["technology"]["row_height"]
    boxes = np.array([(x, y, areas[kind] / height, height) for kind, _, x, y, _ in cells.values()])
    scopes = [scope.split(".")[0] or "top" for _, scope, _, _, _ in cells.values()]
    common = sorted(set(scopes), key=lambda name: (-scopes.count(name), name))[:_MODULES]
    colour_of = {name: index for index, name in enumerate(common)}
    colours = pyplot.get_cmap("tab10")
    by_scope = np.array([
        colours(colour_of[name])[:3] if name in colour_of else (0.6, 0.6, 0.6) for name in scopes
    ])
    slack = np.array([cell[4] for cell in cells.values()]) / placed["period_ns"]
    worst = pyplot.get_cmap("RdYlGn")(np.clip(slack / 0.5, 0, 1))[:, :3]
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 7), layout="constrained")
    path = [
        cells[name]
        for step in placed["critical_path"]
        if (name := step["point"].rpartition("/")[0]) in cells
    ]
    for axis, tint in zip(axes, (by_scope, worst), strict=True):
        axis.imshow(
            _image(boxes, tint, (wide, high)),
            origin="lower",
            extent=(0, wide, 0, high),
            interpolation="nearest",
        )
        if path:
            axis.plot([at[2] for at in path], [at[3] for at in path], "k-", lw=1.1)
            axis.plot(path[0][2], path[0][3], "ko", ms=4)
        axis.set_xlabel("um")
    axes[0].set_ylabel("um")
    axes[0].set_title(
        f"{result['module']}: {len(cells):,} cells, {placed['utilisation']:.0%} of"
        f" {wide:,.0f} x {high:,.0f} um",
        fontsize=10,
    )
    axes[1].set_title(
        f"slack: red 0, green half of {placed['period_ns']:.3f} ns; the critical path", fontsize=10
    )
    handles = [Patch(color=colours(index), label=name) for name, index in colour_of.items()]
    if len(common) < len(set(scopes)):
        handles.append(Patch(color=(0.6, 0.6, 0.6), label="others"))
    figure.legend(handles=handles, fontsize=8, loc="outside lower center", ncols=6)
    return svg(figure)


def _image(boxes: Floats, colours: Floats, die: tuple[float, float]) -> Floats:
    """Return an image of boxes (x and y of the middle, width, height, um) on a white die."""
    dot = max(die) / _DOTS
    image = np.ones((max(round(die[1] / dot), 1), max(round(die[0] / dot), 1), 3))
    for (x, y, wide, high), colour in zip(boxes / dot, colours, strict=True):
        left, right = round(x - wide / 2), max(round(x + wide / 2), round(x - wide / 2) + 1)
        low, up = round(y - high / 2), max(round(y + high / 2) - 1, round(y - high / 2) + 1)
        image[max(low, 0) : up, max(left, 0) : right] = colour
    return image

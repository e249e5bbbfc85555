"""The grid that nets are routed on: tracks of each layer, by the pitches and spacings of LEF."""

import math
from dataclasses import dataclass

from carrysave.asic.routing.lef import Box, Layer, RoutingLef, Via
from carrysave.errors import ArgumentError

__all__ = ["Grid", "GridLayer", "gap", "grid_of"]

_LAYERS = 4
"""Routing layers above that of the pins; what is above these is left to supplies."""
_EXACT = 1e-6
_NODES = 1 << 28
"""More are no die that fits into memory with its nets."""


@dataclass(frozen=True)
class GridLayer:
    """A layer of the grid.

    Attributes
    ----------
    step : tracks are on each so many lines of the base grid.
    clear : nodes that must be free between two nets on a track.
    pads : whether vias of two nets may not be side by side on neighbouring tracks.
    least : nodes that a wire must have for its area.
    end : um that metal may reach beyond a node, along its track.
    below : the via down.
    """

    layer: Layer
    step: int
    clear: int
    pads: bool
    least: int
    end: float
    below: Via


@dataclass(frozen=True)
class Grid:
    """Base grid of a die: pitches (um), lines, layers from the lowest up; pins are below these."""

    pitch: tuple[float, float]
    columns: int
    rows: int
    layers: list[GridLayer]
    pin_layer: Layer

    def place(self, column: int, row: int) -> tuple[float, float]:
        """Return where a crossing is, um."""
        return (column + 0.5) * self.pitch[0], (row + 0.5) * self.pitch[1]

    def node(self, layer: int, column: int, row: int) -> int:
        """Return the number of a node."""
        return (layer * self.rows + row) * self.columns + column

    def parts(self, node: int) -> tuple[int, int, int]:
        """Return layer, column and row of a node."""
        rest, column = divmod(node, self.columns)
        layer, row = divmod(rest, self.rows)
        return layer, column, row


def gap(one: Box, other: Box) -> float:
    """Return the distance of two boxes, um; 0 if they touch."""
    wide = max(one[0] - other[2], other[0] - one[2], 0.0)
    high = max(one[1] - other[3], other[1] - one[3], 0.0)
    return math.sqrt(wide * wide + high * high)


def grid_of(lef: RoutingLef, size: tuple[float, float]) -> Grid:
    """Return the grid of a die of a size, um.

    Raises
    ------
    ArgumentError
        If LEF lacks layers or vias for it, or has pitches that are not of such a die.
    """
    names = [layer.name for layer in lef.layers]
    on = [layer for macro in lef.macros.values() for pin in macro.pins.values() for layer, _ in pin]
    if not on:
        raise ArgumentError("{lef} must have MACROs with pins, to {route}, and has none")
    bottom = max(set(on), key=on.count)
    layers = lef.layers[names.index(bottom) + 1 :][:_LAYERS] if bottom in names else []
    if len({layer.horizontal for layer in layers}) < 2:
        raise ArgumentError(
            "{lef} must have routing layers of both directions above the pins ({bottom}), to"
            " {route}",
            bottom=bottom,
        )
    try:
        vias = [
            lef.between(lower, upper.name)
            for lower, upper in zip([bottom, *(one.name for one in layers)], layers, strict=False)
        ]
    except ValueError as error:
        raise ArgumentError("{lef}: {error}", error=error) from None
    pitch = tuple(
        next(one.pitch for one in layers if one.horizontal == way) for way in (False, True)
    )
    columns, rows = (int(length / one + _EXACT) for length, one in zip(size, pitch, strict=True))
    if not 0 < columns * rows * len(layers) <= _NODES:
        raise ArgumentError(
            "{lef} must have pitches by which a die of {wide:g} x {high:g} um has 1..{most}"
            " crossings, to {route}, not {columns} x {rows} of each layer",
            wide=size[0],
            high=size[1],
            most=_NODES,
            columns=columns,
            rows=rows,
        )
    grid_layers = [_layer(one, index, layers, vias, pitch) for index, one in enumerate(layers)]
    pin_layer = lef.layers[names.index(bottom)]
    return Grid((pitch[0], pitch[1]), columns, rows, grid_layers, pin_layer)


def _layer(
    layer: Layer, index: int, layers: list[Layer], vias: list[Via], pitch: tuple[float, ...]
) -> GridLayer:
    """Return how nets on a layer are kept apart."""
    across, along = (pitch[1], pitch[0]) if layer.horizontal else pitch
    used = [via.shapes[layer.name] for via in vias[index : index + 2]]
    halves = [(max(-box[0], box[2]), max(-box[1], box[3])) for box in used]
    sides = [half if layer.horizontal else half[::-1] for half in halves]
    end = max(layer.width / 2, *(side[0] for side in sides))
    wide = max(layer.width / 2, *(side[1] for side in sides))
    step = max(math.ceil(layer.pitch / across - _EXACT), 1)
    # Each count begins just below what the rule needs: rules of a hostile file may need millions.
    step = max(step, int((layer.spacing + wide + layer.width / 2) / across) - 1)
    while step * across - wide - layer.width / 2 < layer.spacing - _EXACT:
        step += 1
    clear = max(int((layer.spacing + 2 * end) / along) - 2, 0)
    while (clear + 1) * along - 2 * end < layer.spacing - _EXACT:
        clear += 1
    area = max(4 * half[0] * half[1] for half in halves)
    if index:  # any via can be alone there; below all, a wire or another goes on
        area = min(4 * half[0] * half[1] for half in halves)
    least = 1
    if area < layer.area:
        least = max(int((layer.area / layer.width - 2 * end) / along) - 1, 1)
        while ((least - 1) * along + 2 * end) * layer.width < layer.area - _EXACT:
            least += 1
    pads = step * across - 2 * wide < layer.spacing - _EXACT
    return GridLayer(layer, step, clear, pads, least, end, vias[index])

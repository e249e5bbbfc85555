"""Reads what a router must know from LEF: layers, vias, and the pins and metal of cells."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from carrysave.asic.lef_text import blocks, statements
from hw.emit.user_files import FileError

__all__ = ["Antenna", "Box", "Layer", "Macro", "RoutingLef", "Via", "read_routing_lef"]

Box = tuple[float, float, float, float]
"""Left, lower, right and upper edge, um."""
Shapes = list[tuple[str, Box]]
_FINEST, _LARGEST = 1e-3, 1e6
"""um: what DEF can tell apart, and more than any die has."""


@dataclass(frozen=True)
class Antenna:
    """How much metal of a layer a gate may have, in parts of its own area.

    Attributes
    ----------
    thickness : um, if the side walls count; 0 if the area does.
    points : area of diffusion (um2) that is joined, and the ratio; straight lines between these.
    """

    thickness: float
    points: tuple[tuple[float, float], ...]

    def limit(self, diffusion: float) -> float:
        """Return the ratio that is allowed with an area of diffusion."""
        areas, ratios = zip(*self.points, strict=True)
        return float(np.interp(diffusion, areas, ratios))


@dataclass(frozen=True)
class Layer:
    """A routing layer; lengths in um, area in um2, resistance in ohm a square."""

    name: str
    horizontal: bool
    pitch: float
    width: float
    spacing: float
    area: float
    resistance: float
    antennas: tuple[Antenna, ...] = ()


@dataclass(frozen=True)
class Via:
    """A via: its metal around its middle, by layer, and the resistance of its cut, ohm."""

    name: str
    shapes: dict[str, Box]
    resistance: float


@dataclass
class Macro:
    """A cell: its site, its size, shapes of signal pins, of supplies, and of all else, um.

    ``gates`` and ``diffusions`` are areas at pins that have some, um2.
    """

    size: tuple[float, float] = (0.0, 0.0)
    pins: dict[str, Shapes] = field(default_factory=dict)
    supplies: dict[str, Shapes] = field(default_factory=dict)
    blocks: Shapes = field(default_factory=list)
    site: str = "core"
    gates: dict[str, float] = field(default_factory=dict)
    diffusions: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class RoutingLef:
    """Layers from the lowest up, default vias, cells by name."""

    layers: list[Layer]
    vias: list[Via]
    macros: dict[str, Macro]

    def between(self, lower: str, upper: str) -> Via:
        """Return the first default via between two layers, or refuse LEF without one."""
        for via in self.vias:
            if {lower, upper} <= via.shapes.keys():
                return via
        raise ValueError(f"LEF must have a default VIA between {lower} and {upper}, and has none")


def read_routing_lef(paths: Sequence[Path]) -> RoutingLef:
    """Read LEF files of a technology and of its cells.

    Raises
    ------
    FileError
        A block does not end, a layer lacks what it must have, or a number is none or out of range.
    """
    layers: dict[str, Layer] = {}
    cuts: dict[str, float] = {}
    vias: dict[str, Via] = {}
    macros: dict[str, Macro] = {}
    for path in paths:
        try:
            for kind, name, words in blocks(path):
                if kind == "LAYER":
                    _read_layer(name, statements(words), layers, cuts)
                elif kind == "VIA" and "DEFAULT" in words[:3]:
                    vias.setdefault(name, _via(name, words, cuts))
                elif kind == "MACRO":
                    macros.setdefault(name, _macro(words))
        except (ValueError, IndexError) as error:
            raise FileError(path, f"is not understood: {error}") from None
    return RoutingLef(list(layers.values()), list(vias.values()), macros)


def _read_layer(
    name: str, inside: list[list[str]], layers: dict[str, Layer], cuts: dict[str, float]
) -> None:
    facts = {one[0]: one[1:] for one in reversed(inside)}
    kind = next(iter(facts.get("TYPE", [])), "")
    if kind == "CUT":
        cuts.setdefault(name, _number(facts.get("RESISTANCE", ["0"])[-1], 0))
    if kind != "ROUTING" or name in layers:
        return
    table = facts.get("SPACINGTABLE", [])
    needed = ("DIRECTION", "PITCH", "WIDTH", *(() if table else ("SPACING",)))
    for key in needed:
        if not facts.get(key):
            raise ValueError(f"layer {name} must have {key}")
    horizontal = facts["DIRECTION"][0] == "HORIZONTAL"
    layers[name] = Layer(
        name,
        horizontal,
        _number(facts["PITCH"][-1 if horizontal else 0], _FINEST),
        _number(facts["WIDTH"][0], _FINEST),
        _number(table[table.index("WIDTH") + 2] if table else facts["SPACING"][0], 0),
        _number(facts.get("AREA", ["0"])[0], 0),
        _number(facts.get("RESISTANCE", ["RPERSQ", "0"])[-1], 0),
        _antennas(name, facts),
    )


def _antennas(name: str, facts: dict[str, list[str]]) -> tuple[Antenna, ...]:
    """Return the ratios of a layer; those that know of diffusion stand for those that do not."""
    rules = []
    for side in ("SIDE", ""):
        words = facts.get(f"ANTENNADIFF{side}AREARATIO") or facts.get(f"ANTENNA{side}AREARATIO")
        if not words:
            continue
        numbers = [_number(word, 0) for word in words if word not in ("PWL", "(", ")")]
        if len(numbers) == 1:
            numbers = [0.0, *numbers]
        points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
        if not points or sorted(points) != list(points):
            raise ValueError(f"layer {name} must have points of a rising antenna ratio")
        thickness = _number(facts.get("THICKNESS", ["0"])[0], _FINEST) if side else 0.0
        rules.append(Antenna(thickness, points))
    return tuple(rules)


def _number(word: str, least: float = -_LARGEST) -> float:
    """Return a number, which is finite and not beyond what a die can have."""
    value = float(word)
    if not math.isfinite(value) or not least <= value <= _LARGEST:
        raise ValueError(f"a number must be {least:g}..{_LARGEST:g}, not {word}")
    return value


def _via(name: str, words: list[str], cuts: dict[str, float]) -> Via:
    shapes = _shapes(words)
    ohms = [cuts[layer] for layer, _ in shapes if layer in cuts]
    return Via(name, dict(shapes), ohms[0] if ohms else 0.0)


def _shapes(words: list[str]) -> Shapes:
    shapes: Shapes = []
    layer = ""
    for statement in statements(words):
        for key in ("LAYER", "RECT"):
            if key in statement:
                statement = statement[statement.index(key) :]
        if statement[0] == "LAYER":
            layer = statement[1]
        elif statement[0] == "RECT":
            left, low, right, up = (_number(one) for one in statement[-4:])
            shapes.append((layer, (left, low, right, up)))
    return shapes


def _macro(words: list[str]) -> Macro:
    macro, at = Macro(), 0
    while at < len(words):
        if words[at] == "SIZE":
            macro.size = _number(words[at + 1], 0), _number(words[at + 3], 0)
        elif words[at] == "SITE":
            macro.site = words[at + 1]
        elif words[at] == "PIN" or words[at] == "OBS":
            name = words[at + 1] if words[at] == "PIN" else ""
            end = _end(words, at, name)
            inside = words[at : end + 1]
            uses = [inside[i + 1] for i, word in enumerate(inside) if word == "USE"]
            if not name:
                macro.blocks += _shapes(inside)
            elif uses and uses[0] in ("POWER", "GROUND"):
                macro.supplies[name] = _shapes(inside)
            else:
                macro.pins[name] = _shapes(inside)
                for key, areas in (("GATE", macro.gates), ("DIFF", macro.diffusions)):
                    if f"ANTENNA{key}AREA" in inside:
                        areas[name] = _number(inside[inside.index(f"ANTENNA{key}AREA") + 1], 0)
            at = end
        at += 1
    _check_shapes(macro)
    return macro


def _check_shapes(macro: Macro) -> None:
    """Refuse shapes that are not at their cell; rails are half outside."""
    most = 2 * max(macro.size)
    every = [*macro.pins.values(), *macro.supplies.values(), macro.blocks]
    for _, box in (shape for shapes in every for shape in shapes):
        if most and max(map(abs, box)) > most:
            raise ValueError(f"a RECT must be at its cell, not up to {max(map(abs, box)):g} um")


def _end(words: list[str], start: int, name: str) -> int:
    """Return where a pin (or obstructions) ends: after its own END, ports have another."""
    for at in range(start + 1, len(words)):
        if words[at] == "END" and (not name or (at + 1 < len(words) and words[at + 1] == name)):
            return at + (1 if name else 0)
    raise ValueError(f"{name or 'OBS'} has no END")

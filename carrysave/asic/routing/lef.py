"""Reads what a router must know from LEF: layers, vias, and the pins and metal of cells."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from carrysave.asic.lef_text import blocks, statements
from hw.emit.user_files import FileError

__all__ = ["Box", "Layer", "Macro", "RoutingLef", "Via", "read_routing_lef"]

Box = tuple[float, float, float, float]
"""Left, lower, right and upper edge, um."""
Shapes = list[tuple[str, Box]]


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


@dataclass(frozen=True)
class Via:
    """A via: its metal around its middle, by layer, and the resistance of its cut, ohm."""

    name: str
    shapes: dict[str, Box]
    resistance: float


@dataclass
class Macro:
    """A cell: its site, its size, shapes of signal pins, of supplies, and of all else, um."""

    size: tuple[float, float] = (0.0, 0.0)
    pins: dict[str, Shapes] = field(default_factory=dict)
    supplies: dict[str, Shapes] = field(default_factory=dict)
    blocks: Shapes = field(default_factory=list)
    site: str = "core"


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
        A block does not end, or a number is none.
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
    kind = facts.get("TYPE", [""])[0]
    if kind == "CUT":
        cuts.setdefault(name, float(facts.get("RESISTANCE", ["0"])[-1]))
    if kind != "ROUTING" or name in layers:
        return
    table = facts.get("SPACINGTABLE", [])
    spacing = float(table[table.index("WIDTH") + 2] if table else facts["SPACING"][0])
    horizontal = facts["DIRECTION"][0] == "HORIZONTAL"
    pitch = [float(one) for one in facts["PITCH"]]
    layers[name] = Layer(
        name,
        horizontal,
        pitch[-1] if horizontal else pitch[0],
        float(facts["WIDTH"][0]),
        spacing,
        float(facts.get("AREA", ["0"])[0]),
        float(facts.get("RESISTANCE", ["RPERSQ", "0"])[-1]),
    )


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
            left, low, right, up = (float(one) for one in statement[-4:])
            shapes.append((layer, (left, low, right, up)))
    return shapes


def _macro(words: list[str]) -> Macro:
    macro, at = Macro(), 0
    while at < len(words):
        if words[at] == "SIZE":
            macro.size = float(words[at + 1]), float(words[at + 3])
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
            at = end
        at += 1
    return macro


def _end(words: list[str], start: int, name: str) -> int:
    """Return where a pin (or obstructions) ends: after its own END, ports have another."""
    for at in range(start + 1, len(words)):
        if words[at] == "END" and (not name or (at + 1 < len(words) and words[at + 1] == name)):
            return at + (1 if name else 0)
    raise ValueError(f"{name or 'OBS'} has no END")

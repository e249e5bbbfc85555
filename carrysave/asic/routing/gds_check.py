"""Reads GDS of a routed die back, record by record, and holds it against DEF and LEF."""

import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from carrysave.asic.routing.layout import Layout, read_layout
from carrysave.asic.routing.lef import RoutingLef

__all__ = ["check_gds"]

_Box = tuple[int, int, int, int]
_Number = tuple[int, int]
_UNIT = 1000  # of DEF's um, and of GDS: nm
_BOUNDARY, _SREF, _AREF, _TEXT = 0x08, 0x0A, 0x0B, 0x0C
_STRUCTURE, _END_STRUCTURE, _END_ELEMENT, _END = 0x05, 0x07, 0x11, 0x04
_NAME, _LAYER, _TYPE, _XY, _OF, _TEXT_TYPE, _STRING, _TURN = (
    0x06,
    0x0D,
    0x0E,
    0x10,
    0x12,
    0x16,
    0x19,
    0x1A,
)


@dataclass
class _Structure:
    polygons: list[tuple[_Number, list[tuple[int, int]]]] = field(default_factory=list)
    references: list[tuple[str, int, int, bool]] = field(default_factory=list)
    texts: list[tuple[str, _Number, int, int]] = field(default_factory=list)


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        size, kind = struct.unpack_from(">HB", data, at)
        if size < 4:
            return
        yield kind, data[at + 4 : at + size]
        at += size
        if kind == _END:
            return


def _structures(data: bytes) -> dict[str, _Structure]:
    structures: dict[str, _Structure] = {}
    now, element, facts = _Structure(), 0, dict[int, bytes]()
    for kind, body in _records(data):
        if kind == _STRUCTURE:
            now = _Structure()
        elif kind == _NAME:
            structures[body.rstrip(b"\0").decode("ascii", "replace")] = now
        elif kind in (_BOUNDARY, _SREF, _AREF, _TEXT):
            element, facts = kind, {}
        elif kind == _END_ELEMENT:
            _add(now, element, facts)
            element = 0
        elif element:
            facts[kind] = body
    return structures


def _add(now: _Structure, element: int, facts: dict[int, bytes]) -> None:
    if not element:
        return
    words = struct.unpack(f">{len(facts[_XY]) // 4}i", facts[_XY])
    points = list(zip(words[::2], words[1::2], strict=True))
    if element in (_SREF, _AREF):
        name = facts[_OF].rstrip(b"\0").decode("ascii", "replace")
        now.references.append((name, *points[0], bool(facts.get(_TURN, b"\0")[0] & 0x80)))
        return
    kind = facts[_TYPE if element == _BOUNDARY else _TEXT_TYPE]
    number = struct.unpack(">h", facts[_LAYER])[0], struct.unpack(">h", kind)[0]
    if element == _BOUNDARY:
        now.polygons.append((number, points))
    else:
        text = facts[_STRING].rstrip(b"\0").decode("ascii", "replace")
        now.texts.append((text, number, *points[0]))


def check_gds(data: bytes, text: str, lef: RoutingLef, drawing: dict[str, _Number]) -> list[str]:
    """Return what differs between GDS and the DEF and LEF that it should be, in words.

    Metal, cuts, places of cells, and names of ports are compared; and that cells have metal where
    LEF says that their pins are. What else is in cells is not looked at.

    Parameters
    ----------
    data, text : of the GDS file and of the DEF file.
    drawing : numbers of layers by name.
    """
    structures, layout = _structures(data), read_layout(text, lef)
    top = re.search(r"^DESIGN (\S+) ;", text, re.M)[1]  # type: ignore[index]
    if top not in structures:
        return [f"GDS has no {top}"]
    kinds = {entry[0] for entry in _components(text)}
    bare = [f"GDS has no {kind}" for kind in sorted(kinds - structures.keys())]
    differences = [*bare, *_metal(structures, top, layout, lef, drawing)]
    written = Counter(one for one in structures[top].references if one[0] in kinds)
    differences += _counted("cell", written, Counter(_placed(text, lef)))
    pins = re.findall(r"^- (\S+) \+ NET .*?PLACED \( (-?\d+) (-?\d+) \) N ;", text, re.M)
    supplies = {name for name, *_ in re.findall(r"^- (\S+) \( \* (\S+) \)", text, re.M)}
    texts = Counter((name, x, y) for name, _, x, y in structures[top].texts if name not in supplies)
    named = Counter((name, int(x), int(y)) for name, x, y in pins)
    differences += _counted("name", texts, named)
    return [*differences, *_pins(structures, sorted(kinds), lef, drawing)]


def _components(text: str) -> list[tuple[str, int, int, str]]:
    entries = re.findall(r"^- \S+ (\S+) \+ PLACED \( (-?\d+) (-?\d+) \) (\w+) ;", text, re.M)
    return [(kind, int(x), int(y), way) for kind, x, y, way in entries]


def _placed(text: str, lef: RoutingLef) -> Iterator[tuple[str, int, int, bool]]:
    for kind, x, y, way in _components(text):
        high = round(lef.macros[kind].size[1] * _UNIT) if way == "FS" else 0
        yield kind, x, y + high, way == "FS"


def _counted(what: str, written: Counter, wanted: Counter) -> Iterator[str]:  # type: ignore[type-arg]
    for one in sorted((written - wanted) + (wanted - written)):
        yield f"{what} {one} is {written[one]} times in GDS, and {wanted[one]} times in DEF"


def _metal(
    structures: dict[str, _Structure],
    top: str,
    layout: Layout,
    lef: RoutingLef,
    drawing: dict[str, _Number],
) -> Iterator[str]:
    """Yield metal and cuts of the die itself that are in one of both only."""
    metals = {drawing[layer.name] for layer in lef.layers if layer.name in drawing}
    names = {number: name for name, number in drawing.items()}
    written, cuts = set[tuple[_Number, _Box]](), defaultdict[_Number, list[_Box]](list)
    for number, box in _flat(structures, top, lef.macros.keys(), 0, 0):
        if number in metals:
            written.add((number, box))
        elif number in names:
            cuts[number].append(box)
    wanted = {(drawing[layer], _whole(box)) for layer, box, _ in layout.shapes[layout.of_cells :]}
    for number, box in sorted(written ^ wanted):
        side = "GDS" if (number, box) in written else "DEF"
        yield f"metal of {names[number]} at {box} is in {side} only"
    squares = defaultdict[tuple[_Number, int, int], list[_Box]](list)
    for number, boxes in cuts.items():
        for box in set(boxes):
            squares[number, box[0] // _UNIT, box[1] // _UNIT].append(box)
    count = sum(len(boxes) for boxes in squares.values())
    kinds = {
        frozenset(via.shapes) & {layer.name for layer in lef.layers}: drawing[cut]
        for via in reversed(lef.vias)
        for cut in via.shapes
        if cut in drawing and cut not in {layer.name for layer in lef.layers}
    }
    for one, other in layout.cuts:
        (lower, a, _), (upper, b, _) = layout.shapes[one], layout.shapes[other]
        box = _whole((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))
        number = kinds[frozenset((lower, upper))]
        near = [
            cut
            for i in range(box[0] // _UNIT, box[2] // _UNIT + 1)
            for j in range(box[1] // _UNIT, box[3] // _UNIT + 1)
            for cut in squares[number, i, j]
        ]
        if not any(
            box[0] <= c[0] and box[1] <= c[1] and c[2] <= box[2] and c[3] <= box[3] for c in near
        ):
            yield f"cut of {names[number]} in {box} is in DEF only"
    if count != len({_middle(layout, pair) for pair in layout.cuts}):
        yield f"GDS has {count} cuts, and DEF {len(layout.cuts)}"


def _middle(layout: Layout, pair: tuple[int, int]) -> tuple[str, _Box, _Box]:
    (layer, a, _), (_, b, _) = (layout.shapes[one] for one in pair)
    return layer, _whole(a), _whole(b)


def _whole(box: Iterable[float]) -> _Box:
    left, low, right, up = (round(edge * _UNIT) for edge in box)
    return left, low, right, up


def _flat(
    structures: dict[str, _Structure], name: str, cells: Iterable[str], x: int, y: int
) -> Iterator[tuple[_Number, _Box]]:
    """Yield boxes of a structure and of what it refers to, without cells of LEF."""
    for number, points in structures[name].polygons:
        xs, ys = [at for at, _ in points], [at for _, at in points]
        yield number, (min(xs) + x, min(ys) + y, max(xs) + x, max(ys) + y)
    for other, at_x, at_y, _ in structures[name].references:
        if other not in cells and other in structures:
            yield from _flat(structures, other, cells, x + at_x, y + at_y)


def _pins(
    structures: dict[str, _Structure],
    kinds: Iterable[str],
    lef: RoutingLef,
    drawing: dict[str, _Number],
) -> Iterator[str]:
    """Yield pins of LEF in whose middle their cell in GDS has no metal."""
    for kind in kinds:
        if kind not in structures or structures[kind].references:
            continue
        for pin, shapes in lef.macros[kind].pins.items():
            for layer, (left, low, right, up) in shapes:
                middle = (left + right) / 2 * _UNIT, (low + up) / 2 * _UNIT
                if layer in drawing and not any(
                    number == drawing[layer] and _inside(middle, points)
                    for number, points in structures[kind].polygons
                ):
                    yield f"cell {kind} has no metal of {layer} in GDS at pin {pin}"


def _inside(at: tuple[float, float], points: list[tuple[int, int]]) -> bool:
    """Return whether a point is in a polygon, by the edges to its right."""
    odd = False
    for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1], strict=True):
        if (y0 > at[1]) != (y1 > at[1]):
            odd ^= at[0] < x0 + (at[1] - y0) * (x1 - x0) / (y1 - y0)
    return odd

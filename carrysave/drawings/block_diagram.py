"""Block diagram of a design: its submodules in the order of data, its streams at the sides."""

from collections import defaultdict
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from carrysave.drawings.structure import Link, Part, Structure

__all__ = ["draw"]

_LETTER, _LINE, _GAP, _ACROSS, _MARGIN = 7.0, 17, 26, 74, 16
_STREAM = 26
"""Height of a stream, pixels."""


class _Box(NamedTuple):
    """A part or a stream, its place and size, pixels, and its lines of text."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    is_part: bool

    @property
    def middle(self) -> float:
        """Height of its middle."""
        return self.y + self.height / 2


def draw(structure: Structure) -> str:
    """Draw it as SVG; links of data are lines with their bits, of control dashed ones."""
    parts = {part.name: part for part in structure.parts}
    data = [link for link in structure.links if link.bits > 1]
    speaks = {link.source for link in data}
    control = [
        link
        for link in structure.links
        if link.bits == 1
        and link.source in parts
        and link.source not in speaks
        and link.target in parts
    ]
    ranks = _ranks(structure, data, control)
    boxes, width, height = _placed(ranks, parts)
    forward = [link for link in (*data, *control) if ranks[link.source] < ranks[link.target]]
    back = [link for link in (*data, *control) if ranks[link.source] >= ranks[link.target]]
    lines = []
    for link in forward:
        lines += _forward(boxes, link, ranks)
    for number, link in enumerate(back):
        lines += _back(boxes, link, height + 18 * number)
    height += 18 * len(back)
    lines += _widths(boxes, forward)
    for box in boxes.values():
        lines += _box(box)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="13">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#36588a"/></marker></defs>'
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>'
    )
    return "\n".join([head, *lines, "</svg>"]) + "\n"


def _ranks(structure: Structure, data: Iterable[Link], control: Iterable[Link]) -> dict[str, int]:
    """Return the place of each box from left to right: behind all that it has data from.

    Inputs are on the left, outputs on the right; a link that would close a circle does not count.
    """
    after: defaultdict[str, list[str]] = defaultdict(list)
    for link in (*data, *control):
        after[link.source].append(link.target)
    ranks = dict.fromkeys(structure.inputs, 0)
    open_: list[str] = []

    def visit(name: str, rank: int) -> None:
        if name in open_ or rank <= ranks.get(name, -1):
            return
        ranks[name] = rank
        open_.append(name)
        for target in after[name]:
            visit(target, rank + 1)
        open_.pop()

    for name in structure.inputs:
        for target in after[name]:
            open_.append(name)
            visit(target, 1)
            open_.pop()
    for part in structure.parts:
        if part.name not in ranks:
            visit(part.name, 1)
    last = 1 + max(ranks.get(part.name, 0) for part in structure.parts)
    return {**ranks, **{name: last for name in structure.outputs if name not in structure.inputs}}


def _texts(part: Part) -> tuple[str, ...]:
    """Return the lines of a part."""
    title = part.name if part.count == 1 else f"{part.count} x {part.name}"
    return (f"{title}, in a chain" if part.chained else title, *part.lines)


def _placed(ranks: dict[str, int], parts: dict[str, Part]) -> tuple[dict[str, _Box], float, float]:
    """Place boxes in columns; return them, and the size of the picture."""
    columns: defaultdict[int, list[str]] = defaultdict(list)
    for name, rank in ranks.items():
        columns[rank].append(name)
    sizes = {}
    for name in ranks:
        lines = _texts(parts[name]) if name in parts else (name,)
        width = max(len(line) for line in lines) * _LETTER + 22
        sizes[name] = width, 14 + _LINE * len(lines) if name in parts else _STREAM, lines
    tallest = max(
        sum(sizes[name][1] for name in column) + _GAP * (len(column) - 1)
        for column in columns.values()
    )
    boxes, x = {}, float(_MARGIN)
    for rank in sorted(columns):
        column = columns[rank]
        wide = max(sizes[name][0] for name in column)
        taken = sum(sizes[name][1] for name in column) + _GAP * (len(column) - 1)
        y = _MARGIN + (tallest - taken) / 2
        for name in column:
            width, height, lines = sizes[name]
            boxes[name] = _Box(x + (wide - width) / 2, y, width, height, lines, name in parts)
            y += height + _GAP
        x += wide + _ACROSS
    return boxes, x - _ACROSS + _MARGIN, tallest + 2 * _MARGIN


def _path(link: Link, d: str) -> str:
    """Draw the line of a link, with its ends and bits as title."""
    said = f"{link.source} to {link.target}, {link.bits} {'bits' if link.bits > 1 else 'bit'}"
    dashes = "" if link.bits > 1 else ' stroke-dasharray="4 3"'
    return (
        f'<path d="{d}" fill="none" stroke="#36588a" stroke-width="1.3"{dashes}'
        f' marker-end="url(#tip)"><title>{escape(said)}</title></path>'
    )


def _forward(boxes: dict[str, _Box], link: Link, ranks: dict[str, int]) -> list[str]:
    """Draw a link from left to right; one that passes a column goes above or below its boxes."""
    a, b = boxes[link.source], boxes[link.target]
    x0, x1, y0, y1 = a.x + a.width, b.x, a.middle, b.middle
    bend = (x1 - x0) / 2
    between = [
        box for name, box in boxes.items() if ranks[link.source] < ranks[name] < ranks[link.target]
    ]
    if between and any(box.y - 8 < (y0 + y1) / 2 < box.y + box.height + 8 for box in between):
        high = min(box.y for box in between) - 9
        low = max(box.y + box.height for box in between) + 9
        way = high if (y0 + y1) / 2 - high < low - (y0 + y1) / 2 else low
        first = min(box.x for box in between)
        last = max(box.x + box.width for box in between)
        d = (
            f"M{x0:.0f} {y0:.0f}C{(x0 + first) / 2:.0f} {y0:.0f} {(x0 + first) / 2:.0f} {way:.0f}"
            f" {first:.0f} {way:.0f}H{last:.0f}C{(last + x1) / 2:.0f} {way:.0f}"
            f" {(last + x1) / 2:.0f} {y1:.0f} {x1:.0f} {y1:.0f}"
        )
    else:
        d = (
            f"M{x0:.0f} {y0:.0f}C{x0 + bend:.0f} {y0:.0f} {x1 - bend:.0f} {y1:.0f}"
            f" {x1:.0f} {y1:.0f}"
        )
    return [_path(link, d)]


def _widths(boxes: dict[str, _Box], links: Iterable[Link]) -> list[str]:
    """Write the bits of all links of data beside the box that they leave."""
    widths: defaultdict[str, list[int]] = defaultdict(list)
    for link in links:
        if link.bits > 1 and link.bits not in widths[link.source]:
            widths[link.source].append(link.bits)
    return [
        f'<text x="{boxes[name].x + boxes[name].width + 5:.0f}" y="{boxes[name].middle - 5:.0f}"'
        ' font-size="11" fill="#555" stroke="white" stroke-width="3" paint-order="stroke">'
        f"{', '.join(map(str, bits))}</text>"
        for name, bits in widths.items()
    ]


def _back(boxes: dict[str, _Box], link: Link, y: float) -> list[str]:
    """Draw a link from right to left, below all boxes."""
    a, b = boxes[link.source], boxes[link.target]
    x0, x1 = a.x + a.width * 0.6, b.x + b.width * 0.4
    d = f"M{x0:.0f} {a.y + a.height:.0f}V{y:.0f}H{x1:.0f}V{b.y + b.height:.0f}"
    return [_path(link, d)]


def _box(box: _Box) -> list[str]:
    """Draw a part as a box, a stream as its name in a flag."""
    fill, edge = ("#eef3fa", "#36588a") if box.is_part else ("#f6f1e4", "#9a7b32")
    lines = [
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}"'
        f' rx="5" fill="{fill}" stroke="{edge}"/>'
    ]
    for number, text in enumerate(box.lines):
        weight, size = (' font-weight="600"', 13) if number == 0 else ("", 11)
        lines.append(
            f'<text x="{box.x + box.width / 2:.0f}" y="{box.y + 19 + _LINE * number:.0f}"'
            f' text-anchor="middle" font-size="{size}"{weight}>{escape(text)}</text>'
        )
    return lines

"""Block diagram of the co-processor: parts, sizes, ports."""

from typing import NamedTuple
from xml.sax.saxutils import escape

from carrysave.ip.facts import Facts

__all__ = ["draw"]

_WIDTH, _HEIGHT = 132, 58


class _Box(NamedTuple):
    """A box, its upper left corner, and its lines of text."""

    x: int
    y: int
    lines: tuple[str, ...]


def draw(block: Facts) -> str:
    """Draw it as SVG."""
    spec, inside = block.spec, block.spec.inside
    name = block.design.engine.name if block.design.engine is not None else ""
    subordinate = block.interface("AXI4LITE").name
    interrupt = block.interface("interrupt").name
    requantise = "codes or sums" if spec.requantise else "sums"
    ways, ends = _outside(block)
    boxes = {
        "registers": _Box(20, 20, ("registers", f"{subordinate}, {interrupt}")),
        "jobs": _Box(196, 20, ("jobs, tiling",)),
        "a": _Box(196, 100, ("store of A", f"{spec.PARTS} x {spec.a_bytes:,} bytes")),
        "b": _Box(196, 176, ("store of B", f"{spec.PARTS} x {spec.b_bytes:,} bytes")),
        "engine": _Box(372, 138, (name, f"{inside.m} x {inside.n} x {inside.k}")),
        "sums": _Box(548, 138, ("store of sums", f"2 x {spec.sums:,}")),
        "drain": _Box(724, 138, ("bias, requantise" if spec.requantise else "pack", requantise)),
        **ways,
    }
    arrows = [
        ("registers", "jobs"),
        ("jobs", "engine"),
        ("a", "engine"),
        ("b", "engine"),
        ("engine", "sums"),
        ("sums", "drain"),
        *ends,
    ]
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 876 254" font-family="sans-serif"'
        ' font-size="13" text-anchor="middle">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>',
        '<rect width="876" height="254" fill="white"/>',
    ]
    for source, target in arrows:
        x0, y0, x1, y1 = _line(boxes[source], boxes[target])
        lines.append(
            f'<path d="M{x0} {y0}L{x1} {y1}" stroke="black" fill="none" marker-end="url(#tip)"/>'
        )
    for box in boxes.values():
        lines.append(
            f'<rect x="{box.x}" y="{box.y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5"'
            ' fill="#eef3fa" stroke="#36588a"/>'
        )
        first = box.y + _HEIGHT // 2 + 5 - 9 * (len(box.lines) - 1)
        for number, text in enumerate(box.lines):
            lines.append(
                f'<text x="{box.x + _WIDTH // 2}" y="{first + 18 * number}">{escape(text)}</text>'
            )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _outside(block: Facts) -> tuple[dict[str, _Box], list[tuple[str, str]]]:
    """Draw the paths to matrices: masters or streams, and their arrows."""
    width = f"{block.spec.data_width} bits"
    streams = [stream.name for stream in block.interfaces("AXI4STREAM")]
    if not streams:
        manager = f"{block.interface('AXI4').name}, {width}"
        boxes = {
            "read": _Box(20, 120, ("read master", manager)),
            "write": _Box(724, 20, ("write master", manager)),
        }
        return boxes, [("read", "a"), ("read", "b"), ("drain", "write")]
    places = {"a": (20, 100), "b": (20, 176), "c": (724, 20)}
    boxes = {
        f"stream {side}": _Box(*corner, (f"stream of {side.upper()}", f"{name}, {width}"))
        for (side, corner), name in zip(places.items(), streams, strict=True)
    }
    return boxes, [("stream a", "a"), ("stream b", "b"), ("drain", "stream c")]


def _line(source: _Box, target: _Box) -> tuple[int, int, int, int]:
    """Draw an arrow from the side of a box to the nearest side of another."""
    if source.x < target.x:
        middle = _HEIGHT // 2
        return source.x + _WIDTH, source.y + middle, target.x, target.y + middle
    return source.x + _WIDTH // 2, source.y, target.x + _WIDTH // 2, target.y + _HEIGHT

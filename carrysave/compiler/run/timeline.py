"""A timeline as a page with a picture, or as a trace that Perfetto opens."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from carrysave import cache
from carrysave.compiler.run.spans import LANES, Span
from carrysave.errors import ArgumentError
from carrysave.report.page import Page, Picture, Text, write
from carrysave.report.tables import Section
from hw.emit.user_files import shown

__all__ = ["check_path", "write_timeline"]

_SOURCES = {"model": "by the cost model", "counted": "counted"}
_WIDE, _LEFT, _ROW, _HALF = 1100, 110, 40, 17
_LETTER = 9
"""Width of a letter of a name, which is in its bar if it fits there."""
_HUES = 137
"""Degrees from the colour of a node to that of the next."""


def check_path(path: Path | None) -> None:
    """Refuse a file of another kind.

    Raises
    ------
    ArgumentError
        It ends with another suffix.
    """
    if path is not None and path.suffix not in (".html", ".json"):
        raise ArgumentError("{timeline} must end with .html or .json, not {_name}", _name=path.name)


def write_timeline(
    path: Path, title: str, command: str, spans: Sequence[Span], says: Sequence[str] = (), *,
    apart: bool = False,
) -> Path:  # fmt: skip
    """Write a timeline: as a page, or as a trace in Chrome's format, if the path ends with .json.

    Parameters
    ----------
    title, command : of the page.
    spans : of one source or two.
    says : sentences on the page.
    apart : what is counted was of starts each by itself, not one behind the other in a ring.
    """
    check_path(path)
    if path.suffix == ".json":
        return cache.write(path, json.dumps(_trace(spans), indent=1) + "\n")
    page = Page(
        title=title,
        command=command,
        versions={},
        parts=[
            Picture(
                "Starts, and parts of the co-processor", _draw(spans), _described(spans), _WIDE
            ),
            Text("Largest losses, by the cost model", says),
            _table(spans),
        ],
        summary=[
            (f"cycles, {name}", f"{sum(one.cycles for one in some):,}")
            for source, name in _SOURCES.items()
            if (some := [one for one in spans if (one.source, one.lane) == (source, "start")])
        ],
        says=_explained(spans, apart),
    )
    return write(path, page)


def _explained(spans: Sequence[Span], apart: bool) -> str:
    text = (
        "Starts one after the other: all cycles of each, then how busy each part is in them; a full"
        " colour is always."
    )
    if len({one.source for one in spans}) > 1:
        how = "each start by itself" if apart else "from the end of one start to that of the next"
        text += (
            f" Upper bars are by the cost model; lower ones are counted, {how}. The vector unit's"
            " cycles are not counted."
        )
    return text


def _trace(spans: Sequence[Span]) -> dict[str, Any]:
    """Return Chrome's trace: a process for each source, a thread for each lane; 1 us is a cycle."""
    events: list[dict[str, Any]] = []
    for number, (source, name) in enumerate(_SOURCES.items()):
        if not any(one.source == source for one in spans):
            continue
        events.append(_name("process_name", number, 0, name))
        events += [_name("thread_name", number, lane, of) for lane, of in enumerate(LANES)]
        events += [
            {
                "name": one.node,
                "cat": one.operator,
                "ph": "X",
                "ts": one.begin,
                "dur": one.cycles,
                "pid": number,
                "tid": LANES.index(one.lane),
                "args": {"busy cycles": round(one.busy, 1), "operator": one.operator},
            }
            for one in spans
            if one.source == source
        ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _name(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}


def _draw(spans: Sequence[Span]) -> bytes:
    """Draw bars: a row for each lane, in it the model's above those that are counted."""
    whole = max((one.begin + one.cycles for one in spans), default=1) or 1
    scale = (_WIDE - _LEFT) / whole
    nodes = list(dict.fromkeys(one.node for one in spans))
    high = _ROW * len(LANES) + 24
    parts = [
        f'<text x="4" y="{_ROW * row + 22}">{escape(lane)}</text>' for row, lane in enumerate(LANES)
    ]
    for one in spans:
        at = _ROW * LANES.index(one.lane) + 2 + (_HALF if one.source == "counted" else 0)
        hue = _HUES * nodes.index(one.node) % 360
        share = one.busy / one.cycles if one.cycles else 0.0
        says = f"{one.node}, {one.operator}: {one.busy:,.0f} of {one.cycles:,} cycles"
        parts.append(
            f'<rect x="{_LEFT + one.begin * scale:.2f}" y="{at}" height="{_HALF - 2}"'
            f' width="{max(one.cycles * scale, 0.2):.2f}" fill="hsl({hue},60%,45%)"'
            f' fill-opacity="{0.08 + 0.92 * share:.2f}">'
            f"<title>{escape(shown(f'{says}, {_SOURCES[one.source]}', 300))}</title></rect>"
        )
        if one.lane == LANES[0] and _LETTER * len(one.node) < one.cycles * scale:
            parts.append(
                f'<text x="{_LEFT + one.begin * scale + 4:.2f}" y="{at + 12}" fill="white">'
                f"{escape(shown(one.node, 300))}</text>"
            )
    parts.append(f'<text x="{_LEFT}" y="{high - 6}">0</text>')
    parts.append(f'<text x="{_WIDE - 4}" y="{high - 6}" text-anchor="end">{whole:,} cycles</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {high}" width="{_WIDE}"'
        f' height="{high}" role="img" aria-label={quoteattr(_described(spans))}'
        ' font-family="sans-serif" font-size="12">\n' + "\n".join(parts) + "\n</svg>\n"
    ).encode()


def _described(spans: Sequence[Span]) -> str:
    starts = [one for one in spans if one.lane == "start"]
    return f"{len(starts)} bars of starts, and below them how busy each part of the block is"


def _table(spans: Sequence[Span]) -> Section:
    """Return cycles of all nodes, and of these those in which each part is busy."""
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for one in spans:
        row = rows.setdefault((one.node, one.operator, _SOURCES[one.source]), {})
        row[one.lane] = row.get(one.lane, 0.0) + one.busy
    columns = [("node",), ("operator",), ("source",), *((lane, "{:,.0f}") for lane in LANES)]
    lines = [(*key, *(row.get(lane) for lane in LANES)) for key, row in rows.items()]
    return Section("Busy cycles", columns, lines, names=3)

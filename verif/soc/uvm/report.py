"""Reports of functional coverage: a table, JSON, and a picture of every pair of bins."""

import html
import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from verif.soc.uvm.coverage import Coverage

__all__ = ["described", "markdown", "page", "write"]

_NAMED = 100
"""Holes of a cross that are listed by name."""


def described(coverage: Coverage) -> dict[str, Any]:
    """Describe what was seen as plain JSON types."""
    crosses = [
        {
            "points": list(cross.points),
            "seen": len(cross.hits),
            "legal": cross.legal,
            "holes": [list(bins) for bins in sorted(cross.holes)],
            "excluded": dict(cross.excluded),
            "hits": [[*bins, count] for bins, count in sorted(cross.hits.items())],
        }
        for cross in coverage.crosses
    ]
    points = {name: list(point.bins) for name, point in coverage.space.points.items()}
    return {
        "title": coverage.title,
        "samples": coverage.samples,
        "points": points,
        "crosses": crosses,
    }


def markdown(coverage: Coverage) -> str:
    """Write the table of crosses, and what they lack."""
    lines = [
        f"## {coverage.title}",
        "",
        f"{coverage.samples} samples, {coverage.left} holes.",
        "",
        "| cross | seen | legal | excluded |",
        "| --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {cross.name} | {len(cross.hits)} | {cross.legal} | {cross.excluded.total()} |"
        for cross in coverage.crosses
    ]
    reasons = sorted({why for cross in coverage.crosses for why in cross.excluded})
    if reasons:
        lines += ["", "Excluded:", "", *(f"- {why}" for why in reasons)]
    for cross in coverage.crosses:
        if cross.holes:
            lines += ["", f"Holes of {cross.name}:", ""]
            lines += [f"- {', '.join(bins)}" for bins in sorted(cross.holes)[:_NAMED]]
            if len(cross.holes) > _NAMED:
                lines.append(f"- and {len(cross.holes) - _NAMED} more")
    return "\n".join([*lines, ""])


def page(coverages: Sequence[Coverage]) -> str:
    """Draw each pair of bins as a field: how often it was seen, a hole, or excluded."""
    parts = [
        "<!DOCTYPE html><meta charset=utf-8><title>Functional coverage</title><style>"
        "body{font:13px sans-serif}table{border-collapse:collapse;margin-bottom:2em}"
        "th{font-weight:normal;text-align:right;white-space:nowrap}"
        "thead th{writing-mode:vertical-rl}td{width:14px;height:14px;border:1px solid #fff}"
        ".hole{background:#d33}.none{background:#eee}</style>"
    ]
    parts += [f"<h2>{html.escape(each.title)}</h2>{_picture(each)}" for each in coverages]
    return "\n".join([*parts, ""])


def _picture(coverage: Coverage) -> str:
    space = coverage.space
    pairs = {cross.points: cross for cross in coverage.crosses if len(cross.points) == 2}
    names = [name for name in space.points if any(name in points for points in pairs)]
    bins = [(name, own) for name in names for own in space.points[name].bins]
    cells: dict[tuple[tuple[str, str], tuple[str, str]], str] = {}
    for one, other in combinations(bins, 2):
        points, found = (one[0], other[0]), (one[1], other[1])
        if points not in pairs:
            points, found = points[::-1], found[::-1]
        cross = pairs.get(points)
        if cross is not None:
            count = cross.hits[found]
            label = html.escape(f"{one[0]} {one[1]}, {other[0]} {other[1]}: {count}")
            kind = "class=hole" if found in cross.holes else "class=none"
            if count:
                kind = f"style='background:hsl(140 60% {max(25, 85 - 6 * count.bit_length())}%)'"
            cells[other, one] = f"<td {kind} title='{label}'>"
    head = "".join(f"<th>{html.escape(' '.join(own))}" for own in bins)
    rows = (
        f"<tr><th>{html.escape(' '.join(row))}" + "".join(cells.get((row, c), "<td>") for c in bins)
        for row in bins
    )
    return f"<table><thead><tr><th>{head}<tbody>{''.join(rows)}</table>"


def write(folder: Path, coverages: Sequence[Coverage]) -> None:
    """Write ``coverage.md``, ``coverage.json`` and ``coverage.html``."""
    text = "# Functional coverage\n\n" + "\n".join(map(markdown, coverages))
    (folder / "coverage.md").write_text(text)
    found = [described(coverage) for coverage in coverages]
    (folder / "coverage.json").write_text(json.dumps(found) + "\n")
    (folder / "coverage.html").write_text(page(coverages))

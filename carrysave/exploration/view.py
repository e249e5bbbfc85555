"""A search as a table on a terminal, and as files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from carrysave import cache
from carrysave.errors import installed
from carrysave.report.designs import print_line
from carrysave.report.tables import as_text, svg

__all__ = ["VERIFIED", "draw", "show", "tried", "write"]

VERIFIED = {True: "yes", False: "FAILS", None: "-"}


def show(console: Console, report: dict[str, Any]) -> None:
    """Print the front, and what was tried."""
    names = report["objectives"]
    table = Table(title=f"Front on {report['target']}", title_justify="left")
    chosen = [row for row in report["points"] if row["front"]]
    for head in ("#", "design", *names, "beats", "verified"):
        table.add_column(head, justify="left" if head in {"design", "verified"} else "right")
    for number, row in enumerate(chosen):
        figures = [_figure(row[name]) for name in names]
        beaten = str(sum(number in other["beaten_by"] for other in report["points"]))
        table.add_row(str(number), _text(row), *figures, beaten, VERIFIED[row["verified"]])
    console.print(table)
    if any(row["placed"] for row in chosen):
        console.print(_placed_table(chosen, names))
    print_line(console, tried(report))
    for row in report["points"]:
        for error in (row["error"], (row["placed"] or {}).get("error")):
            if error:
                print_line(console, f"{row['module']}: {error}")
    for note in report["notes"]:
        print_line(console, note)


def _placed_table(chosen: list[dict[str, Any]], names: list[str]) -> Table:
    """Tabulate the front with wires."""
    table = Table(title="The same, placed", title_justify="left")
    for head in ("#", "design", *names, "still of the front"):
        table.add_column(head, justify="left" if head == "design" else "right")
    for number, row in enumerate(chosen):
        placed = row["placed"]
        figures = [_figure(placed[name]) for name in names]
        still = "yes" if placed["front"] else "no" if placed["error"] is None else "FAILS"
        table.add_row(str(number), _text(row), *figures, still)
    return table


def tried(report: Mapping[str, Any]) -> str:
    """Say how much of the space was measured."""
    hopeless = f"; {report['hopeless']} look hopeless by estimate" if report["hopeless"] else ""
    placed = [row["placed"] for row in report["points"] if row["placed"]]
    wires = f", {sum(one['front'] for one in placed)} of these with wires, too" if placed else ""
    return (
        f"{report['trials']} of {report['space_points']} designs measured by {report['method']}; "
        f"{report['front']} are beaten by none{wires}{hopeless}"
    )


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _text(row: Mapping[str, Any]) -> str:
    values = ",".join(f"{name}={value}" for name, value in row["values"].items())
    return f"{row['design']}({values})"


def write(folder: Path, report: dict[str, Any]) -> list[str]:
    """Write a search as JSON and, by matplotlib, a picture."""
    files = []
    if installed("matplotlib"):
        files.append(cache.write(folder / "explore.svg", draw(report)))
    path = folder / "explore.json"
    names = [str(file) for file in (*files, path)]
    cache.write(path, json.dumps({**report, "files": names}, indent=2) + "\n")
    return names


def draw(facts: Mapping[str, Any]) -> bytes:
    """Draw the points by the first two objectives, the front, and what of it beats each, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    names = facts["objectives"]
    x, y = names[0], names[min(1, len(names) - 1)]
    points = [row for row in facts["points"] if row["allowed"]]
    first = [row for row in points if row["front"]]
    with as_text():
        figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
        for row in points:
            for number in row["beaten_by"][:1]:
                ends = (row, first[number])
                axes.plot(
                    [end[x] for end in ends],
                    [end[y] for end in ends],
                    color="0.85",
                    linewidth=0.5,
                    zorder=0,
                )
        for design in dict.fromkeys(row["design"] for row in points):
            rows = [row for row in points if row["design"] == design]
            axes.scatter([row[x] for row in rows], [row[y] for row in rows], s=12, label=design)
        line = sorted((row[x], row[y]) for row in points if row["front"])
        if line:
            axes.plot(*zip(*line, strict=True), color="0.3", linewidth=0.8, label="front")
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        if points:
            axes.legend(fontsize=7)
        return svg(figure)

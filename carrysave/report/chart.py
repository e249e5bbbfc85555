"""Charts of pages: rows of a table as points, and as lines across parallel axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from carrysave.report.tables import Column, Section
from hw.emit.user_files import shown

__all__ = ["Scatter", "chart", "front", "is_number"]


@dataclass(frozen=True)
class Scatter:
    """A chart of the rows of a table as points, and the table below it.

    The reader may choose other columns of figures for the axes. A rectangle drawn in the chart
    selects rows of the table. Between columns of which both say what is better, the chart has the
    front: the points that no other beats in both.

    Members
    -------
    table : the table; its totals are no points.
    x, y : titles of columns.
    group : title of the column whose texts are colours; empty: all points have one.
    marked : rows that have a ring.
    mark : what the ring says, such as ``chosen``.
    intervals : column of an estimated figure -> those of the ends of its interval. A row that has
        them is estimated: its point is hollow, with its intervals, and of no front.
    lines : columns that are axes beside each other, too, with a line for each row; ranges of these
        select rows.
    guides : lines for comparison, each a name and points (x, y); of the axes `x` and `y` only.
    """

    table: Section
    x: str
    y: str
    group: str = ""
    marked: Sequence[int] = ()
    mark: str = ""
    guides: Sequence[tuple[str, Sequence[tuple[float, float]]]] = ()
    intervals: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lines: Sequence[str] = ()


def front(rows: Sequence[Sequence[Any]], columns: Sequence[Column], x: int, y: int) -> list[int]:
    """Return the rows that no other beats in two columns, by rising x; empty if none can be better.

    Parameters
    ----------
    rows : of values; those without a number in both columns are left out.
    columns, x, y : the columns, and places of two.
    """
    signs = [{"less": 1, "more": -1}.get(columns[axis].better, 0) for axis in (x, y)]
    if 0 in signs:
        return []
    points = sorted(
        (signs[0] * row[x], signs[1] * row[y], number)
        for number, row in enumerate(rows)
        if is_number(row[x]) and is_number(row[y])
    )
    steps: list[tuple[float, float, int]] = []
    for point in points:
        if not steps or point[1] < steps[-1][1]:
            steps.append(point)
    return [number for _, _, number in sorted(steps, key=lambda point: signs[0] * point[0])]


def is_number(value: Any) -> bool:
    """Return whether a value has a place on an axis."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < float("inf")


def chart(part: Scatter, count: int) -> dict[str, Any]:
    """Return what the script makes a chart of, besides the table below it."""
    heads, kinds = part.table.heads, part.table.kinds
    rows = part.table.rows[:count]
    axes = [
        column
        for column in range(len(heads))
        if sum(is_number(row[column]) for row in rows) > 0 and heads[column] != part.group
    ]
    x, y = heads.index(part.x), heads.index(part.y)
    ends = {heads.index(one): list(map(heads.index, two)) for one, two in part.intervals.items()}
    bounds = {column for two in ends.values() for column in two}
    axes = [column for column in axes if column not in bounds]
    estimated = [
        number for number, row in enumerate(rows) if any(row[one] is not None for one in bounds)
    ]
    measured = [[None] * len(row) if n in estimated else row for n, row in enumerate(rows)]
    fronts = {f"{a},{b}": front(measured, kinds, a, b) for a, b in combinations(axes, 2)}
    return {
        "x": x,
        "y": y,
        "axes": axes,
        "titles": [shown(kind.title) for kind in kinds],
        "shares": [column for column in axes if kinds[column].form.endswith("%}")],
        "group": heads.index(part.group) if part.group else None,
        "marked": [row for row in part.marked if row < count],
        "mark": part.mark,
        "fronts": {axes: rows for axes, rows in fronts.items() if rows},
        "intervals": ends,
        "estimated": estimated,
        "lines": list(map(heads.index, part.lines)),
        "guides": [{"name": name, "points": points} for name, points in part.guides],
    }

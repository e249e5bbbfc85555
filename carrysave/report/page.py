"""Pages of results: one HTML file with tables, charts and pictures, which needs no network."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from itertools import combinations
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from carrysave import cache
from carrysave.errors import needs
from carrysave.report.tables import Column, Section, texts
from hw.emit.user_files import shown

__all__ = [
    "LARGEST", "TEMPLATES", "Page", "Part", "Picture", "Scatter", "Text", "described", "front",
    "package_versions", "pictures", "render", "write",
]  # fmt: skip

LARGEST = 3_000_000
"""Bytes that a page may have."""
_ROWS = (10_000, 3_000, 1_000, 300, 100, 30)
"""Rows of a table at most, the first number with which a page is small enough."""
_PROSE = 40
"""Characters of a text that is broken into lines."""
_STYLES = {"passed": "good", "failed": "bad"}
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_suffix("")),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=True,
)


@dataclass(frozen=True)
class Text:
    """Sentences, each a line of a list."""

    title: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Picture:
    """A picture.

    Members
    -------
    title : may be empty.
    svg : the picture. With ``class="page-colours"`` it has the colours of the page, light or dark,
        see ``page/page.css``; any other is on white.
    says : what is to be seen, for those who do not see it.
    width : pixels below which it is not made smaller: narrower screens scroll it.
    """

    title: str
    svg: bytes
    says: str
    width: int = 0


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
    guides : lines for comparison, each a name and points (x, y); of the axes `x` and `y` only.
    """

    table: Section
    x: str
    y: str
    group: str = ""
    marked: Sequence[int] = ()
    mark: str = ""
    guides: Sequence[tuple[str, Sequence[tuple[float, float]]]] = ()


Part = Section | Scatter | Picture | Text


@dataclass(frozen=True)
class Page:
    """What a page shows, as plain data.

    Members
    -------
    title : of the page.
    command : the command line.
    versions : of all that the results depend on.
    parts : in their order.
    summary : a few figures that come first: name, and value as text.
    says : a sentence below the title.
    """

    title: str
    command: str
    versions: Mapping[str, str]
    parts: Sequence[Part]
    summary: Sequence[tuple[str, str]] = ()
    says: str = ""


def write(path: Path, page: Page) -> Path:
    """Write a page.

    Raises
    ------
    ModuleNotFoundError
        The page has a chart, and the library that draws it is not installed.
    ValueError
        It would have more than :data:`LARGEST` bytes.
    """
    return cache.write(path, render(page))


def render(page: Page) -> str:
    """Return the HTML of a page: of long tables as many rows as fit, and pictures if they do."""
    plain = replace(page, parts=[_without_picture(part) for part in page.parts])
    for content in (page, plain):
        for most in _ROWS:
            text = _render(content, most)
            if len(text.encode()) <= LARGEST:
                return text
    raise ValueError(f"a page must have at most {LARGEST:,} bytes, not {len(text.encode()):,}")


def _without_picture(part: Part) -> Part:
    """Return a part, or why it is not there."""
    if not isinstance(part, Picture):
        return part
    return Text(part.title, [f"left out, as a page has at most {LARGEST:,} bytes: {part.says}"])


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
        if _is_number(row[x]) and _is_number(row[y])
    )
    steps: list[tuple[float, float, int]] = []
    for point in points:
        if not steps or point[1] < steps[-1][1]:
            steps.append(point)
    return [number for _, _, number in sorted(steps, key=lambda point: signs[0] * point[0])]


def package_versions(*names: str) -> dict[str, str]:
    """Return the versions of packages, of those that are installed."""
    versions = {}
    for name in ("carrysave", *names):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _is_number(value: Any) -> bool:
    """Return whether a value has a place on an axis."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < float("inf")


def pictures(files: Iterable[str], says: str) -> list[Picture]:
    """Return the pictures among files that were written."""
    return [
        Picture("", path.read_bytes(), says, width=640)
        for path in map(Path, files)
        if path.suffix == ".svg"
    ]


def _render(page: Page, most: int) -> str:
    """Return the HTML of a page whose tables have at most a number of rows."""
    parts = [described(number, part, most) for number, part in enumerate(page.parts)]
    return TEMPLATES.get_template("page.html.j2").render(
        page=page,
        parts=parts,
        vega=Markup(_vega()) if any("chart" in part for part in parts) else "",
    )


def described(number: int, part: Part, most: int) -> dict[str, Any]:
    """Return what the template writes for a part."""
    table = part.table if isinstance(part, Scatter) else part
    result: dict[str, Any] = {"id": f"part{number}", "title": _headline(table.title)}
    match part:
        case Text():
            lines = [shown(line, 10_000) for line in part.lines]
            return {**result, "kind": "text", "lines": lines}
        case Picture():
            return {**result, "kind": "picture", **_picture(part)}
        case Scatter():
            made = _table(part.table, most)
            return {**result, "kind": "table", **made, "chart": _chart(part, len(made["rows"]))}
        case Section():
            return {**result, "kind": "table", **_table(part, most)}


def _headline(title: str) -> str:
    """Return a title with a capital letter, unless it begins with a name."""
    word = title.partition(" ")[0]
    return shown(title[:1].upper() + title[1:] if word.isalpha() else title, 2000)


def _table(table: Section, most: int) -> dict[str, Any]:
    """Return columns and cells of a table, those of the totals apart.

    One without a title of its first column is a list of figures, and does not sort.
    """
    kinds = table.kinds
    plain = [kind._replace(form=kind.figure) for kind in kinds]
    cells = [
        [_cell(*each) for each in zip(kinds, row, texts(row, plain), strict=True)]
        for row in table.rows
    ]
    end = len(cells) - table.totals
    return {
        "columns": kinds,
        "names": table.names,
        "sorts": end > 1 and bool(kinds[0].head),
        "rows": cells[:end][:most],
        "all_rows": end,
        "totals": cells[end:],
        "prose": [
            any(row[column]["style"] == "prose" for row in cells) for column in range(len(kinds))
        ],
    }


def _cell(column: Column, value: Any, text: str) -> dict[str, Any]:
    """Return a cell: its text, its number if it has one, and its bar in percent."""
    number = f"{value:.12g}" if _is_number(value) else None
    bar = f"{min(max(100 * value / column.bar, 0), 100):.1f}" if column.bar and number else None
    style = "prose" if number is None and len(text) > _PROSE else _STYLES.get(text, "")
    return {"text": shown(text, 2000), "number": number, "bar": bar, "style": style}


def _chart(part: Scatter, count: int) -> dict[str, Any]:
    """Return what the script makes a chart of, besides the table below it."""
    heads, kinds = part.table.heads, part.table.kinds
    rows = part.table.rows[:count]
    axes = [
        column
        for column in range(len(heads))
        if sum(_is_number(row[column]) for row in rows) > 0 and heads[column] != part.group
    ]
    x, y = heads.index(part.x), heads.index(part.y)
    fronts = {f"{a},{b}": front(rows, kinds, a, b) for a, b in combinations(axes, 2)}
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
        "guides": [{"name": name, "points": points} for name, points in part.guides],
    }


def _picture(part: Picture) -> dict[str, Any]:
    """Return a picture as what it is in a page: inside it, or apart from its colours and names."""
    start = part.svg.index(b"<svg")
    themed = b'class="page-colours"' in part.svg[start : part.svg.index(b">", start)]
    inside = Markup(part.svg[start:].decode()) if themed else None
    data = base64.b64encode(part.svg).decode()
    return {
        "inside": inside,
        "url": None if themed else f"data:image/svg+xml;base64,{data}",
        "says": part.says,
        "width": part.width,
    }


def _vega() -> str:
    """Return Vega, Vega-Lite and what shows them, as one script."""
    needs("vl_convert")
    import vl_convert

    def make(folder: Path) -> None:
        bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
        (folder / "vega.js").write_text(bundle.replace("</script", "<\\/script"))

    return (
        cache.entry("vega", [metadata.version("vl-convert-python")], make) / "vega.js"
    ).read_text()

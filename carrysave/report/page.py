"""Pages of results: one HTML file with tables, charts and pictures, which needs no network."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from carrysave import cache
from carrysave.errors import needs
from carrysave.report.chart import Scatter, chart, front, is_number
from carrysave.report.tables import Column, Section, texts
from carrysave.report.what_if import WhatIf
from hw.emit.user_files import shown

__all__ = [
    "LARGEST", "TEMPLATES", "Page", "Part", "Picture", "Scatter", "Text", "WhatIf", "described",
    "front", "package_versions", "pictures", "render", "write",
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


Part = Section | Scatter | Picture | Text | WhatIf


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


def package_versions(*names: str) -> dict[str, str]:
    """Return the versions of packages, of those that are installed."""
    versions = {}
    for name in ("carrysave", *names):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


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
        scripts=_scripts(parts),
    )


def _scripts(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the scripts of a page, but Vega: the first of all pages, then those of its parts."""
    lines = any(part.get("chart", {}).get("lines") for part in parts)
    model = any(part["kind"] == "what-if" for part in parts)
    return ["page.js", *(["parallel.js"] if lines else []), *(["what_if.js"] if model else [])]


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
        case WhatIf():
            return {**result, "kind": "what-if", "facts": part.facts}
        case Scatter():
            made = _table(part.table, most)
            return {**result, "kind": "table", **made, "chart": chart(part, len(made["rows"]))}
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
    number = f"{value:.12g}" if is_number(value) else None
    bar = f"{min(max(100 * value / column.bar, 0), 100):.1f}" if column.bar and number else None
    style = "prose" if number is None and len(text) > _PROSE else _STYLES.get(text, "")
    return {"text": shown(text, 2000), "number": number, "bar": bar, "style": style}


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

"""Tables of the documentation that benchmarks write, and README's, which is taken from them.

    .venv/bin/python scripts/upkeep/pages.py           writes README's table, papers and status
    .venv/bin/python scripts/upkeep/pages.py --check   fails if they are not what they are made of

A table is on the page in docs/figures that has its two marks, `<!-- NAME -->` and
`<!-- end of NAME -->`. The line `Tier: ...` above a table says what its figures are.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from carrysave.papers import known
from scripts.upkeep import matrix

__all__ = ["PAGES", "write_table"]

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "figures"
README = ROOT / "README.md"
PAPERS = ROOT / "docs" / "papers.md"
STATUS = ROOT / "docs" / "status.md"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of README's table: what it is about, and where its figures are.

    Parameters
    ----------
    what, on : the design and the target.
    page, section : in docs/figures, with the table.
    key : the first cells of the row there.
    text : the figures; ``{column}`` for a cell.
    tier : one of those that the section has.
    """

    what: str
    on: str
    page: str
    section: str
    key: tuple[str, ...]
    text: str
    tier: str


ROWS = (
    Row(
        what="`opt1`, multiply-accumulate in carry-save form, int8",
        on="sky130",
        page="cells",
        section="sky130",
        key=("opt1",),
        text=(
            "mapped {mapped, um2} um2, {mapped, ns} ns, {mapped, ratio} times the GOPS/mm2 of"
            " `mac`; placed {placed, um2} um2, {placed, ns} ns, {placed, ratio} times"
        ),
        tier="mapped and placed",
    ),
    Row(
        what="`systolic_os`, 8 x 8 int8, one recipe",
        on="sky130",
        page="cells",
        section="With wires",
        key=("8 x 8",),
        text=(
            "mapped {mapped, ns} ns, {mapped, um2} um2, {mapped, pJ} pJ;"
            " placed {placed, ns} ns, {placed, um2} um2, {placed, pJ} pJ"
        ),
        tier="mapped and placed",
    ),
    Row(
        what="`systolic_os`, 8 x 8 int8",
        on="ECP5",
        page="fpga",
        section="Arrays",
        key=("ecp5", "systolic_os_target_ecp5"),
        text="{MHz} MHz, {LUTs} LUTs, {DSP} blocks, {x plain} times the GOPS of plain Verilog",
        tier="timed",
    ),
    Row(
        what="`coprocessor`, 256 x 256 x 256 on 16 x 16",
        on="128-bit AXI",
        page="coprocessor",
        section="Cycles",
        key=("16 x 16", "256 x 256 x 256"),
        text="{cycles} cycles, {of bound} of the bound",
        tier="simulated",
    ),
    Row(
        what="network `magika`, int8, 8 x 8",
        on="`coprocessor`",
        page="networks",
        section="Products on an 8 x 8 array",
        key=("magika",),
        text="{cycles} cycles an input, same top-1 as onnxruntime in {same top-1}",
        tier="bounded",
    ),
    Row(
        what="text encoder all-MiniLM-L6-v2, int8",
        on="`coprocessor`",
        page="networks",
        section="A text encoder",
        key=("512",),
        text="cosine {cosine, mean} with floats, rank correlation {rank correlation}",
        tier="bounded",
    ),
)


def _marks(name: str) -> tuple[str, str]:
    """Return the lines around a table."""
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


def _replace(page: Path, name: str, text: str) -> str:
    """Return a page with another table between the marks."""
    first, last = _marks(name)
    before, _, rest = page.read_text().partition(first)
    _, end, after = rest.partition(last)
    if not end:
        raise SystemExit(f"{page} must have the mark {last} after {first}")
    return f"{before}{first}\n{text}\n{last}{after}"


def write_table(name: str, text: str, *, part: bool = False) -> None:
    """Replace a table on its page, and README's table, which may have figures of it.

    Parameters
    ----------
    name : of the marks.
    text : the table, Markdown.
    part : rows of the page stay whose first cells the table does not have.
    """
    pages = [page for page in PAGES.glob("*.md") if _marks(name)[0] in page.read_text()]
    if len(pages) != 1:
        raise SystemExit(f"one page of {PAGES} must have the mark {_marks(name)[0]}")
    if part:
        first, last = _marks(name)
        _, _, rest = pages[0].read_text().partition(f"{first}\n")
        text = _merged(rest.partition(f"\n{last}")[0], text)
    pages[0].write_text(_replace(pages[0], name, text))
    README.write_text(_replace(README, "figures", _figures()))


def _merged(old: str, new: str) -> str:
    """Put the rows of a table in the places of those of the same first cells, new ones last."""
    head, rule, *rows = new.splitlines()
    was_head, _, *were = old.splitlines()
    if head != was_head:
        raise SystemExit(f"the table on the page must have the columns {head}")
    blocks: dict[str, list[str]] = {}
    for row in were:
        blocks.setdefault(_cells(row)[0], []).append(row)
    rows_of: dict[str, list[str]] = {}
    for row in rows:
        rows_of.setdefault(_cells(row)[0], []).append(row)
    return "\n".join([head, rule, *(row for block in (blocks | rows_of).values() for row in block)])


def _cells(line: str) -> list[str]:
    """Take a line of a table apart."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _find(row: Row) -> dict[str, str]:
    """Return the cells of a row on its page, by column, after checking its tier."""
    page = (PAGES / f"{row.page}.md").read_text()
    _, _, section = page.partition(f"\n## {row.section}\n")
    section = re.split(r"\n## ", section)[0]
    tier = re.search(r"^Tier: (.*)$", section, re.MULTILINE)
    if tier is None or row.tier not in tier[1]:
        raise SystemExit(f"{row.page}.md, {row.section}: no tier {row.tier}")
    head, _, *body = [_cells(line) for line in section.splitlines() if line.startswith("|")]
    matches = [cells for cells in body if tuple(cells[: len(row.key)]) == row.key]
    if len(matches) != 1:
        raise SystemExit(f"{row.page}.md, {row.section}: {len(matches)} rows of {row.key}")
    return dict(zip(head, matches[0], strict=True))


def _lines() -> Iterator[str]:
    """Yield README's table."""
    yield "| what | on | figures | tier |"
    yield "| --- | --- | --- | --- |"
    for row in ROWS:
        text = row.text
        for column, cell in _find(row).items():
            text = text.replace(f"{{{column}}}", cell)
        if "{" in text:
            raise SystemExit(f"{row.page}.md, {row.section}: no column for {text!r}")
        yield f"| {row.what} | {row.on} | {text} | {row.tier} |"


def _figures() -> str:
    """Make README's table."""
    return "\n".join(_lines())


def main() -> None:
    """Write README's table, those of papers and of what was run, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    arguments = parser.parse_args()
    for page, name, text in (
        (README, "figures", _figures()),
        (PAPERS, "papers", known.markdown()),
        (STATUS, "status", matrix.markdown()),
    ):
        wanted = _replace(page, name, text)
        if not arguments.check:
            page.write_text(wanted)
        elif wanted != page.read_text():
            sys.exit(f"{page.name}: its table is out of date; run scripts/upkeep/pages.py")


if __name__ == "__main__":
    main()

"""Reproduces published tables: designs and their twins under one flow, beside a paper's figures."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from carrysave import cache
from carrysave.asic.liberty.cells import Library
from carrysave.errors import needs
from carrysave.papers import eight_bits, lanes, luts, luts_view, ratios
from carrysave.progress import Steps
from carrysave.report import tables
from carrysave.report.figures import short_versions
from carrysave.report.page import Page, Part, Scatter, Text, pictures
from carrysave.report.tables import Section

__all__ = ["TABLES", "Table", "markdown", "page", "print_table", "run", "write"]

Measured = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Members
    -------
    source : the paper, its technology and tools.
    measure : measures all designs; small ones if the second argument is True.
    sections : the tables of results, with all columns if the second argument is True.
    remarks : comments on the results.
    draw : a picture of it, as SVG.
    axes : titles of columns that a chart has across, up and as colours, the last perhaps empty.
    needs : required modules, besides matplotlib.
    """

    source: str
    measure: Callable[[str | Library, bool, Steps], Measured]
    sections: Callable[[Measured, bool], list[Section]]
    remarks: Callable[[Measured], list[str]]
    draw: Callable[[Measured], bytes]
    axes: tuple[str, str, str]
    needs: tuple[str, ...] = ()


def _of_ratios(source: str, rows: ratios.Rows) -> Table:
    return Table(
        source,
        partial(ratios.measure, rows),
        ratios.sections,
        ratios.remarks,
        ratios.draw,
        ("period ns", "area um2", "comparison"),
    )


TABLES = {
    "hpca25": _of_ratios(
        'HPCA 2025, "Exploring the Performance Improvement of Tensor Processing Engines through'
        ' Transformation in the Bit-weight Dimension of MACs", SMIC 28 nm, Synopsys tools',
        ratios.hpca25,
    ),
    "ent": _of_ratios(
        'ICCD 2024, "EN-T: Optimizing Tensor Computing Engines Performance via Encoder-Based'
        ' Methodology", 256 GOPS, 1 TOPS and 4 TOPS',
        ratios.ent,
    ),
    "xr-npe": Table(
        'arXiv 2508.13049, "XR-NPE: High-Throughput Mixed-precision SIMD Neural Processing Engine'
        ' for Extended Reality Perception Workloads", figures of its abstract, 28 nm and VCU129',
        lanes.measure,
        lanes.sections,
        lanes.remarks,
        lanes.draw,
        ("period ns", "area alone, um2", ""),
    ),
    "lut-tensor-core": Table(
        'ISCA 2025, "LUT Tensor Core: A Software-Hardware Co-Design for LUT-Based Low-Bit LLM'
        ' Inference", its ablation (Table 2) and the ratios of its text, 28 nm',
        luts.measure,
        luts_view.sections,
        luts_view.remarks,
        luts_view.draw,
        ("um2 per MAC per cycle", "pJ/MAC", "unit"),
        needs=("sklearn",),
    ),
    "fp8-int8": Table(
        'arXiv 2303.17951, "FP8 versus INT8 for efficient deep learning inference", its abstract:'
        ' "the FP formats are somewhere between 50-180% less efficient in terms of compute in'
        ' dedicated hardware than the INT format"',
        eight_bits.measure,
        eight_bits.sections,
        eight_bits.remarks,
        eight_bits.draw,
        ("period ns", "area um2", "operands"),
    ),
}


def run(name: str, target: str | Library, *, quick: bool, steps: Steps, command: str) -> Measured:
    """Measure all designs of a table.

    Every synthesis is cached by content: an interrupted run resumes where it stopped.

    Parameters
    ----------
    name : of :data:`TABLES`.
    target : a cell library, as for :func:`carrysave.asic.synthesis.synthesise`.
    quick : small designs.
    steps : where progress goes.
    command : the command line, recorded with the results.

    Returns
    -------
    A dict of plain values: ``table``, ``quick``, ``source``, ``command``, ``library``, ``versions``
    and the table's results.

    Raises
    ------
    ModuleNotFoundError
        A required package is not installed.
    """
    table = TABLES[name]
    needs("matplotlib", *table.needs)
    facts = {"table": name, "quick": quick, "source": table.source, "command": command}
    return {**facts, **table.measure(target, quick, steps)}


_WIDE = 150
"""Characters that all columns need."""


def print_table(console: Console, measured: Measured) -> None:
    """Print a table and its comments; narrow terminals get the most important columns."""
    table = TABLES[measured["table"]]
    tables.say(console, [measured["source"]])
    for part in table.sections(measured, console.width >= _WIDE):
        tables.show(console, part)
    tables.say(console, table.remarks(measured))


def markdown(measured: Measured) -> str:
    """Format a table as Markdown, with its conditions."""
    table = TABLES[measured["table"]]
    lines = [f"# {measured['table']}", "", f"{measured['source']}.", ""]
    for part in table.sections(measured, True):
        lines += tables.markdown(part)
    lines += [*(f"- {remark}" for remark in table.remarks(measured)), ""]
    versions = ", ".join(f"{name} {text}" for name, text in measured["versions"].items())
    lines += [f"Library {measured['library']}; `{measured['command']}`; {versions}.", ""]
    return "\n".join(lines)


def page(measured: Measured) -> Page:
    """Return the page of a table."""
    table = TABLES[measured["table"]]
    few, every = (table.sections(measured, wide) for wide in (False, True))
    parts: list[Part] = [part for part in few if part not in every]
    parts += pictures(measured["files"], "The paper's figures and ours.")
    for part in every:
        x, y, group = table.axes
        drawn = {x, y} <= set(part.heads)
        parts.append(Scatter(part, x, y, group) if drawn else part)
    return Page(
        title=f"{measured['table']} on {measured['library']}{', quick' * measured['quick']}",
        says=f"{table.source}.",
        command=measured["command"],
        versions=short_versions(measured["versions"]),
        parts=[*parts, Text("remarks", table.remarks(measured))],
    )


def write(folder: Path, measured: Measured) -> list[Path]:
    """Write a table as JSON, Markdown and a picture."""
    import matplotlib

    matplotlib.use("svg")
    stem = f"{measured['table']}{'.quick' if measured['quick'] else ''}.{measured['library']}"
    contents = {
        "json": json.dumps(measured, indent=2).encode() + b"\n",
        "md": markdown(measured).encode(),
        "svg": TABLES[measured["table"]].draw(measured),
    }
    return [cache.write(folder / f"{stem}.{end}", text) for end, text in contents.items()]

"""Measure ternary cores beside the published tables of 3 to 7 activations, by one flow.

    .venv/bin/python scripts/figures/bench_ternary.py --liberty sky130_fd_sc_hd__tt_025C_1v80.lib.gz
    .venv/bin/python scripts/figures/bench_ternary.py --liberty ... --most 5    small tables only
    .venv/bin/python scripts/figures/bench_ternary.py --liberty ... --docs      rewrites the table

Cells are those of `carrysave compare DESIGN ... --liberty LIBRARY`; look-up tables of ECP5 are
mapped, not placed, up to tables of three activations. Activations are int8; a core has a row, 16
columns and sums of 65,536 products.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

import carrysave
from carrysave.api.design import Design
from carrysave.api.device import for_device
from carrysave.papers.resources import count
from carrysave.progress import Steps
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

COLUMNS = {
    "core": "{}",
    "table of": "{}",
    "products": "{:,}",
    "um2": "{:,.0f}",
    "ns": "{:.2f}",
    "GOPS/mm2": "{:,.0f}",
    "ratio": "{:.2f}",
    "um2/product": "{:,.0f}",
    "LUTs": "{:,}",
    "LUTs/product": "{:.1f}",
}
TILE: dict[str, Any] = {"m": 1, "n": 16}
CODES = {3: 12, 4: 12, 5: 10, 6: 6, 7: 7}
"""Codes of K a beat, by activations of a table."""

LARGEST = 3
"""Activations of a table that is mapped to an FPGA: more take hours."""


def designs(most: int) -> Iterator[tuple[str, int | None, Design]]:
    """List cores, and the activations of a table: all kinds up to so many."""
    twelve = TILE | {"k": 12}
    mac = twelve | {"b_width": 2, "pipeline": 1}
    yield "multipliers, the tool's", None, Design("adder_tree", **mac, encoding="operator")
    yield "multipliers, ours", None, Design("adder_tree", **mac)
    yield "direct", None, Design("ternary_core", **twelve)
    yield "pairs", 2, Design("ternary_core", **twelve, mode="pair", keys=True)
    for group in range(3, most + 1):
        table = TILE | {"k": CODES[group], "mode": "table", "group": group, "keys": True}
        published: dict[str, Any] = {"select": "tree", "adder": "operator"}
        published["chain"] = CODES[group] // group
        yield "as published", group, Design("ternary_core", **table, **published)
        yield "the same, compressed sums", group, Design("ternary_core", **table, select="tree")
        yield "ours", group, Design("ternary_core", **table)


def luts_of(design: Design, group: int | None) -> float | None:
    """Count look-up tables of ECP5; not those of multipliers, which are blocks, or large tables."""
    if design.name == "adder_tree" or (group or 0) > LARGEST:
        return None
    return count(for_device("ecp5", design), "ecp5")["luts"]


def measure(liberty: Path, most: int, steps: Steps) -> Iterator[dict[str, Any]]:
    """Synthesise each; ratios are to the first."""
    every = list(designs(most))
    names = [f"{core}, {group}" for core, group, _ in every]
    result = carrysave.compare(
        *(design for *_, design in every),
        names=names,
        target=str(liberty),
        activity="none",
        progress=steps,
    )
    first = result.results[0]["gops_per_mm2"]
    for (core, group, design), cells in zip(every, result.results, strict=True):
        products = int(design.component().operations_per_cycle) // 2
        luts = luts_of(design, group)
        yield {
            "core": core,
            "table of": group,
            "products": products,
            "um2": cells["area_um2"],
            "ns": cells["period_ns"],
            "GOPS/mm2": cells["gops_per_mm2"],
            "ratio": cells["gops_per_mm2"] / first,
            "um2/product": cells["area_um2"] / products,
            "LUTs": luts,
            "LUTs/product": None if luts is None else luts / products,
        }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--liberty", type=Path, required=True, help="a cell library")
    parser.add_argument(
        "--most", type=int, default=max(CODES), choices=CODES, help="activations of a table"
    )
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    with Steps(Console(stderr=True)) as steps:
        rows = list(measure(arguments.liberty, arguments.most, steps))
    console = Console() if sys.stdout.isatty() else Console(width=160)
    show(console, "Ternary cores", rows, COLUMNS)
    if arguments.docs:
        write_table("ternary", markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()

"""Map, place and route designs on a cell library, and say what becomes of their periods.

    .venv/bin/python scripts/figures/bench_routed.py --liberty L.lib --lef tech.lef --lef cells.lef
    .venv/bin/python scripts/figures/bench_routed.py ... opt1       some of them
    .venv/bin/python scripts/figures/bench_routed.py ... --docs     also rewrites the table of docs

Each row is what `carrysave synth DESIGN --liberty ... --lef ... --route` reports.
"""

import argparse
import sys
from typing import Any

from rich.console import Console

import carrysave
from carrysave.progress import Steps
from scripts.tables import ROOT, markdown, show
from scripts.upkeep.pages import write_table

DESIGNS: dict[str, tuple[str, dict[str, Any]]] = {
    "opt1": ("opt1", {}),
    "systolic_os 2 x 2": ("systolic_os", {"pe": "opt1", "m": 2, "n": 2}),
    "systolic_os 4 x 4": ("systolic_os", {"pe": "opt1", "m": 4, "n": 4}),
    "systolic_os 8 x 8": ("systolic_os", {"pe": "opt1", "m": 8, "n": 8}),
}
COLUMNS = {
    "design": "{}",
    "nets": "{:,}",
    "mapped ns": "{:.3f}",
    "placed ns": "{:.3f}",
    "routed ns": "{:.3f}",
    "routed / placed": "{:.3f}",
    "wire placed, um": "{:,.0f}",
    "wire routed, um": "{:,.0f}",
    "vias": "{:,}",
    "skew ns": "{:.3f}",
    "hold slack ns": "{:.3f}",
    "of ports ns": "{:.3f}",
    "not routed": "{}",
    "violations": "{}",
    "GOPS/mm2": "{:.1f}",
}


def measure(name: str, liberty: str, lef: list[str], steps: Steps) -> dict[str, Any]:
    """Route a design, and return its row."""
    design, parameters = DESIGNS[name]
    result = carrysave.Design(design, **parameters).synthesise(
        liberty, lef=lef, route=True, progress=steps
    )
    placed, routed = result["placed"], result["routed"]
    period, clock = routed["period_ns"], routed["clock"] or {}
    return {
        "design": f"`{design}`, int8" if name == design else f"`{design}`, {name[-5:]} int8",
        "nets": routed["nets"],
        "mapped ns": result["period_ns"],
        "placed ns": placed["period_ns"],
        "routed ns": period,
        "routed / placed": period and period / placed["period_ns"],
        "wire placed, um": placed["wire_um"],
        "wire routed, um": routed["wire_um"],
        "vias": routed["vias"],
        "skew ns": clock.get("skew_ns"),
        "hold slack ns": clock.get("hold_slack_ns"),
        "of ports ns": clock.get("hold_slack_inputs_ns"),
        "not routed": len(routed["unrouted"]),
        "violations": sum(routed["violations"].values()),
        "GOPS/mm2": routed["gops_per_mm2"],
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--liberty", required=True, help="cell library")
    parser.add_argument("--lef", required=True, action="append", help="technology, cells")
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    parser.add_argument("names", nargs="*", default=list(DESIGNS), help="designs")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=200)
    with Steps(Console(stderr=True)) as steps:
        rows = [measure(name, arguments.liberty, arguments.lef, steps) for name in arguments.names]
    show(console, f"Mapped, placed and routed ({ROOT.name})", rows, COLUMNS)
    if arguments.docs:
        write_table("routed", markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()

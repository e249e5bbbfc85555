"""Measure the co-processor: cycles of products against the bounds of engine and bus.

.venv/bin/python scripts/figures/bench_coprocessor.py

Every product is simulated, with a memory latency of 50 cycles, and compared with numpy. Up to 64
bursts are outstanding each way, as many as rows of one beat need to hide that latency.
Writes build/coprocessor.json and build/coprocessor.svg.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from carrysave import cache
from carrysave.asic.result import versions
from carrysave.progress import Steps
from carrysave.report.tables import svg
from carrysave.sim import runner
from carrysave.sim.parameters import describe
from carrysave.sim.verilator import build
from hw.catalog import Design
from hw.emit.verilog import Emission
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

ROOT = Path(__file__).resolve().parents[2]
LATENCY = 50
BURSTS = 64
# M, K, N: large, and the small, thin and odd shapes that are hard.
JOBS = [
    (256, 256, 256),
    (1, 256, 256),
    (256, 1, 256),
    (256, 256, 1),
    (10, 10, 10),
    (100, 200, 300),
    (64, 64, 4096),
    (64, 4096, 64),
]
# Of one size, so many on one start: they overlap.
RINGS = [(10, 10, 10, 100)]
SIDES = (8, 16)
COLUMNS = {
    "engine": "{}",
    "M x K x N": "{}",
    "cycles": "{:,}",
    "bound": "{:,}",
    "of bound": "{:.1%}",
    "of bound + latency": "{:.1%}",
    "utilisation": "{:.1%}",
    "beats read": "{:,}",
    "blocks": "{}",
}


def measure(side: int, jobs: list[tuple[int, int, int]], folder: Path) -> list[dict[str, Any]]:
    """Run jobs on a co-processor with a square systolic array."""
    engine = Design("systolic_os", {"m": side, "n": side})
    inside = f"systolic_os(m={side},n={side})"
    design = Design("coprocessor", {"engine": inside, "outstanding": BURSTS})
    run = runner.new_folder(folder, design.module)
    verilog = cache.write(run / f"{design.module}.v", Emission(design).verilog)
    result = runner.run(
        build([verilog], design.module),
        "verif.soc.benches.measure",
        parameters={**describe(design), "latency_cycles": LATENCY, "jobs": jobs, "rings": RINGS},
        seed=1,
        directory=run,
        deadline=3600,
    )
    if not result.ok:
        raise SystemExit(f"failed: {', '.join(result.failed)}; see {result.log}")
    rows = json.loads((run / "measured.json").read_text())
    for row in rows:
        m, k, n, count = (row[size] for size in ("m", "k", "n", "count"))
        tiles = -(-m // side) * -(-n // side)
        best = max(tiles * max(k, engine.spec.drain), row["read_beats"], row["write_beats"])
        row |= {
            "side": side,
            "engine": f"{side} x {side}",
            "M x K x N": f"{m} x {k} x {n}" + (f", each of {count}" if count > 1 else ""),
            "macs": m * n * k,
            "bound": best,
            "of bound": best / row["cycles"],
            "of bound + latency": (best + 2 * LATENCY) / row["cycles"],
            "utilisation": m * n * k / side**2 / row["cycles"],
            "beats read": row["read_beats"],
            "blocks": " x ".join(map(str, row["blocks"])),
        }
    return rows


def draw(path: Path, rows: list[dict[str, Any]], beat: int = 16) -> None:
    """Draw the roofline: products per cycle over products per byte on the bus."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for side, colour in zip(SIDES, ("tab:blue", "tab:orange"), strict=True):
        mine = [row for row in rows if row["side"] == side and row["count"] == 1]
        peak = side * side
        ends = [0.05, peak / beat, 1000]
        axes.plot(ends, [min(peak, x * beat) for x in ends], color=colour, lw=1)
        # Nearby points share a label.
        labels: dict[tuple[int, int], list[tuple[float, float, str]]] = {}
        for row in mine:
            moved = beat * max(row["read_beats"], row["write_beats"])
            x, y = row["macs"] / moved, row["macs"] / row["cycles"]
            axes.plot(x, y, "o", color=colour)
            spot = round(4 * math.log10(x)), round(6 * math.log10(y))
            name = "x".join(str(row[size]) for size in "mkn")
            labels.setdefault(spot, []).append((x, y, name))
        for points in labels.values():
            axes.annotate(
                "\n".join(name for *_, name in points),
                points[0][:2],
                fontsize=6,
                color=colour,
                va="top" if side == SIDES[0] else "bottom",
                textcoords="offset points",
                xytext=(4, -4 if side == SIDES[0] else 4),
            )
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="products per byte, busier direction of the bus",
        ylabel="products per cycle",
    )
    axes.set_title(
        f"M x K x N on {', '.join(f'{side} x {side}' for side in SIDES)}, int8, 16 bytes per cycle",
        fontsize=9,
    )
    cache.write(path, svg(figure))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=140)
    rows: list[dict[str, Any]] = []
    with Steps(Console(stderr=True)) as steps:
        for side in SIDES:
            steps.step(f"simulate {side} x {side}")
            rows += measure(side, JOBS, ROOT / "build" / "runs")
    show(console, f"Co-processor, 128-bit bus, memory latency {LATENCY} cycles", rows, COLUMNS)
    if arguments.docs:
        write_table("coprocessor", markdown(rows, COLUMNS))
    console.print(
        "bound: maximum of engine cycles (operand beats or, where K is short, rows of C), beats"
        " read, beats written; + latency: plus the memory latency before the first beat and after"
        " the last; utilisation: useful products over m n per cycle"
    )
    facts = {"products": rows, "versions": versions()}
    cache.write(ROOT / "build" / "coprocessor.json", json.dumps(facts, indent=2) + "\n")
    draw(ROOT / "build" / "coprocessor.svg", rows)


if __name__ == "__main__":
    main()

"""Run networks from Python packages on the co-processor, against onnxruntime.

    .venv/bin/python scripts/figures/bench_networks.py            all inputs: minutes
    .venv/bin/python scripts/figures/bench_networks.py --quick    a few of each
    .venv/bin/python scripts/figures/bench_networks.py --docs     also rewrites the tables of docs
    .venv/bin/python scripts/figures/bench_networks.py --docs digits    or the rows of some networks

Each is quantised by onnxruntime's static quantiser on real inputs, run on others, and a sample of
every product is simulated; then foreseen for the co-processor of each board whose clock is known.
Writes build/networks.json, and a folder of tables and pictures for each network below build/run.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import carrysave
from carrysave import cache
from carrysave.boards.board import BOARDS, design_of
from carrysave.boards.line_rate import rate_of
from carrysave.progress import Steps
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table
from verif.support.networks import MODELS, Task, quantise

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = {
    "network": "{}",
    "products": "{}",
    "MMACs": "{:.3g}",
    "inputs": "{}",
    "cycles": "{:,}",
    "utilisation": "{:.1%}",
    "same top-1": "{:.1%}",
    "accuracy": "{:.1%}",
    "accuracy, onnxruntime": "{:.1%}",
    "max difference": "{:.3g}",
    "differing codes": "{}",
    "host": "{:.1%}",
    "uJ": "{:,.2f}",
}
ON_BOARDS = {
    "network": "{}",
    "board": "{}",
    "engine": "{}",
    "MHz": "{:g}",
    "bus": "{}",
    "cycles": "{:,}",
    "inputs/s": "{:,.1f}",
    "memory, KiB": "{:,.0f}",
    "of board": "{:,.0f}",
    "line, KiB": "{:,.1f}",
    "inputs/s, line": "{:.3g}",
}
QUICK, BATCH = 16, 8


def measure(name: str, model: Path, task: Task, most: int | None, steps: Steps) -> dict[str, Any]:
    """Run a network, and return the results, per input."""
    result = carrysave.run(
        model,
        task.inputs[:most],
        labels=task.labels[:most],
        energy="osu018",
        folder=ROOT / "build",
        progress=steps,
    )
    result.command = f"scripts/figures/bench_networks.py: {name}"
    result.save(ROOT / "build" / "run" / name)
    if not result.ok:
        raise SystemExit(f"{name}: simulated products are wrong: {', '.join(result.wrong)}")
    (output,) = result["outputs"]
    rows = result["layers"]
    apart = sum(row["differ"] or 0 for row in rows)
    return {
        "network": name,
        "products": len(rows),
        "MMACs": result["macs"] / result["batch"] / 1e6,
        "inputs": result["inputs"],
        "cycles": round(result["cycles"] / result["batch"]),
        "utilisation": result["utilisation"],
        "same top-1": output["top1_equal"],
        "accuracy": output["accuracy"],
        "accuracy, onnxruntime": output["accuracy_onnxruntime"],
        "max difference": output["most"],
        "differing codes": f"{apart:,} of {sum(row['codes'] or 0 for row in rows):,}",
        "host": result["host_share"],
        "uJ": None if result.energy_uj is None else result.energy_uj / result["batch"],
        "host operations": result["host_operations"],
        "causes": result["causes"],
        "seconds": result["seconds"],
    }


def on_boards(name: str, model: Path, inputs: np.ndarray) -> list[dict[str, Any]]:
    """Foresee a network on the co-processor of each board whose clock is known.

    Boards of one co-processor have the same cycles; those without bias cannot run networks.
    """
    rows: list[dict[str, Any]] = []
    known: dict[str, carrysave.NetworkRun] = {}
    for board in BOARDS.values():
        if not board.clock_mhz or not board.parameters.get("bias", True):
            continue
        design = design_of(board, {})
        spec = design.spec
        assert isinstance(spec, CoprocessorUartSpec)
        key = json.dumps(dict(board.parameters), sort_keys=True)
        if key not in known:
            known[key] = carrysave.run(
                model, inputs, carrysave.Design.of(design), simulate="none", batch=len(inputs)
            )
        result = known[key]
        cycles = result.cycles / len(inputs)
        moved = [moved_bytes(spec, *shape) for row in result.layers for shape in row["shapes"]]
        line = sum(moved) / len(inputs)
        rows.append({
            "network": name,
            "board": board.name,
            "engine": f"{spec.inside.m} x {spec.inside.n}",
            "MHz": board.clock_mhz,
            "bus": spec.data_width,
            "cycles": round(cycles),
            "inputs/s": board.clock_mhz * 1e6 / cycles,
            "memory, KiB": max(moved) / 1024,
            "of board": spec.memory_bytes / 1024,
            "line, KiB": line / 1024,
            "inputs/s, line": rate_of(board.baud, board.clock_mhz * 1e6) / 10 / line,
        })
    return rows


def moved_bytes(spec: CoprocessorUartSpec, m: int, k: int, n: int) -> int:
    """Count bytes of A, B, bias, records and codes of a product, rows in whole beats."""
    rows = (m, k), (k, n), (1, spec.sum_bytes * n), (1, spec.RECORD_BYTES * n), (m, n)
    return sum(count * -(-size // spec.bytes) * spec.bytes for count, size in rows)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} inputs of each")
    parser.add_argument("--docs", action="store_true", help="rewrite the tables of docs/figures")
    parser.add_argument("names", nargs="*", default=list(MODELS), help="networks")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=160)
    most = QUICK if arguments.quick else None
    folder = ROOT / "build" / "networks"
    rows: list[dict[str, Any]] = []
    boards: list[dict[str, Any]] = []
    with Steps(Console(stderr=True)) as steps:
        for name in arguments.names:
            steps.step(f"quantise {name}")
            task = MODELS[name](folder)
            model = quantise(task, folder / f"{name}.onnx")
            rows.append(measure(name, model, task, most, steps))
            steps.step(f"{name} on boards")
            boards += on_boards(name, model, task.inputs[:BATCH])
    show(console, "Networks on an 8 x 8 array, int8; MMACs and cycles per input", rows, COLUMNS)
    show(console, "Networks on boards, bounds", boards, ON_BOARDS)
    if arguments.docs:
        write_table("networks", markdown(rows, COLUMNS), part=True)
        write_table("network_boards", markdown(boards, ON_BOARDS), part=True)
    tables = {"networks": rows, "boards": boards}
    cache.write(ROOT / "build" / "networks.json", json.dumps(tables, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Run networks from Python packages on the co-processor, against onnxruntime.

.venv/bin/python scripts/bench_networks.py

Each is quantised by onnxruntime's static quantiser on real inputs, run on others, and a sample of
every product is simulated. Writes build/networks.json, and a folder of tables and pictures for each
network below build/run.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

import carrysave
from carrysave import cache
from carrysave.data.networks import MODELS, quantise
from carrysave.progress import Steps
from scripts.bench import markdown, show
from scripts.pages import write_table

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = {
    "network": "{}", "products": "{}", "MMACs": "{:.3g}", "inputs": "{}", "cycles": "{:,}",
    "utilisation": "{:.1%}", "same top-1": "{:.1%}", "accuracy": "{:.1%}",
    "accuracy, onnxruntime": "{:.1%}", "max difference": "{:.3g}", "differing codes": "{}",
}  # fmt: skip


def measure(name: str, folder: Path, steps: Steps) -> dict[str, Any]:
    """Quantise a network, run it, and return the results, per input."""
    steps.step(f"quantise {name}")
    task = MODELS[name](folder)
    model = quantise(task, folder / f"{name}.onnx")
    found = carrysave.run(
        model, task.inputs, labels=task.labels, energy="none", folder=ROOT / "build", progress=steps
    )
    found.command = f"scripts/bench_networks.py: {name}"
    found.save(ROOT / "build" / "run" / name)
    if not found.ok:
        raise SystemExit(f"{name}: simulated products are wrong: {', '.join(found.wrong)}")
    (output,) = found["outputs"]
    rows = found["layers"]
    apart = sum(row["differ"] or 0 for row in rows)
    return {
        "network": name,
        "products": len(rows),
        "MMACs": found["macs"] / found["batch"] / 1e6,
        "inputs": found["inputs"],
        "cycles": round(found["cycles"] / found["batch"]),
        "utilisation": found["utilisation"],
        "same top-1": output["top1_equal"],
        "accuracy": output["accuracy"],
        "accuracy, onnxruntime": output["accuracy_onnxruntime"],
        "max difference": output["most"],
        "differing codes": f"{apart:,} of {sum(row['codes'] or 0 for row in rows):,}",
        "causes": found["causes"],
        "seconds": found["seconds"],
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    parser.add_argument("names", nargs="*", default=list(MODELS), help="networks")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=160)
    with Steps(Console(stderr=True)) as steps:
        rows = [measure(name, ROOT / "build" / "networks", steps) for name in arguments.names]
    show(console, "Networks on an 8 x 8 array, int8; MMACs and cycles per input", rows, COLUMNS)
    if arguments.docs:
        write_table("networks", markdown(rows, COLUMNS))
    cache.write(ROOT / "build" / "networks.json", json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()

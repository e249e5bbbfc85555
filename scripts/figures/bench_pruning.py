"""Prune networks from Python packages to N:M along K, and see what is left of their accuracy.

    .venv/bin/python scripts/figures/bench_pruning.py           all networks: minutes
    .venv/bin/python scripts/figures/bench_pruning.py digits    some of them
    .venv/bin/python scripts/figures/bench_pruning.py --docs    also rewrites the table of docs

Each is quantised by onnxruntime's static quantiser, then pruned by magnitude as `carrysave run
--prune` does, with no training after; accuracy is by the golden model, and nothing is simulated.
"""

import argparse
import sys
from typing import Any

from rich.console import Console

import carrysave
from carrysave.progress import Steps
from golden.formats.sparse import DENSE, SPARSITY
from scripts.tables import ROOT, markdown, show
from scripts.upkeep.pages import write_table
from verif.support.networks import MODELS, quantise

COLUMNS = {
    "network": "{}",
    "sparsity": "{}",
    "inputs": "{:,}",
    "weights": "{:,}",
    "zeros": "{:.1%}",
    "zeros before": "{:.1%}",
    "stored": "{:.3f}",
    "accuracy": "{:.1%}",
    "dense": "{:.1%}",
    "dense's class": "{:.1%}",
}


def measure(name: str, sparsity: str, steps: Steps) -> dict[str, Any]:
    """Run a network, pruned and dense."""
    folder = ROOT / "build" / "networks"
    task = MODELS[name](folder)
    result = carrysave.run(
        quantise(task, folder / f"{name}.onnx"),
        task.inputs,
        labels=task.labels,
        simulate="none",
        compare=False,
        prune=sparsity,
        folder=ROOT / "build",
        progress=steps,
    )
    tensors, (output,) = result["pruning"]["tensors"], result["pruning"]["outputs"]
    weights = sum(row["k"] * row["n"] for row in tensors)
    return {
        "network": name,
        "sparsity": sparsity,
        "inputs": result["inputs"],
        "weights": weights,
        "zeros": sum(row["zeros"] for row in tensors) / weights,
        "zeros before": sum(row["zeros_before"] for row in tensors) / weights,
        "stored": sum(row["stored"] for row in tensors) / weights,
        "accuracy": output["accuracy"],
        "dense": output["accuracy_dense"],
        "dense's class": output["top1_equal"],
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    parser.add_argument("names", nargs="*", default=list(MODELS), help="networks")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=160)
    kinds = [kind for kind in SPARSITY.options if kind != DENSE]
    with Steps(Console(stderr=True)) as steps:
        rows = [measure(name, kind, steps) for name in arguments.names for kind in kinds]
    show(console, "Networks pruned along K by magnitude; bytes stored of a weight", rows, COLUMNS)
    if arguments.docs:
        write_table("pruning", markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()

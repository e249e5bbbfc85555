"""Choose formats for the layers of trained networks, beside one format for all layers.

.venv/bin/python scripts/bench_precision.py

Formats are chosen on a network's calibration inputs, and evaluated on others. Writes
build/precision.json, and a folder of tables and a picture for each network below build/precision.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from carrysave import cache
from carrysave.data.networks import MODELS
from carrysave.networks.precision.command import PrecisionRequest, execute
from carrysave.progress import Steps
from hw.catalog import Design
from scripts.bench import markdown, show
from scripts.pages import write_table

ROOT = Path(__file__).resolve().parents[1]
FORMATS = ("int8", "e4m3", "posit8e0", "int4", "e2m1")
NETWORKS = {"digits": (599, "60%"), "text_angle": (106, "60%")}
"""Number of evaluation inputs, and the budget: weight bytes, relative to 8 bits each."""
CALIBRATION = 32
COLUMNS = {
    "network": "{}", "formats": "{}", "bits": "{:.2f}", "KiB": "{:,.2f}", "cycles": "{:,.0f}",
    "uJ": "{:,.3g}", "noise, dB": "{:.1f}", "same top-1": "{:.1%}", "accuracy": "{:.1%}",
}  # fmt: skip


def measure(name: str, folder: Path, steps: Steps) -> list[dict[str, Any]]:
    """Choose formats for a network, and return the results, per input."""
    task = MODELS[name](folder)
    count, budget = NETWORKS[name]
    arrays = {"calibration": task.calibration[:CALIBRATION], "inputs": task.inputs[:count],
              "labels": task.labels[:count]}  # fmt: skip
    files = {}
    for part, array in arrays.items():
        files[part] = folder / f"{name}.{part}.npy"
        np.save(files[part], array)
    request = PrecisionRequest(
        model=task.model, calibration=files["calibration"], data=files["inputs"],
        labels=files["labels"], formats=(), pairs="same", budgets=(f"bytes={budget}",), batch=None,
        design=Design("coprocessor", {"engine": f"npe(formats={','.join(FORMATS)})"}),
        library="osu018",
    )  # fmt: skip
    found = execute(request, ROOT / "build", steps, f"scripts/bench_precision.py: {name}")
    rows = [found["chosen"], *found["pareto"], *found["uniform"]]
    return [
        {
            "network": name,
            "formats": row["name"],
            "bits": row["bits"],
            "KiB": row["bytes"] / 1024,
            "cycles": row["cycles"],
            "uJ": row["energy_uj"],
            "noise, dB": 10 * float(np.log10(row["noise"])),
            "same top-1": row["same"],
            "accuracy": row["right"],
            "accuracy in floats": row["right_floats"],
        }
        for row in rows
    ]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    parser.add_argument("names", nargs="*", default=list(NETWORKS), help="networks")
    arguments = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=160)
    folder = ROOT / "build" / "networks"
    with Steps(Console(stderr=True)) as steps:
        rows = [row for name in arguments.names for row in measure(name, folder, steps)]
    show(
        console,
        "Formats of layers, on an 8 x 8 array of lanes; figures per input",
        rows,
        COLUMNS,
    )
    if arguments.docs:
        write_table("precision", markdown(rows, COLUMNS))
    cache.write(ROOT / "build" / "precision.json", json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()

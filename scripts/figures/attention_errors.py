"""Errors of attention in one pass, and of softmaxes of whole rows, against float64.

.venv/bin/python scripts/figures/attention_errors.py [--docs]

Normal scores, as codes of 8 bits in units of 2^-4, or of 15 in units of 2^-8; 64 queries, keys and
values of 64 codes of 8 bits. Scores are the same codes for all, so that only shares differ. Errors
are root mean squares, relative to that of the outputs. A softmax has rows of up to 4,096 codes.
"""

import argparse
from typing import Any

import numpy as np
from rich.console import Console

from golden.npe.exps import exps, sums
from golden.npe.vector import VectorUnitSpec, softmax
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

LENGTHS = (128, 256, 1024, 4096, 16384)
QUERIES, VALUES, MOST = 64, 64, 4096
SCORES = (("int8", 8, 4, 0.5), ("int8", 8, 4, 2.0), ("int15", 15, 8, 2.0))
BLOCKS = (16, 32, 128)
NAME = "one_pass_errors"
COLUMNS = {"scores": "{}", "deviation": "{}", "share bits": "{}", "keys": "{:,}"}
COLUMNS |= {"whole rows": "{:.2%}", **{f"blocks of {block}": "{:.2%}" for block in BLOCKS}}
COLUMNS |= {"bits of sums": "{}"}


def measure(name: str, width: int, scale_width: int, deviation: float, length: int) -> Any:
    """Return the rows of one kind of scores, and of one length: shares of 7 bits and of 8."""
    rng = np.random.default_rng(length)
    fields: dict[str, Any] = {"width": width, "scale_width": scale_width}
    limits = VectorUnitSpec(**fields).in_format
    drawn = np.rint(rng.normal(0, deviation, (QUERIES, length)) * 2.0**scale_width)
    x = np.clip(drawn, limits.low, limits.high).astype(np.int64)
    values = rng.integers(-127, 128, (length, VALUES))
    weights = np.exp((x - x.max(axis=1, keepdims=True)) / 2.0**scale_width)
    right = weights / weights.sum(axis=1, keepdims=True) @ values

    def error(made: np.ndarray) -> float:
        return float(np.sqrt(((made - right) ** 2).mean() / (right**2).mean()))

    for signed in (True, False):
        row: dict[str, Any] = {
            "scores": name,
            "deviation": deviation,
            "share bits": 8 - signed,
            "keys": length,
            "whole rows": None,
            "bits of sums": None,
        }
        if length <= MOST:
            codes, exponents = softmax(VectorUnitSpec(**fields, signed=signed), x)
            row["whole rows"] = error(codes @ values / 2.0 ** exponents[:, None])
        for block in BLOCKS:
            spec = VectorUnitSpec(
                operations="exps,divide", signed=signed, block=block, length=MOST, **fields
            )
            total, ones = np.zeros((QUERIES, VALUES + 1), object), np.ones((length, 1), np.int64)
            for at in range(0, length, MOST):
                part = slice(at, at + MOST)
                total += sums(spec, exps(spec, x[:, part]), np.c_[values, ones][part])
            row[f"blocks of {block}"] = error((total[:, :-1] / total[:, -1:]).astype(float))
            if block == min(BLOCKS) and width == 8:
                row["bits of sums"] = 1 + int(abs(total).max()).bit_length()
        yield row


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", action="store_true", help="rewrite the table of docs/figures")
    arguments = parser.parse_args()
    rows = [row for kind in SCORES for length in LENGTHS for row in measure(*kind, length)]
    show(Console(), "Errors of attention", rows, COLUMNS)
    if arguments.docs:
        write_table(NAME, markdown(rows, COLUMNS))


if __name__ == "__main__":
    main()

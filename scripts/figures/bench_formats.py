"""Measure the golden formats: codes per second each way, and matrix products of 256 x 256 x 256.

OPENBLAS_NUM_THREADS=1 .venv/bin/python scripts/figures/bench_formats.py
"""

import argparse
import time
import timeit
from collections.abc import Callable
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from golden.formats.element import ElementFormat
from golden.formats.names import parse
from golden.gemm import GemmSpec, gemm

ELEMENTS = ("int8", "e2m1", "e4m3", "e5m2", "posit8e0", "posit16e1", "fp16", "bf16")
BLOCKS = ("mx_e4m3", "mx_e2m1", "mx_int8f6", "nvfp4")


def seconds(function: Callable[[], object], runs: int) -> float:
    """Return the least processor time of a call, after one that fills the tables."""
    function()
    return min(timeit.repeat(function, timer=time.process_time, number=1, repeat=runs))


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--codes", type=int, default=1 << 20, help="codes of an array")
    parser.add_argument("--size", type=int, default=256, help="m, n and k of a product")
    parser.add_argument("--runs", type=int, default=5, help="runs, of which the fastest counts")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    values = rng.normal(size=options.codes)

    codec = Table("format", "encode", "decode", "to_float", title="million codes a second")
    for name in ELEMENTS:
        fmt = parse(name)
        assert isinstance(fmt, ElementFormat)
        codes = fmt.encode(values)
        calls = (
            partial(fmt.encode, values),
            partial(fmt.decode, codes),
            partial(fmt.to_float, codes),
        )
        rates = [options.codes / seconds(call, options.runs) / 1e6 for call in calls]
        codec.add_row(name, *(f"{rate:.0f}" for rate in rates))

    product = Table("format", "accumulation", "operands", "seconds", title="matrix product")
    shape = (options.size, options.size)
    left, right = rng.normal(size=shape), rng.normal(size=shape)
    for name in (*ELEMENTS, *BLOCKS):
        fmt = parse(name)
        spec = GemmSpec(a_format=fmt, b_format=fmt)
        if not isinstance(fmt, ElementFormat):
            blocks = fmt.quantise(left), fmt.quantise(right, axis=0)
            time_taken = seconds(partial(gemm, spec, *blocks), options.runs)
            product.add_row(name, spec.policy, "normal", f"{time_taken:.3f}")
            continue
        numbers = np.arange(fmt.low, fmt.high + 1)
        numbers = numbers[np.isfinite(fmt.to_float(numbers))]
        operands = {
            "normal": (fmt.encode(left), fmt.encode(right)),
            "all codes": (rng.choice(numbers, shape), rng.choice(numbers, shape)),
        }
        for kind, pair in operands.items():
            time_taken = seconds(partial(gemm, spec, *pair), options.runs)
            product.add_row(name, spec.policy, kind, f"{time_taken:.3f}")

    console = Console()
    console.print(codec)
    console.print(product)


if __name__ == "__main__":
    main()

"""Counts the cycles of products with two formats along K, beside one format for all of it.

    .venv/bin/python scripts/figures/bench_split.py           prints the table
    .venv/bin/python scripts/figures/bench_split.py --docs    also rewrites that of docs

Products of random codes on the simulated co-processor, in one start each, every result equal to
golden's. A core: 15 minutes.
"""

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from carrysave.compiler.lowered import golden
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from carrysave.sim import products
from golden.soc.row_factors import ONE
from hw.catalog import Design
from scripts.tables import markdown, show
from scripts.upkeep.pages import write_table

FOLDER = Path(__file__).resolve().parents[2] / "build" / "split"
ENGINE = "npe(m=8,n=8,formats=int8,int4,accumulator_width=32{})"
SIZES = ((64, 512, 64), (64, 1024, 64), (256, 256, 256), (64, 576, 576))
"""M, K and N; the last one is of SmolLM2-135M's layers."""
SHARES = (Fraction(0), Fraction(1, 8), Fraction(1))
"""Of K in the wider format."""
COLUMNS = {
    "M x K x N": "{}",
    "K in more bits": "{}",
    "its formats": "{}",
    "jobs": "{}",
    "cycles": "{:,}",
    "by int4's": "{:.3f}",
    "multipliers alone": "{:.3f}",
}


def works(
    target: Target, shape: tuple[int, int, int], share: Fraction, wide: tuple[str, str]
) -> list[Work]:
    """Draw the jobs of a product, of which a share of K has wide formats and the rest int4."""
    (m, k, n), rng, made = shape, np.random.default_rng(1), list[Work]()
    more = int(k * share)
    for names, size in ((wide, more), (("int4", "int4"), k - more)):
        if size:
            codes = [target.formats[name] for name in names]
            a, b = (
                rng.integers(fmt.low, fmt.high + 1, one)
                for fmt, one in zip(codes, ((m, size), (size, n)), strict=True)
            )
            factors = np.full(m, ONE // 5) if made else None
            made.append(Work(a=a, b=b, mode=target.modes[names], row_factors=factors))
    return made


def rows() -> list[dict[str, Any]]:
    """Simulate each product, where int8 by int4 takes as long as int8 by int8, and half."""
    made = list[dict[str, Any]]()
    for more, wide, slots in (("", ("int8", "int8"), 2), (",w4a8=true", ("int8", "int4"), 1)):
        values = {"engine": ENGINE.format(more), "row_factors": "true"}
        target = Target(Design.parse("coprocessor", values))
        for shape in SIZES:
            least = 0
            for share in SHARES:
                some = works(target, shape, share, wide)
                results, (counters,) = products.run_works(
                    target.design, some, FOLDER, one_start=True
                )
                name = " x ".join(map(str, shape))
                if not np.array_equal(results[-1], golden.run(target.spec, some)[-1]):
                    raise RuntimeError(f"{name}, {share}: not equal to golden's")
                cycles = counters["cycles"]
                least = least or cycles
                ratios = cycles / least, float(1 + share * (slots - 1))
                cells = name, share, " x ".join(wide), len(some), cycles, *ratios
                made.append(dict(zip(COLUMNS, cells, strict=True)))
    return made


def main() -> None:
    """Print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", action="store_true", help="rewrite the page's table")
    docs, table = parser.parse_args().docs, rows()
    show(Console(), "Products with two formats along K, 8 x 8 lanes", table, COLUMNS)
    if docs:
        write_table("split", markdown(table, COLUMNS))


if __name__ == "__main__":
    main()

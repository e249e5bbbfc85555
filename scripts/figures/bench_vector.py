"""Errors of the vector arithmetic against floats, over lengths of rows.

.venv/bin/python scripts/figures/bench_vector.py [--json]

Normal rows, of five deviations, and flat ones. Of softmax: the largest error of a row's sum, with
rounding that carries errors along the row, and of a probability; of norms, GELU and SiLU: the
largest and the root mean square error, in units of the result. Writes build/vector.json.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from carrysave import cache
from golden.npe.elements import gate
from golden.npe.norms import norm
from golden.npe.requantiser import Requantisation, dyadic
from golden.npe.vector import VectorUnitSpec, softmax
from scripts.tables import show

ROOT = Path(__file__).resolve().parents[2]
LENGTHS = tuple(1 << power for power in range(13))
DEVIATIONS = (0.0, 0.3, 1.0, 2.0, 3.0)
VALUES = 1 << 14
COLUMNS = {
    "length": "{:,}",
    "bits": "{}",
    "sum": "{:.2%}",
    "probability": "{:.4f}",
    "layer norm": "{:.4f}",
    "rms norm": "{:.4f}",
    "gelu": "{:.4f}",
    "silu": "{:.4f}",
    "gelu, rms": "{:.4f}",
    "silu, rms": "{:.4f}",
}


def measure(length: int, width: int) -> dict[str, Any]:
    """Compare results of `width` bits, for rows of one length."""
    spec = VectorUnitSpec(width=width, out_width=width, scale_width=width // 2)
    rng = np.random.default_rng(length)
    unit = 2.0**spec.scale_width
    rows = np.concatenate([
        rng.normal(0, deviation, (min(max(VALUES // length, 4), 512), length))
        for deviation in DEVIATIONS
    ])
    codes = np.clip(np.rint(rows * unit), spec.in_format.low, spec.in_format.high).astype(np.int64)
    reals = codes / unit
    result, exponents = softmax(spec, codes)
    result = result / 2.0 ** exponents[:, None]
    exact = np.exp(reals - reals.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    row: dict[str, Any] = {
        "length": length,
        "bits": width,
        "sum": float(abs(result.sum(axis=1) - 1).max()),
        "probability": float(abs(result - exact).max()),
    }
    high = 2 ** (width - 1) - 1
    for name, centred in (("layer norm", True), ("rms norm", False)):
        y = reals - reals.mean(axis=1, keepdims=True) * centred
        root = np.sqrt((y * y).mean(axis=1, keepdims=True))
        ends = np.array([-high - 1, high]) / 2**spec.norm_fraction
        exact = np.clip(np.divide(y, root, out=np.zeros_like(y), where=root > 1e-9), *ends)
        result = norm(spec, codes, centred=centred) / 2**spec.norm_fraction
        row[name] = float(abs(result - exact).max())
    out = spec.scaling
    multiplier, shift = dyadic(1.0, out.multiplier_width)
    to = Requantisation(multiplier=multiplier, shift=shift, zero_point=np.array([0]))
    erf = np.vectorize(math.erf)
    for name, exact in (
        ("gelu", reals * (1 + erf(reals / math.sqrt(2))) / 2),
        ("silu", reals / (1 + np.exp(-reals))),
    ):
        error = gate(spec, name, codes, out, to) / unit - exact
        row[name] = float(abs(error).max())
        row[f"{name}, rms"] = float(np.sqrt((error * error).mean()))
    return row


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    arguments = parser.parse_args()
    rows = [measure(length, width) for width in (8, 16) for length in LENGTHS]
    text = json.dumps(rows, indent=2)
    cache.write(ROOT / "build" / "vector.json", text + "\n")
    if arguments.json:
        print(text)
        return
    console = Console() if sys.stdout.isatty() else Console(width=160)
    show(console, "Largest errors of vector operations, against floats", rows, COLUMNS)


if __name__ == "__main__":
    main()

"""A layer of a real network with low-bit weights: on hardware, in golden, and in floats."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from carrysave.data.digits import split, train
from carrysave.sim import products
from golden.lut.quantise import QuantiseSpec, quantise
from golden.lut.scale import group_sums, scale_groups
from golden.lut.weights import GroupedWeights
from hw.catalog import Design

__all__ = ["LAYERS", "measure"]

GROUP = 32
"""Rows of weights that share a scale, of fp16."""

_LUT: dict[str, Any] = {"m": 4, "n": 16, "lookups": 8, "k_max": GROUP}
_ODD = {"weights": "odd", "b_signed": False, "table": "half"}
LAYERS: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "1": ({"scheme": "odd", "bits": 1}, "lut_core", {**_LUT, **_ODD, "b_width": 1}),
    "1.58": (
        {"scheme": "ternary", "bits": 2},
        "ternary_core",
        {"m": 4, "n": 16, "mode": "pair", "keys": True, "k_max": GROUP},
    ),
    "2": ({"scheme": "odd", "bits": 2}, "lut_core", {**_LUT, **_ODD}),
    "4": ({"scheme": "symmetric", "bits": 4}, "lut_core", {**_LUT, "b_width": 4}),
}
"""Quantisation of weights, and the engine, by the bits of a weight."""


def measure(folder: Path, images: int | None = None) -> Iterator[dict[str, Any]]:
    """Run the hidden layer of a network for handwritten digits, trained here in floats.

    Activations are int8, scaled by each image's maximum; each group's sums come from the simulated
    engine.

    Parameters
    ----------
    folder : where simulations run.
    images : how many of the test images; all by default.

    Yields
    ------
    For each of :data:`LAYERS`: ``weight``, ``module``; ``exact``, whether the hardware's sums are
    golden's; ``sqnr_db`` of the layer's outputs against those in floats; and the network's
    ``accuracy`` with it, beside that ``in_floats``.
    """
    from sklearn.datasets import load_digits  # slow to load, and used here only

    pixels, labels = load_digits(return_X_y=True)
    test = split(len(labels))
    network = train(pixels[~test], labels[~test], seed=1)
    x, right = pixels[test][:images] / 16, labels[test][:images]
    weights, last = network.coefs_
    bias, last_bias = network.intercepts_
    steps = np.abs(x).max(axis=1, keepdims=True) / 127
    a = np.rint(x / steps).astype(np.int64)
    floats = x @ weights

    def accuracy(products: np.ndarray) -> float:
        logits = np.maximum(products + bias, 0) @ last + last_bias
        return float((logits.argmax(axis=1) == right).mean())

    for weight, (scheme, name, parameters) in LAYERS.items():
        coded = quantise(QuantiseSpec(**scheme, group=GROUP, scale_format="fp16"), weights)
        design = Design(name, parameters)
        sums = _multiply(design, a, coded, folder)
        outputs = steps * scale_groups(coded, sums)
        wrong = outputs - floats
        yield {
            "weight": weight,
            "module": design.module,
            "exact": bool((sums == group_sums(a, coded.integers, GROUP)).all()),
            "sqnr_db": 10 * float(np.log10((floats**2).sum() / (wrong**2).sum())),
            "accuracy": accuracy(outputs),
            "in_floats": accuracy(floats),
        }


def _multiply(design: Design, a: np.ndarray, weights: GroupedWeights, folder: Path) -> np.ndarray:
    """Multiply each group of columns of A by its rows of weights, on the simulated engine."""
    codes = weights.codes if weights.levels == "odd" else weights.integers
    groups = [slice(start, start + GROUP) for start in range(0, a.shape[1], GROUP)]
    pairs = [(a[:, group], codes[group]) for group in groups]
    return np.stack(products.multiply(design, pairs, folder))

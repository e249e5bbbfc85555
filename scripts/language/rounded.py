"""A language model with weights and activations rounded to formats."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from carrysave.compiler.front.decoder import Model
from carrysave.precision.options import Pair
from golden.lut.grouped import FastWeights
from scripts.language.rounded_products import Rounded

__all__ = ["matrices", "rounded_model"]


def matrices(model: Model) -> dict[str, np.ndarray]:
    """Return the weights of a model, K x N float32, by block and name, and ``head``."""
    return {
        f"{number}.{name}": _floats(matrix)
        for number, layer in enumerate(model.layers)
        for name, matrix in layer.matrices.items()
    } | {"head": _floats(model.head)}


def rounded_model(
    model: Model,
    rounded: Rounded,
    pairs: Mapping[str, Pair | None],
    keep: dict[str, np.ndarray] | None = None,
) -> Model:
    """Return a model with matrices in pairs of formats, or in floats, for units of floats.

    Parameters
    ----------
    rounded : the model's :func:`matrices`.
    pairs : of each matrix; None: in floats.
    keep : gets the activations of each.
    """

    def matrix(name: str) -> Any:
        return _Matrix(rounded, name, pairs[name], keep)

    layers = [
        replace(layer, matrices={name: matrix(f"{number}.{name}") for name in layer.matrices})
        for number, layer in enumerate(model.layers)
    ]
    return replace(model, layers=layers, head=matrix("head"))


def _floats(matrix: FastWeights) -> np.ndarray:
    values = matrix.integers * matrix.scales[:, None]
    if matrix.offsets is not None:
        values += matrix.offsets[:, None]
    flat = np.asarray(values.reshape(-1, values.shape[-1]), np.float32)
    if matrix.rows is not None:
        flat[matrix.rows] = flat.copy()
    return flat


class _Matrix:
    """A matrix of a decoder, in a pair of formats or in floats, whose rows are in order."""

    rows = None

    def __init__(
        self, rounded: Rounded, name: str, pair: Pair | None, keep: dict[str, np.ndarray] | None
    ) -> None:
        self._rounded, self._name, self._pair, self._keep = rounded, name, pair, keep
        self.group = len(rounded.weights[name])

    def ordered(self, x: np.ndarray) -> np.ndarray:
        """Return activations as they are."""
        return x

    def product(self, x: np.ndarray, powers: np.ndarray) -> np.ndarray:
        """Multiply rows; `powers` are zeros, as activations come in floats."""
        del powers
        x = x.astype(np.float32)
        if self._keep is not None:
            self._keep[self._name] = x
        if self._pair is None:
            return np.asarray(x @ self._rounded.weights[self._name])
        return self._rounded.product(self._name, self._pair, x)

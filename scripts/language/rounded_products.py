"""Products of networks that are no graphs, with operands rounded to formats of an engine."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from carrysave.compiler.lowered.encoded import encode, steps_of
from carrysave.precision.options import Pair
from golden.formats.element import ElementFormat

__all__ = ["GroupOption", "Rounded"]

_ROWS = 48
"""Rows of weights, besides the largest value of each column, by which its scale is chosen."""
_VALUES = 1 << 13
"""Values of activations by which their scale is chosen."""


@dataclass(frozen=True)
class GroupOption:
    """An option of products that have formats together.

    Members
    -------
    noise : of the network's outputs, if only these are rounded; power relative to the outputs.
    bytes : of their weights in memory.
    """

    noise: float
    bytes: float


class Rounded:
    """Products of layers with constant weights.

    Weights have a scale for each column. Activations have one for the tensor, and a power of two
    for each row, by its largest value: what a token needs, the host finds before the product, and
    multiplies the sums with after it. Both scales minimise the squared error, as
    :func:`carrysave.compiler.lowered.encoded.steps_of`. Products of rounded operands are added in
    float32, which differs from the engine's exact sums, rounded to float32, in the last bits.

    Parameters
    ----------
    weights : of each layer, K x N float32.
    rows : activations of a calibration, rows x K, of each.
    formats : by name.
    """

    def __init__(
        self,
        weights: Mapping[str, np.ndarray],
        rows: Mapping[str, np.ndarray],
        formats: Mapping[str, ElementFormat],
    ) -> None:
        self.weights, self._rows, self._formats = weights, rows, formats
        self._codes: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = {}
        self._steps: dict[tuple[str, str], float] = {}

    @property
    def count(self) -> int:
        """Weights of all layers."""
        return sum(one.size for one in self.weights.values())

    def bytes(self, name: str, b: str) -> float:
        """Return the bytes of a layer's weights in a format."""
        return self.weights[name].size * self._formats[b].width / 8

    def product(self, name: str, pair: Pair, x: np.ndarray) -> np.ndarray:
        """Multiply rows by the weights of a layer, in a pair of formats; float32."""
        values, powers = self.activations(name, pair[0], x)
        return np.ldexp(values @ self.rounded(name, pair[1]), powers)

    def activations(self, name: str, a: str, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Round rows: float32 values, and the powers of two that multiply each row."""
        fmt, step = self._formats[a], self._step(name, a)
        scaled, powers = _scaled(x)
        return (fmt.to_float(encode(fmt, scaled, step)) * step).astype(np.float32), powers

    def rounded(self, name: str, b: str) -> np.ndarray:
        """Return the rounded weights of a layer, K x N float32."""
        fmt = self._formats[b]
        if (name, b) not in self._codes:
            weights = self.weights[name]
            part = weights[:: -(-len(weights) // _ROWS)]
            greatest = np.take_along_axis(weights, np.abs(weights).argmax(axis=0)[None], axis=0)
            steps = steps_of(fmt, np.concatenate([part, greatest]))
            codes = encode(fmt, weights, steps)
            kind = np.min_scalar_type(fmt.high if fmt.low == 0 else -fmt.high - 1)
            self._codes[name, b] = codes.astype(kind), steps
        codes, steps = self._codes[name, b]
        return (fmt.to_float(codes) * steps).astype(np.float32)

    def _step(self, name: str, a: str) -> float:
        """Choose the scale of a layer's activations, once."""
        if (name, a) not in self._steps:
            flat = _scaled(self._rows[name])[0].reshape(-1)
            part = np.append(flat[:: -(-flat.size // _VALUES)], flat[np.abs(flat).argmax()])
            self._steps[name, a] = float(steps_of(self._formats[a], part[:, None])[0])
        return self._steps[name, a]


def _scaled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide rows by powers of two such that none exceeds 1; returns these powers, rows x 1."""
    powers = np.frexp(np.abs(x).max(axis=1, keepdims=True))[1]
    return np.ldexp(x, -powers), powers

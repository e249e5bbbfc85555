"""Codes of a text encoder in integers: of weights, of factors, of layers."""

from dataclasses import dataclass

import numpy as np

from carrysave.compiler.front.encoder_weights import Dense
from carrysave.compiler.program.jobs import scaled
from carrysave.driver import Requantisation
from golden.npe.vector import VectorUnitSpec

__all__ = [
    "CODE",
    "WIDE",
    "DenseCodes",
    "IntegerBlock",
    "IntegerEncoder",
    "NormCodes",
    "Row",
]

CODE = 127
"""Largest code of 8 bits."""
WIDE = (1 << 15) - 1
"""Largest code of 16 bits."""
_CLIPS = np.linspace(0.7, 1.0, 13)


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """Factors of columns.

    Members
    -------
    codes : 1 x N, 16 bits.
    scale : of them.
    """

    codes: np.ndarray
    scale: float

    @classmethod
    def of(cls, factors: np.ndarray) -> "Row":
        """Round factors to 15 bits and a sign."""
        _, exponent = np.frexp(np.abs(factors).max())
        scale = 2.0 ** (int(exponent) - 15)
        codes = np.clip(np.rint(factors / scale), -(1 << 15), (1 << 15) - 1)
        return cls(codes=codes.astype(np.int64)[None], scale=scale)


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseCodes:
    """A layer.

    Members
    -------
    weights : K x N codes of 8 bits.
    bias : 1 x N sums.
    steps : of sums, one for each column.
    """

    weights: np.ndarray
    bias: np.ndarray
    steps: np.ndarray

    @classmethod
    def of(cls, layer: Dense, inputs: np.ndarray | float) -> "DenseCodes":
        """Round weights, each column with a scale that makes the least squared error.

        Parameters
        ----------
        layer : in floats.
        inputs : step of the layer's inputs, one or one for each row of the weights.
        """
        weights = layer.weights * np.reshape(inputs, (-1, 1))
        whole = np.maximum(np.abs(weights).max(axis=0), 1e-9) / CODE
        best = np.full(whole.shape, np.inf)
        steps = whole
        for clip in _CLIPS:
            limited = whole * clip
            error = np.square(_rounded(weights, limited) * clip - weights / whole).sum(axis=0)
            steps, best = np.where(error < best, limited, steps), np.minimum(error, best)
        codes = _rounded(weights, steps).astype(np.int64)
        bias = np.rint(layer.bias / steps)
        limit = (1 << 30) - 1
        return cls(
            weights=codes, bias=np.clip(bias, -limit, limit).astype(np.int64)[None], steps=steps
        )

    def to(self, steps: np.ndarray | float, most: int = CODE) -> Requantisation:
        """Return the requantisation of sums to codes of up to `most` with these steps."""
        return scaled(self.steps / steps, most)


@dataclass(frozen=True, kw_only=True, eq=False)
class NormCodes:
    """What follows a norm.

    Members
    -------
    operand : to codes of 8 bits, operands of the next product.
    steps : of those codes, one for each column.
    residual : to codes of 16 bits, for the next sum.
    """

    operand: Row
    steps: np.ndarray
    residual: Row | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class IntegerBlock:
    """A layer in integers.

    Members
    -------
    before, between : what follows the norm before attention, and that before the feed-forward.
    qkv, out, up, down : products.
    to_qkv : requantisation of queries, keys and values.
    scores : of queries times keys, to units of 2^-scale_width, for each head.
    context : codes of 8 bits that a value's code is.
    mixed, fed : of the products before a norm, to the steps of the residual.
    raised : to units of 2^-scale_width.
    gate : codes per unit; ``gate_zero`` is the code of 0.
    """

    before: NormCodes
    between: NormCodes
    qkv: DenseCodes
    to_qkv: Requantisation
    scores: tuple[Requantisation, ...]
    context: float
    out: DenseCodes
    mixed: Requantisation
    up: DenseCodes
    raised: Requantisation
    gate: float
    gate_zero: int
    down: DenseCodes
    fed: Requantisation


@dataclass(frozen=True, kw_only=True, eq=False)
class IntegerEncoder:
    """An encoder in integers; see :func:`carrysave.compiler.encoder.integers.quantise`.

    Members
    -------
    words, positions : codes of 16 bits, of one step.
    blocks : its layers.
    last : what follows the last norm.
    beta : what the last norm adds, in steps of its codes, 1 x width floats.
    heads, activation : of the encoder.
    unit : the vector unit.
    """

    words: np.ndarray
    positions: np.ndarray
    blocks: tuple[IntegerBlock, ...]
    last: NormCodes
    beta: np.ndarray
    heads: int
    activation: str
    unit: VectorUnitSpec


def _rounded(weights: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(weights / steps), -CODE, CODE)

"""A decoder's units in floats: what the cost of golden's is measured against."""

import numpy as np

from carrysave.compiler.decoder.units import GROUP, Cached, Units
from golden import elementary
from golden.elementary import exp

__all__ = ["FLOATS"]


def _as_it_is(x: np.ndarray, width: int = 8, block: int = GROUP) -> tuple[np.ndarray, np.ndarray]:
    return x, np.zeros((*x.shape[:-1], -(-x.shape[-1] // block)), dtype=np.int64)


def _normed(x: np.ndarray, gain: np.ndarray, epsilon: float = 0.0) -> np.ndarray:
    root = np.sqrt(np.square(x.astype(np.float64)).mean(axis=-1, keepdims=True) + epsilon)
    return np.divide(x, root, out=np.zeros(x.shape), where=root > 0).astype(np.float32) * gain


def _gated(gates: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (gates / (1 + exp(-gates.astype(np.float64)))).astype(np.float32) * values


def _activated(activation: str, gates: np.ndarray, values: np.ndarray) -> np.ndarray:
    x = gates.astype(np.float64)
    if activation == "relu2":
        return (np.square(np.maximum(x, 0))).astype(np.float32) * values
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return (0.5 * x * (1 + elementary.tanh(inner))).astype(np.float32) * values


def _capped(x: np.ndarray, cap: float) -> np.ndarray:
    return (elementary.tanh(x.astype(np.float64) / cap) * cap).astype(x.dtype)


def _probabilities(scores: np.ndarray, tokens: int) -> np.ndarray:
    del tokens
    shares = exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def _cached(x: np.ndarray, bits: int, block: int) -> Cached:
    shape = (*x.shape[:-1], x.shape[-1] // (block if bits == 4 else x.shape[-1]))
    return x.astype(np.float64), np.ones(shape), np.zeros(shape)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return elementary.sigmoid(x)


def _fresh(x: np.ndarray) -> np.ndarray:
    return _gated(x, np.ones_like(x))


def _moved(state: np.ndarray, keep: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    return keep * state + (1 - keep) * fresh


FLOATS = Units(
    aligned=_as_it_is,
    normed=_normed,
    gated=_gated,
    activated=_activated,
    capped=_capped,
    probabilities=_probabilities,
    cached=_cached,
    sigmoid=_sigmoid,
    fresh=_fresh,
    moved=_moved,
)
"""The same in floats: what the cost of golden's units is measured against."""

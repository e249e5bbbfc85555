"""Decoders in few bits in JAX, by fake quantisation: exact in ``carrysave/compiler/decoder``.

Rounded values go forward, gradients pass as if nothing had been rounded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from carrysave.compiler.front.decoder import FORMS
from carrysave.compiler.front.text import FORMATS, gains_of, matrices_of

__all__ = ["Network", "Weights"]

_GROUP = 32
"""Values of a cache of 4 bits with a step and an offset."""
_LAST = {"attn_output", "mix_output", "ffn_down", "head"}
"""Matrices that start small: they add to what passes by, or make the logits."""

Weights = dict[str, Any]


def _through(x: jax.Array, rounded: jax.Array) -> jax.Array:
    return x + jax.lax.stop_gradient(rounded - x)


def _fp16(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float16).astype(jnp.float32)


def _codes(w: jax.Array, levels: str, group: int) -> tuple[jax.Array, jax.Array, float]:
    """Round weights, K x N.

    Returns
    -------
    Codes from 0 on, of groups x rows of a group x N; scales, groups x 1 x N; and the code that
    stands for zero. Ternary weights are divided by the mean magnitude, as of BitNet b1.58; those
    of 2 bits have no zero, but steps of a normal distribution's best quantiser.
    """
    parts = w.reshape(-1, group or len(w), w.shape[1])
    mean = jnp.abs(parts).mean(axis=1, keepdims=True)
    if levels == "uniform":
        step, zero, most = jnp.abs(parts).max(axis=1, keepdims=True) / 7.5, 8.0, 15
    elif levels == "affine":
        step, zero, most = 1.25 * mean, 1.5, 3
    else:
        step, zero, most = jnp.broadcast_to(mean.mean(), mean.shape), 1.0, 2
    step = _fp16(jnp.maximum(step, 1e-4))
    return jnp.clip(jnp.round(parts / step + zero), 0, most), step, zero


def _matrix(w: jax.Array, levels: str, group: int) -> jax.Array:
    codes, step, zero = _codes(w, levels, group)
    return _through(w, ((codes - zero) * step).reshape(w.shape))


def _aligned(x: jax.Array, bits: int, block: int) -> jax.Array:
    """Round blocks to symmetric integers with a power of two."""
    parts = x.reshape(*x.shape[:-1], -1, block)
    top = jnp.abs(parts).max(axis=-1, keepdims=True)
    power = jnp.maximum(jnp.frexp(top)[1] - 1, -60)
    step = jnp.ldexp(jnp.float32(1), power - (bits - 2))
    most = (1 << bits - 1) - 1
    rounded = jnp.clip(jnp.round(parts / step), -most, most) * step
    return _through(x, rounded.reshape(x.shape))


def _cached(x: jax.Array, bits: int) -> jax.Array:
    """Round keys or values as a cache has them."""
    if bits == 8:
        return _aligned(x, 8, x.shape[-1])
    parts = x.reshape(*x.shape[:-1], -1, _GROUP)
    low = _fp16(parts.min(axis=-1, keepdims=True))
    step = _fp16((parts.max(axis=-1, keepdims=True) - low) / 15)
    codes = jnp.clip(jnp.round((parts - low) / jnp.where(step > 0, step, 1)), 0, 15)
    return _through(x, (codes * step + low).reshape(x.shape))


def _normed(x: jax.Array, gain: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + 1e-12) * gain


def _hadamard(size: int) -> jax.Array:
    matrix = np.ones((1, 1), np.float32)
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return jnp.asarray(matrix)


def _rotated(x: jax.Array, base: float) -> jax.Array:
    count, size = x.shape[-2:]
    angles = np.arange(count)[:, None] * base ** (-np.arange(0, size, 2) / size)
    cosines, sines = jnp.cos(angles), jnp.sin(angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = jnp.stack([even * cosines - odd * sines, even * sines + odd * cosines], axis=-1)
    return turned.reshape(x.shape)


Product = Callable[[str, jax.Array], jax.Array]


@dataclass(frozen=True, kw_only=True)
class Network:
    """A decoder of a form and a format, trained with a cache of some bits.

    Parameters
    ----------
    header : as :func:`scripts.language.save_text.save_text` has it.
    """

    header: dict[str, Any]

    def initial(self, seed: int) -> Weights:
        """Draw the weights that training starts from."""
        rng, width = np.random.default_rng(seed), self.header["width"]
        weights: Weights = {name: np.ones(size) for name, size in gains_of(self.header).items()}
        for name, (rows, columns) in matrices_of(self.header).items():
            small = 0.35 if name.rpartition(".")[2] in _LAST else 1
            weights[name] = rng.normal(0, small * rows**-0.5, (rows, columns))
        weights["embedding"] = rng.normal(0, 1, (len(self.header["characters"]), width))
        return {name: jnp.asarray(value, jnp.float32) for name, value in weights.items()}

    def rounded(self, weights: Weights) -> dict[str, np.ndarray]:
        """Return what the file has."""
        _, levels, _, group = FORMATS[self.header["format"]]
        arrays = {}
        for name, value in weights.items():
            if name not in matrices_of(self.header):
                arrays[name] = np.asarray(value)
                continue
            codes, steps, _ = _codes(value, levels, group)
            arrays[f"{name}.codes"] = np.asarray(codes).reshape(value.shape)
            arrays[f"{name}.scales"] = np.asarray(steps)[:, 0]
        return arrays

    def loss(self, weights: Weights, tokens: jax.Array) -> jax.Array:
        """Return the mean bits of each token but the first of rows."""
        logs = jax.nn.log_softmax(self.logits(weights, tokens[:, :-1]))
        of_tokens = jnp.take_along_axis(logs, tokens[:, 1:, None], axis=-1)
        return -of_tokens.mean() / np.log(2)

    def logits(self, weights: Weights, tokens: jax.Array) -> jax.Array:
        """Foresee the next token after each of rows of tokens."""
        header = self.header
        _, levels, narrow, group = FORMATS[header["format"]]
        quantised = {name: _matrix(weights[name], levels, group) for name in matrices_of(header)}

        def product(name: str, x: jax.Array) -> jax.Array:
            return _aligned(x, narrow, group or x.shape[-1]) @ quantised[name]

        x = weights["embedding"][tokens]
        for layer in range(header["layers"]):

            def weighted(name: str, x: jax.Array, layer: int = layer) -> jax.Array:
                return product(f"{layer}.{name}", x)

            h = _normed(x, weights[f"{layer}.mix_norm"])
            mixed = (
                self._attention(weighted, h)
                if header["form"] == "attention"
                else _recurrent(weighted, h)
            )
            last = FORMS[header["form"]][3]
            x = x + weighted(last, _normed(mixed, weights[f"{layer}.output_norm"]))
            h = _normed(x, weights[f"{layer}.ffn_norm"])
            hidden = jax.nn.silu(weighted("ffn_gate", h)) * weighted("ffn_up", h)
            x = x + weighted("ffn_down", _normed(hidden, weights[f"{layer}.down_norm"]))
        return product("head", _normed(x, weights["norm"]))

    def _attention(self, product: Product, h: jax.Array) -> jax.Array:
        batch, count, width = h.shape
        head, bits = width // self.header["heads"], self.header["cache_bits"]
        q, k, v = (
            product(name, h).reshape(batch, count, -1, head).swapaxes(1, 2)
            for name in FORMS["attention"][:3]
        )
        q, k = (_rotated(x, 10000.0) for x in (q, k))
        scale = head**-0.5
        if bits == 4:
            turn = _hadamard(head)
            q, k, scale = q @ turn, k @ turn, scale / head
            k = k - k[:, :, :_GROUP].mean(axis=2, keepdims=True)
        q, k, v = _aligned(q, 8, head), _cached(k, bits), _cached(v, bits)
        scores = q @ k.swapaxes(2, 3) * scale
        later = np.triu(np.ones((count, count), bool), 1)
        shares = jax.nn.softmax(jnp.where(later, -jnp.inf, scores), axis=-1)
        return (shares @ v).swapaxes(1, 2).reshape(batch, count, width)


def _recurrent(product: Product, h: jax.Array) -> jax.Array:
    """Mix tokens by the MatMul-free gated recurrent unit: no product but by weights."""
    forget, candidate, gate = (product(name, h) for name in FORMS["recurrent"][:3])
    keep = jax.nn.sigmoid(forget)
    fresh = (1 - keep) * jax.nn.silu(candidate)

    def after(first: tuple[Any, Any], second: tuple[Any, Any]) -> tuple[Any, Any]:
        return first[0] * second[0], second[0] * first[1] + second[1]

    states = jax.lax.associative_scan(after, (keep, fresh), axis=1)[1]
    return jax.nn.sigmoid(gate) * states

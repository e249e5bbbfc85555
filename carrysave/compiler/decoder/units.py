"""What a decoder does between products, by golden's units: align, norm, gate, softmax, caches."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from golden import single
from golden.elementary import cos, sin
from golden.lut.align import aligned_format
from golden.npe import elements
from golden.npe.norms import norm
from golden.npe.requantiser import Requantisation, dyadic
from golden.npe.vector import VectorUnitSpec, softmax

__all__ = [
    "GELU", "GOLDEN", "GROUP", "SHARE_BITS", "VECTOR", "Cached", "Units", "activated", "aligned",
    "capped", "fresh", "gates", "moved", "rotated", "scored", "sigmoid",
    "silu_scaling", "times", "turns", "unit_for",
]  # fmt: skip

GROUP = 32
SHARE_BITS = 15
"""Bits of a probability times the step of a value, with a sign that is 0: two digits of 7."""
VECTOR = VectorUnitSpec(
    operations="softmax,rms_norm,silu", width=16, length=4096, scale_width=8, out_width=15,
    signed=True, norm_fraction=8, quotient_bits=4,
)  # fmt: skip
"""The one vector unit of a block."""


def unit_for(tokens: int) -> VectorUnitSpec:
    """Return the vector unit of a block whose rows have so many scores: a power of two of them."""
    return replace(VECTOR, length=max(VECTOR.length, 1 << (tokens - 1).bit_length()))


GELU = tuple(np.float32(one) for one in (0.7978845608028654, 0.7978845608028654 * 0.044715))
"""Of 1 and of x^2: what x is multiplied by below the tangent."""
_LEAST, _GATE_FRACTION, _KEEP_FRACTION, _STATE_FRACTION = -60, 8, 15, 16


def aligned(x: np.ndarray, width: int = 8, block: int = GROUP) -> tuple[np.ndarray, np.ndarray]:
    """Round rows to integers with an exponent for each block; see :mod:`golden.lut.align`.

    Blocks below 2^-60 become zeros.

    Returns
    -------
    Integers of the shape of `x`, and exponents: a code represents its value times 2^exponent.
    """
    form = aligned_format(width, block)
    blocks = form.quantise(x.astype(np.float64))
    powers = blocks.scales - form.scale_bias - (width - 2)
    small = powers < _LEAST
    codes = np.where(np.repeat(small, block, axis=-1)[..., : x.shape[-1]], 0, blocks.codes)
    return codes, np.where(small, 0, powers)


def normed(x: np.ndarray, gain: np.ndarray, epsilon: float = 0.0) -> np.ndarray:
    """Divide rows by their root mean square, in 16 bits, and multiply by float32 gains.

    What `epsilon` adds to the mean square is a factor of each row, of the exact mean square of its
    codes, rounded to float32.
    """
    codes, powers = aligned(x, VECTOR.width, x.shape[-1])
    made = np.ldexp(norm(VECTOR, codes, centred=False).astype(np.float32), -VECTOR.norm_fraction)
    if epsilon:
        sums = np.square(codes.astype(np.int64)).sum(axis=-1, keepdims=True)
        mean = np.ldexp(sums / x.shape[-1], 2 * powers)
        made *= np.sqrt(mean / (mean + epsilon)).astype(np.float32)
    return made * gain


def gated(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Multiply by the SiLU of gates x, of 16 bits with 8 after the point, saturated; float32."""
    return _silus()[gates(x) - VECTOR.in_format.low] * values


def fresh(x: np.ndarray) -> np.ndarray:
    """Compute the SiLU of values alone, as :func:`gated`."""
    return gated(x, np.ones_like(x))


@functools.cache
def _silus() -> np.ndarray:
    """Compute the SiLU of each code of a gate, from the least on; float32."""
    codes = np.arange(VECTOR.in_format.low, VECTOR.in_format.high + 1)
    made = elements.gate(VECTOR, "silu", codes, VECTOR.scaling, silu_scaling())
    return np.ldexp(made.astype(np.float32), -_GATE_FRACTION)


def silu_scaling() -> Requantisation:
    """Return how SiLUs become codes, of 8 bits after the point."""
    scale = 2.0 ** (_GATE_FRACTION - VECTOR.scale_width)
    multiplier, shift = dyadic(scale, VECTOR.scaling.multiplier_width)
    return Requantisation(multiplier=multiplier, shift=shift, zero_point=np.zeros(1, np.int64))


def gates(x: np.ndarray) -> np.ndarray:
    """Round what gates take to 2^-scale_width, saturated."""
    codes = np.clip(np.rint(np.ldexp(x, VECTOR.scale_width)), -32768, 32767)
    return codes.astype(np.int64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Compute the sigmoid of values, of 16 bits with 8 after the point, saturated; of 15 bits.

    It is the factor of golden's SiLU, in units of 2^-15.
    """
    codes = elements.sigmoid(VECTOR, "silu", gates(x), 1 << _KEEP_FRACTION)
    return np.ldexp(codes.astype(np.float64), -_KEEP_FRACTION)


def moved(state: np.ndarray, keep: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Move a state towards what is fresh, by what is not kept of it; exact doubles.

    Parameters
    ----------
    state : in units of 2^-16, of 23 bits.
    keep : from 0 to 1, in units of 2^-15.
    fresh : in units of 2^-8, of 15 bits.

    Returns
    -------
    keep * state + (1 - keep) * fresh, in units of 2^-16, to the nearest, halves up.
    """
    sums = np.ldexp(keep * state + (1 - keep) * fresh, _STATE_FRACTION)
    return np.ldexp(np.floor(sums + 0.5), -_STATE_FRACTION)


def scored(scores: np.ndarray) -> np.ndarray:
    """Round rows of scores less the greatest to 2^-scale_width, saturated."""
    top = scores.max(axis=-1, keepdims=True)
    codes = np.rint(np.ldexp(scores - top, VECTOR.scale_width))
    return np.maximum(codes, VECTOR.in_format.low).astype(np.int64)


def probabilities(scores: np.ndarray, tokens: int = VECTOR.length) -> np.ndarray:
    """Compute the softmax of rows of scores, of a cache of so many tokens; exact doubles."""
    shares, exponents = softmax(unit_for(tokens), scored(scores))
    return np.ldexp(shares.astype(np.float64), -exponents[..., None])


def activated(activation: str, x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Multiply by an activation of gates x, in floats of 32 bits: GELU by tanh, or relu(x)^2."""
    if activation == "relu2":
        above = np.maximum(x, np.float32(0))
        return above * above * values
    inner = (x * x * GELU[1] + GELU[0]) * x
    return (single.tanh(inner) + np.float32(1)) * x * np.float32(0.5) * values


def capped(x: np.ndarray, cap: float) -> np.ndarray:
    """Return cap * tanh(x / cap), of the type of x; the tangent is of 32 bits."""
    inner = (x.astype(np.float64) * (1 / cap)).astype(np.float32)
    return (single.tanh(inner).astype(np.float64) * cap).astype(x.dtype)


def thresholded(x: np.ndarray, least: float) -> np.ndarray:
    """Return numbers whose magnitude is above `least`, and zeros for others; float32."""
    return np.where(np.abs(x) > np.float32(least), x, np.float32(0))


def times(x: np.ndarray, factor: float | np.ndarray) -> np.ndarray:
    """Multiply by a double, and round to float32."""
    if isinstance(factor, float) and factor == 1:
        return x
    return (x.astype(np.float64) * factor).astype(np.float32)


def turns(positions: np.ndarray, frequencies: np.ndarray, factor: float = 1.0) -> np.ndarray:
    """Return cosines and sines of angles, 2 x positions x frequencies, float32.

    Parameters
    ----------
    positions, frequencies : whose products are angles; pairs of frequency 0 stay as they are.
    factor : of all other pairs.
    """
    angles = positions[:, None] * frequencies
    factors = np.where(frequencies != 0, factor, 1.0)
    return np.stack([(one(angles) * factors).astype(np.float32) for one in (cos, sin)])


def rotated(x: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Turn pairs of values, ... x positions x head, by :func:`turns` of positions; float32."""
    cosines, sines = turns
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = np.stack([even * cosines - odd * sines, even * sines + odd * cosines], axis=-1)
    return turned.reshape(x.shape)


Cached = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Codes, and for each block of them a step and an offset: step * code + offset, exact doubles."""


def cached(x: np.ndarray, bits: int, block: int) -> Cached:
    """Return keys or values as a cache has them.

    Of 8 bits all of the last axis have a power of two; of 4 bits, `block` values a step and an
    offset of fp16.
    """
    if bits == 8:
        codes, powers = aligned(x, 8, x.shape[-1])
        return codes.astype(np.int8), np.ldexp(1.0, powers), np.zeros(powers.shape)
    parts = x.astype(np.float64).reshape(*x.shape[:-1], -1, block)
    low = parts.min(axis=-1, keepdims=True).astype(np.float16).astype(np.float64)
    step = (parts.max(axis=-1, keepdims=True) - low) / 15
    step = step.astype(np.float16).astype(np.float64)
    codes = np.clip(np.rint((parts - low) / np.where(step > 0, step, 1)), 0, 15)
    return codes.reshape(x.shape).astype(np.int8), step[..., 0], low[..., 0]


@dataclass(frozen=True, kw_only=True)
class Units:
    """How each step of a decoder is computed.

    Parameters
    ----------
    aligned : rows, a width and a block to codes of that width, and exponents of blocks.
    normed : rows, gains and an epsilon to rows of a root mean square of 1, times the gains.
    gated : gates and values to the SiLU of the gates times the values.
    activated : an activation that is no SiLU, gates and values, likewise.
    capped : numbers and a cap to cap * tanh(x / cap).
    thresholded : rows and a magnitude to those numbers that are above it.
    probabilities : rows of scores, and tokens that the cache has at most, to their softmax.
    cached : keys or values to those that the cache has, of some bits, scaled by blocks.
    sigmoid : values to their sigmoid.
    fresh : values to what is fresh of a recurrent state, their SiLU.
    moved : a recurrent state, what remains of it and what is fresh to the next state.
    rows : of queries that attend at once; what a row must not see yet has scores of -infinity.
    """

    aligned: Callable[..., tuple[np.ndarray, np.ndarray]] = aligned
    normed: Callable[[np.ndarray, np.ndarray, float], np.ndarray] = normed
    gated: Callable[[np.ndarray, np.ndarray], np.ndarray] = gated
    activated: Callable[[str, np.ndarray, np.ndarray], np.ndarray] = activated
    capped: Callable[[np.ndarray, float], np.ndarray] = capped
    thresholded: Callable[[np.ndarray, float], np.ndarray] = thresholded
    probabilities: Callable[[np.ndarray, int], np.ndarray] = probabilities
    cached: Callable[[np.ndarray, int, int], Cached] = cached
    sigmoid: Callable[[np.ndarray], np.ndarray] = sigmoid
    fresh: Callable[[np.ndarray], np.ndarray] = fresh
    moved: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] = moved
    rows: int = 32


GOLDEN = Units()

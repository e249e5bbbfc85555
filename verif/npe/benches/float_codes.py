"""Codes of floating-point formats to send: any numbers, and corners of the format."""

from typing import Any

import numpy as np

from golden.formats.minifloat import MinifloatFormat

__all__ = ["KINDS", "corners", "numbers", "with_infinities"]

KINDS = ("codes", "near", "cancel", "extremes", "specials")
"""Operands: any numbers; of like size; whose sums are almost zero; from the corners of the format;
with what is no number among them."""


def corners(fmt: MinifloatFormat) -> np.ndarray:
    """Return zeros, subnormals, their neighbours, one and its neighbours, and the greatest."""
    one = int(fmt.encode(np.array([1.0]))[0])
    least = 1 << fmt.mantissa_bits
    magnitudes = {
        0,
        1,
        2,
        least - 1,
        least,
        least + 1,
        one,
        one + 1,
        one - 1,
        fmt.max_code,
        fmt.max_code - 1,
    }
    kept = sorted(code for code in magnitudes if 0 <= code <= fmt.max_code)
    return np.array(
        kept + [code | fmt.sign_code for code in kept if code or fmt.specials != "fnuz"]
    )


def numbers(rng: np.random.Generator, fmt: MinifloatFormat, shape: Any, kind: str) -> np.ndarray:
    """Draw codes."""
    anything = rng.integers(0, 1 << fmt.width, shape)
    if kind == "specials":
        return np.where(rng.random(shape) < 0.3, rng.choice(corners(fmt), shape), anything)
    if kind in ("near", "cancel"):
        return fmt.encode(rng.normal(size=shape) * 2.0 ** rng.integers(-2, 3, shape))
    if kind == "extremes":
        return rng.choice(corners(fmt), shape)
    finite = np.isfinite(fmt.to_float(anything))
    return np.where(finite, anything, anything & (fmt.sign_code | 1))


def with_infinities(
    rng: np.random.Generator, fmt: MinifloatFormat, codes: np.ndarray
) -> np.ndarray:
    """Make some codes infinities, where there are any: among random codes, they are rare."""
    if fmt.infinity_code is None:
        return codes
    signs = rng.integers(0, 2, codes.shape) * fmt.sign_code
    return np.where(rng.random(codes.shape) < 0.1, fmt.infinity_code | signs, codes)

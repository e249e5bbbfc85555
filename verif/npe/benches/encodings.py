"""Sums to encode: where codes change, and of every length."""

from dataclasses import replace

import numpy as np

from golden.formats.element import ElementFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.posit import PositFormat
from golden.npe.encoder import EncoderSpec, encoder

__all__ = ["all_turns", "any_length", "order", "segments"]

_TABLE_WIDTH = 16


def any_length(rng: np.random.Generator, spec: EncoderSpec, count: int) -> np.ndarray:
    """Draw sums of all lengths, the longest more often, some of one bit or of ones alone."""
    values = []
    for _ in range(count):
        length = int(rng.integers(0, spec.width + 4))
        length = min(length, spec.width - 1)
        value = int.from_bytes(rng.bytes(20), "little") >> (160 - length)
        kind = rng.integers(8)
        value = {0: (1 << length) - 1, 1: 1 << max(length - 1, 0)}.get(int(kind), value)
        values.append(-value - int(rng.integers(2)) if rng.integers(2) else value)
    return np.array(values, dtype=object)


def _turns(fmt: ElementFormat, codes: np.ndarray) -> list[tuple[int, int]]:
    """Return the values of some numbers that are not negative, and of the ties above each.

    Returns
    -------
    Pairs n, e for n * 2^e.
    """
    values = fmt.decode(codes)
    pairs = list(zip(values.significand.tolist(), values.exponent.tolist(), strict=True))
    if isinstance(fmt, PositFormat) and fmt.width < 32:
        wider = replace(fmt, width=fmt.width + 1).decode(2 * codes + 1)
        ties = list(zip(wider.significand.tolist(), wider.exponent.tolist(), strict=True))
    else:
        # Half the least step above; of the greatest number, towards what would come next.
        ties = [(2 * n + 1, e - 1) for n, e in pairs]
    return pairs + ties


def _near(spec: EncoderSpec, values: list[tuple[int, int]], exponent: int = 0) -> np.ndarray:
    """Return the sums next to values n * 2^e of either sign, as far as there are such sums."""
    limit = 1 << (spec.width - 1)
    found: set[int] = set()
    for n, e in values:
        shift = e + spec.fraction_width - exponent
        if n.bit_length() + shift > spec.width:
            continue
        floor = n << shift if shift >= 0 else n >> -shift
        found.update(range(floor - 1, floor + 3))
    both = found | {-value for value in found} | {0, limit - 1, -limit, 1 - limit}
    return np.array(sorted(value for value in both if -limit <= value < limit), dtype=object)


def all_turns(rng: np.random.Generator, spec: EncoderSpec, exponent: int = 0) -> np.ndarray:
    """Return the sums next to every number and tie of the format; of a wide one, next to some."""
    fmt = spec.code_format
    if fmt.width <= _TABLE_WIDTH:
        codes = np.arange(max(fmt.low, 0), fmt.high + 1)
    else:
        plain = replace(spec, saturate=True, exponent_width=0, rounding="rne")
        codes = encoder(plain, np.abs(any_length(rng, plain, 400)) // 2)
    exact = fmt.decode(codes)
    positive = ~exact.nan & (exact.infinity == 0) & (exact.significand >= 0)
    return _near(spec, _turns(fmt, codes[positive]), exponent)


def order(fmt: ElementFormat, codes: np.ndarray) -> np.ndarray:
    """Return integers that are in the order of the values of codes, -0 below +0."""
    codes = np.asarray(codes)
    if isinstance(fmt, MinifloatFormat):
        magnitude = codes & (fmt.sign_code - 1)
        return np.where(codes >= fmt.sign_code, -1 - magnitude, magnitude)
    if isinstance(fmt, PositFormat):
        return np.where(codes > fmt.max_code, codes - (1 << fmt.width), codes)
    return codes


def segments(
    spec: EncoderSpec, exponent: int = 0, random: int | None = None
) -> list[tuple[int, int]]:
    """Return for each code that any sum gives the least such sum, by bisection; ascending.

    All sums have one exponent and, if rounding is stochastic, one random number.
    """
    fmt = spec.code_format

    def codes_of(sums: np.ndarray) -> np.ndarray:
        exponents = np.full(sums.shape, exponent) if spec.exponent_width else None
        bits = None if random is None else np.full(sums.shape, random)
        return encoder(spec, sums, exponents=exponents, random=bits)

    def rank(sums: np.ndarray) -> np.ndarray:
        return order(fmt, codes_of(sums))

    ends = np.array([-(1 << (spec.width - 1)), (1 << (spec.width - 1)) - 1])
    first, last = rank(ends).tolist()
    wanted = np.arange(first, last + 1)
    low, high = np.full(wanted.shape, ends[0]), np.full(wanted.shape, ends[1])
    while (low < high).any():
        middle = (low + high) >> 1
        reached = rank(middle) >= wanted
        high = np.where(reached, middle, high)
        low = np.where(reached, low, middle + 1)
    sums = np.unique(low)
    return list(zip(sums.tolist(), (codes_of(sums) % (1 << fmt.width)).tolist(), strict=True))

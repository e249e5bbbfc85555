"""Tables of a format: what codes mean, how numbers round, products, sums, blocks."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from carrysave.vectors.draw import codes_of, drawn, numbers, thresholds
from golden.formats.block import BlockFormat, Blocks
from golden.formats.element import ElementFormat
from golden.formats.exact import Exact
from golden.formats.minifloat import MinifloatFormat
from golden.formats.nvfp4 import NvFormat
from golden.formats.product import matmul

__all__ = ["MEANINGS", "Table", "tables"]

Table = tuple[str, Iterator[str]]
"""Its name, and the lines of a CSV file, heads first."""

_DECODE, _ENCODE, _PAIRS = 1 << 16, 1 << 8, 1 << 8
"""Most codes of which all are in a table."""
_ENCODED = 512
_FACTORS = 128
_SUMS, _SPECIAL, _TERMS = 128, 8, 16
_BLOCKS = 48
_FP32 = MinifloatFormat(exponent_bits=8, mantissa_bits=23, specials="ieee")

MEANINGS = {
    "decode": "every code, or of long formats some, and its value",
    "encode": "numbers, and the codes that they round to",
    "product": "pairs of codes, their exact product, and the code it rounds to",
    "dot": f"sums of {_TERMS} products, exact, and rounded once to fp32",
    "scale": "every code of a scale, and its value",
    "quantise": "blocks of numbers, and the scale and codes that they become",
}
"""What each table has."""


def tables(fmt: ElementFormat | BlockFormat) -> Iterator[Table]:
    """Yield the tables of a format."""
    if isinstance(fmt, BlockFormat):
        yield "scale", _scale(fmt)
        yield "quantise", _quantise(fmt)
        return
    yield "decode", _decode(fmt)
    yield "encode", _encode(fmt)
    yield "product", _product(fmt)
    yield "dot", _dot(fmt)


def _hex(codes: np.ndarray, width: int) -> list[str]:
    """Write codes as bit patterns."""
    digits = -(-width // 4)
    mask = (1 << width) - 1
    return [f"{code & mask:0{digits}x}" for code in codes.tolist()]


def _exact(values: Exact) -> Iterator[str]:
    """Write exact values, ``significand,exponent``: the significand is odd, or zero."""
    lists = (values.significand, values.exponent, values.nan, values.infinity)
    for significand, exponent, nan, infinity in zip(
        *(one.reshape(-1).tolist() for one in lists), strict=True
    ):
        if nan or infinity:
            yield "nan," if nan else "inf," if infinity > 0 else "-inf,"
        elif not significand:
            yield "0,0"
        else:
            zeros = (significand & -significand).bit_length() - 1
            yield f"{significand >> zeros},{exponent + zeros}"


def _decode(fmt: ElementFormat) -> Iterator[str]:
    codes = codes_of(fmt, _DECODE)
    yield "code,value,significand,exponent"
    values = fmt.to_float(codes).tolist()
    for code, value, exact in zip(
        _hex(codes, fmt.width), values, _exact(fmt.decode(codes)), strict=True
    ):
        yield f"{code},{value.hex()},{exact}"


def _encode(fmt: ElementFormat) -> Iterator[str]:
    codes = codes_of(fmt, _ENCODE)
    if len(codes) > 1 << 8:
        codes = codes[:: -(-len(codes) // _ENCODED)]
    values = np.append(thresholds(fmt, codes), np.nan)
    yield "value,rne_saturate,rtz_saturate,rne,rtz"
    ways = [
        _hex(fmt.encode(values, rounding=rounding, saturate=saturate), fmt.width)
        for saturate in (True, False)
        for rounding in ("rne", "rtz")
    ]
    for value, *texts in zip(values.tolist(), *ways, strict=True):
        yield f"{value.hex()},{','.join(texts)}"


def _product(fmt: ElementFormat) -> Iterator[str]:
    codes = codes_of(fmt, _PAIRS)
    if len(codes) > _PAIRS:
        codes = codes[:: -(-len(codes) // _FACTORS)]
    a, b = np.repeat(codes, len(codes)), np.tile(codes, len(codes))
    product = fmt.decode(a) * fmt.decode(b)
    yield "a,b,significand,exponent,rounded"
    rounded = _hex(fmt.encode(product), fmt.width)
    for row in zip(_hex(a, fmt.width), _hex(b, fmt.width), _exact(product), rounded, strict=True):
        yield ",".join(row)


def _dot(fmt: ElementFormat) -> Iterator[str]:
    choice = drawn(f"{fmt.name} dot", fmt.high - fmt.low + 1)
    # Codes that are no numbers are in the first rows alone: in short formats they are many.
    wild = np.array([*islice(choice, 2 * _SPECIAL * _TERMS)]) + fmt.low
    some = np.array([*islice(choice, 4 * _SUMS * _TERMS)]) + fmt.low
    tame = some[np.isfinite(fmt.to_float(some))][: 2 * (_SUMS - _SPECIAL) * _TERMS]
    a, b = np.concatenate([wild, tame]).reshape(_SUMS, 2, _TERMS).swapaxes(0, 1)
    yield "a,b,significand,exponent,fp32"
    for a_row, b_row in zip(a, b, strict=True):
        total = matmul(fmt.decode(a_row[None]), fmt.decode(b_row[:, None]))
        code = _hex(_FP32.encode(total, saturate=False).reshape(-1), _FP32.width)[0]
        words = (" ".join(_hex(row, fmt.width)) for row in (a_row, b_row))
        yield f"{','.join(words)},{next(_exact(total))},{code}"


def _scale(fmt: BlockFormat) -> Iterator[str]:
    """Take the scale of a block of one element that is 1."""
    yield "code,value"
    codes = np.arange(128 if isinstance(fmt, NvFormat) else 256)
    one = np.full((len(codes), 1), fmt.element.encode(np.array([1.0]))[0])
    values = fmt.to_float(Blocks(codes=one, scales=codes[:, None])).reshape(-1)
    for code, value in zip(_hex(codes, 8), values.tolist(), strict=True):
        yield f"{code},{value.hex()}"


def _quantise(fmt: BlockFormat) -> Iterator[str]:
    yield "values,rounding,scale,codes,tensor_scale"
    values = numbers(fmt.name, (_BLOCKS, fmt.block), 120)
    values[0] = 0
    values[1, 1:] = 0
    values[2] = np.ldexp(1.0, -np.arange(fmt.block) % 64)
    values[3, -1] = np.inf
    values[4, 0] = np.nan
    for row in values:
        words = " ".join(value.hex() for value in row.tolist())
        for rounding in ("rne", "rtz"):
            quantised = fmt.quantise(row, rounding=rounding)
            codes = " ".join(_hex(quantised.codes, fmt.element.width))
            scale = _hex(quantised.scales, 8)[0]
            yield f"{words},{rounding},{scale},{codes},{float(quantised.tensor_scale).hex()}"

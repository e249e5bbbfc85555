"""Formats a second time, in exact fractions and by search: what the golden formats are tested by.

Values come from the fields of a code, as the standards word them. Rounding is a search in the
sorted list of all values, with thresholds between neighbours, so nothing of it is shared with the
encoders, which shift bits.
"""

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import gfloat  # type: ignore[import-untyped]
import numpy as np

from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import parse
from golden.formats.posit import PositFormat

__all__ = ["NAN", "UE5M3", "dot", "draw", "element", "number", "points", "rounded", "value"]

NAN = "nan"
UE5M3 = gfloat.FormatInfo(
    name="ue5m3",
    k=8,
    precision=4,
    bias=15,
    is_signed=False,
    domain=gfloat.Domain.Finite,
    has_nz=False,
    num_high_nans=1,
    has_subnormals=True,
    is_twos_complement=False,
)
"""Unsigned scales: five bits of exponent, three of mantissa, and one code that is NaN."""
Value = Fraction | float | str


def element(name: str) -> ElementFormat:
    """Format of single codes by its name."""
    fmt = parse(name)
    assert isinstance(fmt, ElementFormat)
    return fmt


def number(fmt: ElementFormat, code: int) -> Fraction:
    """Value of a code that has one."""
    found = value(fmt, code)
    assert isinstance(found, Fraction)
    return found


def value(fmt: ElementFormat, code: int) -> Value:
    """Value of a code: a fraction, an infinity (float) or NAN."""
    if isinstance(fmt, IntFormat):
        return Fraction(code, 1 << fmt.fraction_width)
    if isinstance(fmt, PositFormat):
        return posit(code, fmt.width, fmt.exponent_bits)
    assert isinstance(fmt, MinifloatFormat)
    text = f"{code:0{fmt.width}b}"
    sign = -1 if text[0] == "1" else 1
    field = text[1 : 1 + fmt.exponent_bits]
    mantissa = text[1 + fmt.exponent_bits :]
    if fmt.specials == "ieee" and "0" not in field:
        return NAN if "1" in mantissa else sign * math.inf
    if fmt.specials == "nan" and "0" not in text[1:]:
        return NAN
    if fmt.specials == "fnuz" and int(text, 2) == 1 << (fmt.width - 1):
        return NAN
    bias = 2 ** (fmt.exponent_bits - 1) - 1 + (fmt.specials == "fnuz") + fmt.bias_offset
    fraction = Fraction(int("0" + mantissa, 2), 1 << fmt.mantissa_bits)
    if int(field, 2) == 0:
        return sign * fraction * Fraction(2) ** (1 - bias)
    return sign * (1 + fraction) * Fraction(2) ** (int(field, 2) - bias)


def posit(code: int, width: int, es: int) -> Value:
    """Value of a posit, read from its string of bits."""
    if code == 0:
        return Fraction(0)
    if code == 1 << (width - 1):
        return NAN
    negative = code >> (width - 1)
    text = f"{(1 << width) - code if negative else code:0{width}b}"[1:]
    run = len(text) - len(text.lstrip(text[0]))
    regime = run - 1 if text[0] == "1" else -run
    rest = text[run + 1 :]
    exponent = int((rest[:es] + "0" * es)[:es] or "0", 2)
    fraction = Fraction(int("0" + rest[es:], 2), 1 << len(rest[es:]))
    magnitude = Fraction(2) ** (regime * 2**es + exponent) * (1 + fraction)
    return -magnitude if negative else magnitude


@cache
def _grid(fmt: ElementFormat) -> tuple[list[Fraction], list[int], list[Fraction]]:
    """Values of a format that are not negative, ascending, their codes, and what lies between."""
    found = []
    for code in range(max(fmt.low, 0), fmt.high + 1):
        number = value(fmt, code)
        if isinstance(number, Fraction) and (number > 0 or code == 0):
            found.append((number, code))
    found.sort()
    values, codes = [number for number, _ in found], [code for _, code in found]
    if isinstance(fmt, PositFormat):
        # Between two posits lies the one of one bit more; below the least, nothing is zero.
        ties = [posit(2 * code + 1, fmt.width + 1, fmt.exponent_bits) for code in codes[:-1]]
        return values, codes, [Fraction(0), *ties[1:]]  # type: ignore[list-item]
    return values, codes, [(a + b) / 2 for a, b in itertools.pairwise(values)]


def _step(fmt: ElementFormat) -> Fraction:
    """From the greatest value to what would come next."""
    values, codes, _ = _grid(fmt)
    step = values[-1] - values[-2]
    if isinstance(fmt, MinifloatFormat):
        field, mantissa = divmod(codes[-1], 1 << fmt.mantissa_bits)
        # Behind a power of two values are twice as far apart as before it.
        return 2 * step if field > 1 and mantissa == 0 else step
    return step


def rounded(fmt: ElementFormat, exact: Value, nearest: bool = True, saturate: bool = True) -> int:
    """Round to a code of any format but fnuz ones and integers of more than 16 bits."""
    if exact == NAN:
        return getattr(fmt, "nan_code", None) or 0
    assert not isinstance(exact, str)
    if isinstance(fmt, PositFormat) and abs(exact) == math.inf:
        return fmt.nan_code
    values, codes, ties = _grid(fmt)
    size: Fraction | float = -exact if exact < 0 else exact
    negative = exact < 0
    if isinstance(fmt, IntFormat) and negative:
        return _rounded_negative(fmt, size, nearest)
    at = bisect_right(values, size) - 1
    code = codes[at]
    if nearest and at < len(ties) and size >= ties[at]:
        tie = size == ties[at]
        code = codes[at + (0 if tie and code % 2 == 0 and size else 1 if size else 0)]
    if isinstance(fmt, PositFormat):
        code = max(code, 1) if size else 0
        return (-code) % (1 << fmt.width) if negative else code
    limit = values[-1] + _step(fmt) / 2
    even = codes[-1] % 2 == 0
    over = size > limit or (size == limit and not even) if nearest else size == math.inf
    if over and not saturate and isinstance(fmt, MinifloatFormat):
        code = fmt.infinity_code or fmt.nan_code or code
    return code + (negative << (fmt.width - 1))


def _rounded_negative(fmt: IntFormat, size: Fraction | float, nearest: bool) -> int:
    """Round and saturate a negative number to an integer."""
    if size == math.inf:
        return fmt.low
    scaled = Fraction(size) * (1 << fmt.fraction_width)
    return max(-(round(scaled) if nearest else math.floor(scaled)), fmt.low)


def draw(seed: int, fmt: ElementFormat, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers only, uniformly among codes, a quarter of them extremes."""
    rng = np.random.default_rng(seed)
    codes = np.arange(fmt.low, fmt.high + 1)
    values = fmt.to_float(codes)
    codes = codes[np.isfinite(values)]
    values = values[np.isfinite(values)]
    ends = codes[[values.argmax(), values.argmin(), np.abs(values).argmin()]]
    return np.where(rng.random(shape) < 0.25, rng.choice(ends, shape), rng.choice(codes, shape))


def points(fmt: ElementFormat, precision: type = np.float64) -> np.ndarray:
    """Floats where rounding turns: values, what lies between, and the floats next to each."""
    values = fmt.to_float(np.arange(max(fmt.low, 0), fmt.high + 1))
    values = np.unique(values[np.isfinite(values) & (values >= 0)])
    ties = (values[1:] + values[:-1]) / 2
    if isinstance(fmt, PositFormat):
        wider = PositFormat(width=fmt.width + 1, exponent_bits=fmt.exponent_bits)
        ties = wider.to_float(np.arange(1, 1 << fmt.width, 2))
    top, step = values[-1], values[-1] - values[-2]
    beyond = top + step * np.array([0.5, 1, 2, 3])
    marks = np.concatenate([values, ties, beyond, [2 * top, values[1] / 2]])
    marks = marks[marks <= np.finfo(precision).max].astype(precision)
    up, down = precision(np.inf), precision(-np.inf)
    limits = np.array([0, np.finfo(precision).tiny / 2, np.finfo(precision).max, up])
    around = [marks, np.nextafter(marks, up), np.nextafter(marks, down), limits]
    every: np.ndarray = np.unique(np.abs(np.concatenate(around))).astype(precision)
    return np.concatenate([every, -every])


def dot(a: Sequence[Value], b: Sequence[Value]) -> Value:
    """Sum of products, exact; infinities and NAN as in IEEE 754."""
    total: Fraction = Fraction(0)
    infinite = set()
    for x, y in zip(a, b, strict=True):
        if NAN in (x, y):
            return NAN
        assert not isinstance(x, str)
        assert not isinstance(y, str)
        if math.inf in (abs(x), abs(y)):
            if 0 in (x, y):
                return NAN
            infinite.add(math.inf if (x > 0) == (y > 0) else -math.inf)
        else:
            total += Fraction(x) * Fraction(y)
    if len(infinite) == 2:
        return NAN
    return infinite.pop() if infinite else total

"""Floating-point addition, proven equal to counting the ties below the exact sum."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import signed

from golden.formats.minifloat import MinifloatFormat
from golden.formats.names import parse
from hw.npe.floats.add import add
from hw.npe.floats.term import multiply, normalised, unpack
from verif.support.formal import holds


def minifloat(name: str) -> MinifloatFormat:
    found = parse(name)
    assert isinstance(found, MinifloatFormat)
    return found


class Number:
    """What a code stands for, looked up in a table."""

    def __init__(self, m: Module, code: Value, fmt: MinifloatFormat):
        values = fmt.to_float(np.arange(1 << fmt.width))
        with np.errstate(invalid="ignore"):
            units = np.where(np.isfinite(values), values, 0.0) / 2.0**fmt.lsb
        self.lsb = fmt.lsb
        # Not a switch, which would become a memory.
        integers = units.astype(np.int64)
        self.fixed = Signal(signed(fmt.fixed_width))
        m.d.comb += self.fixed.eq(
            Cat(
                Cat(code == int(x) for x in np.flatnonzero(integers >> bit & 1)).any()
                for bit in range(fmt.fixed_width)
            )
        )
        self.sign = code[-1]
        self.nan = Cat(code == int(x) for x in np.flatnonzero(np.isnan(values))).any()
        self.infinite = Cat(code == int(x) for x in np.flatnonzero(np.isinf(values))).any()
        self.zero = Cat(code == int(x) for x in np.flatnonzero(values == 0)).any()


def nearest(exact: Value, lsb: int, fmt: MinifloatFormat, zero_sign: Value) -> Value:
    """Round exact * 2^lsb: the code's magnitude is the number of ties that are passed."""
    values = fmt.to_float(np.arange(fmt.max_code + 1)).tolist()
    values.append(2.0 ** (fmt.max_exponent + 1))
    ties = [(x + y) / 2.0**lsb for x, y in pairwise(values)]
    assert all(tie.is_integer() for tie in ties)
    twice = Mux(exact < 0, -exact, exact) << 1
    # A tie goes to the even code: up from an odd one.
    passed = (twice >= int(tie) if code & 1 else twice > int(tie) for code, tie in enumerate(ties))
    count = sum(passed, C(0, 1))[: fmt.width - 1]
    return Cat(count, Mux(exact == 0, zero_sign, exact < 0))


def agrees(
    code: Value,
    fmt: MinifloatFormat,
    x: Number,
    y: tuple[Value, int],
    sign: Value,
    nan: Value,
    infinite: Value,
) -> Value:
    """Compare a code with the sum of x and y[0] * 2^y[1]."""
    lsb = min(x.lsb, y[1])
    exact = (x.fixed << (x.lsb - lsb)) + (y[0] << (y[1] - lsb))
    finite = nearest(exact, lsb, fmt, x.sign & sign)
    assert fmt.infinity_code is not None
    infinity = Cat(C(fmt.infinity_code, fmt.width - 1), Mux(x.infinite, x.sign, sign))
    wrong = x.nan | nan | (x.infinite & infinite & (x.sign ^ sign))
    special = Mux(wrong, fmt.nan_code, infinity)
    return code == Mux(wrong | x.infinite | infinite, special, finite)


def fused(a_name: str, b_name: str, name: str, *, slip: int = 0) -> Callable[..., Value]:
    """Claim that x + a b is rounded once; with a slip, of the exponent of a b, that is false."""
    fmt, a_format, b_format = (minifloat(each) for each in (name, a_name, b_name))

    def claim(m: Module, x: Signal, a: Signal, b: Signal) -> Value:
        product = multiply(
            m,
            unpack(m, a, a_format, "a"),
            unpack(m, b, b_format, "b"),
            fmt.bias - a_format.bias - b_format.bias + slip,
            encoding="none",
            adder="sklansky",
        )
        code = add(m, unpack(m, x, fmt, "x"), normalised(m, product), fmt)
        p, q = Number(m, a, a_format), Number(m, b, b_format)
        return agrees(
            code,
            fmt,
            Number(m, x, fmt),
            (p.fixed * q.fixed, p.lsb + q.lsb),
            p.sign ^ q.sign,
            p.nan | q.nan | (p.infinite & q.zero) | (q.infinite & p.zero),
            p.infinite | q.infinite,
        )

    return claim


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("a", "b", "total"),
    [
        ("e2m1", "e2m1", "e3m2ieee"),  # product of the sum's own size
        ("e3m2", "e1m0finite", "e3m1ieee"),  # below and above the sum's numbers
        ("e2m3", "e1m1finite", "e3m1ieee"),  # longer than the sum
        ("e2m1ieee", "e2m1fnuz", "e3m2ieee"),  # specials of either
        pytest.param("e1m0finite", "e2m1", "e4m3ieee", marks=pytest.mark.prove),
    ],
)
def test_fused_multiply_add_is_rounded_once(a: str, b: str, total: str) -> None:
    assert holds(fused(a, b, total), *(minifloat(name).width for name in (total, a, b)))


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["e2m1ieee", "e3m3ieee", "e4m1ieee"])
def test_addition_of_codes_is_rounded_once(name: str) -> None:
    """Without normalising: what is subnormal has the least exponent."""
    fmt = minifloat(name)

    def claim(m: Module, x: Signal, y: Signal) -> Value:
        code = add(m, unpack(m, x, fmt, "x"), unpack(m, y, fmt, "y"), fmt)
        other = Number(m, y, fmt)
        return agrees(
            code, fmt, Number(m, x, fmt), (other.fixed, fmt.lsb), y[-1], other.nan, other.infinite
        )

    assert holds(claim, fmt.width, fmt.width)


def test_addition_proof_can_fail() -> None:
    a, b, total = "e2m3", "e1m1finite", "e3m1ieee"
    claim = fused(a, b, total, slip=1)
    assert not holds(claim, *(minifloat(name).width for name in (total, a, b)))

"""Exact matrix products: against fractions and numpy's types."""

import itertools
from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from golden.formats.block import Blocks
from golden.formats.element import ElementFormat
from golden.formats.exact import Exact
from golden.formats.minifloat import MinifloatFormat
from golden.formats.mx import MxFormat
from golden.formats.names import parse
from golden.formats.posit import PositFormat
from golden.formats.product import matmul
from golden.formats.quire import QuireSpec
from golden.formats.ue5m3 import Ue5m3Format
from golden.gemm import GemmSpec, gemm
from verif.golden.formats.reference import NAN, dot, draw, element, number, rounded, value

ELEMENTS = [
    "int8", "uint4", "int8f6", "e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "e3m4", "posit4e1",
    "posit8e0", "posit8e2", "fp16", "bf16", "posit16e1", "int16", "posit10e3",
]  # fmt: skip


def by_fractions(spec: GemmSpec, a: np.ndarray, b: np.ndarray) -> list[list[int]]:
    """Product by the reference, rounded to the nearest."""
    assert isinstance(spec.a_format, ElementFormat)
    assert isinstance(spec.b_format, ElementFormat)
    rows = [[value(spec.a_format, int(code)) for code in row] for row in a]
    columns = [[value(spec.b_format, int(code)) for code in column] for column in b.T]
    return [
        [rounded(spec.c_format, dot(row, column), saturate=spec.saturate) for column in columns]
        for row in rows
    ]


@pytest.mark.sample(7)
@pytest.mark.parametrize("a_name", ELEMENTS)
def test_gemm_is_exact_for_every_pair(a_name: str) -> None:
    a_format = element(a_name)
    compared = 0
    for seed, b_name in enumerate(ELEMENTS):
        b_format = element(b_name)
        a, b = draw(seed, a_format, (3, 9)), draw(seed + 100, b_format, (9, 3))
        for c_format in (element("posit9e2"), element("e5m4ieee"), a_format):
            if c_format.width > 10:
                continue
            spec = GemmSpec(a_format=a_format, b_format=b_format, c_format=c_format)
            assert gemm(spec, a, b).tolist() == by_fractions(spec, a, b), (b_name, c_format.name)
            compared += 1
        quire = QuireSpec(a_format=a_format, b_format=b_format, k_max=9)
        sums = matmul(a_format.decode(a), b_format.decode(b)).fixed(quire.lsb)
        rows = [[number(a_format, code) for code in row] for row in a.tolist()]
        columns = [[number(b_format, code) for code in column] for column in b.T.tolist()]
        expected = [
            [
                sum(x * y for x, y in zip(row, column, strict=True)) / Fraction(2) ** quire.lsb
                for column in columns
            ]
            for row in rows
        ]
        assert sums.tolist() == expected
    assert compared >= 2 * len(ELEMENTS)


@pytest.mark.parametrize("widths", [(26, 27), (27, 27), (40, 12), (60, 60), (63, 30), (52, 1)])
@pytest.mark.parametrize("k_max", [1, 2, 3, 4, 5, 64, 65, 1000])
def test_sums_of_ones_are_exact_in_every_slice(widths: tuple[int, int], k_max: int) -> None:
    """All bits set, so that every slice and sum of slices is as great as it can be."""
    a, b = ((1 << width) - 1 for width in widths)
    left = Exact.finite(np.array([[a] * k_max, [-a] * k_max, [a] * (k_max - 1) + [1]]), -7)
    right = Exact.finite(np.full((k_max, 1), b), 3)
    expected = [k_max * a * b, -k_max * a * b, (k_max - 1) * a * b + b]
    assert matmul(left, right).fixed(-4)[:, 0].tolist() == expected


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e3m4", "fp16", "posit8e0", "posit16e1", "bf16"])
def test_no_number_at_any_place_is_seen(name: str) -> None:
    fmt = element(name)
    c_format = fmt if fmt.width <= 8 else element("e5m2")
    spec = GemmSpec(a_format=fmt, b_format=fmt, c_format=c_format, saturate=False)
    codes = np.arange(1 << fmt.width)
    exact = fmt.decode(codes)
    odd = codes[exact.nan | (exact.infinity != 0)]
    odd = odd if len(odd) < 20 else np.concatenate([odd[:4], odd[-4:]])
    for place, code in itertools.product(range(4), odd):
        a, b = draw(place, fmt, (2, 4)), draw(place + 9, fmt, (4, 3))
        b[place, 0], b[place, 1] = 0, fmt.encode(np.array([-1.0]))[0]
        a[1, place] = code
        b[3 - place, 2] = odd[0]
        assert gemm(spec, a, b).tolist() == by_fractions(spec, a, b)
        c = c_format.to_float(gemm(spec, a, b))
        assert not np.isfinite(c[1]).any()
        assert not np.isfinite(c[0, 2])


def test_infinities_add_up_as_in_ieee_754() -> None:
    fmt = element("e5m2")
    spec = GemmSpec(a_format=fmt, b_format=fmt, c_format=fmt, saturate=False)
    rng = np.random.default_rng(13)
    codes = fmt.encode(np.array([0.0, 1.0, -1.0, np.inf, -np.inf]), saturate=False)
    for weights in ([0.1, 0.6, 0.2, 0.05, 0.05], [0, 0.2, 0.1, 0.5, 0.2], [0, 0.1, 0, 0.9, 0]):
        a, b = rng.choice(codes, (25, 4), p=weights), rng.choice(codes, (4, 25), p=weights)
        assert gemm(spec, a, b).tolist() == by_fractions(spec, a, b)


@pytest.mark.parametrize("name", ["e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "e3m4"])
def test_every_product_is_that_of_numpys_type(name: str) -> None:
    kind = {
        "e2m1": ml_dtypes.float4_e2m1fn,
        "e2m3": ml_dtypes.float6_e2m3fn,
        "e3m2": ml_dtypes.float6_e3m2fn,
        "e4m3": ml_dtypes.float8_e4m3fn,
        "e5m2": ml_dtypes.float8_e5m2,
        "e3m4": ml_dtypes.float8_e3m4,
    }[name]
    fmt = element(name)
    codes = np.arange(1 << fmt.width)
    theirs = codes.astype(np.uint8).view(kind)
    with np.errstate(all="ignore"):
        expected = np.multiply.outer(theirs, theirs).astype(np.float64)
    spec = GemmSpec(a_format=fmt, b_format=fmt, c_format=fmt, saturate=False)
    ours = fmt.to_float(gemm(spec, codes[:, None], codes[None, :]))
    assert np.array_equal(ours, expected, equal_nan=True)


@pytest.mark.parametrize(
    "name", ["e4m3", "e5m2", "posit8e0", "posit16e1", "bf16", "nvfp4", "mx_e5m2"]
)
def test_order_does_not_change_an_exact_sum(name: str) -> None:
    fmt = parse(name)
    rng = np.random.default_rng(7)
    spec = GemmSpec(a_format=fmt, b_format=fmt, accumulation="exact")
    order = rng.permutation(96)
    if isinstance(fmt, ElementFormat):
        a, b = draw(1, fmt, (4, 96)), draw(2, fmt, (96, 5))
        assert np.array_equal(gemm(spec, a, b), gemm(spec, a[:, order], b[order]))
        return
    # Of blocks, whole ones.
    order = rng.permutation(96 // fmt.block)
    at = (order[:, None] * fmt.block + np.arange(fmt.block)).reshape(-1)
    sizes = 2.0 ** rng.integers(-30, 30, 96)
    left = fmt.quantise(rng.normal(size=(4, 96)) * sizes)
    right = fmt.quantise(rng.normal(size=(96, 5)) / sizes[:, None], axis=0)
    moved = (
        replace(left, codes=left.codes[:, at], scales=left.scales[:, order]),
        replace(right, codes=right.codes[at], scales=right.scales[order]),
    )
    assert np.array_equal(gemm(spec, left, right), gemm(spec, *moved))


@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 4, 2), (2, 4, 0)])
@pytest.mark.parametrize("accumulation", ["exact", "fp32", "aligned"])
def test_empty_products(shape: tuple[int, int, int], accumulation: str) -> None:
    m, k, n = shape
    spec = GemmSpec(accumulation=accumulation)
    c = gemm(spec, np.full((m, k), 0x38), np.full((k, n), 0x38))
    assert c.shape == (m, n)
    assert (c == (0 if k == 0 else c)).all()


def test_gemm_rejects() -> None:
    codes = np.zeros((2, 2), dtype=int)
    with pytest.raises(ValueError, match=r"M x K and K x N, not \(2, 2\) and \(3, 2\)"):
        gemm(GemmSpec(), codes, np.zeros((3, 2), dtype=int))
    with pytest.raises(ValueError, match=r"b must be 0\.\.255 \(e4m3\), not 256"):
        gemm(GemmSpec(), codes, codes + 256)
    with pytest.raises(TypeError, match=r"a must be Blocks \(mx_e4m3\), not ndarray"):
        gemm(GemmSpec(a_format=MxFormat()), codes, codes)
    with pytest.raises(TypeError, match=r"b must be integers \(e4m3\), not Blocks"):
        gemm(GemmSpec(), codes, Blocks(codes=codes, scales=codes))
    with pytest.raises(TypeError, match="c_format must be a format such as int8, e4m3, bf16"):
        GemmSpec(c_format=MxFormat())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="group must be a divisor of a block, 32, not 5"):
        GemmSpec(a_format=MxFormat(), group=5)
    with pytest.raises(ValueError, match="accumulation must be one of exact, fp32 for posit8e0"):
        GemmSpec(a_format=PositFormat(), accumulation="aligned")
    with pytest.raises(ValueError, match="accumulation must be one of default, exact, fp32, al"):
        GemmSpec(accumulation="int")
    with pytest.raises(ValueError, match="a_format must be of fixed range, as e4m3, not MxFormat"):
        QuireSpec(a_format=MxFormat())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="b_format must be of fixed range, as int8, not Ue5m3"):
        QuireSpec(b_format=Ue5m3Format())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"k_max must be 1\.\.16777216, not 0"):
        QuireSpec(k_max=0)
    with pytest.raises(ValueError, match="a and b must be M x K and K x N"):
        matmul(Exact.from_float(np.zeros(3)), Exact.from_float(np.zeros((3, 1))))
    assert rounded(MinifloatFormat(), NAN) == 0x7F

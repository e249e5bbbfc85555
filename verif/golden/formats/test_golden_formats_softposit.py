"""Posits and quires against SoftPosit, where it is installed: its source must be built."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from golden.formats.posit import PositFormat
from golden.gemm import GemmSpec, gemm
from verif.golden.formats.reference import draw, element, points

softposit = pytest.importorskip("softposit")
_softposit = pytest.importorskip("_softposit")


def form(width: int, es: int) -> PositFormat:
    return PositFormat(width=width, exponent_bits=es)


@pytest.mark.parametrize(
    ("fmt", "convert"),
    [
        (form(8, 0), lambda bits: _softposit.convertP8ToDouble(softposit.posit8(bits=bits).v)),
        (form(16, 1), lambda bits: _softposit.convertP16ToDouble(softposit.posit16(bits=bits).v)),
        *(
            (
                form(width, 2),
                # Its posits of other widths are left-aligned in 32 bits.
                lambda bits, width=width: _softposit.convertPX2ToDouble(
                    softposit.posit_2(x=width, bits=bits).v
                ),
            )
            for width in range(3, 13)
        ),
    ],
    ids=lambda x: x.name if isinstance(x, PositFormat) else "",
)
def test_posit_values_are_those_of_softposit(
    fmt: PositFormat, convert: Callable[[int], float]
) -> None:
    codes = np.arange(1 << fmt.width)
    theirs = np.array([convert(int(code)) for code in codes])
    ours = fmt.to_float(codes)
    # It makes an infinity or something else of NaR.
    assert np.isnan(ours[fmt.nan_code])
    numbers = codes != fmt.nan_code
    assert np.array_equal(ours[numbers], theirs[numbers])


@pytest.mark.parametrize(
    ("fmt", "kind", "count"),
    [(form(8, 0), softposit.posit8, 1 << 20), (form(16, 1), softposit.posit16, 20000)],
    ids=["posit8e0", "posit16e1"],
)
def test_posit_rounds_as_softposit_does(
    fmt: PositFormat, kind: Callable[..., object], count: int
) -> None:
    values = np.concatenate([points(fmt), [np.nan]])
    if len(values) > count:
        # A sample, and the ends, where the exponent is cut.
        sample = np.random.default_rng(4).choice(values, count)
        sizes = np.sort(np.abs(values))
        values = np.concatenate([sample, sizes[:200], -sizes[-200:]])
    mask = (1 << fmt.width) - 1
    theirs = [kind(float(x)).v.v & mask for x in values]  # type: ignore[attr-defined]
    assert fmt.encode(values).tolist() == theirs


@pytest.mark.parametrize(
    ("name", "quire", "kind"),
    [
        ("posit8e0", softposit.quire8, softposit.posit8),
        ("posit16e1", softposit.quire16, softposit.posit16),
    ],
)
def test_posit_sums_are_softposits_quires(name: str, quire: type, kind: type) -> None:
    """Up to 100 products: 128 of the greatest are too much for its quire8."""
    fmt = element(name)
    mask = (1 << fmt.width) - 1
    spec = GemmSpec(a_format=fmt, b_format=fmt, c_format=fmt)
    rng = np.random.default_rng(6)
    for seed, depth in enumerate([1, 2, 3, 10, 100, 100]):
        a, b = draw(seed, fmt, (6, depth)), draw(seed + 50, fmt, (depth, 6))
        if seed == 5:
            # What is great cancels, and what is left is small.
            a[:, 50:], b[50:] = (1 << fmt.width) - a[:, :50] & mask, b[:50]
            a[:, 0] = rng.integers(1, 60, 6)
        expected = []
        for row, column in itertools.product(a.tolist(), b.T.tolist()):
            total = quire()
            for x, y in zip(row, column, strict=True):
                total.qma(kind(bits=x), kind(bits=y))
            expected.append(total.toPosit().v.v & mask)
        assert gemm(spec, a, b).reshape(-1).tolist() == expected

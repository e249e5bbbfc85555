"""Octaves of rows of shares, and sums of shares times values, against fractions; refusals."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from golden.npe.exps import exps
from golden.npe.vector import VectorUnitSpec
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, error_of
from golden.soc.shares import first_exponent, octaves, share_fraction, shifted_sums
from golden.tpe.systolic_os import SystolicOsSpec

WIDE: dict[str, Any] = {"width": 15, "scale_width": 8}


def unit_of(**given: Any) -> VectorUnitSpec:
    values: dict[str, Any] = {
        "operations": "exps,divide",
        "lanes": 4,
        "length": 2048,
        "signed": True,
        "block": 16,
    }
    return VectorUnitSpec(**values | given)


def spec_of(**given: Any) -> CoprocessorSpec:
    values: dict[str, Any] = {
        "engine": SystolicOsSpec(m=4, n=4),
        "vector": unit_of(),
        "shares": True,
    }
    return CoprocessorSpec(**values | given)


@pytest.mark.parametrize("given", [{}, WIDE, WIDE | {"lanes": 1}, {"signed": False}])
@pytest.mark.parametrize("keys", [1, 16, 37, 2048])
def test_octaves_leave_a_sum_its_bits(given: dict[str, Any], keys: int) -> None:
    """A row's codes sum up to 2^(share_width - 1) .. 2^(share_width + 1), whatever its scores."""
    unit, rng = unit_of(**given), np.random.default_rng(keys)
    high = unit.in_format.high
    rising = np.linspace(-high, high, keys)
    falls = rng.normal(0, 2, (6, keys)) - np.arange(keys) / max(keys, 64) * high
    rows = [rng.normal(0, high / 4, (20, keys)), rising, rising[::-1], np.full(keys, high), falls]
    x = np.clip(np.rint(np.vstack(rows)), -high - 1, high).astype(np.int64)
    codes, exponents = exps(unit, x)
    below = octaves(unit, codes, exponents)
    assert 0 <= below.min() <= below.max() <= 127
    for row, places in zip(codes, below, strict=True):
        total = sum(
            Fraction(int(code), 1 << int(places[at // unit.block])) for at, code in enumerate(row)
        )
        assert (1 << unit.share_width - 1) - 1 <= total < 2 << unit.share_width
    # Octaves differ as exponents do, but at the greatest.
    steps = np.diff(below, axis=1) + np.diff(exponents, axis=1)
    assert not steps[(below[:, 1:] < 127) & (below[:, :-1] < 127)].any()


@pytest.mark.parametrize("width", [32, 40])
def test_sums_are_exact_until_they_are_cut_off(width: int) -> None:
    """Within a unit for each block that is further down than there are bits."""
    spec = spec_of(engine=SystolicOsSpec(m=4, n=4, k_max=1 << width - 16))
    fraction, rng = share_fraction(spec), np.random.default_rng(3)
    assert fraction == width - 16
    a, b = rng.integers(0, 128, (5, 70)), rng.integers(-128, 128, (70, 3))
    below = rng.integers(5, fraction + 1, (5, 5))
    below[3:] += 12
    sums, _ = shifted_sums(spec, a, b, below)
    weights = np.array([[Fraction(1, 1 << int(one)) for one in row] for row in below])
    right = (a.astype(object) * np.repeat(weights, 16, axis=1)[:, :70]) @ b * (1 << fraction)
    assert (sums[:3] == right[:3]).all()
    assert ((sums <= right) & (right - sums < 5)).all()
    assert (sums[3:] != right[3:]).any()


def test_no_row_overflows() -> None:
    """The longest row of the greatest scores and values has room in sums, and loses no bit."""
    spec, keys = spec_of(), 2048
    codes, exponents = exps(unit_of(), np.full((1, keys), 127))
    below = octaves(unit_of(), codes, exponents)
    for value in (-128, 127):
        sums, _ = shifted_sums(spec, codes, np.full((keys, 1), value), below)
        assert 1 << 28 < abs(int(sums[0, 0])) <= 1 << 31


def test_jobs_of_exps_have_octaves_and_products_use_them() -> None:
    """By memory, as the hardware has it: codes, octaves behind them, sums."""
    spec, rng = spec_of(), np.random.default_rng(4)
    assert spec.vector is not None
    memory, x = np.zeros(4096, np.uint8), rng.integers(-90, 90, (3, 37))
    v, first = rng.integers(-128, 128, (37, 5)), first_exponent(spec.vector, 37)
    memory[: x.size], memory[512 : 512 + v.size] = x.ravel() & 255, v.ravel() & 255
    rows: dict[str, Any] = {"m": 3, "lda": 37, "ldb": 5}
    made = Job(a=0, b=0, c=1024, n=37, k=0, ldc=64, vector="exps", **rows)
    assert coprocessor(spec, memory, made) is Error.NONE
    codes, exponents = exps(spec.vector, x)
    below = octaves(spec.vector, codes, exponents)
    shares = memory[1024 : 1024 + 192].reshape(3, 64)
    assert (shares[:, :37] == codes).all()
    assert (shares[:, first : first + 3] == below).all()
    product = Job(
        a=1024,
        b=512,
        c=2048,
        n=5,
        k=37,
        ldc=20,
        a_scales=1024 + first,
        ldsa=64,
        block_m=1,
        block_n=1,
        block_k=16,
        **rows | {"lda": 64},
    )
    assert coprocessor(spec, memory, product) is Error.NONE
    sums = memory[2048 : 2048 + 60].view("<i4").reshape(3, 5)
    assert (sums == shifted_sums(spec, codes, v, below)[0]).all()


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"vector": None}, "without a vector unit that has exps"),
        ({"vector": VectorUnitSpec()}, "without a vector unit that has exps"),
        ({"windows": True}, "where jobs have windows"),
        ({"blocks": False}, "do not choose their blocks"),
        ({"array_clock": 2}, "with an array of a clock of its own"),
        ({"engine": SystolicOsSpec(m=2, n=4)}, "tiles of fewer than 3 rows"),
        ({"engine": SystolicOsSpec(m=32, n=4), "sums": 8192}, "a tile's rows or more"),
        ({"engine": SystolicOsSpec(m=4, n=4, a_width=9)}, "codes of A are no bytes"),
        ({"engine": SystolicOsSpec(m=4, n=4, a_width=7)}, "codes of A do not hold 7 bits"),
        ({"vector": unit_of(signed=False)}, "codes of A do not hold 8 bits"),
    ],
)
def test_shares_rejects_out_of_range(given: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=f"shares must be false .*{wrong}"):
        spec_of(**given)


def test_products_of_other_blocks_are_refused() -> None:
    job: dict[str, Any] = {"a": 0, "b": 512, "c": 1024, "m": 3, "n": 5, "k": 37, "lda": 64}
    job |= {"ldb": 5, "ldc": 20, "a_scales": 48, "ldsa": 64}
    for blocks in ((1, 1, 8), (1, 1, 32), (0, 0, 0), (0, 1, 16)):
        given: dict[str, Any] = dict(zip(("block_m", "block_n", "block_k"), blocks, strict=True))
        assert error_of(spec_of(), Job(**job, **given)) is Error.BLOCKS
        # Without octaves, and where there are none, they are blocks as others.
        assert error_of(spec_of(), Job(**job | {"ldsa": 0}, **given)) is Error.NONE
        assert error_of(spec_of(shares=False), Job(**job, **given)) is Error.NONE

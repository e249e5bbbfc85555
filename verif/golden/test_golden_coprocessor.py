"""What the co-processor's specification refuses, and its requantiser of unsigned sums."""

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest

from golden.npe.requantiser import Requantisation
from golden.soc.coprocessor import requantise
from golden.soc.spec import CoprocessorSpec
from golden.tpe.shift_add_core import ShiftAddCoreSpec
from golden.tpe.systolic_os import SystolicOsSpec


def test_unsigned_sums_have_no_sign_in_the_requantiser() -> None:
    """The greatest sum has its highest bit set; it became a negative code."""
    engine = SystolicOsSpec(
        m=2, n=2, a_width=4, b_width=4, a_signed=False, b_signed=False, k_max=64
    )
    spec = CoprocessorSpec(engine=engine)
    assert spec.inside.sum_width == 14
    how = Requantisation(
        multiplier=np.array([1 << 30]), shift=np.array([37]), zero_point=np.array([0])
    )
    sums = np.array([[64 * 15 * 15, 1 << 13], [(1 << 13) - 1, 0]])
    assert requantise(spec, sums, how).tolist() == [[112, 64], [64, 0]]


@pytest.mark.parametrize("rounding", ["single", "even"])
def test_rounding_is_the_builds(rounding: str) -> None:
    """All sums of a small engine, times 3/8 and 1/8; without a requantiser there is none."""
    engine = SystolicOsSpec(m=2, n=2, a_width=2, b_width=2, k_max=15)
    spec = CoprocessorSpec(engine=engine, requantiser_rounding=rounding)
    width = spec.inside.sum_width
    sums = np.arange(-1 << width - 1, 1 << width - 1).reshape(-1, 2)
    how = Requantisation(
        multiplier=np.array([3, 1]), shift=np.array([3, 3]), zero_point=np.array([-7, 7])
    )
    exact = [[Fraction(x * 3, 8), Fraction(y, 8)] for x, y in sums.tolist()]
    half = Fraction(1, 2)
    expected = [
        [
            (round(x) if rounding == "even" else floor(x + half)) + zero
            for x, zero in zip(row, (-7, 7), strict=True)
        ]
        for row in exact
    ]
    assert requantise(spec, sums, how).tolist() == expected
    assert spec.rounding == rounding
    assert replace(spec, requantise=False, per_column=False).rounding is None


def test_rounding_must_be_known() -> None:
    with pytest.raises(ValueError, match="requantiser_rounding must be one of single, double, e"):
        CoprocessorSpec(requantiser_rounding="up")


def test_stores_without_a_block_are_refused() -> None:
    """Two tiles of three one-bit weights have six sums, but rows that start inside a byte."""
    engine = ShiftAddCoreSpec(n=3, b_width=1, k=7, a_width=3, a_signed=False, b_signed=False)
    with pytest.raises(ValueError, match="must hold a block whose rows are of whole bytes, not 6,"):
        CoprocessorSpec(engine=engine, sums=6)

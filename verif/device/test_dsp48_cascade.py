"""Sums of two columns in a DSP48: as far apart as they can be, and far enough, or not together."""

from itertools import product

import pytest

from golden.pe.mac import MacSpec
from hw.device import family
from hw.device.dsp48 import Dsp48
from hw.device.dsp48_cascade import Dsp48Cascade
from hw.device.packing import Packing

SUM = 48


def possible(device: Dsp48, spec: MacSpec, spacing: int) -> bool:
    """Whether both sums are in the block, and a wrap of the lower one shows."""
    a, b = spec.a_format, spec.b_format
    beat = spec.k * max(abs(x * y) for x in (a.low, a.high) for y in (b.low, b.high))
    pair = Packing(a_format=a, b_format=b, rows=1, columns=2, spacing=spacing, a_wide=False)
    return (
        spacing + spec.accumulator_width <= SUM
        # A beat moves the two topmost bits of the lower sum by one at most.
        and beat <= 1 << spacing - 2
        and pair.fits(device.multiplier)
    )


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", ["xilinx7", "ultrascale"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8])
def test_two_sums_are_as_far_apart_as_they_can_be(name: str, k: int) -> None:
    device = family(name)
    assert isinstance(device, Dsp48)
    together = set()
    for a, b, a_signed, b_signed, width in product(
        (2, 3, 4, 5, 8), (2, 3, 6, 8), (True, False), (True, False), (20, 24, 31, 32, 33, 40)
    ):
        spec = MacSpec(
            k=k, a_width=a, b_width=b, a_signed=a_signed, b_signed=b_signed, accumulator_width=width
        )
        spacings = [at for at in range(2, SUM) if possible(device, spec, at)]
        found = Dsp48Cascade.choose(device, spec, 2)
        assert found is not None
        together.add(found.packing.columns)
        assert found.packing.columns == (2 if spacings else 1)
        if spacings:
            assert found.packing.spacing == max(spacings)
            assert found.count == max(width - max(spacings), 0)
        else:
            assert (found.packing.spacing, found.count) == (a + b, 0)
        assert found.width == SUM + found.count
    assert 2 in together


def test_a_sum_that_no_block_holds_is_not_in_one() -> None:
    device = family("xilinx7")
    assert isinstance(device, Dsp48)
    for width, columns in ((48, 1), (49, None)):
        spec = MacSpec(k=1, a_width=8, b_width=8, accumulator_width=width)
        found = Dsp48Cascade.choose(device, spec, 2)
        assert (None if found is None else found.packing.columns) == columns

"""Wide weights as digits: within an engine's range, and the same numbers."""

import numpy as np
import pytest

from carrysave.compiler.decoder.compile import core_block
from carrysave.compiler.decoder.cores import CORES
from carrysave.compiler.program.digits import digits, packed, weight_range
from carrysave.compiler.target.target import Target
from golden.lut.trits import unpack_trits


@pytest.mark.parametrize("low", [-128, -8, -2, -1])
@pytest.mark.parametrize("bounds", [
    (0, 15), (-8, 7), (-127, 127), (-128, 127), (-16, 15), (0, 3), (9, 12), (-20, -10), (0, 0),
    (-1, 1),
])  # fmt: skip
def test_digits_are_the_weights(low: int, bounds: tuple[int, int]) -> None:
    """All weights of a range."""
    high = 1 if low == -1 else -low - 1
    weights = np.arange(bounds[0], bounds[1] + 1)[:, None]
    parts = digits(weights, low, high)
    assert all(low <= one.codes.min() and one.codes.max() <= high for one in parts)
    assert np.array_equal(sum((one.codes + one.offset) << one.shift for one in parts), weights)
    if bounds[1] - bounds[0] <= high - low:
        assert len(parts) == 1


def test_what_is_packed_is_what_the_engine_reads() -> None:
    rng = np.random.default_rng(0)
    for core in CORES:
        target = Target(core_block(core, {}))
        low, high = weight_range(target)
        codes = rng.integers(low, high, (20, 6), endpoint=True)
        found = packed(target.mode, codes)
        if target.mode.expander.name == "trits":
            assert np.array_equal(unpack_trits(found), codes)
        else:
            assert np.array_equal(target.mode.b_stored.unpack(found, 6), codes)

"""Products that go on with a state, step by step, and integers that are digits of the engine."""

from typing import Any

import numpy as np
import pytest

from carrysave.compiler.lowered import golden
from carrysave.compiler.lowered.digits import digit_count, digits_of, sum_of_digits
from carrysave.compiler.lowered.linear_tokens import Tokens
from carrysave.compiler.lowered.state_product import StateProduct
from carrysave.compiler.run.alone import of_work
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import run as run_works
from carrysave.driver.number import Number
from hw.catalog import Design
from verif.networks.comparing import TARGET
from verif.soc.driver.driver_rig import Rig


def test_runs_in_batches() -> None:
    """Works of the first chunk go on with the past state, those of others with the last chunk's."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(-128, 128, (2, 3, 6, 4)), rng.integers(-128, 128, (2, 3, 4, 5))
    factors, first = rng.integers(0, 1 << 16, (2, 3, 6)), rng.integers(-9999, 9999, (2, 6, 5))
    names: dict[str, Any] = dict(zip(("name", "operator", "a", "b", "y"), "soaby", strict=True))
    product = StateProduct(**names, weights=None, factors=factors, first=first)
    target = Target(Design("coprocessor", {"engine": "systolic_os(m=2,n=2)", "row_factors": True}))
    compiled = product.compile(target, a, b, in_hardware=True)
    assert [one.goes_on for one in compiled.works] == [False, True, True] * 2
    device = Rig("python", None, target.spec).open()
    made = compiled.finish(run_works(device, compiled.works)[0])
    due = first
    for step in range(3):
        scaled = due * factors[:, step, :, None] + (1 << 14) >> 15
        due = scaled + a[:, step] @ b[:, step]
        np.testing.assert_array_equal(made[:, step], due)
    np.testing.assert_array_equal(golden.product(target.spec, compiled), made)
    # A job of its own has the state in memory that it goes on with.
    first_work = compiled.works[0]
    alone = of_work("state", first_work, target)
    result = golden.run(target.spec, [first_work])[0]
    assert np.array_equal(alone.golden(target), alone.bytes_of(result, target))
    plain = product.compile(TARGET, a, b, in_hardware=True)
    assert not any(one.goes_on or one.row_factors is not None for one in plain.works)
    np.testing.assert_array_equal(golden.product(TARGET.spec, plain), made)


def test_digits() -> None:
    """Counted for a range, and put together again; more than there are digits for is refused."""
    number = Number.of(4, 4, signed=True)
    for least, most, count in ((-8, 7, 1), (-8, 8, 2), (-9, 7, 2), (-136, 119, 2), (-136, 120, 3)):
        assert digit_count(least, most, number) == count
        values = np.arange(least, most + 1)[None]
        made = digits_of(values, count, number, 1)
        assert -8 <= made.min() <= made.max() <= 7
        np.testing.assert_array_equal(sum_of_digits(made, count, number, 1), values)
    with pytest.raises(ValueError, match="integers must be of 1 digits of 4 bits, not 9"):
        digits_of(np.array([[3, 9]]), 1, number, 1)


def test_chunks_are_as_short_as_decay_needs() -> None:
    """Weights are within 2^-3 and 2^3 of the middle of each chunk, the last one, too."""
    rng = np.random.default_rng(4)
    for mean, tokens in ((0.01, 50), (0.3, 50), (0.6, 17), (2.0, 9), (9.0, 3)):
        decay = -rng.exponential(mean, (2, tokens, 3))
        none = np.zeros((2, tokens, 1))
        chunk = Tokens(queries=none, keys=none, values=none, decay=decay).chunk(32)

        def fits(size: int, decay: np.ndarray = decay) -> bool:
            for start in range(0, decay.shape[1], size):
                sums = decay[:, start : start + size].cumsum(axis=1)
                middle = sums[:, [min(size // 2, sums.shape[1] - 1)]]
                if np.abs(sums - middle).max() > 3 * np.log(2):
                    return False
            return True

        assert 32 % chunk == 0
        assert chunk == 1 or fits(chunk)
        assert chunk == 32 or not fits(2 * chunk)
    by_head = Tokens(queries=none, keys=none, values=none, decay=decay[:, :, :1])
    assert by_head.chunk(32) == 32

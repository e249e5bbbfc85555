"""Rooms of memory that are taken and given back."""

from itertools import pairwise

import numpy as np

from carrysave.compiler.program.pool import Pool


def test_pool_gives_rooms_again() -> None:
    """No two rooms overlap at any time; what touches becomes one room."""
    rng, end = np.random.default_rng(2), 0
    taken: dict[int, int] = {}

    def room(size: int) -> int:
        nonlocal end
        end += -(-size // 16) * 16
        return end - -(-size // 16) * 16

    pool = Pool(room)
    for _ in range(400):
        if taken and rng.integers(2):
            at = int(rng.choice(list(taken)))
            del taken[at]
            pool.give(at)
        else:
            size = int(rng.integers(1, 200))
            taken[pool.take(size)] = size
        spans = sorted(taken.items())
        assert all(a + s <= b for (a, s), (b, _) in pairwise(spans))
        assert pool.holding(np.array([at + taken[at] - 1 for at in taken])) == set(taken)
    for at in taken:
        pool.give(at)
    before = end
    assert pool.take(end) == 0
    assert end == before

"""Blocks behind SDRAM, whose cycles are those of a walk, row by row: it ends for large products."""

from typing import Any

import pytest

from carrysave.compiler.program import blocks, cost
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job, Requantisation
from carrysave.system.boards import design_of, system_board_of


@pytest.mark.parametrize(
    ("walked", "fewest", "most"), [(0, 1, 1), (8_000, 2, 63), (1 << 40, 64, 64)]
)
def test_fewer_are_tried_of_large_products(
    walked: int, fewest: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planner's best is, always; and the best of those that are is taken."""
    board, chosen = system_board_of("ulx3s_85f")
    target = Target(design_of(board, {}), timing=chosen.sdram.timing)
    tried, timed = [], cost.product_cycles

    def counted(*given: Any) -> int:
        tried.append((timed(*given), given[1]))
        return tried[-1][0]

    monkeypatch.setattr(blocks, "_WALKED", walked)
    monkeypatch.setattr(blocks, "product_cycles", counted)
    job = Job(
        a=0, b=1 << 16, c=1 << 18, m=50, n=50, k=200, lda=200, ldb=100, ldc=100,
        requantisation=Requantisation(multiplier=1, shift=1),
    )  # fmt: skip
    made = blocks.planned(job, target)
    assert fewest <= len(tried) <= most
    best = min(tried, key=lambda one: one[0])[1]
    assert (made.block_m, made.block_n, made.block_k) == (best.m, best.n, best.k)

"""Tests of zero points of blocks in the array of lanes; a part of the bench of that array."""

from itertools import product
from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb.engine_driver import TRAFFIC
from verif.npe.benches.harness import LANE, MAKER, SPEC, begin, check, tile

__all__ = ["test_zero_points_at_their_ends", "test_zero_points_change_with_blocks"]


@cocotb.test
@cocotb.parametrize(traffic=TRAFFIC)
async def test_zero_points_change_with_blocks(dut: Any, traffic: tuple[str, str, str]) -> None:
    """One block and many, whole ones and shorter ones, in all pairs of formats, under stalls."""
    seed = 1700 + TRAFFIC.index(traffic)
    engine, rng = await begin(dut, seed)
    block = SPEC.block
    lengths = [1, block - 1, block, block + 1, 2 * block, 2 * block + 1, 5 * block + block // 2]
    lengths += rng.integers(1, 4 * block, 12).tolist()
    await check(
        engine, [tile(rng, max(int(k), 1)) for k in rng.permutation(lengths)], seed, traffic
    )


@cocotb.test
async def test_zero_points_at_their_ends(dut: Any) -> None:
    """Least and greatest codes of A and B, and zero points; sums by numpy, without golden."""
    engine, rng = await begin(dut, 1800)
    tiles, due = [], []
    for pair in LANE.pairs:
        a_ends, b_ends = ((LANE.elements[one].low, LANE.elements[one].high) for one in pair)
        for x, y, z in product(a_ends, b_ends, b_ends):
            k = 2 * SPEC.block + 1
            made = MAKER.scaled(rng, np.full((SPEC.m, k), x), np.full((k, SPEC.n), y), pair)
            zeros = np.full((3, SPEC.n), z)
            zeros[1] = 0
            tiles.append(made._replace(b_zeros=zeros))
            due.append(x * (y - z) * (SPEC.block + 1) + x * y * SPEC.block)
    rows = await check(engine, tiles, 1800)
    if SPEC.result == "fixed":
        sums = rows.numbers.reshape(-1, SPEC.m * SPEC.n)
        assert np.array_equal(sums[:, 0], np.array(due)[: len(sums)])
        assert (sums == sums[:, :1]).all()

"""Tests of scales of blocks in the array of lanes; a part of the bench of that array."""

from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb.engine_driver import TRAFFIC
from carrysave.sim.cocotb.npe_tiles import Tile
from carrysave.sim.cocotb.streams import deadline
from golden.npe.npe import npe
from verif.npe.benches.harness import FILL, LANE, MAKER, SPEC, begin, check, codes, start, tile

__all__ = [
    "test_blocks",
    "test_infinities",
    "test_large_scaled_product",
    "test_scales_at_their_ends",
    "test_scales_that_are_no_numbers",
]


def filled(a: int, b: int, k: int, pair: tuple[int, int], scales: tuple[Any, Any]) -> Tile:
    """Make a tile of one code of A and one of B; scales of each block, the same for all rows."""
    parts = np.full((SPEC.m, k), a), np.full((k, SPEC.n), b)
    blocks = -(-k // SPEC.block)
    own = [np.broadcast_to(np.asarray(one), blocks) for one in scales]
    zeros = np.zeros((blocks, SPEC.n), int) if SPEC.zeros else None
    return Tile(*parts, pair, np.tile(own[0], (SPEC.m, 1)), np.tile(own[1], (SPEC.n, 1)).T, zeros)


@cocotb.test
@cocotb.parametrize(traffic=TRAFFIC)
async def test_blocks(dut: Any, traffic: tuple[str, str, str]) -> None:
    """One block and many, whole ones and shorter ones, in all pairs of formats, under stalls."""
    seed = 1200 + TRAFFIC.index(traffic)
    engine, rng = await begin(dut, seed)
    block = SPEC.block
    lengths = [1, block - 1, block, block + 1, 2 * block, 2 * block + 1, 7 * block + block // 2]
    lengths += rng.integers(1, 4 * block, 6).tolist()
    tiles = [tile(rng, max(int(k), 1), rate=0.0005) for k in rng.permutation(lengths)]
    await check(engine, tiles, seed, traffic)


@cocotb.test
async def test_scales_at_their_ends(dut: Any) -> None:
    """Least and greatest scales of A and B, and those whose product is near that of ones."""
    engine, rng = await begin(dut, 1300)
    ends = [0, 1, MAKER.no_scale // 2, MAKER.no_scale - 2, MAKER.no_scale - 1]
    tiles = []
    for x in ends:
        for y in ends:
            made = tile(rng, 2 * SPEC.block + 1, rate=0.0)
            assert made.a_scales is not None
            assert made.b_scales is not None
            scales = np.full_like(made.a_scales, x), np.full_like(made.b_scales, y)
            tiles.append(made._replace(a_scales=scales[0], b_scales=scales[1]))
    await check(engine, tiles, 1300)


@cocotb.test
async def test_scales_that_are_no_numbers(dut: Any) -> None:
    """NaN as the scale of each row and column, in each of three blocks; none in the tile behind."""
    engine, rng = await begin(dut, 1400)
    tiles, due = [], []
    for place in range(SPEC.m + SPEC.n):
        for block in range(3):
            made = tile(rng, 3 * SPEC.block - 1, rate=0.0)
            assert made.a_scales is not None
            assert made.b_scales is not None
            flags = np.zeros((2 * SPEC.m, SPEC.n), dtype=bool)
            if place < SPEC.m:
                made.a_scales[place, block] = MAKER.no_scale
                flags[place] = True
            else:
                made.b_scales[block, place - SPEC.m] = MAKER.no_scale
                flags[: SPEC.m, place - SPEC.m] = True
            tiles += [made, tile(rng, SPEC.block, rate=0.0)]
            due.append(flags)
    rows = await check(engine, tiles, 1400)
    assert np.array_equal(rows.invalid, np.concatenate(due)[: len(rows.invalid)])


@cocotb.test(skip=SPEC.scale != "e8m0")
async def test_infinities(dut: Any) -> None:
    """Sums beyond fp32 of one sign and of both: infinities, and NaN that no operand brought in."""
    engine, _ = await begin(dut, 1500)
    k = 2 * SPEC.block
    tiles, due = [], []
    for index in range(len(LANE.names)):
        known = MAKER.numbers[index]
        values = LANE.elements[index].to_float(known.every)
        low, high = known.every[values.argmin()], known.every[values.argmax()]
        for signs in ((high, high), (low, low), (high, low), (low, high)):
            made = filled(0, high, k, (index, index), (254, 254))
            made.a[:, : SPEC.block], made.a[:, SPEC.block :] = signs
            tiles.append(made)
            due.append(np.full((SPEC.m, SPEC.n), signs[0] != signs[1]))
    rows = await check(engine, tiles, 1500)
    nan = rows.numbers == 0x7FC00000
    assert np.array_equal(nan, np.concatenate(due)[: len(nan)])
    assert not rows.invalid.any()


@cocotb.test
async def test_large_scaled_product(dut: Any) -> None:
    """A product of many tiles and blocks, in two pairs of formats."""
    engine, rng = await begin(dut, 1600)
    shape, k = (4 * SPEC.m, 4 * SPEC.n), 3 * SPEC.block + 2
    for pair in (LANE.pairs[0], LANE.pairs[-1]):
        a, b = codes(rng, pair[0], (shape[0], k)), codes(rng, pair[1], (k, shape[1]))
        centre = MAKER.no_scale // 2
        scales = [
            rng.integers(centre - 9, centre + 9, size) for size in ((shape[0], 4), (4, shape[1]))
        ]
        zeros = codes(rng, pair[1], (4, shape[1])) if SPEC.zeros else None
        tiles = [
            Tile(
                a[i : i + SPEC.m],
                b[:, j : j + SPEC.n],
                pair,
                scales[0][i : i + SPEC.m],
                scales[1][:, j : j + SPEC.n],
                None if zeros is None else zeros[:, j : j + SPEC.n],
            )
            for i in range(0, shape[0], SPEC.m)
            for j in range(0, shape[1], SPEC.n)
        ]
        start(engine, tiles, 1600, TRAFFIC[0])
        await deadline(engine.take(len(tiles)), len(tiles) * (k + FILL), "rows of C")
        numbers = engine.rows().numbers.reshape(4, 4, SPEC.m, SPEC.n)
        whole, _, _ = npe(SPEC, a, b, pair[0], pair[1], scales[0], scales[1], zeros)
        assert np.array_equal(numbers.swapaxes(1, 2).reshape(shape), whole)
    await engine.c.silent(FILL)

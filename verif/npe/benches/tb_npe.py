"""Bench of the array of lanes: tiles of all formats, stalls, resets, flags, cycle count."""

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from carrysave.sim.cocotb.engine_driver import TRAFFIC
from carrysave.sim.cocotb.streams import SCHEDULES, deadline, limited
from carrysave.sim.parameters import bench_parameters
from golden.npe.npe import cycles, npe, pack
from verif.npe.benches.harness import (
    FILL,
    LANE,
    MAKER,
    NUMBERS,
    SPEC,
    begin,
    check,
    codes,
    finish,
    start,
    tile,
)
from verif.npe.benches.tiling import cut, join

if SPEC.zeros:
    from verif.npe.benches.zeroed import *  # noqa: F403  (the tests of zero points)
if SPEC.scale != "none":
    from verif.npe.benches.scaled import *  # noqa: F403  (the tests of scales)


def beats_of_interest() -> list[int]:
    """Lengths around everything that an array of this size may count to."""
    edge = SPEC.m + SPEC.n
    return sorted({1, 2, 3, 4, SPEC.m, SPEC.n, edge - 1, edge, edge + 1, 2 * edge + 3} - {0})


@cocotb.test
async def test_every_pair_of_formats(dut: Any) -> None:
    """Tiles of each pair of formats, odd and even K, back to back in random order."""
    engine, rng = await begin(dut, 10)
    tiles = [tile(rng, k, pair, 0.003) for pair in LANE.pairs for k in (1, 2, 13, 32)]
    await check(engine, [tiles[at] for at in rng.permutation(len(tiles))], 10)


@cocotb.test
@cocotb.parametrize(traffic=TRAFFIC)
async def test_matches_golden(dut: Any, traffic: tuple[str, str, str]) -> None:
    """Tiles of all lengths and formats in random order, under stalls on each of the streams."""
    seed = 100 + TRAFFIC.index(traffic)
    engine, rng = await begin(dut, seed)
    lengths = beats_of_interest() + rng.integers(1, 40, 4).tolist()
    await check(engine, [tile(rng, int(k)) for k in rng.permutation(lengths)], seed, traffic)


@cocotb.test
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_single_beats_back_to_back(dut: Any, kind: str) -> None:
    """Tiles of one beat each, every one in other formats."""
    engine, rng = await begin(dut, 200)
    tiles = [tile(rng, 1, rate=0.1) for _ in range(2 * (SPEC.m + SPEC.n))]
    await check(engine, tiles, 200, (kind, kind, kind))


@cocotb.test
async def test_places(dut: Any) -> None:
    """A one in each place of A picks that row of B: shows any swap of rows, columns or codes."""
    engine, rng = await begin(dut, 300)
    tiles = []
    for pair in LANE.pairs:
        eye = np.eye(SPEC.m, dtype=np.int64) * NUMBERS[pair[0]].one
        shift = int(rng.integers(SPEC.m))
        b = codes(rng, pair[1], (SPEC.m, SPEC.n))
        tiles.append(MAKER.scaled(rng, np.roll(eye, shift, 0), b, pair))
    await check(engine, tiles, 300)


@cocotb.test
async def test_extremes(dut: Any) -> None:
    """Only extremes of each pair, of one sign and of both, beyond what the sum can hold."""
    engine, rng = await begin(dut, 400)
    tiles = []
    for pair in LANE.pairs:
        ends = []
        for index in pair:
            numbers = NUMBERS[index].every
            values = LANE.elements[index].to_float(numbers)
            ends.append([numbers[values.argmin()], numbers[values.argmax()]])
        length = min(LANE.k_max_words(*pair), 4) * LANE.codes(*pair) + 1
        tiles += [
            MAKER.scaled(rng, np.full((SPEC.m, length), x), np.full((length, SPEC.n), y), pair)
            for x in ends[0]
            for y in ends[1]
        ]
    await check(engine, tiles, 400)


@cocotb.test
@cocotb.parametrize(length=[1, 3])
async def test_invalid_flags_its_row_or_column(dut: Any, length: int) -> None:
    """One code that is no number, in each place of A and B, and none in the tile behind."""
    engine, rng = await begin(dut, 500)
    tiles, due = [], []
    bad = [index for index in range(len(LANE.names)) if NUMBERS[index].wrong.size]
    for own in bad:
        other = int(rng.integers(len(LANE.names)))
        for i in range(SPEC.m + SPEC.n):
            for k in range(length):
                code = rng.choice(NUMBERS[own].wrong)
                row = i < SPEC.m
                made = tile(rng, length, (own, other) if row else (other, own), 0.0)
                place = (i, k) if row else (k, i - SPEC.m)
                (made.a if row else made.b)[place] = code
                tiles += [made, tile(rng, length, rate=0.0)]
                flags = np.zeros((2 * SPEC.m, SPEC.n), dtype=bool)
                flags[: SPEC.m][i if row else slice(None), slice(None) if row else place[1]] = True
                due.append(flags)
    if not tiles:
        tiles, due = [tile(rng, length)], [np.zeros((SPEC.m, SPEC.n), dtype=bool)]
    rows = await check(engine, tiles, 500)
    assert np.array_equal(rows.invalid, np.concatenate(due)[: len(rows.invalid)])


@cocotb.test
async def test_overflow_at_the_limit(dut: Any) -> None:
    """As many words as sums can take, one more, and few: of each pair where that is feasible."""
    engine, rng = await begin(dut, 600)
    limits = {pair: SPEC.k_max_words(*pair) or 1 << 24 for pair in LANE.pairs}
    pairs = [pair for pair in LANE.pairs if limits[pair] <= 3000]
    pairs = [pairs[at] for at in rng.permutation(len(pairs))[:6]]
    tiles, due = [tile(rng, 1)], [False]
    for pair in pairs:
        most, count = limits[pair], LANE.codes(*pair)
        for words, over in ((most, False), (most + 1, True), (1, False), (most + 2, True)):
            tiles.append(tile(rng, words * count, pair))
            due.append(over)
    rows = await check(engine, tiles, 600)
    assert np.array_equal(rows.overflow, np.repeat(due, SPEC.m)[: len(rows.overflow)])


@cocotb.test
@cocotb.parametrize(moment=["compute", "drain"])
async def test_reset_forgets(dut: Any, moment: str) -> None:
    """Reset among beats or among rows of C: nothing of before comes after, no flag either."""
    engine, rng = await begin(dut, 700)
    for trial in range(16):
        k = int(rng.integers(2, SPEC.m + SPEC.n + 4))
        tiles = [tile(rng, k, rate=0.1) for _ in range(3)]
        tasks = start(engine, tiles, 700 + trial, ("flowing",) * 3)
        if moment == "compute":
            tasks.append(engine.take(3))
            wait = int(rng.integers(1, 3 * (k + FILL)))
        else:
            rows = int(rng.integers(0, SPEC.m))
            await deadline(engine.c.take(rows), 100 * (k + FILL), "first rows of C")
            wait = int(rng.integers(0, FILL))
        for _ in range(wait):
            await RisingEdge(dut.clk)
        for task in tasks:
            task.cancel()
        engine = await engine.restart()
        if trial % 4 == 3:
            await engine.c.silent(k + FILL)
        await check(engine, [tile(rng, 1), tile(rng, k)], 750 + trial)


@cocotb.test
@cocotb.parametrize(starved=["a", "b"])
async def test_starved_stream_waits(dut: Any, starved: str) -> None:
    """With one operand withheld nothing comes out; when it comes, all is as it should be."""
    engine, rng = await begin(dut, 800)
    tiles = [tile(rng, k) for k in (1, 3, SPEC.m + SPEC.n)]
    engine.send_b(tiles) if starved == "a" else engine.send_a(tiles)
    await engine.c.silent(3 * FILL)
    engine.send_a(tiles) if starved == "a" else engine.send_b(tiles)
    await finish(engine, tiles)


@cocotb.test
async def test_valid_does_not_wait_for_ready(dut: Any) -> None:
    """A row is offered to a receiver that is not ready."""
    engine, rng = await begin(dut, 900)
    tiles = [tile(rng, 1)]
    start(engine, tiles, 900, TRAFFIC[0])
    for _ in range(FILL):
        await RisingEdge(dut.clk)
    assert dut.o_c_valid.value
    await finish(engine, tiles)


@cocotb.test
async def test_cycles(dut: Any) -> None:
    """First beat to last row takes exactly the cycles that golden states, everything flowing."""
    engine, rng = await begin(dut, 1000)
    edge = SPEC.m + SPEC.n
    mixed = [2, edge, 1, 1, SPEC.m, edge, SPEC.n, 3]
    many = [min(SPEC.block, 40) * count + edge for count in (3, 0, 1, 2)]
    for lengths in ([1], [edge], [1] * 5, [edge] * 4, mixed, many):
        for stream in (engine.a, engine.b, engine.c):
            stream.cycles.clear()
        tiles = [tile(rng, k) for k in lengths[: limited(len(lengths))]]
        await check(engine, tiles, 1000)
        spent = engine.c.cycles[-1] - min(engine.a.cycles[0], engine.b.cycles[0]) + 1
        words = [pack(SPEC, part.a, part.b, *part.pair) for part in tiles]
        pairs = [part.pair for part in tiles]
        # A beat is taken in the last of its cycles.
        spent += LANE.cycles(*pairs[0]) - 1
        stated = cycles(SPEC, words, bench_parameters()["latency"], pairs)
        assert spent == stated, f"tiles of {lengths} took {spent} cycles, golden says {stated}"


@cocotb.test(skip=SPEC.scale != "none" or SPEC.zeros)
async def test_large_product(dut: Any) -> None:
    """64 x 64 x 64, as far as it takes at most 64 tiles, in two pairs of formats."""
    engine, rng = await begin(dut, 1100)
    shape = min(64, 8 * SPEC.m), min(64, 8 * SPEC.n)
    for pair in (LANE.pairs[0], LANE.pairs[-1]):
        k = 64 if SPEC.result == "fixed" else min(64, LANE.k_max_words(*pair))
        a, b = codes(rng, pair[0], (shape[0], k)), codes(rng, pair[1], (k, shape[1]))
        job = cut(SPEC, a, b, pair)
        engine.send_job(job, pair)
        patience = FILL * (len(job.a) + len(job.lengths))
        await deadline(engine.take(len(job.lengths)), patience, "rows of C")
        rows = engine.rows()
        for got, want in zip(join(SPEC, job, rows), npe(SPEC, a, b, *pair)[:2], strict=True):
            assert np.array_equal(got, want)
        assert not rows.overflow.any()
    await engine.c.silent(FILL)

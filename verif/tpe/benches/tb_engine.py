"""Bench of every matrix engine: tiles of all lengths, stalls, resets, extremes, cycle count."""

from collections.abc import Sequence
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from carrysave.sim.cocotb.engine_driver import TRAFFIC, EngineDriver, golden_module, product_of
from carrysave.sim.cocotb.streams import SCHEDULES, cycle, deadline, generator, limited, schedule
from carrysave.sim.operands import normal, uniform
from carrysave.sim.parameters import bench_parameters, bench_spec
from carrysave.sim.tiling import cut, join, tile_beats
from golden.tpe.rows import RowsEngineSpec
from verif.support.vectors import corners

SPEC = bench_spec()
GOLDEN = golden_module(SPEC)
matmul = product_of(SPEC)
FILL = 2 * (SPEC.m + SPEC.n) + SPEC.a_width * SPEC.k + SPEC.accumulator_width
"""Cycles within which an engine of this size has to react, digit-serial or not."""
GAP = () if bench_parameters()["gap"] is None else (bench_parameters()["gap"],)
"""Idle cycles between tiles, where the spec does not say how soon one may follow another."""
ROWS_HELD = bench_parameters()["rows_held"]
"""Rows for which there is room behind an array that never stops; None if it waits itself."""
FILL += getattr(SPEC, "beat_cycles", 0)  # of one that says how long it takes for a beat

Tile = tuple[np.ndarray, np.ndarray]


def tile(rng: np.random.Generator, k: int) -> Tile:
    """Draw a tile: uniform or normal codes, a few of them corners, and zeros where B is sparse."""
    draw = uniform if rng.random() < 0.5 else normal
    a, b = draw(rng, SPEC.a_format, (SPEC.m, k)), draw(rng, SPEC.b_format, (k, SPEC.n))
    for codes, fmt in ((a, SPEC.a_format), (b, SPEC.b_format)):
        edge = rng.random(codes.shape) < 0.1
        codes[edge] = rng.choice(corners(fmt), edge.sum())
    if getattr(SPEC, "sparse", None):  # masks of too few bits, enough, and too many
        b[rng.random(b.shape) < rng.random(SPEC.n)] = 0
    return np.maximum(a, SPEC.a_low), b


def lengths_of_interest() -> list[int]:
    """Lengths around everything that an array of this size may count to, K_max among them."""
    edge = SPEC.m + SPEC.n
    lengths = {1, 2, 3, SPEC.m, SPEC.n, edge - 1, edge, edge + 1, 2 * edge + 3}
    if SPEC.k_max <= 300:
        lengths |= {SPEC.k_max - 1, SPEC.k_max}
    return sorted(length for length in lengths if 1 <= length <= SPEC.k_max)


def start(
    engine: EngineDriver, tiles: Sequence[Tile], seed: int, traffic: Sequence[str]
) -> list[Any]:
    """Start to send tiles, under stalls."""
    beats = [tile_beats(SPEC, a, b) for a, b in tiles]
    lengths = [len(a) for a, _ in beats]
    a, b = map(np.concatenate, zip(*beats, strict=True))
    return [
        engine.send_a(a, lengths, schedule(traffic[0], generator(seed, 1))),
        engine.send_b(b, schedule(traffic[1], generator(seed, 2))),
    ]


async def check(
    engine: EngineDriver, tiles: Sequence[Tile], seed: int, traffic: Sequence[str] = TRAFFIC[0]
) -> None:
    """Multiply tiles and compare every row of C with golden."""
    tiles = tiles[: limited(len(tiles))]
    expected = np.concatenate([matmul(SPEC, a, b) for a, b in tiles])
    start(engine, tiles, seed, traffic)
    await finish(engine, tiles, expected, schedule(traffic[2], generator(seed, 3)))


async def finish(
    engine: EngineDriver, tiles: Sequence[Tile], expected: np.ndarray, stalls: Any = None
) -> None:
    """Take the rows of C of tiles that are being sent; nothing may follow them."""
    patience = 40 * (sum(a.shape[1] for a, _ in tiles) + len(tiles) * FILL) + 1000
    await deadline(engine.take(len(tiles), stalls), patience, "rows of C")
    rows = engine.rows()
    assert rows.shape == expected.shape
    assert rows.size > 0
    wrong = np.argwhere(rows != expected)
    assert not wrong.size, (
        f"{len(wrong)} of {rows.size} codes differ; tile {wrong[0][0] // SPEC.m}"
        f" row {wrong[0][0] % SPEC.m} column {wrong[0][1]} is {rows[tuple(wrong[0])]}"
        f" and must be {expected[tuple(wrong[0])]}"
    )
    await engine.c.silent(FILL)


@cocotb.test
@cocotb.parametrize(traffic=TRAFFIC)
async def test_matches_golden(dut: Any, traffic: tuple[str, str, str]) -> None:
    """Tiles of all lengths in random order, under stalls on each of the streams."""
    seed = 100 + TRAFFIC.index(traffic)
    rng = generator(seed)
    lengths = lengths_of_interest()
    random = rng.integers(1, min(SPEC.k_max, 2 * max(lengths)) + 1, 4).tolist()
    engine = await EngineDriver(dut, SPEC).start()
    order = rng.permutation(lengths + random)
    await check(engine, [tile(rng, int(k)) for k in order], seed, traffic)


@cocotb.test
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_single_beats_back_to_back(dut: Any, kind: str) -> None:
    """Tiles of K = 1, every beat the last."""
    rng = generator(200)
    engine = await EngineDriver(dut, SPEC).start()
    await check(engine, [tile(rng, 1) for _ in range(12)], 200, (kind, kind, kind))


@cocotb.test
async def test_places(dut: Any) -> None:
    """A one in each place of A picks that row of B: shows any swap of rows, columns or beats."""
    engine = await EngineDriver(dut, SPEC).start()
    k, fmt = min(SPEC.k_max, SPEC.m), SPEC.b_format
    b = np.arange(k * SPEC.n).reshape(k, SPEC.n) % (fmt.high - fmt.low + 1) + fmt.low
    ones = np.eye(SPEC.m, k, dtype=np.int64) * (1 if SPEC.a_format.high else SPEC.a_low)
    tiles = [(np.roll(ones, shift, axis=0), b) for shift in range(3)]
    await check(engine, tiles, 300)


@cocotb.test
async def test_extremes_do_not_overflow(dut: Any) -> None:
    """Only extremes, for all of K; at last the greatest sum, at K_max up to 2^16."""
    engine = await EngineDriver(dut, SPEC).start()
    fa, fb = SPEC.a_format, SPEC.b_format
    k = min(SPEC.k_max, 300)
    pairs = [(x, y) for x in (SPEC.a_low, fa.high) for y in (fb.low, fb.high)]
    sizes = [(x, y, k) for x, y in pairs]
    greatest = max(pairs, key=lambda pair: abs(pair[0] * pair[1]))
    sizes.append((*greatest, min(SPEC.k_max, 1 << 16)))
    tiles = [(np.full((SPEC.m, k), x), np.full((k, SPEC.n), y)) for x, y, k in sizes]
    await check(engine, tiles, 400)


@cocotb.test
async def test_sums_of_all_sizes(dut: Any) -> None:
    """Rows and columns that lean to an extreme, each by a chance of its own: no sum is rare."""
    rng = generator(410)
    engine = await EngineDriver(dut, SPEC).start()
    k = min(SPEC.k_max, 300)
    fa, fb = SPEC.a_format, SPEC.b_format
    tiles = []
    for _ in range(min(64, 1 + 4000 * SPEC.k // k)):
        a, b = uniform(rng, fa, (SPEC.m, k)), uniform(rng, fb, (k, SPEC.n))
        for lines, low, high in ((a, SPEC.a_low, fa.high), (b.T, fb.low, fb.high)):
            extreme = rng.choice([low, high], (len(lines), 1))
            leans = rng.random(lines.shape) < rng.random((len(lines), 1))
            lines[:] = np.where(leans, extreme, np.maximum(lines, low))
        tiles.append((a, b))
    await check(engine, tiles, 410)


@cocotb.test
@cocotb.parametrize(moment=["compute", "drain"])
async def test_reset_forgets(dut: Any, moment: str) -> None:
    """Reset among beats or among rows of C: nothing of before comes after."""
    rng = generator(500)
    engine = await EngineDriver(dut, SPEC).start()
    for trial in range(16):
        k = min(SPEC.k_max, int(rng.integers(2, SPEC.m + SPEC.n + 4)))
        tasks = start(engine, [tile(rng, k) for _ in range(3)], 500 + trial, ("flowing",) * 3)
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
        await check(engine, [tile(rng, 1), tile(rng, k)], 600 + trial)


@cocotb.test
@cocotb.parametrize(starved=["a", "b"])
async def test_starved_stream_waits(dut: Any, starved: str) -> None:
    """With one operand withheld nothing comes out; when it comes, all is as it should be."""
    rng = generator(700)
    engine = await EngineDriver(dut, SPEC).start()
    tiles = [tile(rng, min(SPEC.k_max, k)) for k in (1, 3, SPEC.m + SPEC.n)]
    beats = [tile_beats(SPEC, a, b) for a, b in tiles]
    a, b = (np.concatenate(codes) for codes in zip(*beats, strict=True))
    lengths = [len(part) for part, _ in beats]
    engine.send_b(b) if starved == "a" else engine.send_a(a, lengths)
    await engine.c.silent(len(a) + FILL)
    engine.send_a(a, lengths) if starved == "a" else engine.send_b(b)
    await finish(engine, tiles, np.concatenate([matmul(SPEC, *pair) for pair in tiles]))


@cocotb.test
async def test_valid_does_not_wait_for_ready(dut: Any) -> None:
    """A row is offered to a receiver that is not ready."""
    engine = await EngineDriver(dut, SPEC).start()
    tiles = [tile(generator(800), 1)]
    start(engine, tiles, 800, TRAFFIC[0])
    for _ in range(FILL):
        await RisingEdge(dut.clk)
    assert dut.o_c_valid.value
    await finish(engine, tiles, matmul(SPEC, *tiles[0]))


@cocotb.test(skip=ROWS_HELD is None)
async def test_no_row_is_lost_by_a_receiver_that_waits(dut: Any) -> None:
    """More rows are on offer than there is room for; nothing is taken until all would be there."""
    rng = generator(850)
    engine = await EngineDriver(dut, SPEC).start()
    # A word that changes while it waits may be what it was after an even number of cycles.
    for number, late in enumerate((0, 0, 1, 1)):
        tiles = [tile(rng, 1) for _ in range((ROWS_HELD or 0) // SPEC.m + 16)]
        for a, _ in tiles[: len(tiles) * (number % 2)]:
            a[:] = 0
        start(engine, tiles, 850, TRAFFIC[0])
        for _ in range(len(tiles) * (SPEC.m + SPEC.k + (GAP or (2,))[0]) + FILL + late):
            await RisingEdge(dut.clk)
        await finish(engine, tiles, np.concatenate([matmul(SPEC, *pair) for pair in tiles]))


@cocotb.test
async def test_cycles(dut: Any) -> None:
    """First beat to last row takes exactly the cycles that golden states, everything flowing."""
    rng = generator(900)
    engine = await EngineDriver(dut, SPEC).start()
    edge = min(SPEC.k_max, SPEC.m + SPEC.n)
    for lengths in ([1], [edge], [1] * 5, [edge] * 4, [2, edge, 1, 1, SPEC.m, edge, SPEC.n, 3]):
        lengths = [min(SPEC.k_max, k) for k in lengths[: limited(len(lengths))]]
        for stream in (engine.a, engine.b, engine.c):
            stream.cycles.clear()
        tiles = [tile(rng, k) for k in lengths]
        await check(engine, tiles, 900)
        first = min(engine.a.cycles[0], engine.b.cycles[0]) - (SPEC.planes - 1)
        spent = engine.c.cycles[-1] - first + 1
        stated = GOLDEN.cycles(SPEC, tiles, bench_parameters()["latency"], *GAP)
        assert spent == stated, f"tiles of {lengths} took {spent} cycles, golden says {stated}"


# Where weights are loaded first, a beat is taken with the last of them.
@cocotb.test(skip=not isinstance(SPEC, RowsEngineSpec) or hasattr(SPEC, "turn"))
async def test_first_beat_after_reset(dut: Any) -> None:
    """It is accepted when all that was left in the array is gone, and not before."""
    rng = generator(940)
    engine = await EngineDriver(dut, SPEC).start()
    for _ in range(3):
        engine = await engine.restart()
        since = cycle()
        await check(engine, [tile(rng, 1)], 940)
        flush = GAP[0] if GAP else SPEC.drain
        assert engine.a.cycles[0] - since == 1 + flush + SPEC.planes - 1


@cocotb.test(skip=not hasattr(GOLDEN, "reads"))
async def test_reads(dut: Any) -> None:
    """Of an engine that keeps entries of tables, as many are read as golden says, stalls or not."""
    rng = generator(950)
    engine = await EngineDriver(dut, SPEC).start()
    low, high = (SPEC.a_low, 0) if SPEC.a_signed else (0, 2)
    tiles = [tile(rng, min(SPEC.k_max, k)) for k in (1, SPEC.m + SPEC.n, 2 * SPEC.k)]
    # Codes that repeat, so that entries do.
    few = [(rng.integers(low, high, a.shape), b) for a, b in tiles]
    due = 0
    for number in range(len(TRAFFIC)):
        part = (few if number % 3 == 1 else tiles)[: limited(len(tiles))]
        await check(engine, part, 950, TRAFFIC[number])
        due += GOLDEN.reads(SPEC, part)
        assert int(dut.o_reads.value) == due


@cocotb.test
async def test_large_product(dut: Any) -> None:
    """64 x 64 x 256, as far as it takes at most 64 tiles; the operands as in a neural network."""
    rng = generator(1000)
    engine = await EngineDriver(dut, SPEC).start()
    shape = min(64, 8 * SPEC.m), min(64, 8 * SPEC.n)
    k = min(256, SPEC.k_max)
    a = np.maximum(normal(rng, SPEC.a_format, (shape[0], k)), SPEC.a_low)
    b = normal(rng, SPEC.b_format, (k, shape[1]))
    job = cut(SPEC, a, b)
    engine.send_a(job.a, job.lengths.tolist())
    engine.send_b(job.b)
    tiles = len(job.lengths)
    await deadline(engine.take(tiles), FILL * (len(job.a) + tiles), "rows of C")
    product = join(SPEC, job, engine.rows())
    assert np.array_equal(product, matmul(SPEC, a, b))
    await engine.c.silent(FILL)

"""Bench of digit-serial columns: exact cycles whatever the data are."""

from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb.engine_driver import EngineDriver
from carrysave.sim.cocotb.streams import deadline, generator
from carrysave.sim.operands import normal, uniform
from carrysave.sim.parameters import bench_parameters, bench_spec
from carrysave.sim.tiling import tile_beats
from golden.engine import matmul
from golden.tpe.digit_column import cycles

SPEC = bench_spec()
LENGTHS = (1, 5, 40)


def codes(kind: str, rng: np.random.Generator, length: int) -> np.ndarray:
    """Make a tile of A."""
    fmt, shape = SPEC.a_format, (SPEC.m, length)
    match kind:
        case "normal":
            return normal(rng, fmt, shape)
        case "uniform":
            return uniform(rng, fmt, shape)
        case "zero":
            return np.zeros(shape, np.int64)
        case "high":
            return np.full(shape, fmt.high)
        case "low":
            return np.full(shape, fmt.low)
        case "one_hot":
            return fmt.wrap(np.int64(1) << rng.integers(fmt.width, size=shape))
        case "one_row":
            return normal(rng, fmt, shape) * (np.arange(SPEC.m)[:, None] == SPEC.m // 2)
    raise AssertionError(kind)


KINDS = ["normal", "uniform", "zero", "high", "low", "one_hot", "one_row"]


async def spent(engine: EngineDriver, kind: str, rng: np.random.Generator) -> int:
    """Multiply tiles of one kind of data, check the rows and count the cycles."""
    tiles = [
        (codes(kind, rng, k), uniform(rng, SPEC.b_format, (k, SPEC.n)))
        for k in (min(length, SPEC.k_max) for length in LENGTHS)
    ]
    beats = [tile_beats(SPEC, a, b) for a, b in tiles]
    for stream in (engine.a, engine.b, engine.c):
        stream.cycles.clear()
    engine.send_a(np.concatenate([a for a, _ in beats]), [len(a) for a, _ in beats])
    engine.send_b(np.concatenate([b for _, b in beats]))
    patience = 2 * cycles(SPEC, tiles, bench_parameters()["latency"]) + 200
    await deadline(engine.take(len(tiles)), patience, "rows of C")
    assert np.array_equal(engine.rows(), np.concatenate([matmul(SPEC, *pair) for pair in tiles]))
    found = engine.c.cycles[-1] - engine.a.cycles[0] + 1
    stated = cycles(SPEC, tiles, bench_parameters()["latency"])
    assert found == stated, f"{kind}: {found} cycles, golden says {stated}"
    return found


@cocotb.test
@cocotb.parametrize(kind=KINDS)
async def test_cycles_of_data(dut: Any, kind: str) -> None:
    """Tiles of a kind of data take the cycles that golden states for them."""
    engine = await EngineDriver(dut, SPEC).start()
    rng = generator(10 + KINDS.index(kind))
    for _ in range(4):
        await spent(engine, kind, rng)


@cocotb.test
async def test_cycles_depend_on_data_unless_constant_time(dut: Any) -> None:
    """All kinds of data take the same cycles in constant time, and not otherwise."""
    engine = await EngineDriver(dut, SPEC).start()
    found = {await spent(engine, kind, generator(20)) for kind in KINDS}
    assert (len(found) == 1) == SPEC.constant_time

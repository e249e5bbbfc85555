"""What jobs take: cycles by themselves, the vector unit's, and the bus."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import lower
from carrysave.compiler.program.beats import beats_of
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.cost import Spent, spent
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows, scaling
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.ring_cost import cycles_of
from carrysave.compiler.program.steps import Start
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.driver import Requantisation
from carrysave.driver.job import Job
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import cycles
from golden.soc.blocking import Blocks, cost, plan, spans
from golden.soc.memory_timing import AXI, BLOCK_RAM, MemoryTiming
from golden.soc.ring_bus import NEAR
from golden.soc.ring_cycles import RingJob, ring_ends
from hw.catalog import Design
from verif.networks.graphs import Builder


def target(lanes: int = 8) -> Target:
    built = "softmax,layer_norm,rms_norm,scale,multiply"
    unit = f"vector_unit(width=16,out_width=16,signed=true,length=64,operations={built},\
lanes={lanes})"
    return Target(
        Design(
            "coprocessor",
            {
                "vector": unit,
                "code_bytes": 2,
                "transpose": True,
                "gather": True,
                "scratch": 8192,
            },
        )
    )


TARGET = target()
assert TARGET.spec.vector is not None
UNIT: VectorUnitSpec = TARGET.spec.vector
ROWS = {"scale": 510, "softmax": 937, "layer_norm": 2988, "transpose": 682}
"""Cycles of jobs below, as the block that is simulated counted them."""
WIDE = {"engine": "systolic_os(m=8,n=8)", "data_width": "64", "requantisers": "8"}
BESIDE = 40 + TARGET.memory.answer
"""Cycles of a vector job besides its rows, and what a ring takes until it begins."""


def begin(job: Job) -> int:
    """Return what a vector job takes besides its rows."""
    nothing = RingJob(golden_job(job, TARGET.spec), 0)
    return ring_ends(TARGET.spec, [nothing], TARGET.memory)[-1] + BESIDE


def rows_of(job: Job) -> int:
    """Return the cycles of rows of zeros."""
    assert job.vector is not None
    return cycles(UNIT, [(job.vector, np.zeros(job.n, np.int64))] * job.m)


@pytest.fixture
def buffers() -> dict[str, Buffer]:
    image = Image(TARGET)
    for name, count, columns, bits in (
        ("a", 20, 64, 8),
        ("b", 64, 40, 8),
        ("x", 20, 40, 16),
        ("row", 1, 40, 16),
        ("sums", 20, 40, 32),
        ("codes", 20, 40, 16),
        ("shares", 20, 41, 16),
        ("narrow", 20, 40, 8),
        ("exponents", 20, 1, 8),
        ("turned", 64, 20, 8),
        ("table", 3000, 40, 16),
        ("thin", 3, 40, 16),
        ("numbers", 20, 1, 32),
    ):
        image.reserve(name, count, columns, bits)
    image.reserve("near", 20, 40, 16, chip=0)
    image.reserve("near.shares", 20, 41, 16, chip=4096)
    return image.buffers


def test_products_move_what_the_planner_says(buffers: dict[str, Buffer]) -> None:
    a, b = buffers["a"], buffers["b"]
    job = product(TARGET, a, b, buffers["sums"])
    found = spent(job, TARGET)
    macs = 20 * 64 * 40

    def due(bits: int) -> Spent:
        stores = TARGET.info.stores
        planners = cost(stores, plan(stores, 20, 40, 64, bits), 20, 40, 64, bits)
        moved = 16 * (planners.read_beats + planners.write_beats)
        # Rows of tiles of eight, of which the last is half full.
        return Spent(1, planners.cycles, macs, macs / 64, moved, 24 * 64 * 40)

    def check(job: Job, bits: int) -> None:
        took, least = spent(job, TARGET), due(bits)
        assert took == replace(least, cycles=cycles_of(job, TARGET))
        assert least.cycles < took.cycles <= 1.1 * (least.cycles + TARGET.start)

    check(job, 32)
    # Codes of two bytes are less to write than sums.
    how = Requantisation(multiplier=1, shift=3)
    for wide, c in ((True, "codes"), (False, "narrow")):
        own = product(TARGET, a, b, buffers[c], how=how)
        check(own, 8 + 8 * wide)
    # One row of sums of bytes: the bus is slower than the array.
    short = product(TARGET, a.part((0, 1)), b, buffers["sums"].part((0, 1)))
    assert spent(short, TARGET).least == (64 + 64 * 40 + 4 * 40) / 16
    twice = Spent(2, 2 * found.cycles, 2 * macs, macs / 32, 2 * found.moved, 2 * found.slots)
    assert found + found == twice


@pytest.mark.parametrize("operation", ["softmax", "layer_norm", "rms_norm"])
def test_rows_take_what_the_vector_unit_takes(buffers: dict[str, Buffer], operation: str) -> None:
    """Within a few cycles of a row: a scale depends on its values."""
    c = buffers["shares" if operation == "softmax" else "codes"]
    found = spent(rows(TARGET, operation, buffers["x"], c), TARGET)
    assert found.moved == 16 * 20 * (5 + c.columns // 8 + (c.columns % 8 > 0))
    job = rows(TARGET, operation, buffers["x"], c)
    for seed in range(4):
        codes = np.random.default_rng(seed).integers(-900, 900, (20, 40))
        exact = begin(job) + cycles(UNIT, [(operation, row) for row in codes])
        assert abs(found.cycles - exact) <= 0.05 * exact
    if operation in ROWS:
        assert found.cycles == pytest.approx(ROWS[operation], rel=0.07)


def test_scales_take_a_pass(buffers: dict[str, Buffer]) -> None:
    """Five beats, and nine cycles of the pass beside these."""
    job = rows(
        TARGET,
        "scale",
        buffers["x"],
        buffers["narrow"],
        b=buffers["exponents"],
        how=scaling(1.0, 8),
    )
    assert rows_of(job) == 20 * 14 + 6
    assert cycles_of(job, TARGET) == begin(job) + 20 * 14 + 6
    assert cycles_of(job, TARGET) == pytest.approx(ROWS["scale"], rel=0.05)
    for count in (1, 5, 6, 7, 20):
        few = replace(job, m=count)
        assert cycles_of(few, TARGET) == begin(few) + rows_of(few)


def test_other_jobs_take_the_bus(buffers: dict[str, Buffer]) -> None:
    turned = rows(TARGET, "transpose", buffers["a"], buffers["turned"])
    # Eight bytes a cycle come, of 20 rows; 64 columns take three cycles each to leave, or four, in
    # which memory takes a burst.
    assert cycles_of(turned, TARGET) == begin(turned) + 8 * 20 + 4 * 64
    assert cycles_of(turned, TARGET) == pytest.approx(ROWS["transpose"], rel=0.07)
    back = rows(TARGET, "transpose", buffers["turned"], buffers["a"])
    # 64 rows of 20 columns: two blocks, of 32 rows.
    assert cycles_of(back, TARGET) == begin(back) + 3 * 64 + 2 * 4 * 20
    x, c, row = (buffers[name].part(None, (0, 32)) for name in ("x", "codes", "row"))
    scaled = rows(TARGET, "multiply", x, c, b=row, how=scaling(1.0, 16))
    assert spent(scaled, TARGET).moved == 16 * (20 * 4 + 4 + 20 * 4)


def test_rows_of_a_table_come_with_their_numbers(buffers: dict[str, Buffer]) -> None:
    """No more of the table than is written.

    Each row takes its beats, or its number's bits, or an eighth of the time until a number is here.
    """
    for table, each in (("table", 12 + 2), ("thin", 9)):
        job = rows(TARGET, "gather", buffers[table], buffers["codes"], b=buffers["numbers"])
        took = begin(job) + 64 + 20 * each
        assert spent(job, TARGET) == Spent(1, took, moved=16 * 20 * (1 + 5 + 5))


def test_what_is_on_chip_does_not_move(buffers: dict[str, Buffer]) -> None:
    """The bus has nothing of it; cycles are the same, but for a latency if all is on chip."""
    usual = cycles_of(rows(TARGET, "softmax", buffers["x"], buffers["shares"]), TARGET)
    for x, c, moved, sooner in (
        ("x", "near.shares", 20 * 5, 0),
        ("near", "shares", 20 * 6, 0),
        ("near", "near.shares", 0, TARGET.memory.answer - NEAR),
    ):
        found = spent(rows(TARGET, "softmax", buffers[x], buffers[c]), TARGET)
        assert found.cycles == usual - sooner
        assert found.moved == 16 * moved
    a, how = buffers["a"].part((0, 1)), Requantisation(multiplier=1, shift=3)
    short, whole = (
        spent(
            product(TARGET, a, buffers["b"], buffers[name].part((0, 1)), how=how),
            TARGET,
        )
        for name in ("near", "codes")
    )
    assert short.least == (64 + 64 * 40) / 16
    assert short.moved == whole.moved - 16 * 5


def test_beats_are_those_of_the_spans() -> None:
    """Of random sizes and blocks, with scales of blocks, biases and records, in any order."""
    rng = np.random.default_rng(3)
    names = ("a", "b", "c", "bias", "records", "addend", "a_scales", "b_scales")
    kept = set()
    for _ in range(300):
        m, n, words = (int(one) for one in rng.integers(1, 60, 3))
        stores = replace(
            TARGET.info.stores,
            **{name: int(rng.integers(1, 9)) for name in ("tile_m", "tile_n", "tile_k", "b_deep")},
            block=int(rng.choice([0, 4, 32])),
        )
        a, b, c = (int(one) for one in rng.integers(1, 9, 3))
        blocks = Blocks(a, b, c, bool(rng.integers(2)))
        bits = {name: int(rng.choice([4, 8, 16, 32])) for name in names if rng.integers(4)}
        beat = int(rng.choice([4, 8, 64]))
        expected = dict.fromkeys(names, 0)
        for name, rows_of, first, size in spans(stores, blocks, bits, m, n, words):
            expected[name] += len(rows_of) * (-(-(first + size) // beat) - first // beat)
        assert beats_of(stores, blocks, bits, (m, n, words), beat) == expected
        kept.add((blocks.k * stores.tile_k >= words, blocks.by_columns))
    assert len(kept) == 4


@pytest.mark.parametrize(
    ("memory", "columns", "side", "cycles"),
    [(BLOCK_RAM, 16, 3, 609), (BLOCK_RAM, 8, 3, 465), (BLOCK_RAM, 16, 1, 501), (AXI, 16, 3, 987)],
)
def test_a_product_of_windows(memory: MemoryTiming, columns: int, side: int, cycles: int) -> None:
    """Its check takes longer than that of a product of rows, as the simulated block counted."""
    codes = 8 if side == 3 else 72
    shape = (1, codes, 3 + side, 3 + side)
    builder = Builder(np.random.default_rng(1), 17)
    weights = [builder.codes((columns, codes, side, side), np.int8), builder.constant(0.001)]
    steps = [builder.constant(0.02), builder.constant(120, np.uint8)]
    given = ["x", *steps, *weights, builder.constant(0, np.int8), *steps]
    builder.node("QLinearConv", given, "y")
    made = Target(Design.parse("coprocessor", {**WIDE, "windows": "true"}), timing=memory)
    lowered = lower(Graph(builder.model(shape, np.uint8, np.uint8)), made)
    program = compile_network(lowered, made, {"x": np.zeros(shape, np.uint8)})
    (start,) = (step for step in program.steps if isinstance(step, Start))
    assert start.cycles == pytest.approx(cycles, rel=0.01)

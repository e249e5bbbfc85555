"""Cycles of jobs: those of the models that they are taken from, and of the bus."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.compiler.program.job_cycles import Spent, spent
from carrysave.compiler.program.jobs import (
    Gather,
    Multiply,
    Norm,
    Product,
    Scale,
    Scaling,
    Softmax,
    Transpose,
)
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.target.cost import cycles_of
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import cycles
from golden.soc.blocking import cost, plan
from hw.catalog import Design


def target(lanes: int = 8) -> Target:
    built = "softmax,layer_norm,rms_norm,scale"
    unit = f"vector_unit(width=16,out_width=16,signed=true,length=64,operations={built},\
lanes={lanes})"
    return Target(Design("coprocessor", {"vector": unit, "code_bytes": 2}))


TARGET = target()
assert TARGET.spec.vector is not None
UNIT: VectorUnitSpec = TARGET.spec.vector
START = 206


@pytest.fixture
def memory() -> Memory:
    rng = np.random.default_rng(1)
    memory = Memory()
    memory.place("a", rng.integers(-128, 128, (20, 64)), 8)
    memory.place("b", rng.integers(-128, 128, (64, 40)), 8)
    memory.place("x", rng.integers(-900, 900, (20, 40)), 16)
    memory.place("row", np.ones((1, 40), np.int64), 16)
    memory.reserve("sums", 20, 40, 32)
    memory.reserve("codes", 20, 40, 16)
    memory.reserve("shares", 20, 41, 16)
    memory.reserve("narrow", 20, 40, 8)
    memory.place("exponents", np.arange(20)[:, None], 8)
    memory.reserve("turned", 64, 20, 8)
    return memory


def test_products_take_what_the_planner_says(memory: Memory) -> None:
    job = Product(layer="p", a=View("a"), b=View("b"), c=View("sums"), target=TARGET)
    found = spent(job, memory, TARGET)
    macs = 20 * 64 * 40

    def moved(bits: int) -> int:
        stores = TARGET.info.stores
        beats = cost(stores, plan(stores, 20, 40, 64, bits), 20, 40, 64, bits)
        return 16 * (beats.read_beats + beats.write_beats)

    cycles_ = cycles_of(TARGET, 20, 64, 40, False)
    assert found == Spent(1, START + cycles_, macs, macs / 64, moved(32))
    # Codes of two bytes are less to write than sums.
    how = Requantisation(multiplier=1, shift=3)
    for wide, c in ((True, View("codes")), (False, View("narrow"))):
        own = replace(job, c=c, how=how, wide=wide)
        cycles_ = cycles_of(TARGET, 20, 64, 40, True, wide=wide)
        assert spent(own, memory, TARGET) == Spent(
            1, START + cycles_, macs, macs / 64, moved(8 + 8 * wide)
        )
    assert cycles_of(TARGET, 64, 1, 64, False) > cycles_of(TARGET, 64, 1, 64, True, wide=True)
    # One row of sums of bytes: the bus is slower than the array.
    short = Product(layer="p", a=View("a", (0, 1)), b=View("b"), c=View("sums", (0, 1)),
                    target=TARGET)  # fmt: skip
    assert spent(short, memory, TARGET).least == (64 + 64 * 40 + 4 * 40) / 16
    assert found + found == Spent(2, 2 * found.cycles, 2 * macs, macs / 32, 2 * found.moved)


def test_rows_take_what_the_vector_unit_takes(memory: Memory) -> None:
    rows = memory.read(View("x"))
    softmax = Softmax(layer="s", x=View("x"), c=View("shares"), spec=UNIT)
    assert spent(softmax, memory, TARGET) == Spent(
        1, START + cycles(UNIT, [("softmax", row) for row in rows]), moved=16 * 20 * (5 + 6)
    )
    scale = Scale(layer="c", x=View("x"), exponents=View("exponents"), c=View("narrow"),
                  scaling=Scaling(scale=1.0, bits=8))  # fmt: skip
    # Five beats, and nine cycles of the pass beside these.
    assert spent(scale, memory, TARGET).cycles == START + 20 * 14 + 6
    for centred, operation in ((True, "layer_norm"), (False, "rms_norm")):
        norm = Norm(layer="n", x=View("x"), c=View("codes"), centred=centred, spec=UNIT)
        assert spent(norm, memory, TARGET).cycles == START + cycles(
            UNIT, [(operation, row) for row in rows]
        )


def test_other_jobs_take_a_pass_or_the_bus(memory: Memory) -> None:
    scaling = Scaling(scale=1.0, bits=16)
    scaled = Multiply(layer="m", a=View("sums"), b=View("row"), c=View("codes"), scaling=scaling)
    moved = 16 * (20 * 10 + 5 + 20 * 5)
    assert spent(scaled, memory, TARGET) == Spent(1, START + 20 * (3 * 5 + 7), moved=moved)
    wide = target(64)
    # 20 rows of 40 sums, and one of 40 factors, at 16 bytes a cycle.
    assert spent(scaled, memory, wide).cycles == START + (20 * 40 * 4 + 40 * 2) // 16
    turned = Transpose(layer="t", x=View("a"), c=View("turned"))
    # Eight bytes a cycle come, of 20 rows; 64 columns take three cycles each to leave, or four, in
    # which memory takes a burst.
    assert spent(turned, memory, TARGET).cycles == START + 8 * 20 + 4 * 64
    back = Transpose(layer="t", x=View("turned"), c=View("a"))
    # 64 rows of 20 columns: two blocks, of 32 rows.
    assert spent(back, memory, TARGET).cycles == START + 3 * 64 + 2 * 4 * 20


def test_rows_of_a_table_come_with_their_numbers(memory: Memory) -> None:
    """No more of the table than is written.

    Each row takes its beats, or its number's bits, or an eighth of the time until a number is here.
    """
    rng = np.random.default_rng(2)
    memory.place("table", rng.integers(-900, 900, (3000, 40)), 16)
    memory.place("thin", rng.integers(-900, 900, (3, 40)), 16)
    for table, number, each in (("table", 2999, 12 + 2), ("table", 7, 9), ("thin", 0, 9)):
        rows = f"{table}.{number}"
        memory.place(rows, np.full((20, 1), number), 32)
        job = Gather(layer="e", x=View(table), rows=View(rows), c=View("codes"))
        assert spent(job, memory, TARGET) == Spent(
            1, START + 64 + 20 * each, moved=16 * 20 * (1 + 5 + 5)
        )


def test_what_is_on_chip_does_not_move(memory: Memory) -> None:
    """Cycles are the same; the bus has nothing of it, and a product's least is the array's."""
    memory.chip = 8192
    on_chip = [("near", 20, 40, 16), ("near.shares", 20, 41, 16)]
    for number, (name, rows, columns, bits) in enumerate(on_chip):
        memory.reserve(name, rows, columns, bits, chip=4096 * number)
    softmax = Softmax(layer="s", x=View("x"), c=View("shares"), spec=UNIT)
    for x, c, moved in (
        ("x", "near.shares", 20 * 5), ("near", "shares", 20 * 6), ("near", "near.shares", 0),
    ):  # fmt: skip
        memory.matrices["near"][:] = memory.matrices["x"]
        found = spent(replace(softmax, x=View(x), c=View(c)), memory, TARGET)
        assert found.cycles == spent(softmax, memory, TARGET).cycles
        assert found.moved == 16 * moved
    short = Product(layer="p", a=View("a", (0, 1)), b=View("b"), c=View("near", (0, 1)),
                    how=Requantisation(multiplier=1, shift=3), wide=True,
                    target=TARGET)  # fmt: skip
    assert spent(short, memory, TARGET).least == (64 + 64 * 40) / 16
    whole = spent(replace(short, c=View("codes", (0, 1))), memory, TARGET)
    assert spent(short, memory, TARGET).moved == whole.moved - 16 * 5

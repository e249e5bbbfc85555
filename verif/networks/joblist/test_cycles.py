"""Cycles of jobs: those of the models that they are taken from, and of the bus."""

import numpy as np
import pytest

from carrysave.networks.cost import cycles_of
from carrysave.networks.joblist.cycles import Spent, spent
from carrysave.networks.joblist.jobs import Multiply, Norm, Product, Scaling, Softmax, Transpose
from carrysave.networks.joblist.matrices import Memory, View
from carrysave.networks.target import Target
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import cycles
from hw.catalog import Design

UNIT = VectorUnitSpec(width=16, out_width=16, signed=True, length=64)
TARGET = Target(Design("coprocessor"))
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
    memory.reserve("turned", 64, 20, 8)
    memory.reserve("factors", 20, 1, 16)
    return memory


def test_products_take_what_the_planner_says(memory: Memory) -> None:
    job = Product(layer="p", a=View("a"), b=View("b"), c=View("sums"), target=TARGET)
    found = spent(job, memory, TARGET, UNIT)
    macs = 20 * 64 * 40
    assert found == Spent(1, START + cycles_of(TARGET, 20, 64, 40, False), macs, macs / 64)
    # One row of sums of bytes: the bus is slower than the array.
    short = Product(layer="p", a=View("a", (0, 1)), b=View("b"), c=View("sums", (0, 1)),
                    target=TARGET)  # fmt: skip
    assert spent(short, memory, TARGET, UNIT).least == (64 + 64 * 40 + 4 * 40) / 16
    assert found + found == Spent(2, 2 * found.cycles, 2 * macs, macs / 32)


def test_rows_take_what_the_vector_unit_takes(memory: Memory) -> None:
    rows = memory.read(View("x"))
    softmax = Softmax(layer="s", x=View("x"), c=View("codes"), factors=View("factors"), spec=UNIT)
    assert spent(softmax, memory, TARGET, UNIT) == Spent(
        1, START + cycles(UNIT, [("softmax", row) for row in rows])
    )
    for centred, operation in ((True, "layer_norm"), (False, "rms_norm")):
        norm = Norm(layer="n", x=View("x"), c=View("codes"), centred=centred, spec=UNIT)
        assert spent(norm, memory, TARGET, UNIT).cycles == START + cycles(
            UNIT, [(operation, row) for row in rows]
        )


def test_other_jobs_take_a_pass_or_the_bus(memory: Memory) -> None:
    scaling = Scaling(scale=1.0, bits=16)
    scaled = Multiply(layer="m", a=View("sums"), b=View("row"), c=View("codes"), scaling=scaling)
    assert spent(scaled, memory, TARGET, UNIT) == Spent(1, START + 20 * (3 * 5 + 7))
    wide = VectorUnitSpec(width=16, out_width=16, signed=True, length=64, lanes=64)
    # 20 rows of 40 sums, and one of 40 factors, at 16 bytes a cycle.
    assert spent(scaled, memory, TARGET, wide).cycles == START + (20 * 40 * 4 + 40 * 2) // 16
    turned = Transpose(layer="t", x=View("a"), c=View("turned"))
    assert spent(turned, memory, TARGET, UNIT).cycles == START + 64 * (3 + 7)

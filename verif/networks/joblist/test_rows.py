"""Jobs on rows for the vector unit of the block: which it has, and that it makes the same codes."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.networks.joblist.jobs import Add, Gate, Multiply, Norm, Scaling, Softmax, Transpose
from carrysave.networks.joblist.matrices import Memory, View
from carrysave.networks.joblist.rows import rows_of, runs
from golden.npe.requantiser import Requantisation
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import vector_unit

UNIT = VectorUnitSpec(
    width=16, out_width=16, signed=True, length=64, lanes=4, scale_width=8,
    operations="softmax,layer_norm,gelu,add,multiply",
)  # fmt: skip
SCALING = Scaling(scale=0.003, bits=16, zero_point=-7)
ADD = Add(layer="s", a=View("a"), b=View("b"), c=View("c"), factors=(1, 1), scaling=SCALING)
MULTIPLY = Multiply(layer="m", a=View("a"), b=View("row"), c=View("c"), scaling=SCALING)


@pytest.fixture
def memory() -> Memory:
    rng, found = np.random.default_rng(3), Memory()
    for name, rows, columns, bits in (
        ("a", 6, 31, 16), ("b", 6, 31, 16), ("row", 1, 31, 16), ("column", 6, 1, 16),
        ("bytes", 6, 31, 8), ("sums", 6, 31, 32), ("long", 6, 40, 16),
    ):  # fmt: skip
        high = 1 << bits - 1
        found.place(name, rng.integers(-high, high, (rows, columns)), bits)
    for name, columns, bits in (("c", 31, 16), ("narrow", 31, 8), ("wide", 40, 16)):
        found.reserve(name, 6, columns, bits)
    return found


@pytest.mark.parametrize("job", [
    ADD, replace(ADD, b=View("row")), replace(ADD, b=View("a")), MULTIPLY,
    replace(MULTIPLY, b=View("b")), replace(MULTIPLY, scaling=Scaling(scale=2.0**-30, bits=16)),
    replace(ADD, scaling=Scaling(scale=1.0, bits=16)),
])  # fmt: skip
def test_the_unit_makes_what_golden_makes(memory: Memory, job: Add | Multiply) -> None:
    assert runs(job, memory, UNIT)
    work = rows_of(job, memory, UNIT)
    assert work is not None
    assert work.a is not None
    assert work.b is not None
    assert work.requantisation is not None
    job.run(memory)
    how = work.requantisation
    to = Requantisation(
        multiplier=np.array([how.multiplier]), shift=np.array([how.shift]),
        zero_point=np.array([how.zero_point]),
    )  # fmt: skip
    for a, b, c in zip(
        work.a, np.broadcast_to(work.b, work.a.shape), memory.read(job.c), strict=True
    ):
        found, exponent = vector_unit(UNIT, work.operation, a, to, b)
        assert exponent == 0
        np.testing.assert_array_equal(found, c)


@pytest.mark.parametrize("job", [
    replace(ADD, factors=(1, 2)), replace(ADD, a=View("sums")), replace(ADD, b=View("bytes")),
    replace(ADD, c=View("narrow"), scaling=replace(SCALING, bits=8)),
    replace(MULTIPLY, b=View("column")),
    # Two rows have a bank, of 64 values.
    replace(ADD, a=View("long"), b=View("long"), c=View("wide")),
    Norm(layer="n", x=View("a"), c=View("c"), centred=False, spec=UNIT),
    Gate(layer="g", x=View("a"), c=View("c"), operation="gelu", scaling=SCALING, spec=UNIT),
    Transpose(layer="t", x=View("a"), c=View("c")),
])  # fmt: skip
def test_others_are_for_golden_alone(memory: Memory, job: Add | Multiply | Norm) -> None:
    assert not runs(job, memory, UNIT)
    assert rows_of(job, memory, UNIT) is None


def test_what_the_unit_is_built_with_counts(memory: Memory) -> None:
    softmax = Softmax(layer="x", x=View("a"), c=View("c"), factors=View("column"), spec=UNIT)
    norm = Norm(layer="n", x=View("a"), c=View("c"), centred=True, spec=UNIT)
    for job, name in ((softmax, "softmax"), (norm, "layer_norm"), (ADD, "add")):
        work = rows_of(job, memory, UNIT)
        assert work is not None
        assert work.operation == name
        others = [own for own in UNIT.built if own != name]
        assert not runs(job, memory, replace(UNIT, operations=",".join(others)))

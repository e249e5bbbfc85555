"""Jobs on rows for the vector unit of the block: which it has, and that it makes the same codes."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.compiler.program.jobs import (
    Add,
    Gate,
    Gather,
    Job,
    Multiply,
    Norm,
    Scale,
    Scaling,
    Softmax,
    Transpose,
)  # fmt: skip
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.program.rows import rows_of, runs
from carrysave.compiler.target.target import Target
from golden.npe.elements import shifted
from golden.npe.requantiser import Requantisation
from golden.npe.vector import VectorUnitSpec, narrowed
from golden.npe.vector_unit import vector_unit
from hw.catalog import Design

BUILT = "softmax,layer_norm,gelu,add,multiply,scale"


def target(operations: str = BUILT, **more: object) -> Target:
    unit = f"vector_unit(width=16,out_width=16,signed=true,length=64,lanes=4,scale_width=8,\
operations={operations})"
    return Target(
        Design(
            "coprocessor",
            {"vector": unit, "code_bytes": 2, "transpose": True, "gather": True} | more,
        )
    )


TARGET = target()
assert TARGET.spec.vector is not None
UNIT: VectorUnitSpec = TARGET.spec.vector
SCALING = Scaling(scale=0.003, bits=16, zero_point=-7)
ADD = Add(layer="s", a=View("a"), b=View("b"), c=View("c"), factors=(1, 1), scaling=SCALING)
MULTIPLY = Multiply(layer="m", a=View("a"), b=View("row"), c=View("c"), scaling=SCALING)


@pytest.fixture
def memory() -> Memory:
    rng, found = np.random.default_rng(3), Memory()
    for name, rows, columns, bits in (
        ("a", 6, 31, 16), ("b", 6, 31, 16), ("row", 1, 31, 16), ("column", 6, 1, 16),
        ("bytes", 6, 31, 8), ("sums", 6, 31, 32), ("long", 6, 40, 16), ("longest", 6, 65, 16),
    ):  # fmt: skip
        high = 1 << bits - 1
        found.place(name, rng.integers(-high, high, (rows, columns)), bits)
    for name, bits in (("turned", 8), ("turned_wide", 16)):
        found.reserve(name, 31, 6, bits)
    found.place("numbers", rng.integers(0, 6, (6, 1)), 32)
    found.place("exponents", rng.integers(0, 9, (6, 1)), 8)
    for name, columns, bits in (
        ("c", 31, 16), ("narrow", 31, 8), ("wide", 40, 16), ("c_more", 32, 16),
        ("narrow_more", 32, 8), ("c_longest", 65, 16),
    ):  # fmt: skip
        found.reserve(name, 6, columns, bits)
    return found


NARROW = Scaling(scale=0.00003, bits=8, zero_point=-7)
GATE = Gate(layer="g", x=View("a"), c=View("c"), operation="gelu", spec=UNIT,
            scaling=Scaling(scale=90.0, bits=16, zero_point=5))  # fmt: skip
SCALE = Scale(layer="l", x=View("a"), exponents=View("exponents"), c=View("c"),
              scaling=Scaling(scale=3.0, bits=16))  # fmt: skip
SOFTMAX = Softmax(layer="x", x=View("a"), c=View("c_more"), spec=UNIT)
TRANSPOSE = Transpose(layer="t", x=View("bytes"), c=View("turned"))
GATHER = Gather(layer="e", x=View("a"), rows=View("numbers"), c=View("c"))
NORM = Norm(layer="n", x=View("a"), c=View("c"), centred=True, spec=UNIT)


@pytest.mark.parametrize("job", [
    ADD, replace(ADD, b=View("row")), replace(ADD, b=View("a")), MULTIPLY,
    replace(MULTIPLY, b=View("b")), replace(MULTIPLY, scaling=Scaling(scale=2.0**-30, bits=16)),
    replace(ADD, scaling=Scaling(scale=1.0, bits=16)),
    replace(ADD, scaling=NARROW, c=View("narrow")),
    replace(MULTIPLY, scaling=NARROW, c=View("narrow")), GATE,
    replace(GATE, scaling=Scaling(scale=2.0, bits=8, zero_point=-100), c=View("narrow")), SCALE,
    replace(SCALE, scaling=Scaling(scale=0.01, bits=8), c=View("narrow")), SOFTMAX,
    replace(SOFTMAX, narrow=True, c=View("narrow_more")), NORM,
])  # fmt: skip
def test_the_unit_makes_what_golden_makes(memory: Memory, job: Job) -> None:
    assert runs(job, memory, TARGET)
    work = rows_of(job, memory, TARGET)
    assert work is not None
    assert work.a is not None
    job.run(memory)
    made, how = memory.read(job.c), work.requantisation
    assert work.narrow == (memory.bits[job.c.name] == 8)
    b = [None] * len(work.a) if work.b is None else np.broadcast_to(work.b, (6, work.b.shape[1]))
    for a, other, c in zip(work.a, b, made, strict=True):
        to = None
        if how is not None:
            most = 127 if work.narrow else (1 << 15) - 1
            to = Requantisation(
                multiplier=np.array([how.multiplier]), shift=np.array([how.shift]),
                zero_point=np.array([how.zero_point]), low=-most - 1, high=most,
            )  # fmt: skip
        if work.operation == "scale":
            assert to is not None
            assert other is not None
            to, other = shifted(to, int(other[0]), UNIT.scaling), None
        found, exponent = vector_unit(UNIT, work.operation, a, to, other)
        if work.operation == "softmax":
            if work.narrow:
                found, exponent = narrowed(UNIT, found, exponent)
            found = np.append(found, exponent)
        np.testing.assert_array_equal(found, c)


@pytest.mark.parametrize("job", [
    replace(ADD, factors=(1, 2)), replace(ADD, a=View("sums")), replace(ADD, b=View("bytes")),
    replace(ADD, c=View("narrow")), replace(MULTIPLY, b=View("column")),
    # Two rows have a bank, of 64 values.
    replace(ADD, a=View("long"), b=View("long"), c=View("wide")),
    replace(GATE, x=View("longest"), c=View("c_longest")), replace(NORM, centred=False),
    replace(NORM, c=View("narrow")), replace(SOFTMAX, c=View("narrow_more")),
    replace(SOFTMAX, narrow=True), replace(SCALE, exponents=View("column")),
    replace(SCALE, exponents=View("bytes")), replace(TRANSPOSE, x=View("a")),
    replace(TRANSPOSE, c=View("turned_wide")), replace(GATHER, rows=View("column")),
    replace(GATHER, x=View("bytes"), c=View("narrow")), replace(GATHER, c=View("narrow")),
    replace(GATHER, x=View("longest"), c=View("c_longest")),
])  # fmt: skip
def test_others_are_for_golden_alone(memory: Memory, job: Job) -> None:
    assert not runs(job, memory, TARGET)
    assert rows_of(job, memory, TARGET) is None


def test_what_the_unit_is_built_with_counts(memory: Memory) -> None:
    small = replace(ADD, scaling=NARROW, c=View("narrow"))
    for job, name in (
        (SOFTMAX, "softmax"), (NORM, "layer_norm"), (ADD, "add"), (GATE, "gelu"), (SCALE, "scale"),
        (small, "add"), (replace(SOFTMAX, narrow=True, c=View("narrow_more")), "softmax"),
    ):  # fmt: skip
        work = rows_of(job, memory, TARGET)
        assert work is not None
        assert work.operation == name
        others = [own for own in UNIT.built if own != name]
        assert not runs(job, memory, target(",".join(others)))
        assert runs(job, memory, target(code_bytes=1, transpose=False, gather=False)) != work.narrow
    assert not runs(ADD, memory, Target(Design("coprocessor")))


def test_bytes_are_transposed(memory: Memory) -> None:
    work = rows_of(TRANSPOSE, memory, TARGET)
    assert work is not None
    assert (work.operation, work.b, work.requantisation) == ("transpose", None, None)
    assert not work.narrow
    TRANSPOSE.run(memory)
    assert work.a is not None
    np.testing.assert_array_equal(memory.read(TRANSPOSE.c), work.a.T)
    assert not runs(TRANSPOSE, memory, target(transpose=False))


def test_rows_of_a_table_are_gathered(memory: Memory) -> None:
    work = rows_of(GATHER, memory, TARGET)
    assert work is not None
    assert (work.operation, work.requantisation, work.narrow) == ("gather", None, False)
    GATHER.run(memory)
    assert work.a is not None
    assert work.b is not None
    rows = work.b[:, 0]
    assert len(np.unique(rows)) > 1
    np.testing.assert_array_equal(memory.read(GATHER.c), work.a[rows])
    assert not runs(GATHER, memory, target(gather=False))

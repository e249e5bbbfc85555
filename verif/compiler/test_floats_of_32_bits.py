"""Steps on floats of 32 bits alone: the C driver needs no doubles for them."""

import ctypes
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.floats import OPERANDS, Floats, Format, Operand, Operation
from carrysave.compiler.run.floats import calculate
from verif.soc.driver.conftest import library as library

_PAIRS = (
    Operation.ADD, Operation.SUBTRACT, Operation.MULTIPLY, Operation.DIVIDE, Operation.QUOTIENT,
    Operation.MAXIMUM, Operation.MINIMUM,
)  # fmt: skip
_ROOM = 1 << 17
_ONE = Operation.EXP, Operation.LOGISTIC, Operation.TANH, Operation.ERF


def floats_of_all_sizes(rng: np.random.Generator, count: int) -> np.ndarray:
    """Draw finite floats of 32 bits by their bits: subnormal ones too, and few bits or many."""
    bits = rng.integers(0, 1 << 32, count, np.uint32)
    bits &= rng.choice(np.array([0xFFFFFFFF, 0xFFFFFFF8, 0xFFF00000], np.uint32), count)
    near = rng.integers(0x00000000, 0x01800000, count, np.uint32)  # about 2^-126
    bits = np.where(rng.random(count) < 0.3, near, bits)
    bits[bits & 0x7F800000 == 0x7F800000] = 0x3F800000
    bits[rng.random(count) < 0.2] &= 0x80000000  # zeros
    return bits.view(np.float32)


@pytest.mark.parametrize("operation", [*_PAIRS, *_ONE, Operation.DECODE, Operation.ENCODE])
@pytest.mark.parametrize("codes", [Format.I8, Format.I16])
def test_floats_of_32_bits(library: Any, operation: Operation, codes: Format) -> None:
    """The C driver computes these without doubles; they are the same bits, of all sizes."""
    rng, size = np.random.default_rng(int(operation)), (40, 500)
    count = size[0] * size[1]
    kinds = dict.fromkeys(OPERANDS[operation], Format.F32)
    if operation == Operation.DECODE:
        kinds["a"] = codes
    if operation == Operation.ENCODE:
        kinds["out"] = codes
    memory = np.zeros(len(kinds) * _ROOM, np.uint8)
    operands = {}
    for place, (name, kind) in enumerate(kinds.items()):
        each, at = kind.type.itemsize, place * _ROOM
        if kind != Format.F32:
            values = rng.integers(-(1 << 7), 1 << 7, count).astype(kind.type)
        else:
            values = floats_of_all_sizes(rng, count)
        if operation == Operation.ENCODE and name == "a":
            # Halves, and what is beside them, about all codes and beyond.
            values = rng.integers(-700, 700, count) / 2 + rng.choice([0, 1e-5, -1e-5], count)
            values = values.astype(np.float32)
        if operation == Operation.ENCODE and name == "b":
            values = rng.choice(np.array([0.25, 1, 3, 0.3], np.float32), count)
        if name == "b" and operation == Operation.QUOTIENT:
            values[values == 0] = 1
        memory[at : at + values.nbytes] = values.view(np.uint8)
        operands[name] = Operand(address=at, format=kind, row=each * size[1], column=each)
    coded = operation in (Operation.DECODE, Operation.ENCODE)
    step = Floats(
        node="", operator="", operation=operation, rows=size[0], columns=size[1], operands=operands,
        shift=-77 if coded else 0, low=-100 if coded else -(1 << 31),
        high=120 if coded else (1 << 31) - 1,
    )  # fmt: skip
    ours, theirs = memory.copy(), memory.copy()
    with np.errstate(all="ignore"):
        calculate(ours, step)
    words = np.array(step.words, np.int64).astype(np.uint32)
    library.carrysave_floats.restype = ctypes.c_void_p
    assert library.carrysave_floats(
        theirs.ctypes.data_as(ctypes.c_void_p), words.ctypes.data_as(ctypes.c_void_p)
    )
    np.testing.assert_array_equal(ours, theirs)
    made = ours[: count * kinds["out"].type.itemsize].view(kinds["out"].type)
    assert len(np.unique(made)) > 50

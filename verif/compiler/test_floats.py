"""Steps on floats: the C driver's bytes are numpy's, and both are what formats and golden say."""

import ctypes
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.units import VECTOR, gates, sigmoid
from carrysave.compiler.program.decode import Words, step_of
from carrysave.compiler.program.floats import OPERANDS, Floats, Format, Operand, Operation
from carrysave.compiler.run.floats import calculate
from golden.lut.align import aligned_format
from verif.soc.driver.conftest import library as library

ROOM = 1 << 14


def numbers(rng: np.random.Generator, format_: Format, count: int) -> np.ndarray:
    """Draw numbers that a format has, of all sizes that a step may meet, and zeros."""
    if format_ in (Format.POWER, Format.FRACTION):
        powers = rng.integers(-40, 40, count)
        # Results that are subnormal in 32 bits, which is where they round twice if one lets them.
        return np.where(rng.random(count) < 0.1, rng.integers(-145, -120), powers).astype(
            format_.type
        )
    if format_ <= Format.I32:
        most = min(np.iinfo(format_.type).max, 1 << 22)
        return rng.integers(-most - 1, most + 1, count).astype(format_.type)
    values = rng.normal(0, 1, count) * 2.0 ** rng.integers(-9, 9, count)
    values[rng.random(count) < 0.1] = 0
    values[rng.random(count) < 0.1] = -0.0
    halves = rng.integers(-600, 600, count) / 2
    values = np.where(rng.random(count) < 0.1, halves, values)
    if format_ != Format.F16:
        values[rng.random(count) < 0.02] *= 2.0**-126
    return values.astype(format_.type)


def drawn(rng: np.random.Generator, operation: Operation) -> tuple[Floats, np.ndarray]:
    """Draw a step and a memory."""
    memory = np.zeros(len(OPERANDS[Operation.GROUPS]) * ROOM, np.uint8)
    rows, columns = (int(one) for one in rng.integers(1, 12, 2))
    operands: dict[str, Operand] = {}
    for place, name in enumerate(OPERANDS[operation]):
        kinds = [one for one in Format if one]
        if name == "out":
            kinds = kinds[:6]
        if operation in (Operation.BITS, Operation.SIGMOID) and name == "a":
            kinds = [Format.I8, Format.I16]
        if name == "powers":
            kinds = [Format.POWER]
        if operation == Operation.LOOK_UP:
            kinds = [Format.I8, Format.F32] if name == "out" else [Format.I8]
            kinds = [operands["out"].format] if name == "b" else kinds
        if operation == Operation.PRODUCT and name in ("a", "b"):
            kinds = [Format.I8, Format.I16]
        if operation == Operation.GROUPS:
            kinds = {
                "a": [Format.I32],
                "b": [Format.F16],
                "ones": [Format.I32],
                "offsets": [Format.NONE, Format.F16],
            }.get(name, kinds)
        kind = kinds[rng.integers(len(kinds))]
        each = kind.type.itemsize if kind else 4
        column = each * int(rng.integers(name in ("out", "powers"), 3))
        row = each * 3 * (columns if name != "powers" else 1) if rng.integers(4) else column * 12
        at = place * ROOM + 8 * int(rng.integers(8, 17))
        if kind:
            values = numbers(rng, kind, ROOM // 2 // each)
            memory[at : at + values.nbytes] = values.view(np.uint8)
        if name == "out":
            row = max(row, column * columns)
        operands[name] = Operand(address=at, format=kind, row=row, column=column)
        if name == "b" and operation in (Operation.QUOTIENT, Operation.ENCODE):
            # Quotients are finite.
            values = numbers(rng, kind, ROOM // each)
            values[values == 0] = 1
            memory[place * ROOM : (place + 1) * ROOM] = values.view(np.uint8)
    loops = tuple(
        (int(size), tuple(8 * int(one) for one in rng.integers(-2, 9, len(operands))))
        for size in rng.integers(1, 4, rng.integers(3))
    )
    least = 0 if operation == Operation.BITS else -4
    width = int(rng.integers(2, 17)) if operation == Operation.ALIGN else 18
    return Floats(
        node="",
        operator="",
        operation=operation,
        rows=rows,
        columns=columns,
        operands=operands,
        shift=8 if operation == Operation.SIGMOID else int(rng.integers(least, 5)),
        width=width,
        low=-200,
        high=1 << 15,
        loops=loops,
    ), memory


@pytest.mark.parametrize("operation", Operation)
def test_the_c_driver_makes_the_same_bytes(library: Any, operation: Operation) -> None:
    rng = np.random.default_rng(int(operation))
    changed = 0
    for _ in range(150):
        step, memory = drawn(rng, operation)
        if operation == Operation.GROUPS:  # sums of 24 bits at most
            step.operands["a"].__dict__["format"] = Format.I16
        changed += not np.array_equal(by_both(library, step, memory), memory)
    assert changed > 100


def by_both(library: Any, step: Floats, memory: np.ndarray) -> np.ndarray:
    """Do a step in numpy and in C; return the memory."""
    ours, theirs = memory.copy(), memory.copy()
    calculate(ours, step)
    words = np.array(step.words, np.int64).astype(np.uint32)
    library.carrysave_floats.restype = ctypes.c_void_p
    end = library.carrysave_floats(
        theirs.ctypes.data_as(ctypes.c_void_p), words.ctypes.data_as(ctypes.c_void_p)
    )
    assert end == words.ctypes.data + words.nbytes
    differ = np.flatnonzero(ours != theirs)
    assert not differ.size, (step, differ[:8])
    return ours


@pytest.mark.parametrize("shift", [-30, -3, 0, 3, 30])
def test_products_that_are_subnormal_are_rounded_once(library: Any, shift: int) -> None:
    """Numbers of 32 bits near the least normal one, and below it; results, too."""
    rng = np.random.default_rng(shift + 99)
    a = rng.integers(0, 1 << 26, 512).astype(np.uint32) | rng.integers(0, 2, 512) << 31
    b = rng.normal(0, 1, 512).astype(np.float32)
    memory = np.concatenate([a.astype(np.uint32), b.view(np.uint32), a.astype(np.uint32)])
    operands = {
        name: Operand(address=2048 * place, format=Format.F32, column=4)
        for place, name in enumerate(("a", "b", "out"))
    }
    step = one(Operation.MULTIPLY, rows=1, columns=512, operands=operands, shift=shift)
    assert np.count_nonzero(by_both(library, step, memory.view(np.uint8))) > 1024


def one(operation: Operation, **more: Any) -> Floats:
    """Make a step."""
    return Floats(node="", operator="", operation=operation, **more)


def step(operation: Operation, arrays: dict[str, np.ndarray], **more: Any) -> np.ndarray:
    """Do a step on matrices; return out."""
    memory, operands, at = np.zeros(1 << 20, np.uint8), {}, 0
    kinds = {one.type: one for one in list(Format)[1:7]}
    for name, array in arrays.items():
        operands[name] = Operand(
            address=at,
            format=Format.POWER if name == "powers" else kinds[array.dtype],
            row=array.strides[0],
            column=array.strides[1],
        )
        memory[at : at + array.nbytes] = np.ascontiguousarray(array).view(np.uint8).ravel()
        at += array.nbytes + -array.nbytes % 8
    rows, columns = arrays["a"].shape
    calculate(memory, one(operation, rows=rows, columns=columns, operands=operands, **more))
    out = arrays["out"]
    return memory[: out.nbytes].view(out.dtype).reshape(out.shape)


def test_sigmoid_is_goldens() -> None:
    """All codes of 16 bits."""
    x = np.arange(-(1 << 15), 1 << 15)
    found = step(
        Operation.SIGMOID,
        {"out": np.zeros((256, 256), np.int32), "a": x.astype(np.int16).reshape(256, 256)},
        shift=VECTOR.scale_width,
        width=VECTOR.gate_width,
        high=1 << 15,
    )
    assert np.array_equal(gates(np.ldexp(x.astype(float), -8)), x)
    assert np.array_equal(np.ldexp(found.ravel(), -15), sigmoid(np.ldexp(x.astype(float), -8)))


@pytest.mark.parametrize("width", [2, 4, 8, 15, 16])
def test_rows_are_aligned_as_golden_has_it(width: int) -> None:
    rng = np.random.default_rng(width)
    x = rng.normal(0, 1, (64, 32)) * 2.0 ** rng.integers(-75, 30, (64, 1))
    x[3], x[4] = 0, 2.0 ** rng.integers(-4, 4)
    blocks = aligned_format(width, 32).quantise(x)
    powers = blocks.scales - 127 - (width - 2)
    out = step(
        Operation.ALIGN,
        {"out": np.zeros((64, 32), np.int16), "a": x, "powers": np.zeros((64, 1), np.int32)},
        width=width,
    )
    assert np.array_equal(out, np.where(powers >= -60, blocks.codes.reshape(64, 32), 0))


def test_halves_and_roots(library: Any) -> None:
    """Every half of fp16, and what lies between two of them, to the nearest, as numpy's own."""
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    between = (halves[1:] + halves[:-1]) / 2
    every = np.concatenate([halves, between, np.nextafter(between, 0), np.nextafter(between, 1e9)])
    rng = np.random.default_rng(1)
    every = np.concatenate([every, -every, rng.uniform(0, 2e5, 1 << 12)])
    for operation, kind in ((Operation.COPY, np.float16), (Operation.ROOT, np.float64)):
        memory = np.zeros(1 << 22, np.uint8)
        memory[1 << 21 :][: every.nbytes] = every.view(np.uint8)
        each = np.dtype(kind).itemsize
        words = np.array(
            Floats(
                node="",
                operator="",
                operation=operation,
                rows=1,
                columns=len(every),
                operands={
                    "out": Operand(
                        address=0, format=Format.F16 if each == 2 else Format.F64, column=each
                    ),
                    "a": Operand(address=1 << 21, format=Format.F64, column=8),
                },
            ).words,
            np.int64,
        ).astype(np.uint32)
        library.carrysave_floats(
            memory.ctypes.data_as(ctypes.c_void_p), words.ctypes.data_as(ctypes.c_void_p)
        )
        found = memory[: each * len(every)].view(kind)
        with np.errstate(over="ignore"):
            wanted = every.astype(kind) if each == 2 else np.sqrt(np.maximum(every, 0))
        assert np.array_equal(found, wanted)


def test_no_such_operation(library: Any) -> None:
    with pytest.raises(ValueError, match=r"an operation on floats must be 1\.\.25, not 26"):
        step_of(Words(np.array([3, 26, 1, 1, 0, 0, 0, 0, 0], np.int32).view(np.uint8), 0))
    words = np.array([26, 1, 1, 0, 0, 0, 0, 0], np.uint32)
    library.carrysave_floats.restype = ctypes.c_void_p
    memory = np.zeros(64, np.uint8)
    assert (
        library.carrysave_floats(
            memory.ctypes.data_as(ctypes.c_void_p), words.ctypes.data_as(ctypes.c_void_p)
        )
        is None
    )

"""Jobs on matrices in memory, against floats: a head of attention, and what stands around it."""

import math

import numpy as np
import pytest

from carrysave.compiler.program.jobs import (
    Add,
    Gate,
    Job,
    Multiply,
    Norm,
    Product,
    Scale,
    Scaling,
    Softmax,
    Transpose,
)  # fmt: skip
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from golden.npe.requantiser import dyadic
from golden.npe.vector import VectorUnitSpec
from hw.catalog import Design

SHARES = VectorUnitSpec(width=16, scale_width=8, out_width=16, signed=True, length=64)
NORMS = VectorUnitSpec(width=16, scale_width=8, out_width=16, norm_fraction=8, length=64)
TARGET = Target(Design("coprocessor", {"code_bytes": 2}))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def run(memory: Memory, *jobs: Job) -> None:
    for job in jobs:
        job.run(memory)


@pytest.mark.parametrize("length", [1, 2, 13, 64])
def test_a_head_of_attention(rng: np.random.Generator, length: int) -> None:
    """Queries, keys and values are columns of one matrix; the step of each is 2^-5."""
    width, step = 16, 2.0**-5
    memory = Memory()
    codes = rng.integers(-60, 60, (length, 3 * width))
    memory.place("qkv", codes, 8)
    q, k, v = (View("qkv", (0, length), (at, at + width)) for at in range(0, 3 * width, width))
    kt = memory.reserve("kt", width, length, 8)
    scores = memory.reserve("scores", length, length, 16)
    # Half of a row of these two is written; each row ends with its exponent.
    memory.reserve("shares", length, 2 * (length + 1), 8)
    start = length + 1
    shares, exponents = (
        View("shares", None, columns)
        for columns in ((start, start + length), (start + length, start + length + 1))
    )
    memory.reserve("context", length, 2 * width, 16)
    half = View("context", None, (width, 2 * width))
    mixed = memory.reserve("mixed", length, width, 16)
    multiplier, shift = dyadic(step * step / math.sqrt(width) * 256)
    to_scores = Requantisation(multiplier=multiplier.item(), shift=shift.item())
    less = max((length - 1).bit_length() - 2, 0)
    run(
        memory,
        Transpose(layer="kt", x=k, c=kt),
        Product(layer="scores", a=q, b=kt, c=scores, how=to_scores, wide=True, target=TARGET),
        Softmax(layer="shares", x=scores, c=View("shares", None, (start, 2 * start)), spec=SHARES,
                narrow=True),
        Product(layer="context", a=shares, b=v, c=mixed, wide=True, target=TARGET,
                how=Requantisation(multiplier=1, shift=less)),
        Scale(
            layer="context", x=mixed, exponents=exponents, c=half,
            scaling=Scaling(scale=2.0**less * 64, bits=16),
        ),
    )  # fmt: skip
    own = memory.read(exponents)
    assert own.min() >= 6
    # Rows sum to 1 within the unit's error, and what each code is rounded by.
    total = memory.read(shares).sum(axis=1) / 2.0 ** own[:, 0]
    assert (np.abs(total - 1) <= SHARES.sum_error + (length / 2 + 0.5) / 2.0 ** own[:, 0]).all()
    assert not memory.read(View("shares", None, (0, start))).any()
    floats = (codes * step).reshape(length, 3, width)
    logits = floats[:, 0] @ floats[:, 1].T / math.sqrt(width)
    wanted = np.exp(logits - logits.max(axis=1, keepdims=True))
    wanted = wanted / wanted.sum(axis=1, keepdims=True) @ floats[:, 2]
    found = memory.read(half) * step / 64
    assert np.abs(found - wanted).max() < 0.05
    assert not memory.read(View("context", None, (0, width))).any()


def test_a_layer_around_products(rng: np.random.Generator) -> None:
    """A product with biases and scales of columns, its sum with what it takes, norm, gate."""
    rows, width = 9, 24
    memory = Memory()
    x, weights = rng.integers(-128, 128, (rows, width)), rng.integers(-128, 128, (width, width))
    bias = rng.integers(-9999, 9999, (1, width))
    for name, array, bits in (("x", x, 8), ("w", weights, 8), ("bias", bias, 32)):
        memory.place(name, array, bits)
    gamma = rng.integers(1 << 12, 1 << 14, (1, width))
    memory.place("gamma", gamma, 16)
    y, sums, normal = (memory.reserve(name, rows, width, 16) for name in ("y", "sums", "normal"))
    scaled, out = memory.reserve("scaled", rows, width, 16), memory.reserve("out", rows, width, 8)
    shift = rng.integers(10, 13, width)
    how = Requantisation(multiplier=1, shift=shift, zero_point=3, low=-128, high=127)
    run(
        memory,
        Product(layer="y", a=View("x"), b=View("w"), bias=View("bias"), c=y, how=how,
                target=TARGET),
        Add(layer="sums", a=View("x"), b=y, factors=(64, 32), c=sums,
            scaling=Scaling(scale=1.0, bits=16)),
        Norm(layer="normal", x=sums, c=normal, centred=True, spec=NORMS),
        Multiply(layer="scaled", a=normal, b=View("gamma"), c=scaled,
                 scaling=Scaling(scale=2.0**-14, bits=16)),
        Gate(layer="out", x=scaled, operation="gelu", c=out, spec=NORMS,
             scaling=Scaling(scale=50.0, bits=8, zero_point=-100)),
    )  # fmt: skip
    made = np.floor((x @ weights + bias) / 2.0**shift + 0.5) + 3
    np.testing.assert_array_equal(memory.read(y), np.clip(made, -128, 127))
    total = 64 * x + 32 * memory.read(y)
    np.testing.assert_array_equal(memory.read(sums), total)
    apart = total - total.mean(axis=1, keepdims=True)
    wanted = apart / apart.std(axis=1, keepdims=True) * gamma / (1 << 14)
    np.testing.assert_allclose(memory.read(scaled) / 256, wanted, atol=0.01)
    gelu = wanted * (1 + np.vectorize(math.erf)(wanted / math.sqrt(2))) / 2
    codes = np.clip(gelu * 50 - 100, -128, 127)
    assert np.abs(memory.read(out) - codes).max() < 2.5


def test_rows_count_as_several() -> None:
    """Heads side by side are rows one after the other, and are written in place."""
    memory = Memory()
    memory.place("x", np.arange(24).reshape(2, 12), 8)
    whole = View("x", parts=3)
    np.testing.assert_array_equal(memory.read(whole), np.arange(24).reshape(6, 4))
    part = View("x", (1, 2), (3, 4), parts=3)
    np.testing.assert_array_equal(memory.read(part), [[15], [19], [23]])
    memory.write(part, np.array([[-1], [-2], [-3]]))
    np.testing.assert_array_equal(memory.matrices["x"][1], [
        12, 13, 14, -1, 16, 17, 18, -2, 20, 21, 22, -3,
    ])  # fmt: skip
    np.testing.assert_array_equal(memory.matrices["x"][0], np.arange(12))


def test_memory_refuses() -> None:
    memory = Memory()
    memory.place("x", np.array([[1, 2]]), 8)
    for name, array, bits, says in (
        ("x", np.zeros((1, 1), np.int64), 8, "matrix 'x' must be placed once"),
        ("y", np.zeros((1, 1)), 8, "matrix 'y' must be of integers, rows x columns"),
        ("y", np.zeros(3, np.int64), 8, "matrix 'y' must be of integers, rows x columns"),
        ("y", np.array([[-128, 128]]), 8, "matrix 'y' must have 8 bits, not 128"),
        ("y", np.array([[-129, 127]]), 8, "matrix 'y' must have 8 bits, not -129"),
    ):
        with pytest.raises(ValueError, match=f"^{says}$"):
            memory.place(name, array, bits)
    with pytest.raises(ValueError, match=r"^'x' must be \(1, 2\) here, not \(1, 1\)$"):
        memory.write(View("x"), np.zeros((1, 1), np.int64))
    with pytest.raises(ValueError, match=r"^matrix 'x' must have 8 bits, not 300$"):
        memory.write(View("x"), np.array([[0, 300]]))
    np.testing.assert_array_equal(memory.read(View("x")), [[1, 2]])


def test_jobs_refuse_codes_of_other_widths() -> None:
    memory = Memory()
    memory.place("wide", np.full((2, 2), 300), 16)
    memory.reserve("c", 2, 2, 32)
    with pytest.raises(ValueError, match="a must be"):
        run(memory, Product(layer="p", a=View("wide"), b=View("wide"), c=View("c"), target=TARGET))
    # Sums of 32 bits are no operand of the norm, whose rows have 16.
    memory.place("sums", np.full((2, 2), 1 << 20), 32)
    with pytest.raises(ValueError, match="x must be"):
        run(memory, Norm(layer="n", x=View("sums"), c=View("c"), centred=False, spec=NORMS))
    with pytest.raises(ValueError, match=r"scale must be 0 or more"):
        _ = Scaling(scale=float("nan"), bits=8).to

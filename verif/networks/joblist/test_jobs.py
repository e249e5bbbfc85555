"""Jobs on matrices in memory, against floats: a head of attention, and what stands around it."""

import math

import numpy as np
import pytest

from carrysave.driver import Requantisation
from carrysave.networks.joblist.jobs import (
    Add,
    Gate,
    Job,
    Multiply,
    Norm,
    Product,
    Scaling,
    Softmax,
    Transpose,
)  # fmt: skip
from carrysave.networks.joblist.matrices import Memory, View
from carrysave.networks.target import Target
from golden.npe.vector import VectorUnitSpec
from hw.catalog import Design

SHARES = VectorUnitSpec(width=16, scale_width=8, out_width=8, signed=True, length=64)
NORMS = VectorUnitSpec(width=16, scale_width=8, out_width=16, norm_fraction=8, length=64)
TARGET = Target(Design("coprocessor"))


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
    memory.place("one", np.ones((1, 1), np.int64), 16)
    kt = memory.reserve("kt", width, length, 8)
    sums = memory.reserve("sums", length, length, 32)
    scores = memory.reserve("scores", length, length, 16)
    shares = memory.reserve("shares", length, length, 8)
    factors = memory.reserve("factors", length, 1, 16)
    mixed = memory.reserve("mixed", length, width, 32)
    # Half of a row of this matrix is written.
    memory.reserve("context", length, 2 * width, 16)
    half = View("context", None, (width, 2 * width))
    scale = step * step / math.sqrt(width)
    most = Softmax.exponent(SHARES, length)
    run(
        memory,
        Transpose(layer="kt", x=k, c=kt),
        Product(layer="scores", a=q, b=kt, c=sums, target=TARGET),
        Multiply(
            layer="scores", a=sums, b=View("one"), c=scores,
            scaling=Scaling(scale=scale * 256, bits=16),
        ),
        Softmax(layer="shares", x=scores, c=shares, factors=factors, spec=SHARES),
        Product(layer="context", a=shares, b=v, c=mixed, target=TARGET),
        Multiply(
            layer="context", a=mixed, b=factors, c=half,
            scaling=Scaling(scale=2.0**-most * 64, bits=16),
        ),
    )  # fmt: skip
    own = memory.read(factors)
    assert own.min() >= 1
    # Rows sum to 1 within the unit's error.
    total = (memory.read(shares) * own).sum(axis=1) / 2.0**most
    assert np.abs(total - 1).max() <= SHARES.sum_error
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

"""Jobs on buffers, against floats: a head of attention, and what stands around it."""

import math

import numpy as np
import pytest

from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import product, rows, scaling
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.driver import Requantisation
from golden.npe.requantiser import dyadic
from hw.catalog import Design


def target(operations: str = "softmax,layer_norm,gelu,add,multiply,scale") -> Target:
    unit = (
        "vector_unit(width=16,scale_width=8,out_width=16,signed=true,norm_fraction=8,length=64,"
        f"operations={operations})"
    )
    more = {"vector": unit, "code_bytes": 2, "transpose": True, "gather": True}
    return Target(Design("coprocessor", more))


TARGET = target()


class Jobs:
    """Buffers and jobs; what they make when they have run."""

    def __init__(self) -> None:
        self.image = Image(TARGET)

    def rows(
        self,
        operation: str,
        a: Buffer,
        c: Buffer,
        b: Buffer | None = None,
        how: Requantisation | None = None,
    ) -> None:
        self.image.start("", operation, rows(TARGET, operation, a, c, b=b, how=how))

    def product(
        self, a: Buffer, b: Buffer, c: Buffer, how: Requantisation, bias: Buffer | None = None
    ) -> None:
        records = self.image.records("p", how, c.columns)
        job = product(TARGET, a, b, c, how=how, bias=bias, records=records)
        self.image.start("", "product", job)

    def run(self) -> np.ndarray:
        program = assembled(self.image, [self.image.steps])
        memory = program.memory.copy()
        by_golden(program, memory)(program.sections[0])
        return memory


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("length", [1, 2, 13, 64])
def test_a_head_of_attention(rng: np.random.Generator, length: int) -> None:
    """Queries, keys and values are columns of one buffer; the step of each is 2^-5."""
    width, step = 16, 2.0**-5
    own = Jobs()
    codes = rng.integers(-60, 60, (length, 3 * width))
    qkv = own.image.place("qkv", codes, 8)
    q, k, v = (qkv.part(None, (at, at + width)) for at in range(0, 3 * width, width))
    kt = own.image.reserve("kt", width, length, 8)
    scores = own.image.reserve("scores", length, length, 16)
    # Half of a row of these two is written; each row ends with its exponent.
    shares = own.image.reserve("shares", length, 2 * (length + 1), 8)
    start = length + 1
    share = shares.part(None, (start, start + length))
    exponents = shares.part(None, (start + length, start + length + 1))
    context = own.image.reserve("context", length, 2 * width, 16)
    half = context.part(None, (width, 2 * width))
    mixed = own.image.reserve("mixed", length, width, 16)
    multiplier, shift = dyadic(step * step / math.sqrt(width) * 256)
    less = max((length - 1).bit_length() - 2, 0)
    own.rows("transpose", k, kt)
    own.product(q, kt, scores, Requantisation(multiplier=multiplier.item(), shift=shift.item()))
    own.rows("softmax", scores, shares.part(None, (start, 2 * start)))
    own.product(share, v, mixed, Requantisation(multiplier=1, shift=less))
    own.rows("scale", mixed, half, exponents, scaling(2.0**less * 64, 16))
    memory = own.run()
    found = exponents.read(memory)
    assert found.min() >= 6
    # Rows sum to 1 within the unit's error, and what each code is rounded by.
    total = share.read(memory).sum(axis=1) / 2.0 ** found[:, 0]
    assert TARGET.spec.vector is not None
    most = TARGET.spec.vector.sum_error + (length / 2 + 0.5) / 2.0 ** found[:, 0]
    assert (np.abs(total - 1) <= most).all()
    assert not shares.part(None, (0, start)).read(memory).any()
    floats = (codes * step).reshape(length, 3, width)
    logits = floats[:, 0] @ floats[:, 1].T / math.sqrt(width)
    wanted = np.exp(logits - logits.max(axis=1, keepdims=True))
    wanted = wanted / wanted.sum(axis=1, keepdims=True) @ floats[:, 2]
    assert np.abs(half.read(memory) * step / 64 - wanted).max() < 0.05
    assert not context.part(None, (0, width)).read(memory).any()


def test_a_layer_around_products(rng: np.random.Generator) -> None:
    """A product with biases and scales of columns, its sum with what it takes, norm, gate."""
    count, width = 9, 24
    own = Jobs()
    x, weights = rng.integers(-128, 128, (count, width)), rng.integers(-128, 128, (width, width))
    bias = rng.integers(-9999, 9999, (1, width))
    gamma = rng.integers(1 << 12, 1 << 14, (1, width))
    place, reserve = own.image.place, own.image.reserve
    y, sums, normal, scaled = (
        reserve(name, count, width, 16) for name in ("y", "sums", "normal", "scaled")
    )
    out, wide = reserve("out", count, width, 8), place("wide", 64 * x, 16)
    shift = rng.integers(3, 6, width)
    how = Requantisation(multiplier=1, shift=shift, zero_point=3, low=-9000, high=8000)
    own.product(place("x", x, 8), place("w", weights, 8), y, how, place("bias", bias, 32))
    own.rows("add", wide, sums, y, scaling(0.5, 16))
    own.rows("layer_norm", sums, normal)
    own.rows("multiply", normal, scaled, place("gamma", gamma, 16), scaling(2.0**-14, 16))
    assert TARGET.spec.vector is not None
    gate = scaling(50.0 / 256, 8, -100, TARGET.spec.vector.reciprocal_width)
    own.rows("gelu", scaled, out, how=gate)
    memory = own.run()
    # Products round halves to the even code, rows up.
    made = np.rint((x @ weights + bias) / 2.0**shift) + 3
    made = np.clip(made, -9000, 8000)
    np.testing.assert_array_equal(y.read(memory), made)
    total = np.clip(np.floor((64 * x + made) / 2 + 0.5), -32768, 32767)
    np.testing.assert_array_equal(sums.read(memory), total)
    apart = total - total.mean(axis=1, keepdims=True)
    wanted = apart / apart.std(axis=1, keepdims=True) * gamma / (1 << 14)
    np.testing.assert_allclose(scaled.read(memory) / 256, wanted, atol=0.01)
    gelu = wanted * (1 + np.vectorize(math.erf)(wanted / math.sqrt(2))) / 2
    assert np.abs(out.read(memory) - np.clip(gelu * 50 - 100, -128, 127)).max() < 2.5


def test_rows_of_a_table_are_gathered(rng: np.random.Generator) -> None:
    own = Jobs()
    table, numbers = rng.integers(-900, 900, (7, 12)), rng.integers(0, 7, (5, 1))
    c = own.image.reserve("c", 5, 12, 16)
    own.rows("gather", own.image.place("t", table, 16), c, own.image.place("n", numbers, 32))
    np.testing.assert_array_equal(c.read(own.run()), table[numbers[:, 0]])


def test_rows_count_as_several() -> None:
    """Heads side by side are rows one after the other, and are written in place."""
    image = Image(TARGET)
    codes = np.arange(24).reshape(2, 12)
    x = image.place("x", codes, 8)
    memory = assembled(image, [()]).memory.copy()
    np.testing.assert_array_equal(x.part(parts=3).read(memory), codes.reshape(6, 4))
    part = x.part((1, 2), (3, 4), parts=3)
    np.testing.assert_array_equal(part.read(memory), [[15], [19], [23]])
    part.write(memory, np.array([[-1], [-2], [-3]]))
    codes[1, 3::4] = -1, -2, -3
    np.testing.assert_array_equal(x.read(memory), codes)


def test_buffers_refuse() -> None:
    image = Image(TARGET)
    x = image.place("x", np.array([[1, 2]]), 8)
    assert image.place("x", np.array([[1]]), 8).name == "x.2"
    for array, says in (
        (np.zeros((1, 1)), "buffer 'y' must be of integers, rows x columns"),
        (np.zeros(3, np.int64), "buffer 'y' must be of integers, rows x columns"),
        (np.array([[-128, 128]]), "buffer 'y' must have 8 bits, not 128"),
        (np.array([[-129, 127]]), "buffer 'y' must have 8 bits, not -129"),
    ):
        with pytest.raises(ValueError, match=f"^{says}$"):
            image.place("y", array, 8)
    assert "y" not in image.buffers
    memory = assembled(image, [()]).memory.copy()
    for array, says in (
        (np.zeros((1, 1), np.int64), r"'x' must be 1 x 2, not \(1, 1\)"),
        (np.array([[0, 300]]), "buffer 'x' must have 8 bits, not 300"),
    ):
        with pytest.raises(ValueError, match=f"^{says}$"):
            x.write(memory, array)
    np.testing.assert_array_equal(x.read(memory), [[1, 2]])
    for chosen, columns, parts in (((0, 2), None, 1), (None, (1, 3), 1), (None, (0, 1), 3)):
        with pytest.raises(ValueError, match="a part of 'x' must be within its 1 x 2 codes"):
            x.part(chosen, columns, parts=parts)


HOW = scaling(1.0, 16)


@pytest.mark.parametrize(("operation", "a", "c", "b", "how", "says"), [
    ("silu", (2, 8, 16), (2, 8, 16), None, HOW, "must have silu; it has softmax, layer_norm"),
    ("gelu", (2, 8, 16), (2, 8, 16), None, None, "only gelu, silu, sigmoid, add"),
    ("layer_norm", (2, 8, 16), (2, 8, 16), None, HOW, "only gelu, silu, sigmoid, add"),
    ("softmax", (2, 8, 16), (2, 8, 16), None, None, "c: must have the results' 2 x 9, not 2 x 8"),
    ("add", (2, 8, 16), (2, 8, 16), (2, 7, 16), HOW, "b: must have the operand's 2 x 8 x 16"),
    ("scale", (2, 8, 16), (2, 8, 16), (2, 1, 16), HOW, "b: must have the operand's 2 x 1 x 8"),
    ("layer_norm", (2, 8, 16), (2, 8, 8), None, None, "cannot do layer_norm .*: MODE"),
    ("layer_norm", (2, 65, 16), (2, 65, 16), None, None, "rows of 65 codes: LONG_ROW"),
    ("add", (2, 40, 16), (2, 40, 16), (2, 40, 16), HOW, "rows of 40 codes: LONG_ROW"),
    ("transpose", (2, 8, 16), (8, 2, 8), None, None, "cannot do transpose .*: MODE"),
    ("transpose", (2, 8, 8), (8, 2, 16), None, None, "c: must have codes' 8, not 16"),
    ("gather", (4, 8, 16), (2, 8, 8), (2, 1, 32), None, "c: must have codes' 16, not 8"),
])  # fmt: skip
def test_what_the_unit_has_not_is_refused(
    operation: str,
    a: tuple[int, int, int],
    c: tuple[int, int, int],
    b: tuple[int, int, int] | None,
    how: Requantisation | None,
    says: str,
) -> None:
    image = Image(TARGET)
    left, made = image.reserve("a", *a), image.reserve("c", *c)
    right = None if b is None else image.reserve("b", *b)
    with pytest.raises(ValueError, match=says):
        rows(TARGET, operation, left, made, b=right, how=how)


def test_products_refuse_other_buffers() -> None:
    image = Image(TARGET)
    a, b, c = image.reserve("a", 3, 8, 8), image.reserve("b", 8, 5, 8), image.reserve("c", 3, 5, 32)
    assert product(TARGET, a, b, c).m == 3
    bias = image.reserve("bias", 1, 4, 32)
    for left, right, made, more, says in (
        (a, image.reserve("d", 7, 5, 8), c, None, "d: must have an operand's 8 x 8, not 7 x 8"),
        (image.reserve("e", 3, 8, 16), b, c, None, "e: must have an operand's 8, not 16"),
        (a, b, image.reserve("f", 3, 5, 16), None, "f: must have the product's 3 x 5 x 32"),
        (a, b, c, bias, "bias: must have the sums' 1 x 5 x 32, not 1 x 4 x 32"),
    ):
        with pytest.raises(ValueError, match=f"^{says}"):
            product(TARGET, left, right, made, bias=more)
    with pytest.raises(ValueError, match=r"scale must be 0 or more"):
        scaling(float("nan"), 16)

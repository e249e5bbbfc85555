"""Jobs of attention in one pass, by golden, against float64 and the functions they are of."""

import numpy as np
import pytest

from carrysave.compiler.encoder.codes import scaled
from carrysave.compiler.encoder.one_pass import ONE, Head, one_pass
from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.image import Image
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from golden.npe.exps import exps
from golden.npe.vector import VectorUnitSpec
from hw.catalog import Design

UNIT = (
    "vector_unit(operations=exps,divide,lanes=4,length=64,width=15,scale_width=8,signed=true,"
    "block={block})"
)
QUERIES, WIDTH = 9, 12


def target_of(block: int, unit: str = UNIT, *, shares: bool = False) -> Target:
    engine = {"m": "4", "n": "4", "code_bytes": "2", "shares": str(shares).lower()}
    return Target(Design.parse("coprocessor", engine | {"vector": unit.format(block=block)}))


def head_of(image: Image, keys: int) -> tuple[Head, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Place random operands; scores have a deviation of 2."""
    rng = np.random.default_rng(keys)
    q, k = rng.integers(-128, 128, (QUERIES, WIDTH)), rng.integers(-128, 128, (WIDTH, keys))
    v = np.c_[rng.integers(-127, 128, (keys, WIDTH)), np.full(keys, ONE)]
    head = Head(
        queries=image.place("queries", q, 8),
        keys=image.place("keys", k, 8),
        values=image.place("values", v, 8),
        context=image.reserve("context", QUERIES, WIDTH + 1, 8),
        scoring=scaled(2.0 * 2**8 / float((q @ k).std()), (1 << 14) - 1),
    )
    return head, (q, k, v)


@pytest.mark.parametrize("keys", [1, 4, 13, 50, 64])
def test_one_pass_is_near_attention(keys: int) -> None:
    """Of rows that fill their last beat, and of others, whose shares have zeros behind them."""
    image = Image(target_of(64))
    head, (_, _, v) = head_of(image, keys)
    one_pass(image, "0.", head)
    program = assembled(image, [image.steps])
    memory = program.memory.copy()
    by_golden(program, memory)(program.sections[0])
    scores = program.buffers["0.scores"].read(memory)
    shares = program.buffers["0.shares"].read(memory)
    unit = image.target.spec.vector
    assert isinstance(unit, VectorUnitSpec)
    codes, exponents = exps(unit, scores)
    np.testing.assert_array_equal(shares[:, :keys], codes)
    assert not shares[:, keys:-1].any()
    np.testing.assert_array_equal(shares[:, -1].astype(np.int8), exponents[:, 0])
    weights = np.exp((scores - scores.max(axis=1, keepdims=True)) / 2.0**8)
    right = weights / weights.sum(axis=1, keepdims=True) @ v
    made = program.buffers["context"].read(memory)
    # The last column is that of the ones.
    assert abs(made[:, -1] - ONE).max() <= 1
    assert np.sqrt(((made - right)[:, :-1] ** 2).mean()) < 0.05 * right[:, :-1].std() + 0.4


@pytest.mark.parametrize(("keys", "most"), [(5, None), (16, 4), (50, 2), (64, None), (300, 4)])
def test_one_pass_of_several_blocks_is_near_attention(keys: int, most: int | None) -> None:
    """Nearer than one block: each has an octave of its own; rows are computed some at a time."""
    image = Image(target_of(16, UNIT.replace("length=64", "length=320"), shares=True))
    head, (_, _, v) = head_of(image, keys)
    one_pass(image, "0.", head, most)
    program = assembled(image, [image.steps])
    memory = program.memory.copy()
    by_golden(program, memory)(program.sections[0])
    count = most or QUERIES
    last = slice((QUERIES - 1) // count * count, QUERIES)
    scores = program.buffers["0.scores"].read(memory)[: len(range(QUERIES)[last])]
    weights = np.exp((scores - scores.max(axis=1, keepdims=True)) / 2.0**8)
    right = weights / weights.sum(axis=1, keepdims=True) @ v
    made = program.buffers["context"].read(memory)
    assert abs(made[:, -1] - ONE).max() <= 1
    wrong = (made[last] - right)[:, :-1]
    assert np.sqrt((wrong**2).mean()) < 0.025 * right[:, :-1].std() + 0.4


def test_one_pass_refuses_rows_of_several_blocks() -> None:
    image = Image(target_of(16))
    with pytest.raises(
        ValueError, match=r"rows of 17 scores must be one block .*, not several of 16"
    ):
        one_pass(image, "0.", head_of(image, 17)[0])


def test_one_pass_refuses_a_unit_without_it() -> None:
    image = Image(target_of(0, "vector_unit(operations=softmax,scale,lanes=4,length=64)"))
    with pytest.raises(ValueError, match="the co-processor must have exps and divide"):
        one_pass(image, "0.", head_of(image, 8)[0])

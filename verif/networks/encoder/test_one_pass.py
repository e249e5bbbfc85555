"""Jobs of attention in one pass, by golden, against float64 and the functions they are of."""

from dataclasses import replace

import numpy as np
import pytest

from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.groups import JobGroup, appended
from carrysave.compiler.program.head_masks import Mask
from carrysave.compiler.program.heads import Head, attend
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import scaled
from carrysave.compiler.program.one_pass import ONE
from carrysave.compiler.program.share_jobs import share_product
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.words import group_of, group_words
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


def head_of(
    image: Image, keys: int, context: int = 8
) -> tuple[Head, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Place random operands; scores have a deviation of 2."""
    rng = np.random.default_rng(keys)
    q, k = rng.integers(-128, 128, (QUERIES, WIDTH)), rng.integers(-128, 128, (WIDTH, keys))
    v = np.c_[rng.integers(-127, 128, (keys, WIDTH)), np.full(keys, ONE)]
    head = Head(
        queries=image.place("queries", q, 8),
        keys=image.place("keys", k, 8),
        values=image.place("values", v, 8),
        context=image.reserve("context", QUERIES, WIDTH + 1, context),
        scoring=scaled(2.0 * 2**8 / float((q @ k).std()), (1 << 14) - 1),
    )
    return head, (q, k, v)


@pytest.mark.parametrize("keys", [1, 4, 13, 50, 64])
def test_one_pass_is_near_attention(keys: int) -> None:
    """Of rows that fill their last beat, and of others, whose shares have zeros behind them."""
    image = Image(target_of(64))
    head, (_, _, v) = head_of(image, keys)
    attend(image, "0.", head)
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
    attend(image, "0.", head, most)
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


MASKED = (
    "vector_unit(operations=add,exps,divide,lanes=4,length=64,width=15,scale_width=8,out_width=16,"
    "signed=true,block={block})"
)


@pytest.mark.parametrize(
    ("keys", "most", "mask"),
    [
        (9, None, Mask()),
        (50, 4, Mask()),
        (50, 2, Mask(window=7)),
        (61, 9, Mask(window=20)),
        (40, 3, Mask(group=3)),
        (33, 6, Mask(window=5, group=3)),
        (20, 1, Mask(window=1)),
        (45, 4, Mask(window=6, sinks=3)),
    ],
)
def test_masked_keys_have_no_share(keys: int, most: int | None, mask: Mask) -> None:
    """Against float64 of what each query sees; keys that no row sees are not multiplied."""
    image = Image(target_of(16, MASKED, shares=True))
    head, (q, k, v) = head_of(image, keys, context=16)
    attend(image, "0.", head, most, mask)
    program = assembled(image, [image.steps])
    memory = program.memory.copy()
    by_golden(program, memory)(program.sections[0])
    places = np.arange(QUERIES) // mask.group + keys - QUERIES // mask.group
    scores = q @ k * 2.0 / float((q @ k).std())
    for query, place in enumerate(places.tolist()):
        first = 0 if mask.window is None else max(0, place - mask.window + 1)
        seen = np.array(sorted({*range(mask.sinks), *range(first, place + 1)}))
        weights = np.exp(scores[query, seen] - scores[query, seen].max())
        right = weights / weights.sum() @ v[seen]
        made = program.buffers["context"].read(memory)[query]
        assert abs(made - right)[:-1].max() < 3
        assert abs(made[-1] - ONE) <= 1
    steps = [step for step in image.steps if isinstance(step, Start)]
    widest = max(job.n for step in steps for job in step.jobs if job.vector == "exps")
    if mask.window is not None and not mask.sinks:
        assert widest <= mask.window + (most or QUERIES) // mask.group


def test_octaves_are_in_the_words_of_a_program() -> None:
    """Of jobs of a group, too, whose octaves are in the rows of each one's A."""
    image = Image(target_of(16, shares=True))
    head, _ = head_of(image, 50)
    attend(image, "0.", head, 3)
    jobs = [job for step in image.steps if isinstance(step, Start) for job in step.jobs]
    (job, *_) = [job for job in jobs if job.ldsa]
    following = replace(job, a=job.a + 64, a_scales=job.a_scales + 64)
    (group,) = appended((JobGroup(job=job),), JobGroup(job=following))
    assert group.jobs == [job, following]
    assert group_of(group_words(group)).jobs == group.jobs
    other = replace(job, a=job.a + 64, a_scales=job.a_scales + 65)
    assert len(appended((JobGroup(job=job),), JobGroup(job=other))) == 2
    with pytest.raises(ValueError, match="must be without a_scales, ldsa, ldsb"):
        group_words(JobGroup(job=replace(job, ldsb=4, a_format=1)))


def test_products_of_shares_are_refused_by_name() -> None:
    image = Image(target_of(16, shares=True))
    shares = image.reserve("shares", 4, 48 + 3, 8)
    values, c = image.reserve("values", 48, 5, 8), image.reserve("c", 4, 5, 16)
    codes, how = shares.part(None, (0, 48)), scaled(0.1, 100)
    for columns in ((48, 50), (47, 51)):
        with pytest.raises(ValueError, match="shares: must have octaves' 4 x 3 x 8, not 4 x"):
            share_product(image.target, codes, shares.part(None, columns), values, c, how)
    octaves = shares.part(None, (48, 51))
    assert share_product(image.target, codes, octaves, values, c, how).block_k == 16
    with pytest.raises(ValueError, match="shares: the co-processor must have shares"):
        share_product(target_of(16), codes, octaves, values, c, how)


def test_one_pass_refuses_a_mask_without_add() -> None:
    image = Image(target_of(16, shares=True))
    with pytest.raises(ValueError, match="a mask takes add, and codes as wide as scores"):
        attend(image, "0.", head_of(image, 20)[0], None, Mask())


def test_one_pass_refuses_rows_of_several_blocks() -> None:
    image = Image(target_of(16))
    with pytest.raises(
        ValueError, match=r"rows of 17 scores must be one block .*, not several of 16"
    ):
        attend(image, "0.", head_of(image, 17)[0])


def test_one_pass_refuses_a_unit_without_it() -> None:
    image = Image(target_of(0, "vector_unit(operations=softmax,scale,lanes=4,length=64)"))
    with pytest.raises(ValueError, match="the co-processor must have exps and divide"):
        attend(image, "0.", head_of(image, 8)[0])

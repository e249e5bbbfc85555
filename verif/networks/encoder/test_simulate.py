"""Jobs of text encoders on the simulated block: as golden computes them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from carrysave.compiler.encoder.attention import attention
from carrysave.compiler.encoder.codes import IntegerEncoder
from carrysave.compiler.encoder.command import PARAMETERS, EmbedRequest, execute
from carrysave.compiler.encoder.compile import JobList, compiled
from carrysave.compiler.encoder.integers import quantise
from carrysave.compiler.encoder.ranges import ranges
from carrysave.compiler.encoder.simulate import Part, parts, wrong
from carrysave.compiler.front.encoder_weights import read_encoder
from carrysave.compiler.lowered import golden
from carrysave.compiler.program.job_cycles import Spent, spent
from carrysave.compiler.program.jobs import Job
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.program.simulated_list import run_list
from carrysave.compiler.target.target import Target
from carrysave.data.sentences import CALIBRATION, EVALUATION, sayings, unpacked
from carrysave.driver import Requantisation
from carrysave.driver.batch import Rows, Work
from carrysave.progress import Steps
from carrysave.sim.products import run_works
from golden.npe.vector_unit import vector_unit
from hw.catalog import Design
from verif.networks.encoder.encoders import SIZES, tensors, write

HOW = Requantisation(multiplier=3 << 28, shift=37)
SMALL = PARAMETERS["vector"].replace("length=1024", "length=64")


def small(folder: Path, side: int) -> tuple[Design, list[Part]]:
    """Compile a sentence for a small co-processor; the first layer in full, parts of the second."""
    design, list_, target = small_list(folder, side)
    return design, parts(list_, "layer", target)


def small_list(
    folder: Path, side: int, sentences: int = 1, **more: str
) -> tuple[Design, JobList, Target]:
    """Compile sentences for a small co-processor."""
    lanes = SMALL.replace("width=16,", f"width=16,lanes={side},", 1)
    texts = PARAMETERS | {"vector": lanes, "m": str(side), "n": str(side)} | more
    design = Design.parse("coprocessor", texts)
    target = Target(design)
    integers, own = small_integers(folder, target)
    return design, compiled(integers, own[:sentences], target), target


def small_integers(folder: Path, target: Target) -> tuple[IntegerEncoder, list[np.ndarray]]:
    """Make a small encoder, and sentences."""
    rng = np.random.default_rng(4)
    encoder = read_encoder(write(folder, tensors(rng)))
    own = [rng.integers(0, SIZES["vocab_size"], size) for size in (9, 20, 20)]
    assert target.spec.vector is not None
    return quantise(encoder, ranges(encoder, own), target.spec.vector), own


def test_parts_are_a_layer_and_some_of_the_others(tmp_path: Path) -> None:
    _, found = small(tmp_path, 4)
    heads = SIZES["num_attention_heads"]
    layers = [part.layer for part in found]
    assert layers.count("0.scores") == layers.count("0.context") == heads + 1
    assert layers.count("0.shares") == 1
    # Keys are turned for scores.
    assert layers.count("1.scores") == 2
    assert layers.count("1.up") == layers.count("pool") == 1
    whole = {part.layer: part for part in found if part.layer in ("0.up", "1.up", "0.feed")}
    up, some = whole["0.up"].work, whole["1.up"].work
    assert isinstance(up, Work)
    assert isinstance(some, Work)
    assert up.a is not None
    assert some.a is not None
    assert (len(up.a), up.b.shape) == (9, (SIZES["hidden_size"], SIZES["intermediate_size"]))
    assert len(some.a) == 8
    assert isinstance(whole["0.feed"].work, Rows)
    # Products are what golden made of these operands.
    assert up.bias is not None
    how = up.requantisation
    assert how is not None
    assert up.wide
    sums = (up.a @ up.b + up.bias) * how.multiplier
    np.testing.assert_array_equal(sums + (1 << how.shift - 1) >> how.shift, whole["0.up"].expected)
    made = [part.expected.copy() for part in found]
    assert wrong(found, made) == []
    made[layers.index("1.scores")][0, 0] ^= 1
    assert wrong(found, made) == ["1.scores"]


@pytest.mark.prove
def test_small_encoder_on_the_block(tmp_path: Path) -> None:
    design, found = small(tmp_path, 4)
    made, counters = run_works(design, [part.work for part in found], tmp_path)
    assert wrong(found, made) == []
    # Models of cycles are near; short jobs wait less than the 206 cycles that all are given, and
    # rows of two operands wait for each other.
    pairs = [
        (counter["cycles"], part.modelled)
        for part, counter in zip(found, counters, strict=True)
        if part.modelled is not None
    ]
    # Products; scores, contexts of heads; turned keys, shares, the scale of contexts, a gate; two
    # norms, each with a sum, what is added later, and operands of 8 bits.
    assert len(pairs) == 4 + 2 * SIZES["num_attention_heads"] + 4 + 2 * 4
    for counted, modelled in pairs:
        assert 0.6 * modelled < counted < 1.1 * modelled


@pytest.mark.prove
def test_a_softmax_takes_scores_where_a_product_left_them(tmp_path: Path) -> None:
    """On one start, of the design of the test above, whose codes of scores are bytes."""
    design, found = small(tmp_path, 4)
    spec = Target(design).spec
    assert spec.vector is not None
    (first,) = [part.work for part in found if part.layer == "0.qkv"]
    assert isinstance(first, Work)
    product = replace(first, b=first.b[:, :20], bias=None, requantisation=HOW)
    works: list[Work | Rows] = [product, Rows(a=None, operation="softmax")]
    made, counters = run_works(design, works, tmp_path, one_start=True)
    assert len(counters) == 1
    (scores,) = golden.run(spec, [product])
    np.testing.assert_array_equal(made[0], scores)
    shares = [vector_unit(spec.vector, "softmax", row) for row in scores]
    np.testing.assert_array_equal(made[1], [[*codes, exponent] for codes, exponent in shares])


@pytest.mark.prove
def test_embeddings_are_gathered_by_the_block(tmp_path: Path) -> None:
    """Tokens of two sentences in, sums of two tables' rows out; as where the host gathers."""
    design, found, target = small_list(tmp_path, 4, sentences=2)
    some = found.jobs[:3]
    assert [job.KIND for job in some] == ["gather", "gather", "add"]
    made, counters = run_list(design, some, found.memory, tmp_path)
    modelled = 0
    for job in some:
        job.run(found.memory)
        modelled += spent(job, found.memory, target).cycles
    _, other, _ = small_list(tmp_path / "other", 4, sentences=2, gather="false")
    assert [job.KIND for job in other.jobs[:2]] == ["add", "norm"]
    other.jobs[0].run(other.memory)
    assert set(made) == {"words", "positions", "sums"}
    for name, codes in made.items():
        np.testing.assert_array_equal(codes, found.memory.matrices[name])
        np.testing.assert_array_equal(codes, other.memory.matrices[name])
    assert 0.6 * modelled < counters["cycles"] < 1.1 * modelled


def attention_alone(jobs: JobList, layer: str) -> list[Job]:
    """Run a list by golden up to a layer's attention, whose jobs are returned; then that, too."""
    names = [f"{layer}.{part}" for part in ("scores", "shares", "context")]
    places = [place for place, job in enumerate(jobs.jobs) if job.layer in names]
    for job in jobs.jobs[: places[0]]:
        job.run(jobs.memory)
    return jobs.jobs[places[0] : places[-1] + 1]


@pytest.mark.prove
@pytest.mark.parametrize("scratch", [pytest.param(0, marks=pytest.mark.prove), 4096])
def test_scores_stay_on_chip(tmp_path: Path, scratch: int) -> None:
    """Attention of two sentences on one start: equal to golden; with a scratch C alone leaves."""
    more = {"scratch": str(scratch)} if scratch else {}
    design, found, target = small_list(tmp_path, 4, sentences=2, **more)
    some = attention_alone(found, "1")
    made, counters = run_list(design, some, found.memory, tmp_path)
    for job in some:
        job.run(found.memory)
    for name, codes in made.items():
        np.testing.assert_array_equal(codes, found.memory.matrices[name])
    context = found.memory.matrices["1.context"]
    assert context.any()
    if scratch:
        assert list(made) == ["1.context"]
        # 24 bytes of a row are two beats, or one more where they begin inside of one.
        assert len(context) * 2 <= counters["write_beats"] <= len(context) * 3
    else:
        assert len(made) == 1 + 2 * 4
    modelled = sum(spent(job, found.memory, target).cycles for job in some)
    assert 0.4 * modelled < counters["cycles"] < 1.1 * modelled


@pytest.mark.prove
@pytest.mark.parametrize("scratch", [16384, 65536])
def test_a_head_of_128_x_64_is_on_chip(tmp_path: Path, scratch: int) -> None:
    """Its rows in parts, or all at once: the bus has its operands and results, to the byte."""
    length, width = 128, 64
    design = Design.parse("coprocessor", PARAMETERS | {"scratch": str(scratch)})
    target = Target(design)
    encoder, _ = small_integers(tmp_path, target)
    one = replace(encoder, words=np.zeros((1, width), np.int64), heads=1)
    memory = Memory(chip=scratch)
    memory.place("qkv", np.random.default_rng(1).integers(-128, 128, (length, 3 * width)), 8)
    context = memory.reserve("context", length, width, 8)
    jobs = attention(
        memory, one, "0.", encoder.blocks[0], View("qkv"), View(context.name, (0, length)), target
    )
    made, counters = run_list(design, jobs, memory, tmp_path)
    modelled = Spent()
    for job in jobs:
        job.run(memory)
        modelled += spent(job, memory, target)
    assert list(made) == ["context"]
    np.testing.assert_array_equal(made["context"], memory.matrices["context"])
    assert len(np.unique(made["context"])) > 20
    moved = (counters["read_beats"] + counters["write_beats"]) * target.spec.bytes
    # Descriptors of jobs that differ only in their addresses are read in part.
    assert 0 < moved - modelled.moved <= 128 * len(jobs)
    assert 0.95 * modelled.cycles < counters["cycles"] < 1.1 * modelled.cycles


@pytest.mark.prove
def test_minilm_is_near_its_floats_and_a_layer_of_it_is_simulated(tmp_path: Path) -> None:
    """By the settings of the benchmark: other sentences than those that steps are chosen by."""
    text, other = tmp_path / "text.txt", tmp_path / "other.txt"
    # The first one is short: a layer of it is simulated in full.
    text.write_text("\n".join(["A short sentence.", *sayings(EVALUATION, 95)]))
    other.write_text("\n".join(sayings(CALIBRATION, 128)))
    request = EmbedRequest(
        model=unpacked(tmp_path), text=text, calibration=other, batch=16, simulate="layer",
        design=Design.parse("coprocessor", PARAMETERS),
    )  # fmt: skip
    found = execute(request, tmp_path, Steps(Console(quiet=True)), "")
    assert found["cosine_mean"] >= 0.98
    assert found["rank_correlation"] >= 0.97
    # The goal, of all jobs one after the other; there is hardware for each.
    assert found["layer_cycles"] <= 1.15 * found["layer_roofline"]
    assert not [row["kind"] for row in found["kinds"] if "hardware" in row["kind"]]
    # All jobs of a layer: four products of weights, two of each of 12 heads, turned keys, shares,
    # the scale of contexts, a gate; two norms, each with a sum, operands and what is added later.
    # Of each other 16 parts, one for each kind and place; of embeddings rows of a table, a sum, a
    # norm and operands; and one product at the end.
    assert found["simulated"] == 4 + 2 * 12 + 4 + 2 * 4 + 5 * 16 + 4 + 1
    assert found["wrong"] == []
    assert 0.9 < found["whole_cycles"] / found["whole_modelled"] < 1.03

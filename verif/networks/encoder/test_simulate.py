"""Jobs of text encoders on the simulated block: as golden computes them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from carrysave.compiler.encoder.attention import Attention
from carrysave.compiler.encoder.codes import IntegerEncoder
from carrysave.compiler.encoder.command import execute
from carrysave.compiler.encoder.compile import compiled
from carrysave.compiler.encoder.integers import quantise
from carrysave.compiler.encoder.ranges import ranges
from carrysave.compiler.encoder.request import PARAMETERS, EmbedOptions, EmbedRequest
from carrysave.compiler.front.encoder_weights import read_encoder
from carrysave.compiler.lowered import golden
from carrysave.compiler.program.assemble import assembled
from carrysave.compiler.program.cost import Spent, spent
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.block import by_block
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.stepwise import comparable
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.job_cycles import ends_of, ring_job
from carrysave.driver import Requantisation
from carrysave.driver.batch import Rows, Work
from carrysave.driver.system import counters_of
from carrysave.progress import Steps
from carrysave.sim.products import run_works
from golden.npe import vector
from hw.catalog import Design
from verif.networks.encoder.encoders import SIZES, tensors, write
from verif.support.sentences import CALIBRATION, EVALUATION, sayings, unpacked

SMALL = PARAMETERS["vector"].replace("length=1024", "length=64")


def small(
    folder: Path, side: int, sentences: int = 1, chip: int | None = None, **more: str
) -> Program:
    """Compile sentences for a small co-processor."""
    lanes = SMALL.replace("width=16,", f"width=16,lanes={side},", 1)
    texts = PARAMETERS | {"vector": lanes, "m": str(side), "n": str(side)} | more
    return small_compiled(folder, Target(Design.parse("coprocessor", texts)), sentences, chip)


def small_compiled(
    folder: Path, target: Target, sentences: int = 1, chip: int | None = None
) -> Program:
    """Compile sentences for a co-processor."""
    integers, own = small_integers(folder, target)
    return compiled(integers, own[:sentences], target, chip)


def small_integers(folder: Path, target: Target) -> tuple[IntegerEncoder, list[np.ndarray]]:
    """Make a small encoder, and sentences."""
    rng = np.random.default_rng(4)
    encoder = read_encoder(write(folder, tensors(rng)))
    own = [rng.integers(0, SIZES["vocab_size"], size) for size in (9, 20, 20)]
    assert target.spec.vector is not None
    return quantise(encoder, ranges(encoder, own), target.spec.vector), own


def starts_of(program: Program) -> list[Start]:
    return [step for step in program.steps if isinstance(step, Start)]


@pytest.mark.prove
def test_a_softmax_takes_scores_where_a_product_left_them(tmp_path: Path) -> None:
    """On one start, of the design of the test above, whose codes of scores are bytes."""
    target = small(tmp_path, 4).target
    spec, rng = target.spec, np.random.default_rng(5)
    assert spec.vector is not None
    product = Work(
        a=rng.integers(-128, 128, (9, 24)),
        b=rng.integers(-128, 128, (24, 20)),
        requantisation=Requantisation(multiplier=3 << 28, shift=37),
    )
    works: list[Work | Rows] = [product, Rows(a=None, operation="softmax")]
    made, counters = run_works(target.design, works, tmp_path, one_start=True)
    assert len(counters) == 1
    (scores,) = golden.run(spec, [product])
    np.testing.assert_array_equal(made[0], scores)
    codes, exponents = vector.softmax(spec.vector, scores)
    np.testing.assert_array_equal(made[1], np.concatenate([codes, exponents[:, None]], axis=1))


def cut(program: Program, first: int, last: int) -> Program:
    """Return a program whose second section are some of its steps, and its first those before."""
    steps = starts_of(program)
    return assembled(program.image, [steps[:first], steps[first:last]], outputs=program.outputs)


def check_block(program: Program, folder: Path) -> tuple[np.ndarray, dict[str, int]]:
    """Run the second section on the block, the first by golden; return memory, and counters."""
    memory = program.memory.copy()
    run = by_golden(program, memory)
    run(program.sections[0])
    found = memory.copy()
    run(program.sections[1])
    by_block(program, found, folder)(program.sections[1])
    np.testing.assert_array_equal(comparable(program, found), comparable(program, memory))
    steps = [step for step in program.sections[1].steps if isinstance(step, Start)]
    return memory, counters_of(found, [step.counters for step in steps])


def spent_by(program: Program, section: int) -> Spent:
    steps = [step for step in program.sections[section].steps if isinstance(step, Start)]
    return sum((spent(job, program.target) for step in steps for job in step.jobs), Spent())


@pytest.mark.prove
def test_embeddings_are_gathered_by_the_block(tmp_path: Path) -> None:
    """Tokens of two sentences in, sums of two tables' rows out; as where the host gathers."""
    whole = small(tmp_path, 4, sentences=2)
    operations = [job.vector for step in starts_of(whole)[:2] for job in step.jobs]
    assert operations == ["gather", "gather", "add"]
    program = cut(whole, 0, 2)
    memory, counters = check_block(program, tmp_path)
    other = small(tmp_path / "other", 4, sentences=2, gather="false")
    assert [step.operator for step in starts_of(other)[:2]] == ["add", "layer_norm"]
    alone = cut(other, 0, 1)
    theirs = alone.memory.copy()
    by_golden(alone, theirs)(alone.sections[1])
    for name in ("words", "positions", "sums"):
        codes = whole.buffers[name].read(memory)
        np.testing.assert_array_equal(codes, other.buffers[name].read(theirs))
    modelled = spent_by(program, 1).cycles
    assert 0.6 * modelled < counters["cycles"] < 1.1 * modelled


def attention_alone(program: Program, layer: str) -> Program:
    """Return a program whose second section is a layer's attention."""
    names = [f"{layer}.{part}" for part in ("scores", "shares", "context")]
    own = [number for number, step in enumerate(starts_of(program)) if step.node in names]
    return cut(program, own[0], own[-1] + 1)


@pytest.mark.prove
@pytest.mark.parametrize("scratch", [pytest.param(0, marks=pytest.mark.prove), 4096])
def test_scores_stay_on_chip(tmp_path: Path, scratch: int) -> None:
    """Attention of two sentences: equal to golden; with a scratch C alone leaves."""
    more: dict[str, Any] = {"scratch": str(scratch)} if scratch else {}
    program = attention_alone(small(tmp_path, 4, sentences=2, **more), "1")
    memory, counters = check_block(program, tmp_path)
    context = program.buffers["1.context"].read(memory)
    assert context.any()
    if scratch:
        # 24 bytes of a row are two beats, or one more where they begin inside of one.
        assert len(context) * 2 <= counters["write_beats"] <= len(context) * 3
    modelled = spent_by(program, 1).cycles
    assert 0.4 * modelled < counters["cycles"] < 1.1 * modelled


@pytest.mark.prove
@pytest.mark.parametrize("scratch", [16384, 65536])
def test_a_head_of_128_x_64_is_on_chip(tmp_path: Path, scratch: int) -> None:
    """Its rows in parts, or all at once: the bus has its operands and results, to the byte."""
    length, width = 128, 64
    target = Target(Design.parse("coprocessor", PARAMETERS | {"scratch": str(scratch)}))
    encoder, _ = small_integers(tmp_path, target)
    one = replace(encoder, words=np.zeros((1, width), np.int64), heads=1)
    image = Image(target)
    qkv = image.place("qkv", np.random.default_rng(1).integers(-128, 128, (length, 3 * width)), 8)
    context = image.reserve("context", length, width, 8)
    Attention(image, one, "0.", encoder.blocks[0], qkv, context).add()
    program = assembled(image, [(), image.steps])
    memory, counters = check_block(program, tmp_path)
    assert len(np.unique(context.read(memory))) > 20
    modelled = spent_by(program, 1)
    moved = (counters["read_beats"] + counters["write_beats"]) * target.spec.bytes
    # Descriptors of jobs that differ only in their addresses are read in part.
    assert 0 <= moved - modelled.moved <= 128 * modelled.jobs
    # They follow each other on one ring, where each is loaded while the one before runs.
    jobs = [job for step in starts_of(program) for job in step.jobs]
    ring = ends_of([ring_job(job, target) for job in jobs], target)[-1]
    assert 0.95 * ring < counters["cycles"] < 1.05 * ring


@pytest.mark.prove
def test_minilm_is_near_its_floats_and_a_layer_of_it_is_simulated(tmp_path: Path) -> None:
    """By the settings of the benchmark: other sentences than those that steps are chosen by."""
    text, other = tmp_path / "text.txt", tmp_path / "other.txt"
    # The first one is short: a layer of it is simulated in full.
    text.write_text("\n".join(["A short sentence.", *sayings(EVALUATION, 95)]))
    other.write_text("\n".join(sayings(CALIBRATION, 128)))
    request = EmbedRequest(
        model=unpacked(tmp_path),
        text=text,
        options=EmbedOptions(calibration=other, batch=16, simulate="layer"),
        design=Design.parse("coprocessor", PARAMETERS),
    )
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

"""B of a program's products without its zeros, where a slow memory has fewer bytes to give."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.text import text
from carrysave.compiler.program.words import group_of, group_words
from carrysave.compiler.program.write import write
from carrysave.compiler.run.alone import of_work
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.network import run as run_network
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned, planned_again
from carrysave.compiler.timing.golden_job import CHIP
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.compiler.timing.packed import packed_job
from carrysave.compiler.timing.products import job_of_shape
from carrysave.driver.batch import Work
from carrysave.driver.job import Job
from golden.formats.bitmap import CHUNK
from golden.soc.memory_timing import MemoryTiming
from hw.catalog import Design
from verif.networks.graphs import Builder
from verif.support.command import Run
from verif.support.schemas import check

WIDE = {
    "engine": "adder_tree(m=1,n=8,k=8)",
    "data_width": 64,
    "b_bytes": 8192,
    "sparse": True,
}
MEMORY = "latency=20,bytes=2"
TARGET = Target(
    Design("coprocessor", WIDE),
    timing=MemoryTiming(latency=20, bytes=2),
)


def weights(rng: np.random.Generator, shape: tuple[int, ...], share: float) -> np.ndarray:
    """Draw codes of int8, of which a share is 0."""
    drawn = rng.integers(1, 128, shape) * rng.choice([-1, 1], shape)
    codes: np.ndarray = np.where(rng.random(shape) < share, 0, drawn).astype(np.int8)
    return codes


def network(seed: int = 1) -> onnx.ModelProto:
    """Return three products: of few weights, of all, and of several matrices of few."""
    b = Builder(np.random.default_rng(seed))
    zero = b.constant(0, np.int8)
    step, out = b.constant(0.01), b.constant(0.4)
    name = "x"
    for number, (shape, share) in enumerate((((96, 64), 0.6), ((64, 32), 0.0))):
        right = b.constant(weights(b.rng, shape, share), np.int8)
        name = b.node(
            "QLinearMatMul", [name, step, zero, right, step, zero, out, zero], f"h{number}"
        )
    right = b.constant(weights(b.rng, (3, 32, 64), 0.7), np.int8)
    b.node("QLinearMatMul", [name, step, zero, right, step, zero, out, zero], "y")
    return b.model((3, 2, 96), np.int8, np.int8)


def compiled(target: Target, seed: int = 1) -> tuple[Program, dict[str, np.ndarray]]:
    """Return the program of the network, and inputs."""
    given = {"x": np.random.default_rng(7).integers(-128, 128, (3, 2, 96)).astype(np.int8)}
    lowered = lower(Graph(network(seed)), target, until=PASSES[-1].name)
    return compile_network(lowered, target, given), given


def jobs_of(program: Program) -> list[Job]:
    return [job for step in program.steps if isinstance(step, Start) for job in step.jobs]


def test_what_is_shorter_is_packed(tmp_path: Path) -> None:
    """Products of many zeros are packed, several matrices alike; the dense one is as it is."""
    program, _ = compiled(TARGET)
    dense = Target(Design("coprocessor", WIDE | {"sparse": False}), timing=TARGET.timing)
    plain, _ = compiled(dense)
    packed = {job.k: job.packed for job in jobs_of(program)}
    assert packed == {96: True, 64: False, 32: True}
    several = [job for job in jobs_of(program) if job.k == 32]
    assert len({job.b for job in several}) == 3
    assert len({job.ldb for job in several}) == 1
    assert not any(job.packed for job in jobs_of(plain))
    assert len(program.memory) < 0.8 * len(plain.memory)
    cycles = [
        sum(step.cycles for step in one.steps if isinstance(step, Start))
        for one in (program, plain)
    ]
    assert cycles[0] < 0.8 * cycles[1]
    # The folder has the same jobs, and its text says which.
    write(program, tmp_path, facts(program, "carrysave compile", "model"))
    assert jobs_of(read(tmp_path)) == jobs_of(program)
    assert text(program).count(" packed") == 2


def convolution() -> onnx.ModelProto:
    """Return a convolution of 3 x 3 pixels, of weights of which two thirds are zeros."""
    b = Builder(np.random.default_rng(4))
    zero, step, out = b.constant(0, np.int8), b.constant(0.01), b.constant(0.4)
    right = b.constant(weights(b.rng, (64, 8, 3, 3), 0.67), np.int8)
    b.node("QLinearConv", ["x", step, zero, right, step, zero, out, zero], "y", kernel_shape=[3, 3])
    return b.model((1, 8, 6, 6), np.int8, np.int8)


def of_floats() -> onnx.ModelProto:
    """Return a product by weights of few codes, of codes whose step is found when it runs."""
    b = Builder(np.random.default_rng(5))
    b.nodes.append(
        onnx.helper.make_node("DynamicQuantizeLinear", ["x"], ["codes", "scale", "zero"], "q")
    )
    right = b.constant(weights(b.rng, (96, 64), 0.7), np.int8)
    b.node("MatMulInteger", ["codes", right, "zero"], "sums")
    b.node("Cast", ["sums"], "floats", to=onnx.TensorProto.FLOAT)
    b.node("Mul", ["floats", "scale"], "y")
    return b.model((2, 96), np.float32, np.float32)


@pytest.mark.parametrize("made", [convolution, of_floats])
def test_weights_of_all_products_are_packed(made: Callable[[], onnx.ModelProto]) -> None:
    """Of a convolution, whose A are patches here, and of sums that become floats."""
    model, rng = made(), np.random.default_rng(7)
    shape = [one.dim_value for one in model.graph.input[0].type.tensor_type.shape.dim]
    floats = model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    x = rng.normal(size=shape) if floats else rng.integers(-128, 128, shape)
    given = {"x": x.astype(np.float32 if floats else np.int8)}
    results = []
    for sparse in (True, False):
        target = Target(Design("coprocessor", WIDE | {"sparse": sparse}), timing=TARGET.timing)
        lowered = lower(Graph(model), target, until=PASSES[-1].name)
        program = compile_network(lowered, target, given)
        jobs = [job for job in jobs_of(program) if job.vector is None]
        assert jobs
        assert {job.packed for job in jobs} == {sparse}
        memory = program.memory
        results.append(run_network(program, given, memory, by_golden(program, memory))["y"])
    assert np.array_equal(results[0], results[1])
    assert np.any(results[0])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_job_is_packed_where_it_takes_less(share: float) -> None:
    """In bytes and in cycles; a memory that gives a beat a cycle has nothing of it."""
    rows = weights(np.random.default_rng(2), (128, 64), share).view(np.uint8)
    job = planned(job_of_shape(TARGET, (4, 128, 64)), TARGET)
    made = packed_job(job, [rows], TARGET)
    assert (made is None) == (share == 0)
    fast = replace(TARGET, timing=MemoryTiming(latency=20, bytes=64))
    assert share == 1 or packed_job(planned(job, fast), [rows], fast) is None
    if made is None:
        return
    best, (image,) = made
    assert (best.packed, best.ldb) == (True, len(image))
    assert len(image) < rows.size
    assert job_cycles(best, TARGET) < job_cycles(job, TARGET)
    wide = best.block_n * TARGET.info.stores.tile_n
    assert wide >= 64 or wide % CHUNK == 0
    # Blocks are the image's: what is planned later leaves them.
    elsewhere = replace(best, c=CHIP)
    assert planned_again(elsewhere, TARGET) == elsewhere
    assert planned_again(replace(elsewhere, packed=False), TARGET) != elsewhere
    assert packed_job(replace(job, window=object()), [rows], TARGET) is None  # type: ignore[arg-type]


def test_longer_images_are_not_taken() -> None:
    """Of no zeros they take fewer cycles where each row waits for memory, but more bytes."""
    slow = Target(Design("coprocessor", WIDE | {"outstanding": 1}), timing=MemoryTiming(latency=64))
    rows = weights(np.random.default_rng(2), (128, 64), 0).view(np.uint8)
    job = planned(job_of_shape(slow, (1, 128, 64)), slow)
    longer = replace(job, block_m=1, block_n=8, block_k=16, packed=True, ldb=rows.size + 8)
    assert job_cycles(longer, slow) < job_cycles(job, slow)
    assert packed_job(job, [rows], slow) is None


def test_words_say_that_b_is_packed() -> None:
    job = Job(a=0, b=64, c=128, m=1, n=8, k=8, lda=8, ldb=40, ldc=32, packed=True)
    assert group_of(group_words(JobGroup(job=job))).job.packed
    assert not group_of(group_words(JobGroup(job=replace(job, packed=False)))).job.packed


def test_rows_of_a_packed_product_are_of_the_same_image() -> None:
    """Some rows of A, as a sample takes, keep the blocks of B; golden multiplies by the image."""
    rng = np.random.default_rng(3)
    b = weights(rng, (128, 64), 0.6)
    a = rng.integers(-128, 128, (12, 128))
    one = of_work("y", Work(a=a, b=b, mode=TARGET.mode), TARGET).packed(TARGET)
    assert one.job.packed
    assert one.packed(TARGET) is one
    for part in (one, one.some_rows(3, 5, TARGET)):
        assert (part.job.block_n, part.job.block_k) == (one.job.block_n, one.job.block_k)
        sums = part.golden(TARGET).reshape(-1).view("<i4").reshape(part.job.m, -1)
        taken = a if part is one else a[3:8]
        assert np.array_equal(sums[:, :64], taken @ b.astype(np.int64))


@pytest.mark.prove
def test_cycles_are_the_blocks(run: Run, tmp_path: Path) -> None:
    """Of a program, and of a run by itself, on the simulated block; all of memory is golden's."""
    onnx.save(network(), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.ones((3, 2, 96), np.int8))
    flags = [word for one in WIDE.items() for word in ("-p", "=".join(map(str, one)))]
    done = run("compile", "m.onnx", "--input", "x.npy", *flags, "--memory", MEMORY)
    assert done.code == 0, done.err
    found = run("run", "build/compile/m", "--input", "x.npy", "--simulate", "all", "--json")
    assert found.code == 0, found.err
    counted = json.loads(found.out)
    assert (counted["different"], counted["simulated"]) == (None, 1)
    assert abs(counted["counted"]["deviation"]) < 0.02
    assert all(abs(one["deviation"]) < 0.05 for one in counted["counted"]["nodes"])
    found = run(
        "run",
        "m.onnx",
        "--input",
        "x.npy",
        *flags,
        "--memory",
        MEMORY,
        "--energy",
        "none",
        "--simulate",
        "all",
        "--json",
    )
    assert found.code == 0, found.err
    assert check("run", found.out)["simulation_equal"] is True

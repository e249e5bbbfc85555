"""The memory behind a co-processor: named, described, refused, and recorded in a program."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from carrysave.compiler.program.cost import spent
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.parts import bound_of, parts_of
from carrysave.compiler.program.read import read
from carrysave.compiler.program.ring_cost import cycles_of, in_rings
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.alone import product_job
from carrysave.compiler.target.memory import memory_facts, memory_of, timing_of
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import planned
from carrysave.compiler.timing.rows_cost import stores_of
from carrysave.compiler.timing.timed_blocks import with_blocks
from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from carrysave.driver.job import Job
from carrysave.errors import UsageError
from carrysave.sim.products import run_works
from golden.soc.blocking import cost, plan
from golden.soc.memory_timing import AXI, BLOCK_RAM, MEMORIES, LitedramTiming, MemoryTiming
from hw.catalog import Design
from hw.emit.user_files import FileError
from verif.support.command import Run
from verif.support.schemas import check
from verif.system.networks import SHAPE, convolutions

DESIGN = Design(
    "coprocessor", {"engine": "systolic_os(m=4,n=4)", "data_width": 64, "outstanding": 4}
)
SLOW = MemoryTiming(latency=120, bytes=2)


@pytest.mark.parametrize(
    ("text", "latency", "size"),
    [("latency=8", 8, 64), ("bytes=2", 64, 2), ("bytes=4,latency=20", 20, 4)],
)
def test_memory_is_described(text: str, latency: int, size: int) -> None:
    memory = memory_of(text)
    assert (memory.latency, memory.bytes, memory.name) == (latency, size, "given")
    assert [memory_of(name) for name in MEMORIES] == list(MEMORIES.values())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dram", "not 'dram'$"),
        ("", "not ''$"),
        ("latency=8,", "not 'latency=8,'$"),
        ("latency=8,latency=9", "not 'latency=8,latency=9'$"),
        ("name=axi", "not 'name=axi'$"),
        ("latency=3", r"latency must be 4\.\.4096 cycles, not 3"),
        ("latency=x", r"latency must be 4\.\.4096 cycles, not 'x'"),
        ("bytes=128", r"bytes must be 1\.\.64 bytes, not 128"),
        ("bytes=3", r"bytes must be a power of two, 1\.\.64, not 3"),
    ],
)
def test_other_memory_is_refused(text: str, says: str) -> None:
    named = "axi, block_ram, sdram16, sdram32, ddr3x16"
    legal = rf"memory must be {named}, or latency=4\.\.4096,bytes=1\.\.64"
    with pytest.raises(UsageError, match=f"{legal}, .*{says}"):
        memory_of(text)


@pytest.mark.parametrize("memory", [*MEMORIES.values(), MemoryTiming(latency=20, bytes=4)])
def test_memory_is_read_as_it_was_written(memory: MemoryTiming) -> None:
    spec = Target(DESIGN).spec
    written = json.loads(json.dumps(memory_facts(memory, spec)))
    assert timing_of(written, spec) == memory
    with pytest.raises(ValueError, match=r"memory must be axi|latency must be 4\.\.4096"):
        timing_of(written | {"latency": written["latency"] + 4096}, spec)
    if memory.name != "given":
        with pytest.raises(ValueError, match="memory must be axi"):
            timing_of(written | {"latency": written["latency"] + 1}, spec)


def test_cost_is_that_of_the_memory() -> None:
    """A beat of twice the cycles takes twice as long where memory is the bound; blocks change."""
    near, slow, far = (
        Target(DESIGN, timing=one).info.stores
        for one in (BLOCK_RAM, replace(BLOCK_RAM, bytes=1), AXI)
    )
    assert (near.beat, slow.beat) == (1, 8)
    sizes = 64, 16, 9, 8
    blocks = plan(near, *sizes)
    quick, late = (cost(one, blocks, *sizes) for one in (near, slow))
    assert (quick.read_beats, quick.write_beats) == (late.read_beats, late.write_beats)
    assert late.cycles >= 8 * late.read_beats
    assert late.cycles > 2 * quick.cycles
    differ = [
        shape
        for shape in ((64, 16, 9), (64, 64, 64), (128, 32, 200), (16, 10, 64), (196, 6, 25))
        if plan(near, *shape, 8) != plan(far, *shape, 8)
    ]
    assert differ
    for shape in differ:
        known, guessed = (cost(near, plan(one, *shape, 8), *shape, 8) for one in (near, far))
        price, other = (50 * one.cycles + one.read_beats for one in (known, guessed))
        assert price < other


@pytest.mark.parametrize("shape", [(64, 16, 9), (16, 64, 10), (196, 25, 6), (128, 200, 32)])
def test_blocks_are_those_of_the_memory(shape: tuple[int, int, int]) -> None:
    """Of jobs as a program has them, and by what all of it takes; so are those of windows."""
    m, k, n = shape
    job = Job(a=0, b=1 << 16, c=1 << 17, m=m, k=k, n=n, lda=256, ldb=64, ldc=256)
    near, far = (Target(DESIGN, timing=one) for one in (BLOCK_RAM, SLOW))
    best, other = planned(job, near), planned(job, far)
    for target, ours, theirs in ((near, best, other), (far, other, best)):
        stores, words = stores_of(job, target)
        blocks = plan(stores, m, n, words, 8 * target.spec.sum_bytes)
        rough = with_blocks(job, blocks, target)
        took = cycles_of(ours, target)
        # Of blocks that take about as long not all are timed.
        assert took <= 1.05 * cycles_of(theirs, target)
        assert took <= 1.05 * cycles_of(rough, target)


def test_blocks_of_two_memories_differ() -> None:
    chosen = [
        [
            planned(Job(a=0, b=1 << 16, c=1 << 17, m=m, k=64, n=16, lda=256, ldb=64, ldc=256), one)
            for m in range(8, 200, 8)
        ]
        for one in (Target(DESIGN, timing=BLOCK_RAM), Target(DESIGN, timing=SLOW))
    ]
    assert chosen[0] != chosen[1]


def test_rate_of_memory_is_in_every_cost() -> None:
    """Rows of the vector unit, what a product takes at least, and the parts of a start.

    On SDRAM beats of both ways follow each other.
    """
    design = Design.parse("coprocessor", {
        "engine": "systolic_os(m=4,n=4)", "data_width": "64", "taps": "3", "requantisers": "4",
        "vector": "vector_unit(lanes=8,length=256,width=16)",
    })  # fmt: skip
    slow = replace(BLOCK_RAM, bytes=1)
    nothing: Any = dict.fromkeys(
        ("read", "write", "turn", "bank", "row", "refresh", "opening", "answer"), 0.0
    )
    shared = replace(slow, sdram=LitedramTiming(**nothing))
    copied = Job(
        a=0, b=0, c=1 << 16, m=64, k=0, n=64, lda=64, ldb=0, ldc=64, vector="map_add",
        factors=(1, 0), requantisation=Requantisation(multiplier=1 << 30, shift=30),
    )  # fmt: skip
    read = 64 * 64 + 64
    for memory, least in ((slow, read), (shared, read + 64 * 64)):
        # The start, its descriptor of 128 bytes, a row before the others and one behind them.
        target = Target(design, timing=memory)
        most = least + target.start + 128 + 2 * 64
        assert least < cycles_of(copied, target) <= most
    product = Job(a=0, b=1 << 16, c=1 << 17, m=64, k=8, n=8, lda=8, ldb=8, ldc=32)
    moved = 64 * 8 + 8 * 8 + 4 * 64 * 8
    target = Target(design, timing=slow)
    assert spent(product, target).least == moved
    start = Start(
        node="n",
        operator="o",
        groups=(JobGroup(job=product),),
        macs=64 * 8 * 8,
        counters=0,
        cycles=cycles_of(product, target),
    )
    parts = parts_of(start, target)
    assert parts.busy["writer"] == 4 * 64 * 8
    assert parts.busy["loader"] >= 64 * 8 + 8 * 8
    assert bound_of([parts]) == "memory"


def written(run: Run, folder: Path, *given: Any) -> tuple[dict[str, Any], Path]:
    onnx.save(convolutions(4), folder / "model.onnx")
    engine = "engine=systolic_os(m=4,n=4)"
    done = run("compile", folder / "model.onnx", "-p", engine, *given, "-o", folder, "--json")
    assert done.code == 0, done.err
    return check("compile", done.out), folder / "compile" / "model"


def test_program_has_its_memory(run: Run, tmp_path: Path) -> None:
    """In results, in its file, and when it is read; for other memory its cycles are new."""
    far, folder = written(run, tmp_path)
    assert far["memory"]["name"] == "axi"
    near, _ = written(run, tmp_path, "--memory", "latency=10,bytes=8")
    assert (near["memory"]["latency"], near["memory"]["bytes"]) == (10, 8)
    assert near["cycles"] < far["cycles"]
    program = read(folder)
    assert program.target.memory == MemoryTiming(latency=10, bytes=8)
    assert facts(program, "", "")["cycles"] == near["cycles"]
    said = run("estimate", folder).out
    assert "memory: given, 10 cycles from a row's request to its data, 8 bytes a cycle" in said
    other = read(folder, replace(program.target, timing=MEMORIES["sdram16"]))
    starts = [step for step in other.steps if isinstance(step, Start)]
    assert facts(other, "", "")["cycles"] > near["cycles"]
    assert starts
    assert [step for step in in_rings(other.sections[0].steps, other.target) if step in starts]
    again, _ = written(run, tmp_path, "--memory", "sdram16")
    assert facts(other, "", "")["cycles"] == pytest.approx(again["cycles"], rel=0.1)
    path = folder / "program.json"
    written(run, tmp_path, "--memory", "latency=10,bytes=8")
    path.write_text(path.read_text().replace('"latency": 10', '"latency": 0'))
    with pytest.raises(FileError, match=r"memory: latency must be 4\.\.4096 cycles, not 0"):
        read(folder)


def test_where_memory_is_known_it_is_left_out(run: Run, tmp_path: Path) -> None:
    _, folder = written(run, tmp_path)
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.uint8))
    x = "--input", tmp_path / "x.npy", "--memory", "block_ram"
    for line, says in (
        (("run", folder, *x), "--memory must be left out"),
        (("run", tmp_path / "model.onnx", *x, "--board", "ulx3s_85f"), "--memory must be left out"),
        (("estimate", folder, "--memory", "axi"), "other options must be left out"),
        (("estimate", "adder_tree", "--memory", "axi"), "--memory are for a model's file"),
        (("compile", tmp_path / "model.onnx", "--memory", "fast"), "--memory must be axi"),
    ):
        done = run(*line)
        assert (done.code, says in done.err) == (2, True), done.err


@pytest.mark.prove
@pytest.mark.parametrize("text", ["latency=4", "latency=20", "latency=8,bytes=2", "latency=120"])
def test_simulated_block_takes_as_long(text: str, tmp_path: Path) -> None:
    """The memory that is simulated is that of the model."""
    rng, memory = np.random.default_rng(1), memory_of(text)
    sizes = [(64, 9, 16), (32, 32, 32), (16, 144, 32)]
    works = [
        Work(a=rng.integers(-128, 128, (m, k)), b=rng.integers(-128, 128, (k, n)))
        for m, k, n in sizes
    ]
    _, counters = run_works(DESIGN, works, tmp_path, memory=memory)
    target, bare = Target(DESIGN, timing=memory), Target(DESIGN).info.stores
    bits = 8 * target.spec.sum_bytes
    for work, (m, k, n), counted in zip(works, sizes, counters, strict=True):
        job = with_blocks(product_job(work, target), plan(bare, m, n, k, bits), target)
        assert cycles_of(job, target) == pytest.approx(counted["cycles"], rel=0.06)

"""What of a product stays while its blocks follow each other: the same codes, and what it takes."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from carrysave.cli.network_flags import NetworkFlags
from carrysave.compiler.graph.graph import Graph
from carrysave.compiler.passes.pipeline import PASSES, lower
from carrysave.compiler.program import view
from carrysave.compiler.program.facts import facts
from carrysave.compiler.program.network import compile_network
from carrysave.compiler.program.program import Program
from carrysave.compiler.target.dataflow import ANY, AUTO, CHOICES, DATAFLOWS
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.blocks import dataflow_cycles, planned
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.compiler.timing.rows_cost import stores_of
from carrysave.driver.job import Job
from carrysave.errors import UsageError
from golden.soc.blocking import Blocks, spans
from golden.soc.memory_timing import MemoryTiming
from hw.catalog import Design
from verif.compiler import runners
from verif.compiler.test_on_chip import chain, outputs
from verif.compiler.test_timed_blocks import product
from verif.compiler.test_windows import convolution, jobs_of

SLOW = MemoryTiming(latency=20, bytes=1)
ENGINE = {"engine": "systolic_os(m=4,n=4)", "windows": "true", "data_width": "64"}


def target(dataflow: str, stores: int = 512, **more: str) -> Target:
    sizes = {"a_bytes": str(stores), "b_bytes": str(stores)}
    design = Design.parse("coprocessor", {**ENGINE, **sizes, **more})
    return Target(design, timing=SLOW, dataflow=dataflow)


def compiled(model: Any, shape: tuple[int, ...], on: Target) -> Program:
    lowered = lower(Graph(model), on, until=PASSES[-1].name)
    return compile_network(lowered, on, {"x": np.zeros(shape, np.uint8)})


def read_times(job: Job, on: Target) -> tuple[float, float]:
    """Return how often each byte of A and of B is read, by the order in which the loader reads."""
    stores, words = stores_of(job, on)
    bits = {"a": stores.a_bits, "b": stores.b_bits}
    blocks = Blocks(job.block_m, job.block_n, job.block_k, job.by_columns)
    read = Counter[str]()
    for name, rows, _, size in spans(stores, blocks, bits, job.m, job.n, words):
        read[name] += len(rows) * size
    whole = job.m * words * stores.a_bits // 8, words * job.n * stores.b_bits // 8
    return read["a"] / whole[0], read["b"] / whole[1]


@pytest.mark.parametrize("sizes", [(64, 32, 64), (48, 64, 32), (16, 32, 96), (100, 24, 40)])
def test_what_stays_is_read_once(sizes: tuple[int, int, int]) -> None:
    job = product(*sizes)
    once = {one: read_times(planned(job, target(one)), target(one)) for one in DATAFLOWS}
    assert once["rows"][0] == 1
    assert once["columns"][1] == 1
    assert min(once["sums"]) >= 1
    on = target("sums")
    assert planned(job, on).block_k * stores_of(job, on)[0].tile_k < job.k


@pytest.mark.parametrize("shape", [(64, 32, 64), (256, 16, 8), (8, 64, 96), (100, 24, 40)])
def test_auto_takes_no_more_than_any_other_choice(shape: tuple[int, int, int]) -> None:
    job = product(*shape)
    took = {one: job_cycles(planned(job, target(one)), target(one)) for one in CHOICES}
    assert took[AUTO] == min(took.values())
    each = dataflow_cycles(job, target(AUTO))
    assert {one: each[one] for one in DATAFLOWS} == {one: took[one] for one in DATAFLOWS}


def test_products_differ_in_what_is_best() -> None:
    """Of two products each dataflow by rows and by columns is best once, and much better."""
    tall, wide = (
        {
            name: took or 0
            for name, took in dataflow_cycles(product(*one), target(AUTO, 2048)).items()
        }
        for one in ((256, 128, 32), (32, 128, 256))
    )
    assert 0 < tall["columns"] < 0.9 * tall["rows"]
    assert 0 < wide["rows"] < 0.9 * wide["columns"]


@pytest.mark.parametrize("seed", range(6))
def test_the_same_codes(seed: int) -> None:
    """Of a convolution with each choice, by all runners of programs, as onnx evaluates it."""
    model, shape = convolution(seed)
    x = {"x": np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)}
    wanted = outputs(compiled(model, shape, target(ANY)), x)
    for one in (AUTO, *DATAFLOWS):
        program = compiled(model, shape, target(one))
        np.testing.assert_equal(outputs(program, x), wanted)
    runners.check(program, x)


@pytest.mark.prove
def test_the_block_leaves_the_same_bytes(tmp_path: Path) -> None:
    """Of two convolutions, simulated; one with B that stays, one with sums."""
    model, shape = chain(2, 16, 6)
    x = {"x": np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)}
    for one in ("columns", "sums"):
        program = compiled(model, shape, target(one))
        memory = runners.memory_of(program, runners.on_block(tmp_path / one), x)
        np.testing.assert_array_equal(memory, runners.memory_of(program, runners.on_zeros, x))


def test_a_table_says_what_each_takes() -> None:
    model, shape = chain(3, 16, 10)
    made = {one: facts(compiled(model, shape, target(one)), "carrysave", "m") for one in CHOICES}
    assert made[ANY]["dataflow"] is None
    for one in (AUTO, *DATAFLOWS):
        there = made[one]["dataflow"]
        assert there["asked"] == one
        assert len(there["layers"]) == 3
        assert there["cycles"] == sum(layer["cycles"] for layer in there["layers"])
        for layer in there["layers"]:
            chosen = layer[layer["chosen"][0]]
            assert layer["cycles"] == chosen
            assert one != AUTO or chosen == min(filter(None, (layer[way] for way in DATAFLOWS)))
    auto = made[AUTO]["dataflow"]
    assert auto["cycles"] <= min(auto["single"].values())
    console = Console(record=True, width=120)
    view.show(console, made[AUTO])
    text = console.export_text()
    assert "cycles of products by dataflow" in text
    assert "dataflow: auto; products take" in text


def test_a_product_that_cannot_have_it_has_any() -> None:
    """All of K is longer than the store holds, or is one beat."""
    deep, flat = product(16, 4096, 16), product(16, 4, 16)
    for job, one in ((deep, "rows"), (deep, "columns"), (flat, "sums")):
        assert dataflow_cycles(job, target(AUTO))[one] is None
        assert planned(job, target(one)) == planned(job, target(ANY))


def test_blocks_of_the_hardware_are_not_chosen() -> None:
    on = target(AUTO, blocks="false", windows="false")
    assert set(dataflow_cycles(product(16, 32, 16), on).values()) == {None}


def test_windows_of_whole_taps() -> None:
    """With all taps A or B stays; with some, sums."""
    model, shape = chain(1, 16, 12)
    for one in DATAFLOWS:
        (job,) = jobs_of(compiled(model, shape, target(one, 4096)))
        assert job.window is not None
        assert (job.block_k < 9) == (one == "sums")
        assert one == "sums" or job.by_columns == (one == "columns")


def test_others_are_refused() -> None:
    text = "dataflow must be one of any, auto, rows, columns, sums, not 'best'"
    with pytest.raises(UsageError, match=text):
        replace(NetworkFlags(), dataflow="best").check()
    with pytest.raises(UsageError, match=text):
        target("best")

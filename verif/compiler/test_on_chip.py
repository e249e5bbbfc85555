"""Maps of programs on chip: the same codes, and nothing but inputs and outputs on the bus."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.program.cost import spent
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.read import read
from carrysave.compiler.program.steps import Move
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import CHIP
from golden.soc.memory_timing import MEMORIES
from hw.catalog import Design
from hw.emit.user_files import FileError
from verif.compiler import runners
from verif.compiler.programs import DESIGNS
from verif.compiler.test_read import changed, same
from verif.compiler.test_windows import compiled, convolution, jobs_of
from verif.networks.graphs import Builder
from verif.soc.driver.conftest import library as library

MAPS = DESIGNS["maps"]


def target(scratch: int) -> Target:
    engine = {"engine": "systolic_os(m=8,n=8)", "windows": "true", "scratch": str(scratch)}
    return Target(Design.parse("coprocessor", engine))


def chain(
    layers: int, channels: int = 16, side: int = 10, pool: int = 1
) -> tuple[Any, tuple[int, ...]]:
    """Return 3 x 3 convolutions of stride 1, one after the other, and the shape of x.

    With pools of some pixels between them, whose windows are as large.
    """
    builder, name = Builder(np.random.default_rng(1)), "x"
    for number in range(layers):
        to = "y" if number == layers - 1 else f"c{number}"
        weights = builder.codes((channels, channels, 3, 3), np.int8)
        builder.node(
            "QLinearConv",
            [
                name, builder.scale(), builder.zero(np.uint8), weights, builder.scale(),
                builder.constant(0, np.int8), builder.constant(0.05), builder.zero(np.uint8),
            ],
            to, pads=[1] * 4,
        )  # fmt: skip
        name = to
        if pool > 1 and number < layers - 1:
            name = builder.node(
                "MaxPool", [to], f"p{number}", kernel_shape=[pool] * 2, strides=[pool] * 2
            )
    shape = (1, channels, side, side)
    return builder.model(shape, np.uint8, np.uint8), shape


def outputs(program: Program, x: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return what a program makes by golden; codes that all are one would say nothing."""
    memory = program.memory.copy()
    made = network.run(program, x, memory, by_golden(program, memory))
    assert len(np.unique(made["y"])) > min(3, made["y"].size // 4)
    return made


def on_chip(program: Program) -> int:
    """Count the matrices of jobs that are on chip."""
    return sum((job.a >= CHIP) + (job.c >= CHIP) for job in jobs_of(program))


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(30))
def test_the_same_codes(seed: int) -> None:
    model, shape = convolution(seed)
    x = {"x": np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)}
    program = compiled(model, shape, target(4096))
    runners.check(program, x)
    np.testing.assert_equal(outputs(program, x), outputs(compiled(model, shape, target(0)), x))


@pytest.mark.parametrize(("layers", "side"), [(2, 8), (3, 8), (3, 12)])
def test_pools_of_two_jobs(layers: int, side: int) -> None:
    """A start has all jobs of a node: what the second one writes is there from its begin."""
    model, shape = chain(layers, 8, side, pool=2)
    x = {"x": np.random.default_rng(3).integers(0, 256, shape).astype(np.uint8)}
    programs = []
    for size in ("4096", "0"):
        given = {"engine": "systolic_os(m=4,n=4)", "data_width": "64", **MAPS, "scratch": size}
        programs.append(compiled(model, shape, Target(Design.parse("coprocessor", given))))
    small, plain = programs
    assert on_chip(small) > 4
    np.testing.assert_equal(outputs(small, x), outputs(plain, x))
    runners.check(small, x)


def test_what_is_read_was_written() -> None:
    """On chip bytes are of any value at the begin: a map whose padding is read stays in memory."""
    model, shape = chain(2, 6, 8, pool=2)
    given = {"engine": "systolic_os(m=4,n=4)", "data_width": "64", **MAPS, "scratch": "4096"}
    program = compiled(model, shape, Target(Design.parse("coprocessor", given)))
    pools = [job for job in jobs_of(program) if job.vector is not None]
    # Six channels, a pixel of eight bytes: the first pass takes whole rows of pixels.
    assert [job.n for job in pools] == [62, 6]
    assert pools[0].a < CHIP
    assert pools[0].c == pools[1].a >= CHIP


def test_what_is_between_jobs_does_not_cross_the_bus() -> None:
    """Of four convolutions, the maps between them are on chip; no move reads them."""
    model, shape = chain(4)
    small, plain = (compiled(model, shape, target(size)) for size in (4096, 0))
    assert (on_chip(small), on_chip(plain)) == (6, 0)
    first, *_, last = jobs_of(small)
    assert first.a < CHIP <= first.c
    assert last.c < CHIP <= last.a
    moved = [sum(spent(job, one.target).moved for job in jobs_of(one)) for one in (small, plain)]
    # Six times a map of 1,600 bytes: written once, and read nine times.
    assert moved[0] < 0.5 * moved[1]
    for step in small.steps:
        if isinstance(step, Move):
            assert step.to < CHIP


@pytest.mark.parametrize(("side", "strips"), [(16, 1), (24, 2), (40, 4), (104, 0)])
def test_a_map_that_is_read_again_is_copied_on_chip(side: int, strips: int) -> None:
    """Behind a slow memory, where it has room, or in strips: the map crosses the bus once."""
    given = {"engine": "systolic_os(m=4,n=4)", "data_width": "64", **MAPS, "scratch": "4096"}
    slow = Target(Design.parse("coprocessor", given), timing=MEMORIES["sdram16"])
    model, shape = chain(1, 8, side)
    program = compiled(model, shape, slow)
    x = {"x": np.random.default_rng(5).integers(0, 256, shape).astype(np.uint8)}
    plain = compiled(model, shape, Target(Design.parse("coprocessor", given | {"scratch": "0"})))
    np.testing.assert_equal(outputs(program, x), outputs(plain, x))
    runners.check(program, x)
    jobs = jobs_of(program)
    copies, products = jobs[: 2 * strips : 2], jobs[1::2] if strips else jobs
    assert len(jobs) == max(2 * strips, 1)
    assert all(one.vector == "map_add" and one.a < CHIP <= one.c for one in copies)
    assert all(one.window is not None for one in products)
    assert [one.a for one in products if one.a >= CHIP] == [one.c for one in copies]
    assert sum(spent(one, slow).moved for one in copies) <= 1.3 * side * side * 8


def test_a_folder_has_maps_on_chip(tmp_path: Path) -> None:
    """It is read again; of a map that is not within what the build has there it is refused."""
    model, shape = chain(4)
    program = compiled(model, shape, target(4096))
    same(
        program, {"x": np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)}, tmp_path
    )

    def beyond(found: dict[str, Any]) -> None:
        inside = [one for one in found["tensors"] if one["address"] >= CHIP]
        inside[0]["address"] = CHIP + 4096

    changed(tmp_path, beyond)
    with pytest.raises(FileError, match=r"within the [\d,]+ bytes of memory, or the 4,096 on chip"):
        read(tmp_path)


def test_rooms_share_what_is_on_chip() -> None:
    """Two maps are enough for any number of layers; with one, every other is there."""
    for side, count in ((10, 10), (12, 6), (17, 0)):
        model, shape = chain(6, side=side)
        program = compiled(model, shape, target(4096))
        x = {"x": np.random.default_rng(side).integers(0, 256, shape).astype(np.uint8)}
        np.testing.assert_equal(outputs(program, x), outputs(compiled(model, shape, target(0)), x))
        assert on_chip(program) == count


def test_runners_leave_the_same_bytes(library: Any) -> None:
    model, shape = chain(3)
    program = compiled(model, shape, target(4096))
    assert on_chip(program)
    x = {"x": np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)}

    expected = runners.memory_of(program, runners.on_zeros, x)
    for on in (runners.on_driver, runners.on_c(library)):
        np.testing.assert_array_equal(runners.memory_of(program, on, x), expected)


@pytest.mark.prove
def test_the_block_leaves_the_same_bytes(tmp_path: Path) -> None:
    model, shape = chain(3)
    program = compiled(model, shape, target(4096))
    x = {"x": np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)}
    block = runners.memory_of(program, runners.on_block(tmp_path), x)
    np.testing.assert_array_equal(block, runners.memory_of(program, runners.on_zeros, x))

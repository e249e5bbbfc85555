"""Programs of decoders whose sums of groups the block scales: the same logits, fewer numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.decoder.units import GOLDEN
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.compiler.program.cost import moved_bytes
from carrysave.compiler.program.floats import Floats, Operation
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.program.text import text
from carrysave.compiler.program.words import group_of, group_words
from carrysave.compiler.run.sample import Sample
from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from carrysave.weights.gguf import read_gguf
from verif.compiler import runners
from verif.language.test_chat import write
from verif.soc.driver.conftest import library as library

TOKENS = np.array([3, 1, 4, 5])
CACHE = 8


def target(**parameters: str) -> Target:
    """Return a build with scales of groups, if nothing else is said."""
    engine = {"engine": "systolic_os(m=4,n=4)", "group_scales": "fp16"}
    return Target(block_of(engine | parameters))


def model_of(folder: Path, matrices: str = "Q4_0") -> Model:
    return load(read_gguf(write(folder / "m.gguf", matrices=matrices)))


def compiled(model: Model, **parameters: str) -> Program:
    return compile_decoder(model, target(**parameters), cache=CACHE)


def logits(program: Program) -> np.ndarray:
    return ProgramDecoder(program, *runners.on_golden(program), CACHE).step(TOKENS)


def expected(model: Model) -> np.ndarray:
    decoder = Decoder(model, cache=CACHE, bits=model.cache_bits, units=GOLDEN)
    return np.concatenate([decoder.step(TOKENS[at : at + 1]) for at in range(len(TOKENS))])


def grouped(program: Program) -> list[Job]:
    """Return the jobs whose groups are scaled."""
    starts = (one for one in program.steps if isinstance(one, Start))
    return [job for one in starts for group in one.groups for job in group.jobs if job.ldsb]


def added(program: Program) -> set[str]:
    """Return the nodes whose sums a processor scales and adds up."""
    steps = (one for one in program.steps if isinstance(one, Floats))
    return {one.node for one in steps if one.operation == Operation.GROUPS}


def numbers(program: Program) -> int:
    return sum(one.numbers for one in program.steps if isinstance(one, Floats))


def test_the_block_scales_all_groups(tmp_path: Path) -> None:
    """One job for a matrix; logits are those of golden's decoder, and of a build without."""
    model = model_of(tmp_path)
    program, before = compiled(model), compiled(model, group_scales="none")
    matrices = [one for layer in model.layers for one in layer.matrices.values()]
    assert len(grouped(program)) == len(matrices) + 1
    assert not added(program)
    assert len(added(before)) == len(matrices) + 1
    sums = sum(one.integers[:, 0].size for one in [*matrices, model.head])
    assert numbers(before) - numbers(program) == sums
    made = logits(program)
    assert np.array_equal(made, expected(model))
    assert np.array_equal(made, logits(before))
    assert len(np.unique(made)) > made.size // 2


@pytest.mark.parametrize(
    ("matrices", "parameters", "left"),
    [
        ("Q4_1", {}, "layers"),  # offsets
        ("Q4_0", {"engine": "systolic_os(m=4,n=4,b_width=4)"}, "output"),  # digits of Q8_0
        ("Q4_0", {"group_scales": "bf16"}, "all"),
        ("Q4_0", {"engine": "systolic_os(m=2,n=4,k_max=64)"}, "longer"),
    ],
)
def test_other_groups_are_left_to_a_processor(
    matrices: str, parameters: dict[str, str], left: str, tmp_path: Path
) -> None:
    """Those that have offsets, several digits, other scales, or more of K than a job."""
    model = model_of(tmp_path, matrices)
    program = compiled(model, **parameters)
    every = {f"blk.{at}.{name}" for at, one in enumerate(model.layers) for name in one.matrices}
    longer = {f"blk.{at}.ffn_down" for at in range(len(model.layers))}
    wanted = {"layers": every, "output": {"output"}, "all": every | {"output"}, "longer": longer}
    assert added(program) == wanted[left]
    assert np.array_equal(logits(program), expected(model))


@pytest.mark.parametrize(("runner", "ring"), [("driver", "true"), ("c", "true"), ("c", "false")])
def test_runners_scale_groups(runner: str, ring: str, library: Any, tmp_path: Path) -> None:
    """Python's driver and C's: of descriptors that are ready in memory, and of words."""
    model = model_of(tmp_path)
    program = compiled(model, ring=ring)
    on = {"driver": runners.on_driver, "c": runners.on_c(library)}[runner]
    made = ProgramDecoder(program, *on(program), CACHE).step(TOKENS)
    assert np.array_equal(made, expected(model))


def test_jobs_are_written_and_said(tmp_path: Path) -> None:
    program = compiled(model_of(tmp_path))
    starts = [one for one in program.steps if isinstance(one, Start)]
    groups = [group for one in starts for group in one.groups if group.job.ldsb]
    for group in groups:
        words = np.array(group_words(group), "<i8").astype("<i4").tolist()
        assert group_of(words) == group
    job = groups[0].job
    said = f"groups by {job.a_scales:#x}+{job.ldsa}, {job.b_scales:#x}+{job.ldsb}; blocks"
    assert said in text(program)


def test_scales_and_powers_are_counted() -> None:
    """Bytes on the bus, in whole beats: each block of C reads those of its columns and rows."""
    build = target(data_width="64", b_bytes="2048")
    job = Job(
        a=0,
        b=1024,
        c=1 << 15,
        m=5,
        n=200,
        k=80,
        lda=80,
        ldb=200,
        ldc=800,
        a_scales=1 << 16,
        b_scales=1 << 17,
        ldsa=8,
        ldsb=400,
        block_m=1,
        block_n=25,
        block_k=8,
    )
    columns = (100, 100)
    a = 2 * len(columns) * 10 * (4 + 1) * 8 // 2
    b = 2 * sum(80 * -(-one // 8) * 8 for one in columns)
    powers, scales = (
        2 * len(columns) * 10 * 8,
        2 * sum(10 * -(-2 * one // 8) * 8 for one in columns),
    )
    c = sum(5 * -(-4 * one // 8) * 8 for one in columns)
    assert moved_bytes(job, build) == a + b + powers + scales + c


@pytest.mark.prove
def test_jobs_are_goldens_on_the_block(tmp_path: Path) -> None:
    """All jobs of three tokens, on the simulated block."""
    program = compiled(model_of(tmp_path), data_width="64")
    memory = program.memory.copy()
    own = Sample(program, every=True, seed=0, folder=tmp_path)
    decoder = ProgramDecoder(program, memory, lambda one: own.execute(memory, one.start), CACHE)
    decoder.step(TOKENS[:3])
    own.run()
    made = own.facts()
    assert made["wrong"] == {}
    assert made["jobs"] == made["of_jobs"]

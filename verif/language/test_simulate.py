"""Jobs of a language model on the simulated block: golden's results, and said where not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.compile import (
    ProgramDecoder,
    compile_decoder,
    core_block,
)
from carrysave.compiler.decoder.cores import CORES
from carrysave.compiler.front.gguf import load
from carrysave.compiler.program.program import Program
from carrysave.compiler.run import sample
from carrysave.compiler.run.golden import execute
from carrysave.compiler.run.sample import Sample
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from carrysave.driver.job import Job
from carrysave.sim.products import run_works
from carrysave.weights.gguf import read_gguf
from golden.soc.memory import Space
from verif.language.test_chat import smollm2, write
from verif.support.command import Run
from verif.support.golden_block import by_golden

KINDS = ["rms_norm", "attn_q", "attn_k", "attn_v", "attn", "softmax", "attn_output", "ffn_gate",
         "ffn_up", "silu", "ffn_down", "output"]  # fmt: skip
PRODUCTS = [kind for kind in KINDS if kind not in ("rms_norm", "softmax", "silu")]


def compiled(tmp_path: Path, core: str = "int8", bits: int = 8) -> Program:
    model = load(read_gguf(write(tmp_path / "m.gguf")))
    return compile_decoder(model, Target(core_block(core, {})), cache=8, bits=bits)


def answer(program: Program, own: Sample, tokens: list[int]) -> np.ndarray:
    memory = program.memory.copy()
    decoder = ProgramDecoder(program, memory, lambda one: own.execute(memory, one.start), 8)
    return decoder.step(np.array(tokens))


@pytest.mark.parametrize("core", ["int8", "lut_core"])
@pytest.mark.parametrize("every", [True, False])
def test_every_job_is_taken_with_its_operands(
    core: str, every: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is taken golden makes the same, and what differs is counted by its kind."""
    program = compiled(tmp_path, core)
    ours = Sample(program, every=every, seed=0, folder=tmp_path)
    answer(program, ours, [3, 1, 4])
    kinds = [kind for kind in KINDS if core == "int8" or kind != "attn"]
    assert list(ours.jobs) == kinds
    taken = [one for some in ours._taken.values() for one in some]
    monkeypatch.setattr(sample, "simulated", by_golden(program.target))
    ours.run()
    facts = ours.facts()
    assert facts["wrong"] == {}
    assert facts["of_jobs"] == {kind: 3 * ours.kinds.count(kind) for kind in kinds}
    assert facts["jobs"] == (facts["of_jobs"] if every else dict.fromkeys(kinds, 2))
    assert sum(facts["jobs"].values()) == len(taken)
    # All multiplications by weights, of each token.
    if every and core == "int8":
        model = load(read_gguf(tmp_path / "m.gguf"))
        matrices = [one for layer in model.layers for one in layer.matrices.values()]
        done = sum(
            one.job.m * one.job.n * one.job.k
            for one in taken
            if one.kind in PRODUCTS and one.kind != "attn"
        )
        assert done == 3 * sum(one.integers.size for one in [*matrices, model.head])

    monkeypatch.setattr(sample, "simulated", by_golden(program.target, "silu"))
    answer(program, ours, [3, 1, 4])
    ours.run()
    assert list(ours.facts()["wrong"]) == ["silu"]


def test_sample_is_of_the_seed_and_of_all_jobs(tmp_path: Path) -> None:
    program = compiled(tmp_path)
    space = Space(memory=np.zeros(4096, np.uint8), scratch=np.zeros(0, np.uint8), base=1 << 40)
    jobs = [
        Job(a=64 * at, b=0, c=2048, m=1, n=16, k=0, lda=32, ldb=0, ldc=64, a_format=1,
            vector="softmax")
        for at in range(6)
    ]  # fmt: skip

    def drawn(seed: int) -> list[int]:
        found = Sample(program, every=False, seed=seed, folder=tmp_path)
        for job in jobs:
            found.take("softmax", job, space)
        return [one.job.a // 64 for one in found._taken["softmax"]]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(6)}) > 2
    assert {number for seed in range(12) for number in drawn(seed)} == set(range(6))


@pytest.mark.parametrize("core", sorted(CORES))
def test_large_jobs_are_cut(core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some columns, or rows, of what is there: results are those of the whole job."""
    program = compiled(tmp_path, core)
    ours = Sample(program, every=False, seed=3, folder=tmp_path)
    monkeypatch.setattr(sample, "_CYCLES", 220)
    monkeypatch.setattr(sample, "simulated", by_golden(program.target))
    answer(program, ours, [5])
    before = {kind: list(some) for kind, some in ours._taken.items()}
    for kind in ("output", "ffn_up"):
        for one in before[kind]:
            cut = ours._cut(one)
            assert cut.job.n < one.job.n
            assert cut.rows["a"].tobytes() == one.rows["a"].tobytes()
            assert all(
                row.tobytes() in whole.tobytes()
                for row, whole in zip(cut.rows["b"], one.rows["b"], strict=True)
            )
    ours.run()
    assert ours.wrong == {}


@pytest.mark.prove
def test_chat_runs_a_sample_on_the_block(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "m.gguf")
    chat = ("chat", "m.gguf", "--prompt", "hello", "--tokens", "2", "--cache", "8")
    plain = json.loads(run(*chat, "--json").out)
    code, out, err = run(*chat, "--simulate", "sample", "--core", "int8", "--json")
    assert code == 0, err
    facts: dict[str, Any] = json.loads(out)
    assert facts["text"] == plain["text"]
    found = facts["simulation"]
    assert found["wrong"] == {}
    assert found["jobs"] == dict.fromkeys(KINDS, 2)
    assert found["of_jobs"]["attn_q"] == 3 * 2 * 2
    assert 0.5 < found["cycles"] / sum(found["modelled_cycles"].values()) < 4


def test_chat_says_what_is_wrong(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "m.gguf")

    target = Target(core_block("blocks", {}))
    monkeypatch.setattr(sample, "simulated", by_golden(target, "silu"))
    chat = ("chat", "m.gguf", "--prompt", "hello", "--tokens", "1", "--cache", "8")
    done = run(*chat, "--simulate", "sample", "--core", "blocks", "-p", "sparse=true")
    assert done.code == 1, done.err
    assert done.err.count("products is in memory without its zeros") == 1
    assert "2 WRONG" in done.out
    assert done.out.count("WRONG") == 1


def test_blocks_that_cannot_run_a_model_are_refused(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "m.gguf")
    narrow = "systolic_os(m=1,n=4,a_width=6)"
    for arguments, says in (
        (("--simulate", "some"), "--simulate must be one of none, sample, all, not 'some'"),
        (("--simulate", "all", "--core", "gpu"), "--core must be one of lut_core, blocks, int8, "),
        (("-p", "m=8"), "-p needs --simulate"),
        (("--seed", "-1"), "--seed must be 0 or more, not -1"),
        (
            ("--simulate", "all", "-p", f"engine={narrow}"),
            "engine must have A of int8, not -32..31",
        ),
        (
            ("--simulate", "all", "-p", "engine=systolic_os(k_max=16)"),
            "K must be 1..16, the engine's k_max, not 64",
        ),
        (("--simulate", "all", "-p", "vector=vector_unit(width=12)"), "vector must be vector_unit"),
    ):
        code, out, err = run("chat", "m.gguf", "--prompt", "hi", *arguments)
        assert (code, out) == (2, ""), arguments
        assert says in err
        assert err.count("\n") == 1


@pytest.mark.prove
@pytest.mark.parametrize("core", sorted(CORES))
@pytest.mark.parametrize("kv", ["8", "4"])
def test_all_jobs_are_goldens_on_each_core(run: Run, tmp_path: Path, core: str, kv: str) -> None:
    write(tmp_path / "m.gguf")
    code, out, err = run(
        "chat", "m.gguf", "--prompt", "hello", "--tokens", "2", "--cache", "8", "--kv", kv,
        "--simulate", "all", "--core", core, "--json",
    )  # fmt: skip
    assert code == 0, err
    found = json.loads(out)["simulation"]
    assert found["wrong"] == {}
    assert found["jobs"] == found["of_jobs"]
    assert set(found["jobs"]) == {*KINDS} - ({"attn"} if core != "int8" else set())


@pytest.mark.prove
@pytest.mark.parametrize("tiles", [32, 36, 37, 72])
def test_tiles_of_one_beat_follow_each_other(tmp_path: Path, tiles: int) -> None:
    """Jobs take what their operands take on the bus, or a little more than their beats.

    Each tile has one beat of either operand in a block: no side waits for the other in turn.
    """
    design = core_block("lut_core", {"data_width": "512"})
    target, rng = Target(design), np.random.default_rng(1)
    a, b = ((one.low, one.high + 1) for one in (target.info.a, target.info.b))
    columns = tiles * target.info.stores.tile_n
    works = [
        Work(a=rng.integers(*a, (1, 32)), b=rng.integers(*b, (32, columns))) for _ in range(16)
    ]
    found = []
    for count in (4, 16):
        _, (counted,) = run_works(design, works[:count], tmp_path, one_start=True)
        found.append(counted["cycles"])
    beats = 32 * -(-columns // 2 // target.spec.bytes)
    assert (found[1] - found[0]) / 12 < 1.15 * max(beats, 4 * tiles)


@pytest.mark.prove
def test_token_of_smollm2_is_goldens_on_the_block(tmp_path: Path) -> None:
    """All jobs of a token, of all 30 blocks, after another that golden alone has computed."""
    model = load(read_gguf(smollm2()))
    target = Target(core_block("lut_core", {"data_width": "512"}))
    program = compile_decoder(model, target, cache=16)
    memory, (section,) = program.memory, program.sections
    own = Sample(program, every=True, seed=0, folder=tmp_path)
    runs = [
        lambda: execute(target.spec, memory, section.start),
        lambda: own.execute(memory, section.start),
    ]
    decoder = ProgramDecoder(program, memory, lambda one: runs.pop(0)(), 16)
    decoder.step(np.array([1000, 2000]))
    own.run()
    found = own.facts()
    assert found["wrong"] == {}
    assert found["jobs"] == found["of_jobs"]
    groups = {"ffn_down": 48, **dict.fromkeys(("attn_q", "attn_output", "ffn_up"), 18)}
    assert {kind: found["jobs"][kind] for kind in groups} == {
        kind: 30 * count for kind, count in groups.items()
    }
    assert (found["jobs"]["output"], found["jobs"]["rms_norm"]) == (2 * 18, 61)

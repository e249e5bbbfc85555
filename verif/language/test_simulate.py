"""Jobs of a language model on the simulated block: golden's sums, and said where they are not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder import simulate
from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.simulate import CORES, Simulation, block_of
from carrysave.compiler.decoder.watch import KINDS, Job, ProductJob, RowsJob, watched
from carrysave.compiler.decoder.works import laid
from carrysave.compiler.front.gguf import FORMS, load
from carrysave.compiler.target.target import Target
from carrysave.driver.batch import Work
from carrysave.sim.products import run_works
from carrysave.weights.gguf import read_gguf
from verif.language.test_chat import TOKENS, smollm2, write
from verif.support.command import Run

SMALL = "systolic_os(m=1,n=4,k_max=64,b_width=4,pe=mac)"
"""Of the short run, with no vector unit."""
ATTENTION = [kind for kind in KINDS if kind not in FORMS["recurrent"]]
OPTIONS = ("--simulate", "sample", "-p", f"engine={SMALL}", "-p", "vector=none")


@pytest.mark.sample(5)
@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((-127, 127), (0, 15)), ((-127, 127), (-8, 7)), ((0, 16383), (-127, 127)),
        ((-128, 127), (-128, 127)), ((-127, 127), (-16, 15)), ((0, 3), (9, 12)),
        ((0, 3), (-20, -10)), ((0, 0), (0, 0)),
    ],
)  # fmt: skip
def test_laid_products_are_those_of_wider_numbers(
    core: str, a: tuple[int, int], b: tuple[int, int]
) -> None:
    target = Target(block_of(core, {"vector": "none"}))
    rng = np.random.default_rng(0)
    left, right = rng.integers(*a, (3, 20), endpoint=True), rng.integers(*b, (20, 5), endpoint=True)
    left[0], right[:, 0] = a[0], b[1]
    made = laid(target, left, right)
    assert made.work.a is not None
    assert made.work.mode is not None
    for codes, number in ((made.work.a, made.work.mode.a), (made.work.b, made.work.mode.b)):
        assert number.low <= codes.min()
        assert codes.max() <= number.high
    # Its fourth code is no weight.
    assert made.work.b.min() >= -1 or core != "ternary_core"
    sums = made.work.a.astype(np.int64) @ made.work.b.astype(np.int64)
    assert np.array_equal(made.finish(sums), left @ right)


@pytest.mark.parametrize("bits", [8, 4])
def test_watched_decoder_is_the_same_and_tells_of_every_job(tmp_path: Path, bits: int) -> None:
    model = load(read_gguf(write(tmp_path / "m.gguf")))
    tokens = np.random.default_rng(1).integers(0, len(TOKENS), 5)
    jobs: list[Job] = []
    own, units = watched(model, jobs.append)
    found = Decoder(own, cache=8, bits=bits, units=units).step(tokens)
    assert np.array_equal(found, Decoder(model, cache=8, bits=bits).step(tokens))
    assert {job.kind for job in jobs} == set(ATTENTION)
    # All multiplications by weights: each row of each matrix meets each token.
    done = sum(job.a.size * job.b.shape[1] for job in jobs
               if isinstance(job, ProductJob) and job.kind not in ("scores", "values"))  # fmt: skip
    matrices = [one for layer in model.layers for one in layer.matrices.values()] + [model.head]
    assert done == 5 * sum(one.integers.size for one in matrices)
    # Each token meets itself and those before it, in each head of each block.
    assert sum(job.a.size for job in jobs if job.kind == "values") == 2 * 2 * (1 + 2 + 3 + 4 + 5)
    assert all(np.array_equal(job.a, np.rint(job.a)) for job in jobs)


@pytest.mark.prove
def test_chat_runs_a_sample_on_the_block(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "m.gguf")
    chat = ("chat", "m.gguf", "--prompt", "hello", "--tokens", "2", "--cache", "8")
    plain = json.loads(run(*chat, "--json").out)
    code, out, err = run(*chat, *OPTIONS, "--json")
    assert code == 0, err
    facts: dict[str, Any] = json.loads(out)
    assert facts["text"] == plain["text"]
    found = facts["simulation"]
    assert found["wrong"] == {}
    assert found["jobs"] == dict.fromkeys(ATTENTION[:-3], 2)
    assert found["of_jobs"]["attn_q"] == 2 * 2 * 2
    assert 0.5 < found["cycles"] / sum(found["modelled_cycles"].values()) < 4

    right = simulate.golden

    def wrong(job: Job) -> np.ndarray:
        return right(job) + (job.kind == "ffn_up")

    monkeypatch.setattr(simulate, "golden", wrong)
    code, out, err = run(*chat, *OPTIONS)
    assert code == 1, err
    assert "2 WRONG" in out
    assert out.count("WRONG") == 1


def test_sample_is_of_the_seed_and_of_all_jobs(tmp_path: Path) -> None:
    model = load(read_gguf(write(tmp_path / "m.gguf")))
    design = block_of("lut_core", {})
    rows = [RowsJob(kind="softmax", a=np.array([[number]])) for number in range(6)]

    def sample(seed: int) -> list[int]:
        found = Simulation(design, model, length=8, every=False, seed=seed, folder=tmp_path)
        for row in rows:
            found.take(row)
        return [int(job.a[0, 0]) for job in found.kept["softmax"]]

    assert sample(1) == sample(1)
    assert len({tuple(sample(seed)) for seed in range(6)}) > 2
    assert {number for seed in range(12) for number in sample(seed)} == set(range(6))


def test_blocks_that_cannot_run_a_model_are_refused(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "m.gguf")
    narrow = "systolic_os(m=1,n=4,a_width=6)"
    for arguments, says in (
        (("--simulate", "some"), "--simulate must be one of none, sample, all, not 'some'"),
        (("--simulate", "all", "--core", "gpu"), "--core must be one of lut_core, blocks, int8, "),
        (("-p", "m=8"), "-p needs --simulate"),
        (("--seed", "-1"), "--seed must be 0 or more, not -1"),
        (("--simulate", "all", "-p", f"engine={narrow}"), "activations of 8 bits, not of 6"),
        (("--simulate", "all", "-p", "engine=systolic_os(k_max=16)"),
         "K must be 1..16, the core's k_max, not 64"),
        (("--simulate", "all", "--core", "ternary_core"),
         "core must take the model's weights, of 2 bits or more, not ternary"),
        (("--simulate", "all", "-p", "vector=vector_unit(width=12)"), "vector must be none, or "),
    ):  # fmt: skip
        code, out, err = run("chat", "m.gguf", "--prompt", "hi", *arguments)
        assert (code, out) == (2, ""), arguments
        assert says in err
        assert err.count("\n") == 1


@pytest.mark.prove
@pytest.mark.parametrize("core", sorted({*CORES} - {"ternary_core"}))
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
    assert set(found["jobs"]) == set(ATTENTION)


@pytest.mark.prove
@pytest.mark.parametrize("tiles", [32, 36, 37, 72])
def test_tiles_of_one_beat_follow_each_other(tmp_path: Path, tiles: int) -> None:
    """Jobs take what their operands take on the bus, or a little more than their beats.

    Each tile has one beat of either operand in a block: no side waits for the other in turn.
    """
    design = block_of("lut_core", {"data_width": "512"})
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
    """All jobs of a token, of all 30 blocks, after a few others that golden alone has computed."""
    model = load(read_gguf(smollm2()))
    design = block_of("lut_core", {"data_width": "512"})
    simulation = Simulation(design, model, length=16, every=True, seed=0, folder=tmp_path)
    decoder = Decoder(model, cache=16)
    decoder.step(np.arange(1000, 1008))
    decoder.model, decoder.units = watched(model, simulation.take)
    decoder.step(np.array([2000]))
    simulation.run()
    found = simulation.facts()
    assert found["wrong"] == {}
    assert found["jobs"] == found["of_jobs"]
    groups = {"ffn_down": 48, **dict.fromkeys(("attn_q", "attn_output", "ffn_up"), 18)}
    assert {kind: found["jobs"][kind] for kind in groups} == {
        kind: 30 * count for kind, count in groups.items()
    }
    assert (found["jobs"]["head"], found["jobs"]["rms_norm"]) == (18, 61)

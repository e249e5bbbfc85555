"""Programs with experts: a router's choice moves addresses, on all runners, bit by bit."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.boards.board import BOARDS, design_of
from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.compile import (
    ProgramDecoder,
    block_of,
    compile_decoder,
    needed_parameters,
)
from carrysave.compiler.decoder.experts import routed
from carrysave.compiler.decoder.skip import skipping
from carrysave.compiler.decoder.units import GOLDEN
from carrysave.compiler.front.decoder import Experts, Model
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.program import Program
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.attached import Attached
from carrysave.compiler.target.target import Target
from verif.compiler import runners
from verif.compiler.line import Port
from verif.language.test_families import TEXT
from verif.language.test_family_programs import checkpoint
from verif.language.tiny_gguf import write_gguf
from verif.language.tiny_models import config_of, weights_of
from verif.soc.driver.conftest import library as library
from verif.support.command import Run

INT8 = Target(block_of({"engine": "systolic_os(m=4,n=4)"}))
NARROW = Target(block_of({"engine": "systolic_os(m=2,n=8,b_width=4)"}))
LISTS = {"lists": "16", "top_k": "4", "gather": "true"}
LISTS |= {"requantise": "true", "per_column": "false", "code_bytes": "2"}
BY_JOBS = Target(block_of({"engine": "systolic_os(m=4,n=4)", **LISTS}))
NARROW_JOBS = Target(block_of({"engine": "systolic_os(m=2,n=8,b_width=4)", **LISTS}))
CACHE = 10


def expected(model: Model) -> np.ndarray:
    decoder = Decoder(model, cache=CACHE)
    return np.concatenate([decoder.step(TEXT[at : at + 1]) for at in range(CACHE)])


def chosen(model: Model, program: Program, memory: np.ndarray) -> list[int]:
    """Return the experts of the last token, as parameters are."""
    places = [one.address for one in program.parameters if "expert" in one.name]
    assert len(places) == sum(layer.experts.used for layer in model.layers if layer.experts)
    return [int(memory[at : at + 4].view("<i4")[0]) for at in places]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("kind", "changes", "target"),
    [
        ("mixtral", {}, INT8),
        ("mixtral", {"num_experts_per_tok": 1}, NARROW),
        ("mixtral", {"num_experts_per_tok": 4}, INT8),
        ("qwen3_moe", {}, NARROW),
        ("qwen3_moe", {"norm_topk_prob": False}, INT8),
        ("qwen3_moe", {"num_experts": 9, "num_experts_per_tok": 3}, INT8),
    ],
)
def test_program_is_the_decoder(
    kind: str, changes: dict[str, Any], target: Target, tmp_path: Path
) -> None:
    """Of each token; and different tokens take different experts."""
    model = checkpoint(tmp_path, config_of(kind, **changes))
    program = compile_decoder(model, target, cache=CACHE)
    memory, runner = runners.on_golden(program)
    own = ProgramDecoder(program, memory, runner, CACHE)
    made, every = [], []
    for at in range(CACHE):
        made.append(own.step(TEXT[at : at + 1]))
        every.append(chosen(model, program, memory))
    assert np.array_equal(np.concatenate(made), expected(model))
    assert len(np.unique(every, axis=0)) > 3
    assert len(program.sections) == len(model.layers) + 1
    assert not program.host
    with pytest.raises(ValueError, match="a system runs one section, not 3"):
        _ = program.plan


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("kind", "changes", "target"),
    [
        ("mixtral", {}, BY_JOBS),
        ("mixtral", {"num_experts_per_tok": 1}, NARROW_JOBS),
        ("mixtral", {"num_experts_per_tok": 4}, BY_JOBS),
        ("qwen3_moe", {}, NARROW_JOBS),
        ("qwen3_moe", {"norm_topk_prob": False}, BY_JOBS),
        ("qwen3_moe", {"num_experts": 9, "num_experts_per_tok": 3}, BY_JOBS),
    ],
)
def test_jobs_choose_experts(
    kind: str, changes: dict[str, Any], target: Target, tmp_path: Path
) -> None:
    """No step reads or writes a place: one section has all, and logits are the decoder's."""
    model = checkpoint(tmp_path, config_of(kind, **changes))
    program = compile_decoder(model, target, cache=CACHE)
    assert len(program.sections) == 1
    groups = [one for step in program.steps if isinstance(step, Start) for one in step.groups]
    # Groups of K of an expert are jobs of one group, which differ in addresses alone.
    assert max(one.count for one in groups if one.job.places is not None) > 1
    assert {one.name for one in program.parameters} == {"token", "position"}
    rings = [one for section in program.sections for one in section.rings]
    for ring in rings:
        for job in ring.jobs(program.memory, target.info.memory_end):
            if job.places is not None:  # a driver has what all experts are written to memory
                end = job.b + (job.ldsb - 1) * job.ldsa + job.k * job.ldb
                assert ring.low <= job.b < end <= ring.high
    memory, runner = runners.on_golden(program)
    own = ProgramDecoder(program, memory, runner, CACHE)
    made = np.concatenate([own.step(TEXT[at : at + 1]) for at in range(CACHE)])
    assert np.array_equal(made, expected(model))


def test_experts_that_skip_are_chosen_by_steps(tmp_path: Path) -> None:
    """A product has one list: of places of K, or the place of its B."""
    model = skipping(checkpoint(tmp_path, config_of("mixtral")), TEXT, 0.5)
    target = Target(block_of({"engine": "systolic_os(m=4,n=4)", **LISTS, "lists": "64"}))
    program = compile_decoder(model, target, cache=CACHE)
    assert len(program.sections) == len(model.layers) + 1
    memory, runner = runners.on_golden(program)
    made = ProgramDecoder(program, memory, runner, CACHE).step(TEXT[:4])
    assert np.array_equal(made, expected(model)[:4])


def test_folder_of_a_program_has_experts(run: Run, tmp_path: Path) -> None:
    config = config_of("mixtral")
    write_gguf(tmp_path / "m.gguf", config, weights_of(config))
    code, _, err = run("compile", "m.gguf", "--cache", "16", "-p", "engine=systolic_os(m=2,n=8)")
    assert code == 0, err
    chat = ("--prompt", "hello", "--tokens", "6", "--cache", "16")
    by_program = run("chat", "build/compile/m", *chat)
    assert by_program.code == 0, by_program.err
    assert by_program.out == run("chat", "m.gguf", *chat).out
    code, _, err = run("soc", "--model", "m.gguf", "--prompt", "hello", "--board", "ulx3s_85f")
    assert code == 2
    assert "m.gguf has experts, and a system runs one section alone" in err


@pytest.mark.parametrize("runner", ["driver", "c"])
@pytest.mark.parametrize("target", [NARROW, NARROW_JOBS], ids=["steps", "jobs"])
def test_runners_have_experts(runner: str, target: Target, library: Any, tmp_path: Path) -> None:
    model = checkpoint(tmp_path, config_of("mixtral"))
    program = compile_decoder(model, target, cache=CACHE)
    on = {"driver": runners.on_driver, "c": runners.on_c(library)}[runner]
    own = ProgramDecoder(program, *on(program), CACHE)
    assert np.array_equal(own.step(TEXT[:4]), expected(model)[:4])


def test_a_board_on_a_serial_line_has_experts(tmp_path: Path) -> None:
    """Steps between jobs are the host's; what a section changes, the next one's jobs have."""
    memory = {"memory_bytes": str(1 << 20), "engine": "systolic_os(m=4,n=4,target=ecp5)"}
    target = Target(design_of(BOARDS["ulx3s_85f"], {**needed_parameters(), **memory}))
    model = checkpoint(tmp_path, config_of("mixtral"))
    program = compile_decoder(model, target, cache=CACHE)
    attached = Attached(program, Port(program))
    own = ProgramDecoder(program, attached.memory, attached.runner, CACHE)
    assert np.array_equal(own.step(TEXT[:3]), expected(model)[:3])


def test_only_experts_that_are_used_are_read(tmp_path: Path) -> None:
    """Steps are as many as of so many dense feed-forwards, whatever the count of experts."""
    counts = []
    for count in (4, 8):
        model = checkpoint(tmp_path, config_of("mixtral", num_local_experts=count))
        program = compile_decoder(model, INT8, cache=CACHE)
        starts = [step for step in program.steps if isinstance(step, Start)]
        counts.append(sum(one.macs for one in starts))
    assert counts[0] == counts[1]


def test_of_equal_scores_the_first_experts_come() -> None:
    router = np.zeros((40, 8), np.int64)
    router[[1, 3]] = 7
    experts = Experts(router=router, scales=np.ones(40), used=3, renormalised=True, each=({},) * 40)
    h = np.abs(np.random.default_rng(1).normal(0, 0.02, (4, 8)))
    found, shares = routed(experts, h, GOLDEN)
    assert (found == [1, 3, 0]).all()
    assert (shares[:, 0] == shares[:, 1]).all()
    assert np.allclose(shares.sum(axis=1), 1)
    assert (routed(replace(experts, renormalised=False), h, GOLDEN)[1].sum(axis=1) < 1).all()


def test_equal_routers_are_chosen_alike(tmp_path: Path) -> None:
    """Ties in a program: all scores are equal, the first experts come."""
    model = checkpoint(tmp_path, config_of("mixtral"))
    layers = []
    for layer in model.layers:
        assert layer.experts is not None
        router = np.repeat(layer.experts.router[:1], 4, axis=0)
        scales = np.repeat(layer.experts.scales[:1], 4)
        layers.append(replace(layer, experts=replace(layer.experts, router=router, scales=scales)))
    model = replace(model, layers=layers)
    program = compile_decoder(model, INT8, cache=CACHE)
    memory, runner = runners.on_golden(program)
    made = ProgramDecoder(program, memory, runner, CACHE).step(TEXT[:3])
    assert np.array_equal(made, expected(model)[:3])
    assert chosen(model, program, memory) == [0, 1, 0, 1]


def test_a_choice_is_a_step_that_writes_a_value(tmp_path: Path) -> None:
    program = compile_decoder(checkpoint(tmp_path, config_of("mixtral")), INT8, cache=CACHE)
    values = {one.address for one in program.parameters if "expert" in one.name}
    writes = {step.operands["out"].address for step in program.steps if isinstance(step, Floats)}
    assert values <= writes


def test_experts_that_are_not_alike_are_refused(tmp_path: Path) -> None:
    model = checkpoint(tmp_path, config_of("mixtral"))
    first = model.layers[0]
    assert first.experts is not None
    other = {**first.experts.each[1], "ffn_up": first.experts.each[1]["ffn_down"]}
    each = (first.experts.each[0], other, *first.experts.each[2:])
    layer = replace(first, experts=replace(first.experts, each=each))
    with pytest.raises(ValueError, match="experts must be alike"):
        compile_decoder(replace(model, layers=[layer, *model.layers[1:]]), INT8, cache=CACHE)

"""Programs of decoders that attend in one pass: golden's, to the last bit, on all runners."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.decoder.one_pass import BLOCK
from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.lowered.heads import ONE_PASS
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.program import Program
from carrysave.compiler.run import network
from carrysave.compiler.run.network import Runner, by_golden
from carrysave.compiler.run.sample import Sample
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError, UsageError
from verif.compiler import runners
from verif.language.test_chat import write
from verif.language.test_one_pass_decoder import CACHE, TOKENS, family, golden
from verif.language.test_one_pass_decoder import model as model
from verif.language.test_one_pass_decoder import wanted as wanted
from verif.soc.driver.conftest import library as library
from verif.support.command import Run

ENGINE = {"engine": "systolic_os(m=4,n=4)"}
On = Callable[[Program], tuple[np.ndarray, Runner]]


def target(cache: int = CACHE, **parameters: str) -> Target:
    return Target(block_of(ENGINE | parameters, cache, ONE_PASS))


def stepped(program: Program, on: On) -> np.ndarray:
    return ProgramDecoder(program, *on(program), CACHE).step(TOKENS)


def attention_numbers(program: Program) -> int:
    steps = (one for one in program.steps if isinstance(one, Floats))
    return sum(one.numbers for one in steps if one.operator == "Attention")


@pytest.mark.prove
@pytest.mark.parametrize(
    ("kind", "changes"),
    [("gemma2", {"sliding_window": 3}), ("qwen3", {}), ("granite", {}), ("phi3", {})],
)
def test_programs_of_families_are_golden(
    kind: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    """Several heads of keys, sides of 16 numbers, caps, factors that are no powers of two.

    And windows that hide whole blocks.
    """
    model = family(kind, tmp_path, num_attention_heads=4, num_key_value_heads=2, **changes)
    program = compile_decoder(model, target(), cache=CACHE)
    made = stepped(program, runners.on_golden)
    assert np.array_equal(made, golden(model))
    assert len(np.unique(made.argmax(axis=1))) > 1


def test_a_program_is_golden_and_has_fewer_numbers(model: Model, wanted: np.ndarray) -> None:
    """Of a text after another; a processor's numbers grow with keys by one for each head."""
    program = compile_decoder(model, target(), cache=CACHE)
    memory, runner = runners.on_golden(program)
    # Keys, values and scores of the text before are seen by none.
    for tokens in (TOKENS[-20:], TOKENS):
        made = ProgramDecoder(program, memory, runner, CACHE).step(tokens)
    assert np.array_equal(made, wanted)
    before = compile_decoder(model, Target(block_of(ENGINE, CACHE)), cache=CACHE)
    assert attention_numbers(program) < attention_numbers(before)
    heads = model.shape.layers * model.shape.heads
    more = compile_decoder(model, target(CACHE + BLOCK), cache=CACHE + 20)
    # 20 keys more are no block more.
    assert attention_numbers(more) - attention_numbers(program) == 20 * heads


@pytest.mark.sample(1)
@pytest.mark.parametrize(("runner", "ring"), [("driver", "true"), ("c", "true"), ("c", "false")])
def test_runners_attend_in_one_pass(
    runner: str, ring: str, library: Any, model: Model, wanted: np.ndarray
) -> None:
    """Lengths of jobs, and addresses of exponents, move with blocks, in words and descriptors."""
    program = compile_decoder(model, target(ring=ring), cache=CACHE)
    on = {"driver": runners.on_driver, "c": runners.on_c(library)}[runner]
    assert np.array_equal(stepped(program, on), wanted)


@pytest.mark.prove
def test_all_jobs_are_golden_on_the_block(model: Model, tmp_path: Path) -> None:
    """Of tokens in two blocks of keys, on the simulated block."""
    program = compile_decoder(model, target(data_width="64"), cache=CACHE)
    memory = program.memory.copy()
    sample = Sample(program, every=True, seed=0, folder=tmp_path)
    decoder = ProgramDecoder(program, memory, by_golden(program, memory), CACHE)
    decoder.step(TOKENS[:33])
    decoder._run = partial(
        network.run, program, {}, memory, lambda one: sample.execute(memory, one.start)
    )
    made = decoder.step(TOKENS[33:34])
    assert np.array_equal(made, golden(model)[33:34])
    sample.run()
    assert sample.facts()["wrong"] == {}


def test_commands_attend_in_one_pass(run: Run, tmp_path: Path) -> None:
    """A program answers as the model's file does; what a network's flags are stays refused."""
    write(tmp_path / "m.gguf", matrices="Q4_0")
    block = ("-p", "engine=systolic_os(m=4,n=4)", "-p", "group_scales=fp16", "--cache", "12")
    one_pass, chat = ("--attention", ONE_PASS), ("--prompt", "hello", "--tokens", "4", "--json")
    made = run("compile", "m.gguf", *block, *one_pass, "-o", "out", "--json")
    assert made.code == 0, made.err
    numbers = [
        sum(node["numbers"] for node in json.loads(done.out)["nodes"])
        for done in (made, run("estimate", "m.gguf", *block, "--json"))
    ]
    assert numbers[0] < numbers[1]
    same = run("estimate", "m.gguf", *block, *one_pass, "--json")
    assert json.loads(same.out)["cycles"] == json.loads(made.out)["cycles"]
    answers = [
        json.loads(run("chat", model, *chat, *more).out)["text"]
        for model, more in (("out/compile/m", ()), ("m.gguf", (*one_pass, "--cache", "12")))
    ]
    assert answers[0] == answers[1]
    for arguments, says in (
        (("chat", "out/compile/m", *chat, *one_pass), "must be left out: the program is compiled"),
        (("compile", "m.gguf", *block, "--attention", "rows"), "one of auto, host, one-pass"),
        (("compile", "m.gguf", *block, *one_pass, "--batch", "2"), "must be left out of m.gguf"),
        (("estimate", "adder_tree", *one_pass), "are for a model's file"),
    ):
        done = run(*arguments)
        assert done.code == 2
        assert says in " ".join(done.err.split())


def test_what_is_refused(model: Model, tmp_path: Path) -> None:
    """By name, with what there is."""
    with pytest.raises(ValueError, match=r"attention must be host with a cache of 4 bits"):
        compile_decoder(model, target(), cache=CACHE, bits=4)
    with pytest.raises(ValueError, match=r"code_bytes must be 2 and group_scales fp16 .* none"):
        compile_decoder(model, target(group_scales="none"), cache=CACHE)
    with pytest.raises(ValueError, match=r"engine must have B of int8 .* not 4 bits"):
        compile_decoder(model, target(engine="systolic_os(m=4,n=4,b_width=4)"), cache=CACHE)
    narrow = target(70, engine="systolic_os(m=2,n=4,k_max=64)")
    longer = replace(model, shape=replace(model.shape, context=99))
    with pytest.raises(ValueError, match=r"K must be 1\.\.64, .* not 66"):
        compile_decoder(longer, narrow, cache=66)
    with pytest.raises(UsageError, match="one pass takes values of rows that are normed"):
        decoder_of(family("olmo2", tmp_path), cache=4, bits=None, attention=ONE_PASS)
    with pytest.raises(ArgumentError, match="attention of one pass needs kv of 8 bits"):
        ChatOptions(attention=ONE_PASS, kv=4).check()
    with pytest.raises(UsageError, match="attention must be one of host, one-pass, not 'rows'"):
        ChatOptions(attention="rows").check()

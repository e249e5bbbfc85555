"""Decoders that attend in one pass: near floats, and their programs golden's, to the last bit."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.chat_options import ChatOptions
from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.decoder.one_pass import (
    BLOCK,
    LEAST,
    MOST,
    OnePassDecoder,
    digits_of,
    one_pass_unit,
    score_scale,
    side_of,
    value_power,
)
from carrysave.compiler.decoder.recurrent import decoder_of
from carrysave.compiler.front.checkpoint import load_checkpoint
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.compiler.lowered.heads import ONE_PASS
from carrysave.compiler.program.floats import Floats
from carrysave.compiler.program.program import Program
from carrysave.compiler.run import network
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.run.sample import Sample
from carrysave.compiler.target.target import Target
from carrysave.errors import ArgumentError, UsageError
from carrysave.weights.gguf import read_gguf
from golden.npe.exps import exps
from verif.compiler import runners
from verif.language.reference_decoder import logits
from verif.language.test_chat import write
from verif.language.test_families import TEXT, error
from verif.language.tiny_models import config_of, weights_of, write_checkpoint
from verif.soc.driver.conftest import library as library
from verif.support.command import Run

ENGINE = {"engine": "systolic_os(m=4,n=4)"}
CACHE = 40
TOKENS = np.arange(36) * 5 % 7
"""More than a block of keys."""
POWER = -9
"""Of values."""


def target(cache: int = CACHE, **parameters: str) -> Target:
    return Target(block_of(ENGINE | parameters, cache, ONE_PASS))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("model")
    return load(read_gguf(write(folder / "m.gguf", matrices="Q4_0")))


def family(kind: str, folder: Path, **changes: Any) -> Model:
    config = config_of(kind, **changes)
    return load_checkpoint(write_checkpoint(folder / kind, config, weights_of(config)), 8)[0]


def golden(model: Model, tokens: np.ndarray = TOKENS, cache: int = CACHE) -> np.ndarray:
    """Return logits, of tokens one by one."""
    decoder = OnePassDecoder(model, cache=cache)
    return np.concatenate([decoder.step(tokens[at : at + 1]) for at in range(len(tokens))])


def run(program: Program, on: Any, tokens: np.ndarray = TOKENS, cache: int = CACHE) -> np.ndarray:
    return ProgramDecoder(program, *on(program), cache).step(tokens)


def attention_numbers(program: Program) -> int:
    steps = (one for one in program.steps if isinstance(one, Floats))
    return sum(one.numbers for one in steps if one.operator == "Attention")


def test_rows_together_are_rows_one_by_one(model: Model) -> None:
    """Whatever is computed at a time: a row has no blocks of keys behind its own."""
    one = golden(model)
    assert np.array_equal(OnePassDecoder(model, cache=CACHE).step(TOKENS), one)
    decoder = OnePassDecoder(model, cache=CACHE)
    parts = [decoder.step(part) for part in np.split(TOKENS, [3, 30])]
    assert np.array_equal(np.concatenate(parts), one)


def test_it_goes_on_where_it_stopped(model: Model) -> None:
    first, then = OnePassDecoder(model, cache=CACHE), OnePassDecoder(model, cache=CACHE)
    first.step(TOKENS[:34])
    then.restore(34, {name: one.astype(np.float64) for name, one in first.state().items()})
    assert np.array_equal(then.step(TOKENS[34:]), golden(model)[34:])


@pytest.mark.parametrize("spread", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("keys", [1, 31, 33, 256, 5000])
def test_sums_are_near_a_softmax_of_floats(keys: int, spread: float, model: Model) -> None:
    """Of scores of a deviation, against float64: as near for many blocks as for one."""
    decoder, (rng, size) = OnePassDecoder(model, cache=64), (np.random.default_rng(keys), 32)
    decoder._unit = one_pass_unit(keys)
    shift = score_scale(model).shift
    scores = rng.normal(0, spread, (1, 2, 1, keys)).astype(np.float32)
    values = rng.normal(0, 1, (1, keys, size)).astype(np.float32)
    digits = np.concatenate(digits_of(values, POWER), axis=-1)[None, None]
    decoder._digits = np.repeat(digits, model.shape.layers, axis=0).astype(np.int8)
    shares = decoder._exps(model.layers[0], np.ldexp(scores, -shift), np.array([keys - 1]))
    sums, ones = decoder._added_up(0, shares)
    weights = np.exp(scores[0, :, 0].astype(np.float64))
    right = weights / weights.sum(axis=1, keepdims=True) @ values[0].astype(np.float64)
    made = np.ldexp(sums / ones, POWER)[0, :, 0]
    assert error(made, right) < 0.03


def test_values_are_of_two_digits() -> None:
    """All of 15 bits; both digits have a sign, and what is beyond is the greatest."""
    values = np.ldexp(np.arange(-127 * 129, 127 * 129 + 1), POWER)
    high, low = digits_of(values, POWER)
    assert np.array_equal(np.ldexp(128 * high + low, POWER)[127:-127], values[127:-127])
    assert max(abs(high).max(), abs(low).max()) <= 127
    assert [int(one[0]) for one in digits_of(np.array([1e9]), POWER)] == [127, 127]


def test_no_value_is_beyond_its_digits(model: Model, tmp_path: Path) -> None:
    """Rows that are as those of the matrix they make the greatest values."""
    for one in (model, family("qwen2", tmp_path)):
        layer = one.layers[0]
        matrix, gain = layer.matrices["attn_v"], layer.attention_gain
        assert gain is not None
        rows = matrix.floats(np.arange(matrix.shape[2])) * gain
        decoder = OnePassDecoder(one, cache=4)
        signs = np.sign(layer.biases.get("attn_v", np.ones(len(rows))))[:, None]
        normed = decoder._normed(rows * signs, gain)
        (values,) = decoder._products(layer, normed, "attn_v")
        most = np.abs(values).max()
        limit = 2.0 ** value_power(one, layer) * 127 * 128
        assert limit / 8 < most < limit


def test_shares_of_the_least_scores_are_floats() -> None:
    """No exponent is that of no number, and sums of all keys are below the greatest float."""
    unit = one_pass_unit(1 << 17)
    made = exps(unit, np.array([[LEAST], [MOST]]))
    least, most = made.exponents[:, 0].tolist()
    assert least >= -126
    bits = np.log2(127.0 * 127 * 128 * (1 << 17)) + most
    assert bits < 127
    assert side_of(48) == 16
    assert side_of(128) == BLOCK


@pytest.mark.parametrize(
    ("kind", "changes"),
    [("llama", {}), ("gemma2", {"sliding_window": 8}), ("qwen3", {}), ("granite", {})],
)
def test_families_are_near_floats(kind: str, changes: dict[str, Any], tmp_path: Path) -> None:
    """Of a reference that knows nothing of carrysave: windows, caps, norms of heads, factors."""
    config = config_of(kind, **changes)
    weights = weights_of(config)
    model = family(kind, tmp_path, **changes)
    made = OnePassDecoder(model, cache=32).step(TEXT)
    assert error(made, logits(config, weights, TEXT)) < 0.03


@pytest.mark.parametrize(
    ("kind", "changes"),
    [("gemma2", {"sliding_window": 5}), ("qwen3", {}), ("granite", {}), ("phi3", {})],
)
def test_programs_of_families_are_golden(
    kind: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    """Sides of 16 numbers of a key, windows and caps, factors that are no powers of two."""
    model = family(kind, tmp_path, **changes)
    program = compile_decoder(model, target(), cache=CACHE)
    made = run(program, runners.on_golden)
    assert np.array_equal(made, golden(model))
    assert len(np.unique(made.argmax(axis=1))) > 1


def test_a_program_is_golden_and_has_fewer_numbers(model: Model) -> None:
    """Numbers of a processor grow with keys by one for each head, and of the rest not at all."""
    program = compile_decoder(model, target(), cache=CACHE)
    assert np.array_equal(run(program, runners.on_golden), golden(model))
    before = compile_decoder(model, Target(block_of(ENGINE, CACHE)), cache=CACHE)
    assert attention_numbers(program) < attention_numbers(before)
    heads = model.shape.layers * model.shape.heads
    more = compile_decoder(model, target(CACHE + BLOCK), cache=CACHE + 20)
    # 20 keys more are no block more.
    assert attention_numbers(more) - attention_numbers(program) == 20 * heads


@pytest.mark.parametrize(("runner", "ring"), [("driver", "true"), ("c", "true"), ("c", "false")])
def test_runners_attend_in_one_pass(runner: str, ring: str, library: Any, model: Model) -> None:
    """Lengths of jobs, and addresses of exponents, move with blocks, in words and descriptors."""
    program = compile_decoder(model, target(ring=ring), cache=CACHE)
    on = {"driver": runners.on_driver, "c": runners.on_c(library)}[runner]
    assert np.array_equal(run(program, on), golden(model))


def test_a_text_after_another_is_as_alone(model: Model) -> None:
    """Keys, values and scores of the text before are seen by none."""
    program = compile_decoder(model, target(), cache=CACHE)
    memory, runner = runners.on_golden(program)
    ProgramDecoder(program, memory, runner, CACHE).step(TOKENS[::-1])
    again = ProgramDecoder(program, memory, runner, CACHE).step(TOKENS)
    assert np.array_equal(again, golden(model))


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

"""Contexts of more than 4,096 tokens: golden near floats, programs golden's, up to a file's own."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.decoder.units import VECTOR, probabilities, unit_for
from carrysave.compiler.front.decoder import MOST_TOKENS, Model
from carrysave.compiler.front.gguf import load
from carrysave.compiler.target.target import Target
from carrysave.weights.gguf import read_gguf
from golden.npe.vector import softmax
from verif.compiler import runners
from verif.language.test_chat import TOKENS, floats, write
from verif.soc.driver.conftest import library as library
from verif.support.command import Run

LONG = 4_160
CONTEXT = {"llama.context_length": 8192}


@cache
def _long(folder: Path) -> Path:
    return write(folder / "m.gguf", CONTEXT)


@pytest.mark.prove
def test_logits_behind_4096_tokens_are_near_floats(tmp_path: Path) -> None:
    """Of the last tokens, whose queries see more than 4,096 keys, against doubles."""
    path = _long(tmp_path)
    tokens = np.random.default_rng(4).integers(0, len(TOKENS), 4_097 + 3)
    wanted = floats(path, tokens)
    decoder = Decoder(load(read_gguf(path)), cache=LONG)
    for start in range(0, 4_096, 512):
        decoder.step(tokens[start : start + 512], last=True)
    made = decoder.step(tokens[4_096:])
    error = np.sqrt(np.square(made - wanted[4_096:]).mean() / np.square(wanted).mean())
    assert error < 0.03
    # Without what came before, they are others.
    alone = Decoder(load(read_gguf(path)), cache=LONG).step(tokens[4_096:])
    assert np.sqrt(np.square(alone - wanted[4_096:]).mean() / np.square(wanted).mean()) > 0.1


def behind(model: Model, length: int, cache: int) -> Decoder:
    """Return a decoder that has had tokens whose keys and values are zero."""
    decoder = Decoder(model, cache=cache)
    state = {name: np.zeros_like(array) for name, array in decoder.left(length).items()}
    decoder.restore(length, state | {"steps": np.ones_like(state["steps"])})
    return decoder


@pytest.mark.parametrize("runner", ["golden", "c"])
def test_programs_of_long_contexts_are_goldens(runner: str, library: Any, tmp_path: Path) -> None:
    """At 4,095 tokens, and beyond: places of the cache, rows of scores, and sums over them."""
    model = load(read_gguf(_long(tmp_path)))
    target = Target(block_of({"engine": "systolic_os(m=2,n=8)"}, LONG))
    program = compile_decoder(model, target, cache=LONG)
    on = {"golden": runners.on_golden, "c": runners.on_c(library)}[runner]
    for length in (4_095, LONG - 2):
        own, decoder = ProgramDecoder(program, *on(program), LONG), behind(model, length, LONG)
        own.length = length
        tokens = np.array([1, 7])
        assert np.array_equal(own.step(tokens), decoder.step(tokens))


def test_a_shorter_vector_unit_is_refused(tmp_path: Path) -> None:
    model = load(read_gguf(_long(tmp_path)))
    target = Target(block_of({"engine": "systolic_os(m=2,n=8)"}))
    with pytest.raises(ValueError, match=r"vector must be vector_unit\(.*length=8192"):
        compile_decoder(model, target, cache=LONG)


@pytest.mark.parametrize("tokens", [1, 4_096, 4_097, 40_960, MOST_TOKENS])
def test_shares_of_long_rows_sum_to_one(tokens: int) -> None:
    """Equal ones, and those of a few among many, within the unit's bound."""
    unit, rng = unit_for(tokens), np.random.default_rng(tokens)
    assert VECTOR.length <= unit.length < max(2 * tokens, VECTOR.length + 1)
    scores = np.stack([np.zeros(tokens), rng.normal(0, 3, tokens)])
    made = probabilities(scores, tokens)
    assert np.abs(made.sum(axis=1) - 1).max() <= unit.sum_error
    wanted = np.exp(scores - scores.max(axis=1, keepdims=True))
    wanted /= wanted.sum(axis=1, keepdims=True)
    # The unit's exponential is of straight pieces between powers of two.
    assert (np.abs(made - wanted) <= wanted / 14 + 2.0**-13).all()
    codes, _ = softmax(unit, np.zeros((1, tokens), np.int64))
    assert codes.min() >= 0


def test_the_context_is_the_files(tmp_path: Path, run: Run) -> None:
    """8,192 tokens of this one; a longer cache is cut to it."""
    path = _long(tmp_path)
    line = ("--prompt", "hell", "--tokens", "1", "--cache", "100000")
    code, _, err = run("chat", str(path), *line)
    assert code == 0, err
    assert "keys and values of 8,192 tokens; context 8,192" in " ".join(err.split())

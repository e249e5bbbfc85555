"""Weights of language models in tables: rounded, as programs of a block with NF4, and by chat."""

import json
from pathlib import Path

import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.compile import ProgramDecoder, compile_decoder, core_block
from carrysave.compiler.decoder.folder import load_model
from carrysave.compiler.decoder.summary import summary
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load_rounded
from carrysave.compiler.program.steps import Start
from carrysave.compiler.run.network import by_golden
from carrysave.compiler.target.target import Target
from carrysave.weights.gguf import read_gguf
from carrysave.weights.grouped import error_of, rounded_weights
from carrysave.weights.tables import BOOKS
from golden.lut.expander import NF4
from verif.language.tiny_gguf import write_gguf
from verif.language.tiny_models import config_of, weights_of
from verif.support.command import Run


def tiny(folder: Path, kind: str = "F32") -> Path:
    config = config_of("llama")
    return write_gguf(folder / "m.gguf", config, weights_of(config, quantised="F32"), kind)


def model_of(path: Path, bits: int | str) -> Model:
    return load_rounded(read_gguf(path), bits)[0]


@pytest.mark.parametrize("book", BOOKS)
def test_weights_are_the_nearest_numbers_of_a_table(book: str) -> None:
    """In every group, of 127 parts of its greatest magnitude; clusters are few."""
    values = np.random.default_rng(1).normal(size=(24, 96)).astype(np.float32)
    made = rounded_weights(values, bits=book, group=32)
    table = np.unique(made.integers)
    assert len(table) <= BOOKS[book].entries
    steps = np.repeat(made.scale_values().to_odd(), 32, axis=0)
    known = np.array(NF4) if book == "nf4" else table
    units = values.T / steps
    apart = np.abs(units[..., None] - known)
    assert np.array_equal(np.abs(units - made.integers), apart.min(axis=-1))
    error = error_of(made, values)
    four = error_of(rounded_weights(values, bits=4, group=32), values)
    assert error < four if BOOKS[book].entries == 16 else four < error < 0.5
    # What are trits, of bits, are numbers of a table here, too.
    signs = rounded_weights(np.sign(values), bits=book, group=32)
    assert (signs.levels, signs.bits) == ("uniform", 8)


def test_program_has_codes_of_nf4(tmp_path: Path) -> None:
    """Golden's decoder, bit by bit; half of the bytes of weights; other weights are refused."""
    path = tiny(tmp_path)
    model, tokens = model_of(path, "nf4"), np.array([1, 3, 2])
    sizes = []
    for weights in ("nf4", 8):
        target = Target(core_block("int8", {}, weights=weights))
        assert target.mode.expander.name == ("nf4" if weights == "nf4" else "none")
        program = compile_decoder(model, target, cache=8)
        memory = program.memory
        decoder = ProgramDecoder(program, memory, by_golden(program, memory), 8)
        assert np.array_equal(decoder.step(tokens), Decoder(model, cache=8).step(tokens))
        sizes.append(len(memory))
    count = sum(one.integers.size for one in model.matrices())
    assert sizes[1] - sizes[0] == pytest.approx(count / 2, rel=0.02)
    assert any(isinstance(step, Start) for step in program.steps)
    with pytest.raises(ValueError, match="weights must be numbers of nf4, to which floats alone"):
        compile_decoder(model_of(path, 8), Target(core_block("int8", {"codebook": "nf4"})), cache=8)
    given = {"engine": "systolic_os(m=2,n=16)"}
    assert Target(core_block("int8", given, weights="nf4")).mode.expander.name == "none"


@pytest.mark.parametrize(
    ("weights", "bits"),
    [
        *[(8, 8), ("nf4", 4), ("kmeans:16", 4), ("mirrored:16", 4), ("kmeans:8", 4)],
        *[("kmeans:4", 2), (4, 4), (3, 3)],
    ],
)
def test_summary_counts_codes_of_a_table(tmp_path: Path, weights: int | str, bits: int) -> None:
    """Those of 3 bits are 21 in 64, two words of a group of 32."""
    found = summary(load_model(tiny(tmp_path), weights), 32, 8)
    assert found["weight_bytes"] == found["weights"] * bits // 8 + found["weights"] // 32 * 2


def test_chat_and_compile_take_tables(run: Run, tmp_path: Path) -> None:
    tiny(tmp_path)
    chat = ("chat", "m.gguf", "--prompt", "hello", "--tokens", "2", "--cache", "8", "--json")
    found = run(*chat, "--weights", "nf4")
    assert found.code == 0, found.err
    facts = json.loads(found.out)
    eight = json.loads(run(*chat).out)["model"]
    assert facts["model"]["weight_bytes"] < 0.6 * eight["weight_bytes"]
    (rounded,) = facts["model"]["rounded"]
    assert 0.05 < rounded["error"] < 0.15
    wrong = run(*chat, "--weights", "nf3")
    assert wrong.code == 2
    assert f"--weights must be 2..8 bits, or one of {', '.join(BOOKS)}, not nf3" in wrong.err
    block = ("-p", "engine=systolic_os(m=2,n=16)", "-p", "codebook=nf4")
    done = run("compile", "m.gguf", *block, "--cache", "8")
    assert done.code == 0, done.err
    again = run("chat", "build/compile/m", *chat[2:])
    assert json.loads(again.out)["text"] == facts["text"]


@pytest.mark.prove
def test_chat_of_nf4_on_the_block(run: Run, tmp_path: Path) -> None:
    tiny(tmp_path)
    chat = ("chat", "m.gguf", "--prompt", "hello", "--tokens", "2", "--cache", "8", "--json")
    how = ("--weights", "nf4", "--core", "int8", "--simulate", "sample")
    found = run(*chat, *how)
    assert found.code == 0, found.err
    facts = json.loads(found.out)
    assert facts["simulation"]["design"] == core_block("int8", {}, weights="nf4").module
    assert facts["simulation"]["wrong"] == {}

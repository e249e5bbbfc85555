"""Programs of decoders of all families: bit by bit what golden's decoder is, on all runners."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.compile import ProgramDecoder, block_of, compile_decoder
from carrysave.compiler.decoder.units import GOLDEN, Units
from carrysave.compiler.front.checkpoint import load_checkpoint
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load_rounded
from carrysave.compiler.target.target import Target
from carrysave.errors import UsageError
from carrysave.weights.gguf import read_gguf
from scripts.language.float_units import FLOATS
from verif.compiler import runners
from verif.language.family_cells import YARN
from verif.language.reference_decoder import logits
from verif.language.test_families import TEXT, error
from verif.language.tiny_gguf import write_gguf
from verif.language.tiny_models import config_of, weights_of, write_checkpoint
from verif.soc.driver.conftest import library as library
from verif.weights.test_ggml_kinds import blocks

TARGET = Target(block_of({"engine": "systolic_os(m=4,n=4)"}))
CACHE = 12


def checkpoint(folder: Path, config: dict[str, Any]) -> Model:
    """Write a model with random weights, and read it."""
    return load_checkpoint(write_checkpoint(folder / "m", config, weights_of(config)), 8)[0]


PROGRAMS: list[tuple[str, int, dict[str, Any]]] = [
    ("mistral", 4, {"sliding_window": 5}),
    ("qwen2", 8, YARN),
    ("qwen3", 8, {}),
    ("gemma2", 4, {"sliding_window": 5}),
    ("gemma2", 8, {"sliding_window": 5}),
    ("gemma3_text", 8, {"sliding_window": 5}),
    ("phi3", 8, {}),
    ("smollm3", 4, {}),
    ("granite", 8, {}),
    ("olmo2", 8, {}),
    ("bitnet", 8, {}),
]


def stepped(model: Model, bits: int) -> np.ndarray:
    """Return logits of the first tokens, each by each."""
    decoder = Decoder(model, cache=CACHE, bits=bits, units=GOLDEN)
    return np.concatenate([decoder.step(TEXT[at : at + 1]) for at in range(CACHE)])


@pytest.mark.sample(4)
@pytest.mark.parametrize(("kind", "bits", "changes"), PROGRAMS, ids=lambda one: str(one)[:20])
def test_program_is_the_decoder(
    kind: str, bits: int, changes: dict[str, Any], tmp_path: Path
) -> None:
    """Bit by bit, of each token."""
    config = config_of(kind, **changes)
    model = checkpoint(tmp_path, config)
    program = compile_decoder(model, TARGET, cache=CACHE, bits=bits)
    own = ProgramDecoder(program, *runners.on_golden(program), CACHE)
    expected = stepped(model, bits)
    assert np.array_equal(own.step(TEXT[:CACHE]), expected)
    assert len(np.unique(expected.argmax(axis=1))) > 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("runner", ["driver", "c"])
def test_runners_have_windows_and_caps(runner: str, library: Any, tmp_path: Path) -> None:
    """Addresses that go back with the position, too."""
    config = config_of("gemma2", sliding_window=3)
    model = checkpoint(tmp_path, config)
    program = compile_decoder(model, TARGET, cache=CACHE, bits=8)
    on = {"driver": runners.on_driver, "c": runners.on_c(library)}[runner]
    own = ProgramDecoder(program, *on(program), CACHE)
    assert np.array_equal(own.step(TEXT[:7]), stepped(model, 8)[:7])


def test_programs_that_are_refused(tmp_path: Path) -> None:
    config = config_of("qwen3")
    model = checkpoint(tmp_path, config)
    with pytest.raises(
        ValueError, match=r"heads must be of 32, 64, .* for a cache of 4 bits, not 48"
    ):
        compile_decoder(model, TARGET, cache=CACHE, bits=4)
    with pytest.raises(
        UsageError, match=r"heads must be of 32, 64, .* for a cache of 4 bits, not 48"
    ):
        Decoder(model, cache=CACHE, bits=4)


def one_by_one(model: Model, units: Units) -> np.ndarray:
    decoder = Decoder(model, cache=32, units=units)
    return np.concatenate([decoder.step(one) for one in np.split(TEXT, [5, 6, 7, 15])])


@pytest.mark.parametrize("kind", ["gemma2", "mixtral", "qwen3"])
def test_tokens_come_in_any_parts(kind: str, tmp_path: Path) -> None:
    config = config_of(kind)
    model = checkpoint(tmp_path, config)
    whole = Decoder(model, cache=32, units=FLOATS).step(TEXT)
    assert error(one_by_one(model, FLOATS), whole) < 1e-6
    assert np.array_equal(one_by_one(model, GOLDEN), Decoder(model, cache=32).step(TEXT))


def test_mixed_blocks_of_256(tmp_path: Path) -> None:
    """As in files of "Q4_K_M": values and the last matrix have more bits, in smaller groups."""
    config = config_of(
        "llama",
        hidden_size=256,
        intermediate_size=256,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
    )
    weights, stored = weights_of(config), {}
    for number, (name, values) in enumerate(weights.items()):
        if "_proj" in name:
            kind = "Q6_K" if "v_proj" in name or "down" in name else "Q4_K"
            most = 3e-5 if kind == "Q6_K" else 6e-5
            data = blocks(kind, number, values.shape, most).reshape(len(values), -1)
            stored[name] = kind, data
            weights[name] = dequantize(data, gguf.GGMLQuantizationType[kind])
    path = write_gguf(tmp_path / "m.gguf", config, weights, blocks=stored)
    model, rounded = load_rounded(read_gguf(path), 8)
    assert {kind: count for kind, (count, _) in rounded.items()} == {
        "Q4_K": 5,
        "Q6_K": 2,
        "Q8_0": 1,
    }
    groups = {name: one.group for name, one in model.layers[0].matrices.items()}
    assert (groups["attn_q"], groups["attn_v"]) == (32, 16)
    wanted = logits(config, weights, TEXT)
    assert error(Decoder(model, cache=32, units=FLOATS).step(TEXT), wanted) < 1e-3
    assert error(Decoder(model, cache=32).step(TEXT), wanted) < 0.03
    program = compile_decoder(model, TARGET, cache=CACHE, bits=8)
    own = ProgramDecoder(program, *runners.on_golden(program), CACHE)
    assert np.array_equal(own.step(TEXT[:3]), stepped(model, 8)[:3])

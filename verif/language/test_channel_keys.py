"""Keys of 4 bits with a step for each channel of 32 tokens, and the last tokens of 8 bits."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.attention_channels import ChannelDecoder
from carrysave.compiler.decoder.units import GOLDEN, Cached
from carrysave.compiler.front.decoder import Model
from carrysave.compiler.front.gguf import load
from carrysave.weights.gguf import read_gguf
from scripts.language.float_units import FLOATS
from verif.language.test_chat import TOKENS, write
from verif.support.command import Run

TEXT = np.random.default_rng(1).integers(0, len(TOKENS), 150)
CONTEXT = {"llama.context_length": 256}


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return load(read_gguf(write(tmp_path / "m.gguf", CONTEXT)))


def error(found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.sqrt(np.square(found - wanted).mean() / np.square(wanted).mean()))


def test_the_first_group_has_8_bits(model: Model) -> None:
    """Up to 32 tokens logits are those of a cache of 8 bits; then they are others, but near."""
    eight = Decoder(model, cache=150).step(TEXT)
    four = ChannelDecoder(model, cache=150).step(TEXT)
    assert np.array_equal(four[:32], eight[:32])
    assert 1e-4 < error(four[32:], eight[32:]) < 0.04


def test_groups_are_those_of_positions(model: Model) -> None:
    """However a text is cut into steps, and behind a chat that was left."""
    whole = ChannelDecoder(model, cache=150).step(TEXT)
    parts = ChannelDecoder(model, cache=150)
    cuts = [0, 1, 31, 33, 40, 97, 128, 149, 150]
    made = [parts.step(TEXT[a:b]) for a, b in pairwise(cuts)]
    assert np.array_equal(np.concatenate(made), whole)
    left, other = ChannelDecoder(model, cache=150), ChannelDecoder(model, cache=150)
    left.step(TEXT[:70])
    other.step(TEXT[::-1][:100])
    other.restore(70, left.state())
    assert np.array_equal(other.step(TEXT[70:]), whole[70:])


def test_in_floats_it_is_the_decoder(model: Model) -> None:
    """Where nothing is rounded, groups change nothing: queries times steps, offsets, and sums."""
    wanted = Decoder(model, cache=150, units=FLOATS).step(TEXT)
    assert error(ChannelDecoder(model, cache=150, units=FLOATS).step(TEXT), wanted) < 1e-6


def test_channels_that_stand_out_cost_less(model: Model) -> None:
    """A bias makes two channels of keys large, for all tokens alike."""
    bias = np.zeros(32, np.float32)
    bias[[3, 20]] = 60, -45
    for layer in model.layers:
        layer.biases["attn_k"] = bias
    exact = Decoder(model, cache=150, units=FLOATS).step(TEXT)
    channels = error(ChannelDecoder(model, cache=150).step(TEXT), exact)
    tokens = error(Decoder(model, cache=150, bits=4).step(TEXT), exact)
    assert channels < 0.8 * tokens


def test_full_groups_have_4_bits(model: Model) -> None:
    """Keys of 32 tokens by channels, values by 32 channels; and nothing before a group is full."""
    asked: list[tuple[int, tuple[int, ...]]] = []

    def cached(x: np.ndarray, bits: int, block: int) -> Cached:
        made = GOLDEN.cached(x, bits, block)
        if bits == 4:
            asked.append((block, x.shape))
            assert 0 <= made[0].min() <= made[0].max() == 15
        return made

    decoder = ChannelDecoder(model, cache=150, units=replace(GOLDEN, cached=cached))
    decoder.step(TEXT[:31])
    assert not asked
    decoder.step(TEXT[31:70])
    heads = model.shape.shared
    each = [(32, (heads, model.shape.head, 32)), (32, (heads, 32, model.shape.head))]
    assert asked == each * 2 * model.shape.layers


def test_options_are_checked(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path / "m.gguf")
    line = ("chat", str(path), "--prompt", "hell", "--tokens", "3", "--keys", "channels")
    for more, says in (
        ((), "--keys of channels needs --kv of 4 bits"),
        (("--kv", "8"), "--keys of channels needs --kv of 4 bits"),
        (("--kv", "4", "--simulate", "all"), "--keys must be tokens with --simulate"),
    ):
        code, _, err = run(*line, *more)
        assert code == 2
        assert says in " ".join(err.split())
    saved = tmp_path / "s.npz"
    code, _, err = run(*line, "--kv", "4", "--save", str(saved))
    assert code == 0, err
    code, _, err = run(*line[:6], "--kv", "8", "--resume", str(saved))
    assert code == 2
    assert "bits of keys and values" in " ".join(err.split())

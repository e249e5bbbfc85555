"""What chat says of a model: weights, bytes of a token, keys and values, rates, and rounding."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave.compiler.decoder.folder import load_model
from carrysave.compiler.decoder.summary import lines, summary
from golden.soc.memory_timing import MEMORIES
from verif.language.tiny_gguf import write_gguf
from verif.language.tiny_models import TOKENS, config_of, weights_of
from verif.support.command import Run


def summed(folder: Path, kind: str, quantised: str, cache: int, bits: int) -> dict[str, Any]:
    """Return the summary of a tiny model."""
    config = config_of(kind)
    path = write_gguf(folder / "m.gguf", config, weights_of(config, quantised="F32"), quantised)
    return summary(load_model(path), cache, bits)


def test_bytes_are_those_of_the_format(tmp_path: Path) -> None:
    found = summed(tmp_path, "llama", "Q8_0", 32, 8)
    width, hidden, head = 64, 96, 32
    weights = 2 * (2 * width * width + 2 * width * head + 3 * width * hidden) + width * len(TOKENS)
    assert found["weights"] == weights
    assert found["weight_bytes"] == weights + weights // 32 * 2
    # An exponent of 4 bytes for each key and each value.
    assert found["cache_bytes"] == 2 * 2 * (head + 4) * 32
    assert found["token_bytes"] == found["weight_bytes"] + found["cache_bytes"]
    for name, rate in found["rates"].items():
        assert rate == pytest.approx(MEMORIES[name].bytes * 1e8 / found["token_bytes"], abs=0.01)
    assert [one["error"] for one in found["rounded"]] == [0.0]
    assert len(lines(found)) == 2
    four = summed(tmp_path, "llama", "Q4_1", 32, 4)
    assert four["weight_bytes"] == weights // 2 + weights // 32 * 4
    assert four["cache_bytes"] == 2 * 2 * (head // 2 + 4) * 32


def test_experts_that_a_token_does_not_take_cost_nothing(tmp_path: Path) -> None:
    found = summed(tmp_path, "mixtral", "Q8_0", 32, 8)
    one = 3 * 64 * 96 * 34 // 32
    # Two layers have four experts each, of which two are used.
    less = found["weight_bytes"] + found["cache_bytes"] - found["token_bytes"]
    assert less == 2 * 2 * one


def test_rounding_is_said(run: Run, tmp_path: Path) -> None:
    found = summed(tmp_path, "llama", "F16", 32, 8)
    (floats,) = found["rounded"]
    assert floats["kind"] == "F16"
    assert floats["matrices"] == 15
    assert 0.003 < floats["error"] < 0.008
    assert "15 matrices of F16: 0.5" in lines(found)[2]
    chat = ("chat", "m.gguf", "--prompt", "hello", "--tokens", "2")
    said = json.loads(run(*chat, "--json", "--cache", "32").out)["model"]
    assert said == found
    four = json.loads(run(*chat, "--json", "--cache", "32", "--weights", "4").out)["model"]
    assert four["rounded"][0]["error"] > 10 * floats["error"]
    done = run(*chat)
    assert done.code == 0
    assert "matrices of F16" in done.err
    assert "--weights must be 2..8 bits, or one of" in run(*chat, "--weights", "9").err

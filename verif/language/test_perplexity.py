"""Losses of windows, as jobs and by `chat --perplexity`: beside the reference reader's."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave import jobs
from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.perplexity import losses, window_losses
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text_tokens import vocabulary_of
from carrysave.weights.gguf import read_gguf
from scripts.language.float_units import FLOATS
from scripts.language.perplexity import SETTINGS, loss_job
from verif.language import test_text
from verif.language.test_chat import TOKENS, floats, write
from verif.support.command import Run


def exact_losses(path: Path, window: list[int]) -> list[float]:
    """Return the bits of each token but the first, in doubles."""
    logits = floats(path, np.array(window))
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return [float(-np.log2(shares[at, token])) for at, token in enumerate(window[1:])]


def test_losses_of_windows(tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf")
    rng = np.random.default_rng(2)
    windows = [rng.integers(0, len(TOKENS), 16).tolist() for _ in range(2)]
    wanted = [
        loss_job(path, setting, window, f"{setting}, {place}")
        for setting in SETTINGS
        for place, window in enumerate(windows)
    ]
    # Each setting and window is a job of its own.
    assert len({job.key for job in wanted}) == len(wanted)
    found = np.reshape([outcome.get() for outcome in jobs.run(wanted, ordered=True)], (-1, 2))
    for window, bits in zip(windows, found[0], strict=True):
        exact = sum(exact_losses(path, window))
        assert bits == pytest.approx(exact, rel=1e-5)
    # Units of integers change it, but little.
    change = np.abs(found[1:] / found[0] - 1)
    assert (change > 0).all()
    assert change.max() < 0.05


def test_parts_of_a_window_change_nothing(tmp_path: Path) -> None:
    """Of 8 bits and of 4: as many tokens at once as make a mean of keys, and more."""
    path = write(tmp_path / "m.gguf", {"llama.context_length": 512})
    tokens = np.random.default_rng(2).integers(0, len(TOKENS), 300)
    for bits in (8, 4):
        model = load(read_gguf(path))
        whole = Decoder(model, cache=300, bits=bits).step(tokens)
        made = window_losses(Decoder(model, cache=300, bits=bits), tokens)
        assert np.array_equal(made, losses(whole[:-1], tokens[1:]))


def perplexity(run: Run, *more: str) -> dict[str, Any]:
    code, out, err = run("chat", "m.gguf", "--perplexity", "text.txt", "--json", *more)
    assert code == 0, err
    made: dict[str, Any] = json.loads(out)
    return made


@pytest.mark.parametrize("first", [False, True])
def test_perplexity_of_a_text(first: bool, run: Run, tmp_path: Path) -> None:
    """In windows, each behind the token with which texts begin, if there is one."""
    facts = {"tokenizer.ggml.bos_token_id": 3, "tokenizer.ggml.add_bos_token": True}
    path = write(tmp_path / "m.gguf", facts if first else {})
    text = "".join(np.random.default_rng(4).choice(list("hello wé."), 150))
    (tmp_path / "text.txt").write_text(text)
    file = read_gguf(path)
    tokens = vocabulary_of(path, file.facts, len(TOKENS)).tokens(text).tolist()
    size = 20 - first
    windows = [tokens[start : start + size] for start in range(0, len(tokens), size)]
    exact = [exact_losses(path, [3, *one] if first else one) for one in windows]
    bits = [bit for one in exact for bit in one]
    made = perplexity(run, "--cache", "20")
    assert made["tokens"] == len(bits) == len(tokens) - (0 if first else len(windows))
    assert (made["windows"], made["window"]) == (len(windows), 20)
    wanted = np.mean(bits)
    assert made["bits"] == pytest.approx(wanted, rel=0.01)
    assert made["bits"] != pytest.approx(wanted, rel=1e-6)
    assert made["perplexity"] == pytest.approx(2 ** made["bits"])
    assert made["bits_of_byte"] == pytest.approx(made["bits"] * len(bits) / len(text.encode()))
    # In floats it is the reference's.
    decoder_of_floats = [
        window_losses(
            Decoder(load(file), cache=20, units=FLOATS), np.array([3, *one] if first else one)
        )
        for one in windows
        if first or len(one) > 1
    ]
    assert np.concatenate(decoder_of_floats).mean() == pytest.approx(wanted, rel=1e-5)
    low, high = made["interval"]
    assert low < made["perplexity"] < high
    assert perplexity(run, "--cache", "20", "--kv", "4")["bits"] != made["bits"]
    code, out, err = run("chat", "m.gguf", "--perplexity", "text.txt", "--cache", "20")
    assert code == 0
    assert out.startswith(f"perplexity {made['perplexity']:.4f} (")
    assert f"[{len(windows)}/{len(windows)}] window {len(windows)}: perplexity" in err


def test_perplexity_is_refused_where_it_means_nothing(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "m.gguf")
    test_text.write(tmp_path / "m.npz")
    (tmp_path / "text.txt").write_text("hello")
    (tmp_path / "short.txt").write_text("h")
    (tmp_path / "wrong.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "signs.txt").write_text("\N{SNOWMAN}")
    for arguments, says in (
        (("m.gguf", "text.txt", "--prompt", "a"), "--prompt must be left out: --perplexity has"),
        (("m.gguf", "text.txt", "--temp", "1"), "--temp must be left out"),
        (("m.gguf", "text.txt", "--simulate", "all"), "--simulate must be left out"),
        (("m.gguf", "text.txt", "--cache", "1"), "--cache must be 2 or more for a perplexity"),
        (("m.gguf", "short.txt"), "short.txt: must be of tokens to predict, not 1"),
        (("m.gguf", "wrong.txt"), "must be UTF-8"),
        (("m.gguf", "gone.txt"), "No such file"),
        (("m.npz", "signs.txt"), "signs.txt: must be of the model's"),
    ):
        code, out, err = run("chat", arguments[0], "--perplexity", *arguments[1:])
        assert (code, out) == (2, ""), arguments
        assert says in err, err
    assert (
        "--prompt must be given, or --resume, or --perplexity with a text"
        in run("chat", "m.gguf").err
    )

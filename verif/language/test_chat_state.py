"""A chat that stops and goes on: the same tokens as one that did not stop, or refused by name."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder import state
from carrysave.compiler.decoder.answer import behind
from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text_tokens import vocabulary_of
from carrysave.weights.gguf import read_gguf
from hw.emit.user_files import FileError
from verif.language import test_text
from verif.language.test_chat import TOKENS, write
from verif.support.command import Run

HOT = ("--temp", "2", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--repeat-penalty", "1.3")


def answer(run: Run, *more: str, prompt: str | None = "hello") -> dict[str, Any]:
    asked = () if prompt is None else ("--prompt", prompt)
    code, out, err = run("chat", *asked, "--json", "--cache", "48", *more)
    assert code == 0, err
    made: dict[str, Any] = json.loads(out)
    return made


def arrays(path: Path) -> dict[str, Any]:
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def same(one: Path, other: Path) -> None:
    """Check that two states differ in nothing."""
    first, second = arrays(one), arrays(other)
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert np.array_equal(array, second[name]), name


@pytest.mark.parametrize("more", [(), ("--kv", "4"), HOT, ("--kv", "4", *HOT, "--seed", "3")])
def test_answer_goes_on_as_if_it_had_not_stopped(
    more: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    """Token by token, draws and penalties too; and so does what is left of both."""
    write(tmp_path / "m.gguf")
    whole = answer(run, "m.gguf", *more, "--tokens", "12", "--save", "whole.npz")
    first = answer(run, "m.gguf", *more, "--tokens", "5", "--save", "a.npz")
    again = ("--resume", "b.npz")
    second = answer(
        run, "m.gguf", *more, "--tokens", "4", "--resume", "a.npz", "--save", "b.npz", prompt=None
    )
    left = str(12 - first["tokens"] - second["tokens"])
    parts = [first, second]
    if second["ended"] == "tokens":
        parts.append(
            answer(run, "m.gguf", *more, *again, "--tokens", left, "--save", "b.npz", prompt=None)
        )
    assert sum(one["tokens"] for one in parts) == whole["tokens"]
    assert "".join(one["text"] for one in parts) == whole["text"]
    assert [one["prompt_tokens"] for one in parts[1:]] == [0] * (len(parts) - 1)
    headers = [
        json.loads(arrays(tmp_path / name)["header"].tobytes()) for name in ("a.npz", "whole.npz")
    ]
    assert headers[0]["model"] == headers[1]["model"]
    same(tmp_path / "b.npz", tmp_path / "whole.npz")


def test_recurrent_states_go_on(run: Run, tmp_path: Path) -> None:
    test_text.write(tmp_path / "m.npz", "recurrent")
    whole = answer(run, "m.npz", "--tokens", "9", "--save", "whole.npz", prompt="ab")
    first = answer(run, "m.npz", "--tokens", "4", "--save", "a.npz", prompt="ab")
    second = answer(
        run, "m.npz", "--tokens", "5", "--resume", "a.npz", "--save", "a.npz", prompt=None
    )
    assert first["text"] + second["text"] == whole["text"]
    same(tmp_path / "a.npz", tmp_path / "whole.npz")


def test_halves_of_characters_go_on(run: Run, tmp_path: Path) -> None:
    """A text is cut within a character: its first half is said with the second."""
    path = write(tmp_path / "m.gguf")
    file = read_gguf(path)
    words = vocabulary_of(path, file.facts, len(TOKENS))
    numbers = words.tokens("aé b").tolist()
    whole = "".join(words.words(iter(numbers)))
    for cut in range(len(numbers) + 1):
        first = "".join(words.words(iter(numbers[:cut])))
        second = "".join(behind(words.words, numbers[:cut], iter(numbers[cut:])))
        assert first + second == whole == "aé b"


@pytest.mark.parametrize("bits", ["8", "4"])
def test_another_prompt_follows(bits: str, run: Run, tmp_path: Path) -> None:
    """As one text of all tokens: the template says what is between an answer and a prompt."""
    template = "{% for m in messages %}<{{ m['role'][0] }}>{{ m['content'] }}<|end|>{% endfor %}="
    path = write(tmp_path / "m.gguf", template=template)
    file = read_gguf(path)
    words = vocabulary_of(path, file.facts, len(TOKENS))
    first = answer(run, "m.gguf", "--kv", bits, "--tokens", "3", "--save", "a.npz")
    second = answer(
        run, "m.gguf", "--kv", bits, "--tokens", "3", "--resume", "a.npz", prompt="what"
    )
    stopped = arrays(tmp_path / "a.npz")["tokens"].tolist()
    asked = words.tokens("<u>hello<|end|>=").tolist()
    assert stopped[: len(asked)] == asked
    assert len(stopped) == len(asked) + first["tokens"]
    more = words.tokens("<|end|><u>what<|end|>=").tolist()
    assert second["prompt_tokens"] == len(more)
    decoder = Decoder(load(file), cache=48, bits=int(bits))
    decoder.step(np.array(asked))
    for number in stopped[len(asked) : -1]:
        decoder.step(np.array([number]))
    logits = decoder.step(np.array([stopped[-1], *more]))[-1]
    written: list[int] = []
    for _ in range(3):
        written.append(int(np.argmax(logits)))
        logits = decoder.step(np.array(written[-1:]))[-1]
    assert second["text"] == "".join(words.words(iter(written)))


@pytest.mark.parametrize(
    ("template", "seed"),
    [(None, "23"), ("{% for m in messages %}{{ m['content'] }}<|end|>{% endfor %}", "0")],
    ids=["plain", "template"],
)
def test_an_answer_that_ended_takes_a_prompt(
    template: str | None, seed: str, run: Run, tmp_path: Path
) -> None:
    """The token that ended it is there once, whether a template has it or not."""
    facts: dict[str, Any] = {} if template is None else {"template": template}
    path = write(tmp_path / "m.gguf", **facts)
    free = ("--temp", "100", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", seed)
    made = answer(run, "m.gguf", *free, "--tokens", "40", "--save", "a.npz")
    assert made["ended"] == "end"
    stopped = arrays(tmp_path / "a.npz")["tokens"].tolist()
    assert stopped[-1] == len(TOKENS) - 1
    code, _, err = run("chat", "m.gguf", "--cache", "48", "--resume", "a.npz")
    assert code == 2
    assert "--prompt must be given: the model had ended its answer" in err
    again = answer(
        run, "m.gguf", "--tokens", "1", "--resume", "a.npz", "--save", "b.npz", prompt="he"
    )
    words = vocabulary_of(path, read_gguf(path).facts, len(TOKENS))
    asked = words.tokens("he" if template is None else "he<|end|>").tolist()
    after = arrays(tmp_path / "b.npz")["tokens"].tolist()
    assert after[: len(stopped) + len(asked)] == [*stopped, *asked]
    assert again["prompt_tokens"] == len(asked)


def test_states_of_others_are_refused_by_name(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "m.gguf")
    write(tmp_path / "n.gguf", embedding=0.9)
    answer(run, "m.gguf", "--tokens", "3", "--save", "a.npz")
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    (tmp_path / "text.npz").write_text("no zip")
    for arguments, says in (
        (("n.gguf", "--resume", "a.npz"), "a.npz: SHA-256 of the model must be "),
        (("m.gguf", "--resume", "a.npz", "--kv", "4"), "bits of keys and values must be 4, as of"),
        (("m.gguf", "--resume", "a.npz", "--weights", "4"), "bits of rounded weights must be 4"),
        (("m.gguf", "--resume", "a.npz", "--cache", "3"), "--cache must be above the 4 tokens of"),
        (("m.gguf", "--resume", "a.npz", "--cache", "5"), "--prompt must be 1..4 tokens"),
        (("m.gguf", "--resume", "other.npz"), "must be a state of `carrysave chat --save`"),
        (("m.gguf", "--resume", "text.npz"), "text.npz: "),
        (("m.gguf", "--resume", "gone.npz"), "No such file"),
        (("m.gguf", "--resume", "a.state"), "--resume must be a file *.npz, not a.state"),
        (("m.gguf", "--prompt", "a", "--save", "a"), "--save must be a file *.npz, not a"),
        (
            ("m.gguf", "--resume", "a.npz", "--simulate", "sample"),
            "--resume is of a model's file, without --simulate, not of a program",
        ),
        (("m.gguf", "--perplexity", "t", "--save", "a.npz"), "--save must be left out"),
    ):
        code, out, err = run("chat", *arguments)
        assert (code, out) == (2, ""), arguments
        assert says in err, err
        assert err.count("\n") == 1


def stopped_chat(folder: Path) -> tuple[Path, dict[str, Any], state.Stopped]:
    made = {"version": "1", "model": "m", "kv": 8, "weights": 8}
    rooms = {"codes": np.full((1, 2, 1, 3, 4), -7), "steps": np.full((1, 2, 1, 3, 1), 0.5)}
    stopped = state.Stopped(tokens=[1, 2, 3, 4], length=3, answer=2, ended="tokens", arrays=rooms)
    path = folder / "s.npz"
    state.save(path, stopped, made)
    return path, made, stopped


def test_states_are_read_as_they_were_written(tmp_path: Path) -> None:
    path, made, stopped = stopped_chat(tmp_path)
    back = state.load(path, made, 5)
    assert (back.tokens, back.length, back.answer) == ([1, 2, 3, 4], 3, 2)
    assert back.last == [3, 4]
    for name, array in stopped.arrays.items():
        assert np.array_equal(back.arrays[name], array)
    for name in made:
        with pytest.raises(FileError, match=r"must be other, as of this chat, not"):
            state.load(path, {**made, name: "other"}, 5)
    with pytest.raises(FileError, match=r"tokens must be 0\.\.3, one or more"):
        state.load(path, made, 4)


def test_damaged_states_are_refused(tmp_path: Path) -> None:
    """A bit anywhere; an array more, and one less."""
    path, made, _ = stopped_chat(tmp_path)
    whole = arrays(path)
    for name, array in whole.items():
        flat = np.frombuffer(array.tobytes(), np.uint8).copy()
        for place in range(0, len(flat), 7):
            flat[place] ^= 1
            changed = flat.view(array.dtype).reshape(array.shape)
            np.savez(path, **{**whole, name: changed})
            with pytest.raises(FileError):
                state.load(path, made, 5)
            flat[place] ^= 1
    less = {name: array for name, array in whole.items() if name != "steps"}
    for changed in ({**whole, "more": np.zeros(2)}, less):
        np.savez(path, **changed)
        with pytest.raises(FileError, match="as it was written"):
            state.load(path, made, 5)


def test_decoders_refuse_states_of_other_shapes(tmp_path: Path) -> None:
    decoder = Decoder(load(read_gguf(write(tmp_path / "m.gguf"))), cache=8)
    decoder.step(np.array([1, 2, 3]))
    left = decoder.state()
    for changed, says in (
        ({**left, "codes": left["codes"][:, :, :, :2]}, "codes must be "),
        ({**left, "steps": left["steps"] * np.nan}, "steps must be finite"),
        ({"codes": left["codes"]}, "must be codes, steps, offsets, common, not codes"),
    ):
        with pytest.raises(ValueError, match=says):
            Decoder(decoder.model, cache=8).restore(3, changed)

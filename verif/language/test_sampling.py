"""The choice of a token: as rules say, number by number; and by shares, in the long run."""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.decoder.attention import Decoder
from carrysave.compiler.decoder.sampling import Sampling, chosen
from carrysave.compiler.front.gguf import load
from carrysave.compiler.front.text_tokens import vocabulary_of
from carrysave.weights.gguf import read_gguf
from verif.language.test_chat import TOKENS, write
from verif.support.command import Run

WORDS = 40
BEFORE = [3, 5, 3, 7, 3, 11, 5]


def shares(sampling: Sampling, logits: np.ndarray, before: list[int]) -> dict[int, float]:
    """Return the share of each token that is left, straight from the rules."""
    scores = {word: float(one) for word, one in enumerate(logits)}
    last = len(before) if sampling.repeat_last_n < 0 else sampling.repeat_last_n
    seen = before[len(before) - last :] if 0 < last < len(before) else before if last else []
    for word in set(seen):
        x = scores[word]
        x = x / sampling.repeat_penalty if x > 0 else x * sampling.repeat_penalty
        x -= sampling.frequency_penalty * seen.count(word) + sampling.presence_penalty
        scores[word] = x
    order = sorted(scores, key=lambda word: (-scores[word], word))
    if sampling.temp == 0:
        return {order[0]: 1.0}
    if sampling.top_k:
        order = order[: sampling.top_k]
    whole = sum(math.exp(scores[word] - scores[order[0]]) for word in order)
    left, total = [], 0.0
    for word in order:
        left.append(word)
        total += math.exp(scores[word] - scores[order[0]]) / whole
        if sampling.top_p < 1 and total >= sampling.top_p:
            break
    least = sampling.min_p * math.exp(scores[left[0]] - scores[order[0]])
    left = [word for word in left if math.exp(scores[word] - scores[order[0]]) >= least]
    drawn = {word: math.exp((scores[word] - scores[left[0]]) / sampling.temp) for word in left}
    whole = sum(drawn.values())
    return {word: one / whole for word, one in drawn.items()}


FIRST = [12, 36, 16, 29, 12, 38, 2, 13]
"""Draws of seed 1 among 40, behind none, one, two tokens ..."""
CASES: list[dict[str, Any]] = [
    {},
    {"temp": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0},
    {"temp": 0.5, "top_k": 6, "top_p": 1.0, "min_p": 0.0},
    {"temp": 1.5, "top_k": 0, "top_p": 0.6, "min_p": 0.0},
    {"temp": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.3},
    {"temp": 2.0, "top_k": 12, "top_p": 0.8, "min_p": 0.1},
    {"temp": 0.8},
    {"temp": 1.0, "min_p": 1.0},
    {"temp": 1.0, "top_p": 0.0},
    {"temp": 1.0, "top_k": 1},
    {"temp": 1.0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.7},
    {"temp": 1.0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.7, "repeat_last_n": 2},
    {"temp": 1.0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 2, "repeat_last_n": 0},
    {"temp": 1.0, "top_p": 1.0, "min_p": 0.0, "presence_penalty": 0.9, "repeat_last_n": -1},
    {"temp": 1.0, "top_p": 1.0, "min_p": 0.0, "frequency_penalty": 0.6},
    {"frequency_penalty": 3.0, "repeat_penalty": 1.2, "presence_penalty": -0.2},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_draws_have_the_shares_of_the_rules(case: dict[str, Any]) -> None:
    """By a test of chi squared over seeds; and no token that is cut off comes."""
    logits = np.random.default_rng(6).normal(0, 1.5, WORDS).astype(np.float32)
    logits[[3, 5]] = 2.5, -1.0
    wanted = shares(Sampling(**case), logits, BEFORE)
    count = 1500 if len(wanted) > 1 else 20
    drawn = [chosen(Sampling(**case, seed=seed), logits, BEFORE) for seed in range(count)]
    assert set(drawn) <= set(wanted)
    numbers = np.array([drawn.count(word) for word in wanted])
    expected = count * np.array(list(wanted.values()))
    # Rare ones together.
    rare = expected < 5
    numbers = np.append(numbers[~rare], numbers[rare].sum())
    expected = np.append(expected[~rare], max(expected[rare].sum(), 1e-9))
    squares = float((np.square(numbers - expected) / expected)[expected > 1].sum())
    free = int((expected > 1).sum()) - 1
    # Four standard deviations above the mean.
    assert squares <= free + 4 * math.sqrt(2 * free + 1)


def test_draws_are_of_the_seed_and_the_place() -> None:
    """The same again; others with another seed, and with another number of tokens before."""
    logits = np.zeros(WORDS, np.float32)
    free: dict[str, Any] = {"temp": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}

    def drawn(seed: int, length: int) -> int:
        return chosen(Sampling(**free, seed=seed), logits, [1] * length)

    many = [drawn(1, length) for length in range(200)]
    assert many == [drawn(1, length) for length in range(200)]
    assert many != [drawn(2, length) for length in range(200)]
    # Neighbours do not hang together: as many pairs rise as fall.
    rising = sum(one < other for one, other in pairwise(many))
    assert 70 < rising < 130
    assert len(set(many)) > WORDS * 0.9
    # Draws that were made once, on any processor.
    assert many[:8] == FIRST


def test_equal_logits_go_to_the_first_token() -> None:
    logits = np.array([1, 2, 2, 2], np.float32)
    assert chosen(Sampling(), logits, []) == 1
    assert {chosen(Sampling(temp=1.0, top_k=2, seed=one), logits, []) for one in range(64)} == {
        1,
        2,
    }


def test_penalties_go_down_on_either_side_of_zero() -> None:
    """Above it by a quotient, below by a product; and none of what was not there."""
    for logits, penalty, wanted in (
        ([-1.0, -1.5, -9.0], 1.4, 0),
        ([-1.0, -1.5, -9.0], 1.6, 1),
        ([1.5, 1.0, 0.0], 1.4, 0),
        ([1.5, 1.0, 0.0], 1.6, 1),
        ([-1.5, -1.0, -9.0], 0.6, 0),
    ):
        made = chosen(Sampling(repeat_penalty=penalty), np.array(logits, np.float32), [0])
        assert made == wanted, (logits, penalty)


def test_far_scores_and_small_temperatures_are_numbers() -> None:
    logits = np.array([0, -1e4, 1e4, -3e38], np.float32)
    for temp in (1e-9, 1.0, 100.0):
        free: dict[str, Any] = {"temp": temp, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
        assert {chosen(Sampling(**free, seed=one), logits, []) for one in range(20)} == {2}


def test_chat_draws_by_the_seed(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "m.gguf")
    chat = ("chat", "m.gguf", "--prompt", "hello", "--tokens", "12", "--json")

    def text(*more: str) -> str:
        code, out, err = run(*chat, *more)
        assert code == 0, err
        made: str = json.loads(out)["text"]
        return made

    hot = ("--temp", "1.5", "--top-k", "0", "--top-p", "1", "--min-p", "0")
    assert text() == text("--temp", "0", "--seed", "9", "--top-k", "3")
    assert text(*hot, "--seed", "1") == text(*hot, "--seed", "1")
    assert len({text(*hot, "--seed", str(seed)) for seed in range(3)}) == 3
    assert text("--temp", "5", "--top-k", "1") == text()


def test_penalties_are_of_prompt_and_answer(run: Run, tmp_path: Path) -> None:
    """Each token by the rules, from logits of the model: no window, a short one, none."""
    file = read_gguf(write(tmp_path / "m.gguf"))
    words = vocabulary_of(file.path, file.facts, len(TOKENS))
    prompt = words.tokens("hello").tolist()
    made = set()
    for last in (-1, 2, 0):
        sampling = Sampling(repeat_penalty=0.8, frequency_penalty=-4.0, repeat_last_n=last)
        decoder, before = Decoder(load(file), cache=32), list(prompt)
        logits = decoder.step(np.array(prompt))[-1]
        for _ in range(12):
            ((word, _share),) = shares(sampling, logits, before).items()
            before.append(word)
            logits = decoder.step(np.array([word]))[-1]
        chat = ("chat", "m.gguf", "--prompt", "hello", "--tokens", "12", "--json")
        penalties = ("--repeat-penalty", "0.8", "--frequency-penalty", "-4")
        out = run(*chat, *penalties, "--repeat-last-n", str(last)).out
        text = json.loads(out)["text"]
        assert text == "".join(words.words(iter(before[len(prompt) :])))
        made.add(text)
    assert len(made) == 3


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("--temp", "-1", "--temp must be 0..100, not -1.0"),
        ("--temp", "nan", "--temp must be 0..100, not nan"),
        ("--top-k", "-1", "--top-k must be 0 or more, not -1"),
        ("--top-p", "1.5", "--top-p must be 0..1, not 1.5"),
        ("--min-p", "-0.1", "--min-p must be 0..1, not -0.1"),
        ("--repeat-penalty", "0", "--repeat-penalty must be 0.01..100, not 0.0"),
        ("--repeat-last-n", "-2", "--repeat-last-n must be -1 or more, not -2"),
        ("--presence-penalty", "inf", "--presence-penalty must be -100..100, not inf"),
        ("--frequency-penalty", "101", "--frequency-penalty must be -100..100, not 101.0"),
        ("--seed", "-1", "--seed must be 0 or more, not -1"),
    ],
)
def test_numbers_out_of_range(flag: str, value: str, says: str, run: Run) -> None:
    code, _, err = run("chat", "m.gguf", "--prompt", "a", flag, value)
    assert code == 2
    assert says in err

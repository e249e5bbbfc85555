"""Vocabularies of other people's models: words to tokens and back, and templates of chats."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.compiler.front.chat_template import rendered
from carrysave.compiler.front.text_tokens import Vocabulary, vocabulary_of, vocabulary_of_folder
from carrysave.compiler.front.tokenizer import KINDS
from hw.emit.user_files import FileError
from verif.language.tiny_models import TOKENS, config_of, weights_of, write_checkpoint
from verif.language.words import merged, scored, strings
from verif.support.command import Run

PATH = Path("m.gguf")


def test_pieces_are_merged_by_their_scores() -> None:
    facts = scored()
    vocabulary = vocabulary_of(PATH, facts, len(facts["tokenizer.ggml.tokens"]))
    texts = strings(200)
    for text in texts:
        found = vocabulary.tokens(text)
        assert found.tolist() == merged(facts, text), text
        assert "".join(vocabulary.words(iter(found.tolist()))) == text
    assert len({one for text in texts for one in merged(facts, text)}) > 300
    assert vocabulary.question("ab")[0] == 1  # a text begins with its token


def test_facts_of_pieces_are_used() -> None:
    facts = scored()
    words = len(facts["tokenizer.ggml.tokens"])
    plain = vocabulary_of(PATH, facts | {"tokenizer.ggml.add_space_prefix": False}, words)
    assert plain.tokens("A").tolist() == [plain.tokenizer.token_to_id("A")]
    no_first = vocabulary_of(PATH, facts | {"tokenizer.ggml.add_bos_token": False}, words)
    assert no_first.question("A")[0] != 1
    for changes, says in (
        ({"tokenizer.ggml.scores": np.zeros(3)}, f"{words} numbers in scores"),
        ({"tokenizer.ggml.scores": np.full(words, np.nan)}, "finite numbers in scores"),
        ({"tokenizer.ggml.eos_token_id": words}, f"eos_token_id must be 0..{words - 1}"),
        ({"tokenizer.ggml.bos_token_id": -1}, "bos_token_id must be 0.."),
        ({"tokenizer.ggml.add_bos_token": 1}, "add_bos_token must be true or false, not 1"),
        ({"tokenizer.ggml.model": "t5"}, "vocabulary must be llama, or gpt2 of default"),
        ({"tokenizer.ggml.tokens": ["a"]}, "vocabulary must be of the model's"),
    ):
        with pytest.raises(FileError, match=says):
            vocabulary_of(PATH, facts | changes, words)


def paired(kind: str, **more: Any) -> Vocabulary:
    """Return a vocabulary of pairs of bytes."""
    facts = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": kind,
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.merges": ["h e", "l l", "he ll"],
        "tokenizer.ggml.token_type": np.array([1] * (len(TOKENS) - 1) + [3]),
        "tokenizer.ggml.eos_token_id": len(TOKENS) - 1,
    }
    return vocabulary_of(PATH, facts | more, len(TOKENS))


CUTS = {
    "gpt-2": ["Hell", "'s", "Ġ", "Ġ12345", "Ġcafé", "!?", "Ċ", "Ċ", "x"],
    "smollm": ["Hell", "'s", "ĠĠ", "1", "2", "3", "4", "5", "Ġcafé", "!?", "Ċ", "Ċ", "x"],
    "llama-bpe": ["Hell", "'s", "Ġ", "Ġ", "123", "45", "Ġcafé", "!?ĊĊ", "x"],
    "qwen2": ["Hell", "'s", "Ġ", "Ġ", "1", "2", "3", "4", "5", "Ġcafé", "!?ĊĊ", "x"],
    "tekken": ["Hell", "'s", "Ġ", "Ġ", "1", "2", "3", "4", "5", "Ġcafé", "!?ĊĊ", "x"],
    "gpt-4o": ["Hell's", "Ġ", "Ġ", "123", "45", "Ġcafé", "!?ĊĊ", "x"],
}
"""Of one text, as the rules say that the first of each family publish."""


@pytest.mark.parametrize("kind", CUTS)
def test_texts_are_cut_by_the_rules_of_families(kind: str) -> None:
    cut = paired(kind).tokenizer.pre_tokenizer
    assert cut is not None
    parts = [part for part, _ in cut.pre_tokenize_str("Hell's  12345 café!?\n\nx")]
    wanted = [one.replace("é", "Ã©") for one in CUTS[kind]]
    assert parts == wanted


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_texts_of_all_scripts_come_back(kind: str) -> None:
    vocabulary = paired(kind)
    for text in strings(100):
        found = vocabulary.tokens(text)
        assert "".join(vocabulary.words(iter(found.tolist()))) == text


def test_ends_and_first_tokens() -> None:
    tokens = [*TOKENS[:-2], "<|eot_id|>", TOKENS[-1]]
    kinds = np.array([1] * (len(TOKENS) - 2) + [3, 3])
    more = {
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": ["h e", "l l"],
    }
    assert paired("gpt-2", **more).ends == {len(TOKENS) - 2, len(TOKENS) - 1}
    first = {"tokenizer.ggml.bos_token_id": 5}
    assert paired("gpt-2", **first).question("x")[0] != 5
    assert paired("llama-bpe", **first).question("x")[0] == 5
    template = {"tokenizer.chat_template": "{{ bos_token }}{{ messages[0].content }}"}
    assert paired("llama-bpe", **first, **template).question("x").tolist().count(5) == 1
    both = {"tokenizer.ggml.eot_token_id": 7}
    assert paired("gpt-2", **both).ends == {7, len(TOKENS) - 1}


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "loops"),
        ("{% for a in range(10 ** 9) %}{% endfor %}", "powers"),
        ("{{ 'a' * 1000000000 }}", "a product must be of 100000 items"),
        ("{{ 1000000000 * 'a' }}", "a product must be of 100000 items"),
        ("{{ messages.__class__.__mro__ }}", "unsafe"),
        ("{{ raise_exception('no such role') }}", "no such role"),
        ("{% for m in %}", "Expected an expression"),
    ],
)
def test_templates_that_do_not_end_or_are_wrong(template: str, says: str) -> None:
    with pytest.raises(FileError, match=f"chat template: .*{says}"):
        rendered(PATH, template, "hello", {})


def test_templates_are_those_of_transformers() -> None:
    template = """{{- bos_token }}
{% for message in messages %}
    {% if loop.index > 1 %}{% break %}{% endif %}
<|{{ message.role }}|>{{ message['content'] | trim }}{{ {"a": "é"} | tojson }}
{% endfor %}
{% if add_generation_prompt %}
<|assistant|>
{%- endif %}"""
    found = rendered(PATH, template, " hello ", {"bos_token": "<s>"})
    assert found == '<s>\n<|user|>hello{"a": "é"}\n<|assistant|>'


def talking(folder: Path, **settings: Any) -> Path:
    """Write a checkpoint with a tokenizer of the library."""
    config = config_of("qwen2", eos_token_id=len(TOKENS) - 1)
    write_checkpoint(folder, config, weights_of(config))
    (folder / "tokenizer.json").write_text(paired("qwen2").tokenizer.to_str())
    template = "{{ messages[0]['content'] }}!"
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": template, "eos_token": {"content": TOKENS[-1]}, **settings})
    )
    return folder


def test_chat_and_compile_take_a_checkpoint(run: Run, tmp_path: Path) -> None:
    """The answers are the same, of the folder and of its program."""
    talking(tmp_path / "m")
    chat = ("--prompt", "hello", "--tokens", "4", "--cache", "12", "--json")
    first = run("chat", "m", *chat)
    assert first.code == 0, first.err
    facts = json.loads(first.out)
    assert (facts["prompt_tokens"], facts["tokens"]) == (3, 4)
    engine = "engine=systolic_os(m=4,n=4)"
    done = run("compile", "m", "-p", engine, "-o", "out", "--cache", "12")
    assert done.code == 0, done.err
    second = json.loads(run("chat", "out/compile/m", *chat).out)
    assert second["text"] == facts["text"]


def test_folders_that_do_not_talk_are_refused(run: Run, tmp_path: Path) -> None:
    folder = talking(tmp_path / "m")
    tokenizer = (folder / "tokenizer.json").read_text()
    for name, text, says in (
        ("tokenizer.json", "{}", "tokenizer.json: "),
        ("tokenizer.json", tokenizer.replace('"merges"', '"merger"'), "tokenizer.json: "),
        ("tokenizer_config.json", "[]", "tokenizer_config.json: must be an object"),
        ("generation_config.json", '{"eos_token_id": [99999]}', "last tokens must be 0..259"),
    ):
        talking(folder)
        (folder / name).write_text(text)
        done = run("chat", "m", "--prompt", "hello")
        assert (done.code, done.out) == (2, ""), done.err
        assert says in done.err
        assert done.err.count("\n") == 1
        (folder / "generation_config.json").unlink(missing_ok=True)
    with pytest.raises(FileError, match=r"tokenizer\.json: must be there"):
        vocabulary_of_folder(folder, {}, len(TOKENS))

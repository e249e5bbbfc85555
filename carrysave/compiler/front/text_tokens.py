"""The vocabulary of a language model: words to tokens, and back; and its way to talk."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from carrysave.compiler.front.chat_template import following, rendered
from carrysave.compiler.front.tokenizer import (
    CONTROL,
    KINDS,
    WITH_FIRST,
    pairs_of_bytes,
    pieces,
)
from hw.emit.user_files import FileError, parsing, read_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["FILES", "Vocabulary", "files_of", "vocabulary_of", "vocabulary_of_folder"]

_PREFIX = "tokenizer.ggml."
_ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")
FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "config.json",
    "generation_config.json",
    "chat_template.jinja",
)
"""Files of a checkpoint that say how it talks."""
_ENDS_OF_TURNS = frozenset({
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
})
"""Tokens that end an answer, whatever facts say."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Vocabulary:
    """Words to tokens, and back.

    Members
    -------
    path : of the file, for messages.
    tokenizer : of the library.
    ends : tokens that end an answer.
    template : of a chat; None: a prompt is continued.
    first : token with which a text begins, if it has none; None: none.
    texts : of tokens that a template knows by a name.
    """

    path: Path
    tokenizer: "Tokenizer"
    ends: frozenset[int]
    template: str | None
    first: int | None
    texts: Mapping[str, str]

    def tokens(self, text: str) -> np.ndarray:
        """Cut a text into tokens."""
        numbers = self.tokenizer.encode(text, add_special_tokens=False).ids
        return np.array(numbers, dtype=np.int64)

    def question(self, prompt: str, *, follows: bool = False) -> np.ndarray:
        """Cut a prompt into tokens, as the model answers it; one that `follows` an answer."""
        text = prompt
        if self.template is not None:
            make = following if follows else rendered
            text = make(self.path, self.template, prompt, self.texts)
        numbers = self.tokens(text)
        if (
            not follows
            and self.first is not None
            and (not numbers.size or numbers[0] != self.first)
        ):
            numbers = np.concatenate([[self.first], numbers])
        return numbers

    def words(self, numbers: Iterator[int]) -> Iterator[str]:
        """Yield the text of tokens as they come; halves of characters wait for the rest."""
        yielded, before = "", []
        for number in numbers:
            before.append(number)
            text = self.tokenizer.decode(before)
            if not text.endswith("\N{REPLACEMENT CHARACTER}"):
                yield text[len(yielded) :]
                yielded = text


def vocabulary_of(path: Path, facts: Mapping[str, Any], words: int) -> Vocabulary:
    """Return the vocabulary that facts of GGUF say.

    Parameters
    ----------
    path, facts : of the file.
    words : tokens that the model has.

    Raises
    ------
    FileError
        It has another kind of vocabulary, or one that does not fit the model.
    """
    tokens = _texts(path, facts, "tokens")
    if len(tokens) != words:
        text = f"vocabulary must be of the model's {words} tokens, not {len(tokens)}"
        raise FileError(path, text)
    kind, cut = facts.get(f"{_PREFIX}model"), facts.get(f"{_PREFIX}pre", "default")
    if kind not in ("gpt2", "llama") or (kind == "gpt2" and cut not in KINDS):
        text = f"vocabulary must be llama, or gpt2 of {', '.join(KINDS)}, not {(kind, cut)}"
        raise FileError(path, text)
    kinds = _numbers(path, facts, "token_type", words, 1)
    ends = set()
    for name in _ENDS:
        number = _token(path, facts, name, words)
        if number is not None:
            ends.add(number)
    if not ends:
        text = f"last token must be 0..{words - 1}, not None"
        raise FileError(path, text)
    ends |= {at for at, one in enumerate(tokens) if one in _ENDS_OF_TURNS and kinds[at] == CONTROL}
    prefix = _truth(path, facts, "add_space_prefix", kind == "llama")
    if prefix and kind == "gpt2":
        raise FileError(path, f"{_PREFIX}add_space_prefix must be False of gpt2, not True")
    with parsing(path, "vocabulary"):
        if kind == "gpt2":
            made = pairs_of_bytes(tokens, _texts(path, facts, "merges"), kinds, cut)
        else:
            scores = _numbers(path, facts, "scores", words, None)
            made = pieces(tokens, scores, kinds, prefix)
    first, end = _token(path, facts, "bos_token_id", words), _token(path, facts, _ENDS[0], words)
    begins = _truth(path, facts, "add_bos_token", kind == "llama" or cut in WITH_FIRST)
    names = {"bos_token": first, "eos_token": end}
    template = facts.get("tokenizer.chat_template")
    return Vocabulary(
        path=path,
        tokenizer=made,
        ends=frozenset(ends),
        template=template if isinstance(template, str) else None,
        first=first if begins else None,
        texts={name: "" if at is None else tokens[at] for name, at in names.items()},
    )


def vocabulary_of_folder(path: Path, files: Mapping[str, str], words: int) -> Vocabulary:
    """Return the vocabulary of a checkpoint.

    Parameters
    ----------
    path : of the folder.
    files : texts of :data:`FILES` that there are, by their names.
    words : tokens that the model has.

    Raises
    ------
    FileError
        One is missing or damaged, or a token is none of the model's.
    """
    from tokenizers import Tokenizer

    if "tokenizer.json" not in files:
        raise FileError(path / "tokenizer.json", "must be there")
    with parsing(path / "tokenizer.json"):
        made = Tokenizer.from_str(files["tokenizer.json"])
    if made.get_vocab_size() > words:
        text = f"must be of the model's {words} tokens at most, not {made.get_vocab_size()}"
        raise FileError(path / "tokenizer.json", text)
    settings, ends = _object(path, files, "tokenizer_config.json"), set()
    for name in ("config.json", "generation_config.json"):
        given = _object(path, files, name).get("eos_token_id")
        ends |= {one for one in (given if isinstance(given, list) else [given]) if one is not None}
    texts = {name: _text_of(settings.get(name)) for name in ("bos_token", "eos_token")}
    ends |= {made.token_to_id(one) for one in (*_ENDS_OF_TURNS, texts["eos_token"])} - {None}
    if not ends or not all(isinstance(one, int) and 0 <= one < words for one in ends):
        raise FileError(path, f"last tokens must be 0..{words - 1}, not {ends or None}")
    template = files.get("chat_template.jinja", settings.get("chat_template"))
    if isinstance(template, list):
        named = {one.get("name"): one.get("template") for one in template if isinstance(one, dict)}
        template = named.get("default")
    begins = made.encode("", add_special_tokens=True).ids[:1] if template is None else []
    return Vocabulary(
        path=path,
        tokenizer=made,
        ends=frozenset(ends),
        template=template if isinstance(template, str) else None,
        first=begins[0] if begins else None,
        texts=texts,
    )


def files_of(folder: Path) -> dict[str, str]:
    """Return the texts of the files that say how a checkpoint talks."""
    return {name: read_text(folder / name) for name in FILES if (folder / name).exists()}


def _object(path: Path, files: Mapping[str, str], name: str) -> Mapping[str, Any]:
    with parsing(path / name):
        made = json.loads(files.get(name, "{}"))
    if not isinstance(made, dict):
        raise FileError(path / name, "must be an object")
    return made


def _text_of(value: Any) -> str:
    """Return the text of a token, which may be an object."""
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def _texts(path: Path, facts: Mapping[str, Any], name: str) -> list[str]:
    texts: Any = facts.get(f"{_PREFIX}{name}")
    if not isinstance(texts, list):
        raise FileError(path, f"vocabulary must have {name}, a list of texts")
    return texts


def _numbers(
    path: Path, facts: Mapping[str, Any], name: str, count: int, default: Any
) -> list[Any]:
    """Return a number of each token."""
    values = facts.get(f"{_PREFIX}{name}", None if default is None else np.full(count, default))
    if not isinstance(values, np.ndarray) or len(values) != count:
        raise FileError(path, f"vocabulary must have {count} numbers in {name}")
    if not np.isfinite(values).all():
        raise FileError(path, f"vocabulary must have finite numbers in {name}")
    return values.tolist()


def _token(path: Path, facts: Mapping[str, Any], name: str, words: int) -> int | None:
    number = facts.get(f"{_PREFIX}{name}")
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < words:
        raise FileError(path, f"{_PREFIX}{name} must be 0..{words - 1}, not {number!r}")
    return number


def _truth(path: Path, facts: Mapping[str, Any], name: str, default: bool) -> bool:
    value = facts.get(f"{_PREFIX}{name}", default)
    if not isinstance(value, bool):
        raise FileError(path, f"{_PREFIX}{name} must be true or false, not {value!r}")
    return value

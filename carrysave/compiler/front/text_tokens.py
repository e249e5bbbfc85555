"""The vocabulary of a language model: words to tokens, and back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from carrysave.weights.gguf import GgufFile
from hw.emit.user_files import FileError, parsing

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["Vocabulary"]

_CONTROL = 3
_KINDS = ("default", "gpt-2", "smollm")


class Vocabulary:
    """Pairs of bytes that are merged (of the kind of GPT-2), and the model's way to talk.

    Parameters
    ----------
    file : the model's.
    words : tokens that the model has.

    Raises
    ------
    FileError
        It has another kind of vocabulary, or one that does not fit the model.
    """

    def __init__(self, file: GgufFile, words: int):
        facts = file.facts
        self._path = file.path
        tokens = _texts(file, "tokens")
        if len(tokens) != words:
            text = f"vocabulary must be of the model's {words} tokens, not {len(tokens)}"
            raise FileError(file.path, text)
        kind = facts.get("tokenizer.ggml.model"), facts.get("tokenizer.ggml.pre", "default")
        if kind[0] != "gpt2" or kind[1] not in _KINDS:
            listed = ", ".join(_KINDS)
            raise FileError(file.path, f"vocabulary must be gpt2 of {listed}, not {kind}")
        kinds = facts.get("tokenizer.ggml.token_type", np.ones(words, np.int32))
        if not isinstance(kinds, np.ndarray) or len(kinds) != words:
            raise FileError(file.path, f"kinds of tokens must be {words} numbers")
        self.end = facts.get("tokenizer.ggml.eos_token_id")
        if not isinstance(self.end, int) or not 0 <= self.end < words:
            raise FileError(file.path, f"last token must be 0..{words - 1}, not {self.end!r}")
        template = facts.get("tokenizer.chat_template")
        self._template = template if isinstance(template, str) else None
        self._tokens = tokens
        with parsing(file.path, "vocabulary"):
            special = [tokens[index] for index in np.flatnonzero(kinds == _CONTROL)]
            self._tokenizer = _tokenizer(tokens, _texts(file, "merges"), special, kind[1])

    def tokens(self, text: str) -> np.ndarray:
        """Cut a text into tokens."""
        return np.array(self._tokenizer.encode(text).ids, dtype=np.int64)

    def question(self, prompt: str) -> np.ndarray:
        """Cut a prompt into tokens, in the form that the model answers, if it has one."""
        if self._template is None:
            return self.tokens(prompt)
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        with parsing(self._path, "chat template"):
            template = ImmutableSandboxedEnvironment().from_string(self._template)
            messages = [{"role": "user", "content": prompt}]
            text = template.render(messages=messages, add_generation_prompt=True)
        return self.tokens(text)

    def words(self, numbers: Iterator[int]) -> Iterator[str]:
        """Yield the text of tokens as they come; halves of characters wait for the rest."""
        yielded, before = "", []
        for number in numbers:
            before.append(number)
            text = self._tokenizer.decode(before)
            if not text.endswith("\N{REPLACEMENT CHARACTER}"):
                yield text[len(yielded) :]
                yielded = text


def _texts(file: GgufFile, name: str) -> list[str]:
    texts: Any = file.facts.get(f"tokenizer.ggml.{name}")
    if not isinstance(texts, list):
        raise FileError(file.path, f"vocabulary must have {name}, a list of texts")
    return texts


def _tokenizer(tokens: list[str], merges: list[str], special: list[str], kind: str) -> "Tokenizer":
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    pairs = [(first, second) for first, _, second in (one.partition(" ") for one in merges)]
    made = Tokenizer(models.BPE(vocab={one: at for at, one in enumerate(tokens)}, merges=pairs))
    parts: list[Any] = [pre_tokenizers.ByteLevel(add_prefix_space=False)]
    if kind == "smollm":
        parts.insert(0, pre_tokenizers.Digits(individual_digits=True))
    made.pre_tokenizer = pre_tokenizers.Sequence(parts)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(one, special=True) for one in special])
    return made

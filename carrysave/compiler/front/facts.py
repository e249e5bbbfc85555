"""What a model's file says beside weights: each fact is used, changes nothing, or is refused."""

import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hw.emit.user_files import FileError, shown

__all__ = ["CHECKED", "HARMLESS", "USED", "Facts", "check_vocabulary", "judged"]

USED = frozenset({
    "general.architecture", "general.alignment",
    "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens",
    "tokenizer.ggml.merges", "tokenizer.ggml.token_type", "tokenizer.ggml.scores",
    "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id",
    "tokenizer.ggml.bos_token_id", "tokenizer.ggml.add_bos_token",
    "tokenizer.ggml.add_space_prefix", "tokenizer.chat_template",
})  # fmt: skip
"""Facts that are read, whatever the architecture; those of architectures are taken one by one."""
HARMLESS = frozenset({
    # Kinds of sentences; names of tokens that nothing here puts in: a template has its own text.
    "tokenizer.ggml.token_type_count", "tokenizer.ggml.unknown_token_id",
    "tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id",
    "tokenizer.ggml.cls_token_id", "tokenizer.ggml.mask_token_id",
    "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.fim_suf_token_id",
    "tokenizer.ggml.fim_mid_token_id", "tokenizer.ggml.fim_pad_token_id",
    "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id",
    "tokenizer.ggml.prefix_token_id", "tokenizer.ggml.suffix_token_id",
    "tokenizer.ggml.middle_token_id",
    # The same vocabulary in another program's form, and names of templates for other purposes.
    "tokenizer.huggingface.json", "tokenizer.chat_templates",
})  # fmt: skip
"""Facts that change nothing of what is computed here."""
_NAMESPACES = ("tokenizer.", "split.", "adapter.", "clip.", "diffusion.", "xielu.")
"""Beginnings of names whose facts say what is computed; others tell who made the file, and how."""
CHECKED: dict[str, tuple[Any, ...]] = {
    "general.type": ("model",),
    "split.no": (0,),
    "split.count": (0, 1),
    "tokenizer.ggml.add_eos_token": (False,),
    "tokenizer.ggml.add_sep_token": (False,),
    "tokenizer.ggml.remove_extra_whitespaces": (False,),
}
"""Facts of which these values change nothing."""


class Facts:
    """Facts by name, each of which must be taken by somebody.

    Parameters
    ----------
    path : of the file, for messages.
    values : facts.
    prefix : that all names have which are taken here.
    """

    def __init__(self, path: Path, values: Mapping[str, Any], prefix: str = "") -> None:
        self.path, self.prefix = path, prefix
        self._values = {name: value for name, value in values.items() if name.startswith(prefix)}
        self._taken: set[str] = set()

    def __contains__(self, name: str) -> bool:
        """Return whether a fact is there, and not null."""
        return self._values.get(self.prefix + name) is not None

    def take(self, name: str, default: Any = None) -> Any:
        """Return a fact, or the default if it is not there, or null."""
        self._taken.add(self.prefix + name)
        value = self._values.get(self.prefix + name)
        return default if value is None else value

    def refused(self, name: str, legal: str, value: Any) -> FileError:
        """Return the error of a fact's value."""
        return FileError(self.path, f"{self.prefix}{name} must be {legal}, not {_short(value)}")

    def integer(self, name: str, default: int | None = None, *, low: int = 1) -> int:
        """Return an integer up to 2^24; of equal ones of all layers, the one."""
        value = self.take(name, default)
        if isinstance(value, np.ndarray) and value.size and (value == value[0]).all():
            value = value[0].item()
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= 1 << 24:
            raise self.refused(name, f"{low}..{1 << 24}", value)
        return value

    def number(
        self, name: str, default: float | None = None, *, low: float = 0.0, high: float = math.inf
    ) -> float:
        """Return a finite number of a range."""
        value = self.take(name, default)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not (math.isfinite(value) and low <= value <= high):
            legal = f"{low:g}..{high:g}" if high < math.inf else f"{low:g} or more"
            raise self.refused(name, legal, value)
        return float(value)

    def positive(self, name: str, default: float | None = None) -> float:
        """Return a finite number above 0."""
        value = self.number(name, default, low=-math.inf)
        if value <= 0:
            raise self.refused(name, "above 0", value)
        return value

    def choice(self, name: str, choices: Collection[str], default: str | None = None) -> str:
        """Return one of some texts."""
        value = self.take(name, default)
        if not isinstance(value, str) or value not in choices:
            raise self.refused(name, f"one of {', '.join(choices)}", value)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return a truth."""
        value = self.take(name, default)
        if not isinstance(value, bool):
            raise self.refused(name, "true or false", value)
        return value

    def only(self, name: str, *legal: Any) -> None:
        """Refuse all values but those that change nothing."""
        value = self.take(name, legal[0])
        if not any(type(value) is type(one) and value == one for one in legal):
            raise self.refused(name, " or ".join(map(repr, legal)), value)

    def check_rest(self, harmless: Collection[str] = ()) -> None:
        """Refuse facts that nobody took, but for those that change nothing."""
        for name, value in self._values.items():
            if name not in self._taken and name.removeprefix(self.prefix) not in harmless:
                raise FileError(
                    self.path,
                    f"is not known here and may not be left out: {_short(value)}",
                    f"fact '{shown(name)}'",
                )


def judged(name: str) -> str:
    """Return what becomes of a fact that is of no architecture: ``used``, ``harmless``, ...

    ``checked``, or ``refused``.
    """
    if name in USED:
        return "used"
    if name in CHECKED or name == "split.tensors.count":
        return "checked"
    harmless = name in HARMLESS or name.startswith("tokenizer.chat_template.")
    return "harmless" if harmless or not name.startswith(_NAMESPACES) else "refused"


def check_vocabulary(path: Path, facts: Mapping[str, Any], tensors: int) -> None:
    """Refuse facts of no architecture that change what is computed and are not known here.

    Parameters
    ----------
    path : of the file.
    facts : of it.
    tensors : that it has, which a fact may repeat.

    Raises
    ------
    FileError
        With the fact's name and value.
    """
    for name, value in facts.items():
        where = f"fact '{shown(name)}'"
        kind = judged(name)
        if kind == "refused":
            text = f"is not known here and may not be left out: {_short(value)}"
            raise FileError(path, text, where)
        legal = (tensors,) if name == "split.tensors.count" else CHECKED.get(name, ())
        if kind == "checked" and value not in legal:
            text = f"must be {' or '.join(map(repr, legal))}, not {_short(value)}"
            raise FileError(path, text, where)


def _short(value: Any) -> str:
    return shown(repr(value), 60)

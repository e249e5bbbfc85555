"""Chat templates of other people: Jinja's sandbox, in which loops and texts end."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hw.emit.user_files import FileError, parsing

if TYPE_CHECKING:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

__all__ = ["following", "rendered"]

_SAID = "said-before"
"""What stands for an answer."""
_MOST = 100_000
"""Steps of all loops over ranges, and characters or items of a product."""


def rendered(path: Path, template: str, prompt: str, tokens: Mapping[str, str]) -> str:
    """Return what a template makes of a prompt, up to where the model answers.

    Names, white space around blocks, ``break`` and ``raise_exception`` are those that transformers
    has. There is no clock: a template that asks for the date takes the one of its own.

    Parameters
    ----------
    path : of the file, for messages.
    template : of the model.
    prompt : what a user says.
    tokens : texts that mean something, such as ``bos_token``.

    Raises
    ------
    FileError
        The template is wrong, refuses the prompt, or does not end soon.
    """
    return _rendered(path, template, [prompt], tokens)


def following(path: Path, template: str, prompt: str, tokens: Mapping[str, str]) -> str:
    """Return what a template makes of a prompt behind an answer, from the end of that on.

    Parameters and errors are those of :func:`rendered`; a template that does not show what a model
    said is refused, too.
    """
    whole = _rendered(path, template, ["asked-before", _SAID, prompt], tokens)
    if _SAID not in whole:
        raise FileError(path, "must show what the model said before", "chat template")
    return whole.partition(_SAID)[2]


def _rendered(path: Path, template: str, texts: Sequence[str], tokens: Mapping[str, str]) -> str:
    """Return what a template makes of what user and model say in turn."""
    with parsing(path, "chat template"):
        roles = cycle(("user", "assistant"))
        messages = [{"role": next(roles), "content": one} for one in texts]
        made = _environment().from_string(template)
        left = [_MOST]

        def range_(*values: int) -> range:
            one = range(*values)
            left[0] -= len(one)
            if left[0] < 0:
                raise ValueError(f"loops must be of {_MOST} steps, not more")
            return one

        return made.render(messages=messages, add_generation_prompt=True, range=range_, **tokens)


@cache
def _environment() -> "ImmutableSandboxedEnvironment":
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "**":
                raise ValueError("must not have powers")
            for many, few in ((left, right), (right, left)):
                if hasattr(many, "__len__") and isinstance(few, int) and len(many) * few > _MOST:
                    raise ValueError(f"a product must be of {_MOST} items, not more")
            return super().call_binop(context, operator, left, right)

    made = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    made.filters["tojson"] = lambda value, indent=None: json.dumps(
        value, ensure_ascii=False, indent=indent
    )
    made.globals["raise_exception"] = _refuse
    return made


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)

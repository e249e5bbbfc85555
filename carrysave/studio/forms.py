"""The parameters of a design as fields of a form, with what is wrong with each of them."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from carrysave.api.design import Design
from carrysave.api.explicit_design import check_once
from carrysave.regress.configurations import options as words_of
from golden.check import Choice, Flag, Integer, Parameter
from hw.catalog import CATALOG, Entry

__all__ = ["LONGEST", "Field", "Form", "command_lines", "form_of"]

LONGEST = 400
"""Characters of a value."""


@dataclass(frozen=True)
class Field:
    """A parameter, as the form has it.

    Members
    -------
    name, doc, legal : of the parameter; the legal values as text.
    default : the value without one that is given, as text.
    value : what is given, as text; empty: nothing.
    error : why the value is refused, with the legal ones; empty if it is not.
    options : the texts to choose from; none of a field that takes any text.
    numeric : whether it is an integer.
    group : ``what`` changes results, ``how`` only how they are computed, ``engine`` is of the
        engine inside.
    """

    name: str
    doc: str
    legal: str
    default: str
    value: str
    error: str
    options: tuple[str, ...]
    numeric: bool
    group: str


@dataclass(frozen=True)
class Form:
    """A design's parameters, and the design if they are legal together.

    Members
    -------
    problem : why values that are legal by themselves are refused together; empty if they are not.
    design : None where there is an error.
    """

    name: str
    summary: str
    fields: tuple[Field, ...]
    problem: str = ""
    design: Design | None = None

    @property
    def errors(self) -> dict[str, str]:
        """What is wrong, by field."""
        return {field.name: field.error for field in self.fields if field.error}


def form_of(name: str, given: Mapping[str, str]) -> Form:
    """Return the form of a design of the catalogue for some values.

    Parameters
    ----------
    given : texts by name of the parameter, as ``-p`` takes them; empty ones are not given.
    """
    entry = CATALOG[name]
    texts = {key: text.strip() for key, text in given.items() if text.strip()}
    kinds = entry.parameters
    inner = _inside(entry, texts)
    defaults = {key: kind.default for key, kind in {**inner, **kinds}.items()}
    errors = {key: _error(kind, key, texts) for key, kind in {**inner, **kinds}.items()}
    problem, design = "", None
    if not any(errors.values()):
        try:
            check_once(texts.get("engine", ""), texts)
            design = Design.parse(name, texts)
            design.component()
            defaults |= design.defaults
        except (ValueError, TypeError) as error:
            problem, design = str(error), None
    groups = {key: "how" if key in entry.build else "what" for key in kinds}
    fields = tuple(
        _field(key, kind, texts, defaults[key], errors[key], groups.get(key, "engine"))
        for key, kind in {**kinds, **inner}.items()
    )
    return Form(name, entry.summary, fields, problem, design)


def _inside(entry: Entry, texts: Mapping[str, str]) -> dict[str, Parameter]:
    """Return the parameters of the engine that a design holds, but for those of its own names."""
    if entry.engine is None:
        return {}
    try:
        engine = entry.engine.design("engine", texts.get("engine", entry.engine.default))
    except (ValueError, TypeError):
        return {}  # the field of the engine says why
    kinds = engine.entry.parameters
    return {key: kind for key, kind in kinds.items() if key not in entry.parameters}


def _error(kind: Parameter, name: str, texts: Mapping[str, str]) -> str:
    """Return why a value is refused, with the legal ones; empty if it is legal or not given."""
    if name not in texts:
        return ""
    if len(texts[name]) > LONGEST:
        return f"{name} must have at most {LONGEST} characters, not {len(texts[name])}"
    try:
        kind.parse(name, texts[name])
    except (ValueError, TypeError) as error:
        return str(error)
    return ""


def _field(
    name: str, kind: Parameter, texts: Mapping[str, str], default: Any, error: str, group: str
) -> Field:
    """Return one field."""
    options: tuple[str, ...] = ()
    if isinstance(kind, Flag):
        options = ("true", "false")
    elif isinstance(kind, Choice):
        options = kind.options
    value = texts.get(name, "")[: LONGEST + 1]
    numeric = isinstance(kind, Integer)
    return Field(name, kind.doc, kind.legal, _text(default), value, error, options, numeric, group)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def command_lines(design: Design) -> list[str]:
    """Return the lines that write, verify and synthesise the same design without the page."""
    words = words_of(design)
    return [shlex.join(["carrysave", verb, *words]) for verb in ("generate", "verify", "synth")]

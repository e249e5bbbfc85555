"""Parameters of designs: type, legal range, default, and uniform error messages."""

import dataclasses
import inspect
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, cast

__all__ = [
    "Choice",
    "Flag",
    "Integer",
    "Parameter",
    "Subset",
    "check_fields",
    "complete",
    "parameter",
    "parameters_of",
    "spelled",
]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a design: its meaning, default and legal values."""

    doc: str
    default: Any

    @property
    def legal(self) -> str:
        """Legal values, as text for an error message."""
        raise NotImplementedError

    def named(self, value: Any) -> Any:
        """Return a value by its own name, where others stand for it."""
        return value

    def check(self, name: str, value: Any) -> Any:
        """Return `value` unchanged, or raise `TypeError` (kind) or `ValueError` (range)."""
        raise NotImplementedError

    def parse(self, name: str, text: str) -> Any:
        """Read a value from the command line; the same errors as :meth:`check`."""
        raise NotImplementedError

    def refuse(self, name: str, value: object, error: type[Exception] = ValueError) -> Exception:
        """Make the error that states the legal values of `name`."""
        return error(f"{name} must be {self.legal}, not {value!r}")


@dataclass(frozen=True)
class Integer(Parameter):
    """An integer from `low` to `high`, both included."""

    low: int
    high: int
    unit: str = ""

    @property
    def legal(self) -> str:
        """The range, with its unit."""
        return f"{self.low}..{self.high}" + (f" {self.unit}" if self.unit else "")

    def check(self, name: str, value: Any) -> Any:
        """Refuse non-integers (bools included) and values out of range."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.refuse(name, value, TypeError)
        if not self.low <= value <= self.high:
            raise self.refuse(name, value)
        return value

    def parse(self, name: str, text: str) -> int:
        """Read a decimal, 0x or 0b integer."""
        try:
            value = int(text, 0)
        except ValueError:
            raise self.refuse(name, text) from None
        self.check(name, value)
        return value


@dataclass(frozen=True)
class Choice(Parameter):
    """One of a few names.

    A search may try the others where ``searched``: they change neither results nor ports nor
    latency, and which of them is best depends on the technology. On an FPGA ``on_device`` is the
    best that is known, if it is not the default. A design may have other names in place of some:
    ``aliases``, each with the name it is for.
    """

    options: tuple[str, ...]
    searched: bool = False
    on_device: str | None = None
    aliases: tuple[tuple[str, str], ...] = ()

    @property
    def legal(self) -> str:
        """The names."""
        return "one of " + ", ".join(self.options)

    def check(self, name: str, value: Any) -> Any:
        """Refuse any other name."""
        if not isinstance(value, str):
            raise self.refuse(name, value, TypeError)
        if value not in self.options:
            raise self.refuse(name, value)
        return value

    def named(self, value: Any) -> Any:
        """Return the value, or what it is an alias of."""
        return dict(self.aliases).get(value, value) if isinstance(value, str) else value

    def parse(self, name: str, text: str) -> str:
        """Return the text, or what it is an alias of."""
        text = self.named(text)
        self.check(name, text)
        return text


@dataclass(frozen=True)
class Subset(Parameter):
    """One or more of a few names, as text: in the order of the options, commas between them."""

    options: tuple[str, ...]

    @property
    def legal(self) -> str:
        """The names."""
        return f"one or more of {', '.join(self.options)}, in this order, commas between them"

    def check(self, name: str, value: Any) -> Any:
        """Refuse unknown names, duplicates, and any other order."""
        if not isinstance(value, str):
            raise self.refuse(name, value, TypeError)
        if not value or value != ",".join(self._ordered(value)):
            raise self.refuse(name, value)
        return value

    def parse(self, name: str, text: str) -> str:
        """Read names in any order, with spaces or without."""
        names = [part.strip() for part in text.split(",")]
        ordered = self._ordered(",".join(names))
        if sorted(ordered) != sorted(names):
            raise self.refuse(name, text)
        return ",".join(ordered)

    def _ordered(self, text: str) -> list[str]:
        """Keep the options that are in a list, in their order."""
        names = text.split(",")
        return [option for option in self.options if option in names]


@dataclass(frozen=True)
class Flag(Parameter):
    """True or false."""

    _WORDS: ClassVar[dict[str, bool]] = {"true": True, "false": False, "1": True, "0": False}

    @property
    def legal(self) -> str:
        """The two words."""
        return "true or false"

    def check(self, name: str, value: Any) -> Any:
        """Refuse anything but a bool."""
        if not isinstance(value, bool):
            raise self.refuse(name, value, TypeError)
        return value

    def parse(self, name: str, text: str) -> bool:
        """Read true, false, 1 or 0."""
        if text.lower() not in self._WORDS:
            raise self.refuse(name, text)
        return self._WORDS[text.lower()]


def parameter(kind: Parameter) -> Any:
    """Make the dataclass field of a spec that holds one parameter."""
    return dataclasses.field(default=kind.default, metadata={"parameter": kind})


def parameters_of(spec: type) -> Mapping[str, Parameter]:
    """Parameters of a spec, its own before those of its base classes."""
    return _parameters_of(cast(Hashable, spec))


@cache
def _parameters_of(spec: Any) -> Mapping[str, Parameter]:
    fields = {field.name: field.metadata for field in dataclasses.fields(spec)}
    names = [name for base in spec.__mro__ for name in inspect.get_annotations(base)]
    return {
        name: fields[name]["parameter"] for name in names if "parameter" in fields.get(name, ())
    }


def check_fields(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Check each value by its parameter; the errors of :meth:`Parameter.check`."""
    for name, kind in parameters.items():
        kind.check(name, values[name])


def complete(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in the defaults, and check all values.

    Raises
    ------
    TypeError
        An unknown name, or as :meth:`Parameter.check`.
    ValueError
        As :meth:`Parameter.check`.
    """
    for name in values:
        if name not in parameters:
            raise TypeError(f"parameters are {', '.join(parameters)}, not {name}")
    whole = {name: values.get(name, kind.default) for name, kind in parameters.items()}
    check_fields(parameters, whole)
    return whole


def spelled(what: str, text: str) -> tuple[str, dict[str, str]] | None:
    """Take a name with parameters apart, as in ``systolic_os(m=4,n=4)``; None if it is none.

    Raises
    ------
    ValueError
        If `what` has a parameter twice.
    """
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?", text)
    if match is None:
        return None
    # Some parameters have commas in their values.
    parts = re.split(r",(?=\s*\w+=)", match[2] or "")
    pairs = [part.partition("=") for part in parts if part]
    if not all(equals for _, equals, _ in pairs):
        return None
    keys = [key.strip() for key, _, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"{key} of {what} must be given once, not twice, in {text!r}")
    return match[1], dict(zip(keys, (value for *_, value in pairs), strict=True))

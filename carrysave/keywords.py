"""Options as one dataclass, which callers may also give by the names of its fields."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, replace
from typing import Any, TypeVar

__all__ = ["Options", "by_name", "differing"]

R = TypeVar("R")


def by_name(kind: type[Any]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Have a function take the fields of its argument ``options`` as keyword arguments, too.

    ``synthesise(design, options=SynthesisOptions(sweep=True))`` and ``synthesise(design,
    sweep=True)`` are the same call, and ``help`` lists all names.

    Parameters
    ----------
    kind : the dataclass of ``options``; all its fields have defaults.

    Raises
    ------
    TypeError
        When called, if a name is unknown, or ``options`` is something else.
    """
    names = {one.name: one for one in fields(kind)}

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> R:
            given = {name: named.pop(name) for name in names.keys() & named.keys()}
            bound = signature.bind(*arguments, **named)
            options = bound.arguments.get("options")
            if options is not None and not isinstance(options, kind):
                raise TypeError(f"options must be {kind.__name__}, not {options!r}")
            if given:
                bound.arguments["options"] = replace(options or kind(), **given)
            return function(*bound.args, **bound.kwargs)

        parameters = [
            *signature.parameters.values(),
            *(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=_default(one), annotation=one.type
                )
                for name, one in names.items()
            ),
        ]
        call.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=sorted(parameters, key=lambda one: one.kind)
        )
        return call

    return decorate


def _default(field: "Field[Any]") -> Any:
    return field.default if field.default is not MISSING else inspect.Parameter.empty


def differing(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are not as by default."""
    given = {one.name: (getattr(options, one.name), one.default) for one in fields(options)}
    # Arrays are compared with nothing of another type: that would be an array.
    return {
        name: value
        for name, (value, default) in given.items()
        if type(value) is not type(default) or value != default
    }


class Options:
    """A dataclass of options, which is written with those that are not as by default."""

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in differing(self).items())
        return f"{type(self).__name__}({', '.join(given)})"

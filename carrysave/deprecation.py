"""Former names of what is public: they work for one release more, and warn.

A function that was given another name keeps the former one, and so does an argument:

    fit = former("0.2.0", "fit", "synthesise", synthesise)

    @renamed("0.2.0", period="period_ns")
    def synthesise(what, *, period_ns=None): ...

Once the release after the one that first warned is there, the tests ask for their removal.
"""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

__all__ = ["KNOWN", "Deprecation", "former", "former_attribute", "renamed"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Deprecation:
    """A former name.

    Members
    -------
    what : the function; with an argument, ``function(argument)``.
    instead : what to write now.
    since : the first version that warns, ``major.minor.patch``.
    """

    what: str
    instead: str
    since: str

    @classmethod
    def add(cls, *, what: str, instead: str, since: str) -> "Deprecation":
        """Return one that is among those :data:`KNOWN`."""
        known = cls(what=what, instead=instead, since=since)
        KNOWN.append(known)
        return known

    def tell(self) -> None:
        """Warn whoever called the function that called this."""
        text = f"{self.what} is deprecated since {self.since}, and goes with the next release"
        warnings.warn(f"{text}: use {self.instead}", DeprecationWarning, stacklevel=3)

    def over(self, version: str) -> bool:
        """Return whether a version is of a release after the one that first warned."""
        return _release(version) > _release(self.since)


KNOWN: list[Deprecation] = []
"""Those of the modules that are loaded."""


def former(since: str, name: str, instead: str, function: Callable[P, R]) -> Callable[P, R]:
    """Return a function under its former name, which warns."""
    known = Deprecation.add(what=name, instead=instead, since=since)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        known.tell()
        return function(*args, **kwargs)

    return call


def former_attribute(since: str, name: str, instead: str) -> property:
    """Return a property with the value of another attribute, ``Class.name`` each; it warns."""
    known = Deprecation.add(what=name, instead=instead, since=since)

    def value(instance: object) -> object:
        known.tell()
        return getattr(instance, instead.rpartition(".")[2])

    return property(value, doc=f"Former name of :attr:`{instead}`.")


def renamed(since: str, **names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a function take keyword arguments by former names, ``former="present"``, and warn.

    Raises
    ------
    TypeError
        When called, if an argument is given by both names.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        former_names = {
            old: Deprecation.add(what=f"{function.__qualname__}({old})", instead=new, since=since)
            for old, new in names.items()
        }

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in former_names.keys() & kwargs.keys():
                new = names[old]
                if new in kwargs:
                    raise TypeError(f"{new} must be given once, not as {old}, its former name, too")
                former_names[old].tell()
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate


def _release(version: str) -> tuple[int, ...]:
    """Return what counts of a version: a patch is no release of its own."""
    return tuple(int(number) for number in version.split(".")[:2])

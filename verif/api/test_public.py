"""The Python interface is listed; what was in the list works, or warns for a release."""

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import carrysave
from carrysave import deprecation, testing
from carrysave.deprecation import Deprecation, former, renamed

LIST = Path(__file__).with_name("public.json")
"""By module and name: its arguments, in order; None where there are none to give."""


def arguments(found: Any) -> list[str] | None:
    """Return how arguments are given: ``name`` by place or name, ``name=`` by name alone."""
    marks: dict[Any, str] = {
        inspect.Parameter.KEYWORD_ONLY: "{}=",
        inspect.Parameter.VAR_POSITIONAL: "*{}",
        inspect.Parameter.VAR_KEYWORD: "**{}",
        inspect.Parameter.POSITIONAL_ONLY: "{}/",
    }
    if not callable(found):
        return None
    return [
        marks.get(one.kind, "{}").format(one.name)
        for one in inspect.signature(found).parameters.values()
        if one.name != "self"
    ]


def listed(module: ModuleType) -> Iterator[tuple[str, list[str] | None]]:
    """List what is public of a module, with the members of its classes."""
    for name in sorted(module.__all__):
        found = getattr(module, name)
        if name.startswith("__"):
            continue
        yield name, arguments(found)
        for own in sorted(dir(found)) if inspect.isclass(found) else ():
            if not own.startswith("_"):
                member = inspect.getattr_static(found, own)
                taken = getattr(found, own) if isinstance(member, classmethod) else member
                yield f"{name}.{own}", arguments(taken)


def test_the_list_of_what_is_public_is_kept() -> None:
    """Whoever changes the interface changes the list, and CHANGELOG with it."""
    found = {module.__name__: dict(listed(module)) for module in (carrysave, testing)}
    assert json.loads(LIST.read_text()) == found


def test_what_was_deprecated_a_release_ago_is_gone() -> None:
    assert all(dict(listed(module)) for module in (carrysave, testing))  # loads their modules
    late = [one.what for one in deprecation.KNOWN if one.over(carrysave.__version__)]
    assert not late


@pytest.mark.parametrize(
    ("since", "version", "over"),
    [
        ("0.2.0", "0.2.0", False),
        ("0.2.0", "0.2.9", False),
        ("0.2.3", "0.3.0", True),
        ("0.9.0", "0.10.0", True),
        ("0.9.0", "1.0.0", True),
        ("1.0.0", "0.9.0", False),
    ],
)
def test_a_deprecation_lasts_for_a_release(since: str, version: str, over: bool) -> None:
    assert Deprecation(what="a", instead="b", since=since).over(version) is over


def scaled(x: int, *, factor: int = 1, offset: int = 0) -> int:
    return x * factor + offset


def current() -> Callable[..., int]:
    return renamed("0.1.0", scale="factor", shift="offset")(scaled)


def test_former_names_of_arguments_work_and_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecation, "KNOWN", [])
    function = current()
    assert function(3, factor=2, offset=1) == 7  # warnings are errors here
    with pytest.warns(
        DeprecationWarning,
        match=r"^scaled\(scale\) is deprecated since 0\.1\.0, .* release: use factor$",
    ) as told:
        assert function(3, scale=2, offset=1) == 7
    assert [each.filename for each in told] == [__file__]  # where it was called
    with pytest.raises(TypeError, match="factor must be given once, not as scale"):
        function(3, scale=2, factor=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'scael'"):
        function(3, scael=2)
    assert [one.what for one in deprecation.KNOWN] == ["scaled(scale)", "scaled(shift)"]
    assert inspect.signature(function) == inspect.signature(scaled)


def test_a_former_name_of_a_function_works_and_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecation, "KNOWN", [])
    function = former("0.1.0", "scale", "scaled", scaled)
    with pytest.warns(DeprecationWarning, match=r"^scale is deprecated .*: use scaled$") as told:
        assert function(3, factor=2) == 6
    assert [each.filename for each in told] == [__file__]
    assert [one.over("0.1.5") for one in deprecation.KNOWN] == [False]

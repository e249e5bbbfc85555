"""Starts cocotb without pytest, which takes as long to load as all else of a short simulation.

cocotb loads it to rewrite assertions, so that a failure tells values, and for the exceptions of
its outcomes, of which it is given pytest's own. A bench that asks for anything else of pytest gets
it, loaded then.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from _pytest.outcomes import fail, skip, xfail

__all__ = ["start"]

_EXPECTED = {"RaisesExc", "RaisesGroup"}
"""What cocotb asks for to wait for exceptions by it; it does without."""


def _raises(*arguments: Any, **more: Any) -> Any:
    """Do what :func:`pytest.raises` does."""
    return _whole().raises(*arguments, **more)


_raises.Exception = fail.Exception  # type: ignore[attr-defined]


def _whole() -> ModuleType:
    """Load pytest."""
    stands_in = sys.modules.pop("pytest")
    pytest = import_module("pytest")
    if isinstance(stands_in, _StandIn):
        stands_in.__dict__.update(vars(pytest))
    return pytest


class _StandIn(ModuleType):
    """pytest, until more of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in _EXPECTED:
            raise AttributeError(name)
        return getattr(_whole(), name)


def start() -> None:
    """Put pytest's place-holder where cocotb finds it; leave assertions as they are."""
    stand_in = _StandIn("pytest")
    stand_in.__dict__.update(fail=fail, skip=skip, xfail=xfail, raises=_raises)
    sys.modules["pytest"] = stand_in
    from cocotb.regression import RegressionManager  # loads what is here by then

    RegressionManager.setup_pytest_assertion_rewriting = staticmethod(lambda: None)  # type: ignore[method-assign]

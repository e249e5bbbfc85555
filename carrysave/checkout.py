"""In a checkout, ``carrysave.hw`` is ``hw``: the names of an installed package work here too.

The wheel has ``hw``, ``golden``, ``verif`` and ``constraints`` below ``carrysave``, and a checkout
beside it. Code of users says ``from carrysave.hw.catalog import Design`` and works with both.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

__all__ = ["install"]

_MOVED = ("constraints", "golden", "hw", "verif")
_PREFIX = f"{__package__}."


class _Finder:
    """Finds ``carrysave.hw.x`` as what ``hw.x`` is: the same module, not a copy of it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the folders beside the package."""
        inner = name.removeprefix(_PREFIX)
        if inner == name or inner.partition(".")[0] not in _MOVED:
            return None
        return ModuleSpec(name, cast(Any, self))  # a loader, too; its base class is slow to load

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import it by its own name."""
        module = import_module(spec.name.removeprefix(_PREFIX))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give back its own specification, which the import system has just replaced."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def install() -> None:
    """Have the import system ask the finder first: the folders have a path, too."""
    sys.meta_path.insert(0, cast(Any, _Finder()))

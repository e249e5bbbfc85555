"""Other ways to build a design, for a search to try."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.errors import check_choice
from golden.check import Choice
from hw.catalog import Design
from hw.emit.verilog import verilog_of

__all__ = ["DesignBuilds", "searched"]


def searched(design: Design) -> list[str]:
    """Return the parameters of how a design is built whose values a search may try."""
    return [
        name
        for name, kind in design.entry.build.items()
        if isinstance(kind, Choice) and kind.searched
    ]


@dataclass(frozen=True)
class DesignBuilds:
    """Ways to build a design, each with its Verilog.

    Parameters
    ----------
    design : as it was asked for.
    folder : where Verilog is written.
    names : parameters whose other values are tried, of :func:`searched`.
    """

    design: Design
    folder: Path
    names: Collection[str] = ()

    def __post_init__(self) -> None:
        """Refuse parameters that change more than how it is built."""
        legal = searched(self.design)
        for name in self.names:
            check_choice("search_parameters", name, legal)

    def write(self, design: Design) -> Path:
        """Write the Verilog of one."""
        return cache.write(self.folder / f"{design.module}.v", verilog_of(design))

    def others(self) -> Iterator[tuple[Design, Path]]:
        """Yield the design with each other value of each of the parameters."""
        for name in self.names:
            kind = self.design.entry.build[name]
            assert isinstance(kind, Choice)
            for value in kind.options:
                if value != self.design.parameters[name]:
                    yield from self.combined({name: value})

    def combined(self, values: Mapping[str, Any]) -> Iterator[tuple[Design, Path]]:
        """Yield the design with other parameters, if it can be built."""
        other = Design(self.design.name, {**self.design.parameters, **values})
        with contextlib.suppress(ValueError):
            yield other, self.write(other)

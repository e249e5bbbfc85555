"""What all results have in common: they print as tables, show in notebooks, turn into pandas."""

import io
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.errors import remedy

if TYPE_CHECKING:
    import pandas
    from rich.console import Console

    from carrysave.report.page import Page

__all__ = ["Result"]

_WIDTH = 100
"""Characters of a line of printed tables."""


class Result(Mapping[str, Any]):
    """What a call found.

    As a mapping it has what its JSON has: plain values by name. ``print`` shows tables, a notebook
    tables and pictures.

    Parameters
    ----------
    facts : the plain values. What has a key ``command`` keeps the call there.
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self._command = ""

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    @property
    def command(self) -> str:
        """How it was asked for: Python, or a command line."""
        return self._command

    @command.setter
    def command(self, text: str) -> None:
        self._command = text
        if "command" in self.facts:
            self.facts["command"] = text

    @abstractmethod
    def show(self, console: "Console") -> None:
        """Print tables."""

    @abstractmethod
    def page(self) -> "Page":
        """Return the page for browsers, see :func:`carrysave.report.page.write`."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the table that :meth:`to_pandas` makes, each a value by column."""

    def save(self, folder: str | PathLike[str]) -> list[Path]:
        """Write it into a folder: JSON and pictures; return what it has written so far."""
        raise TypeError(f"{type(self).__name__} has its files already")

    def add_file(self, path: Path) -> None:
        """Note a file that shows it."""
        self.facts["files"] = [*self.facts.get("files", ()), str(path)]

    def pictures(self) -> dict[str, bytes]:
        """Return its pictures by name, SVG each; none without what draws them."""
        return {}

    def to_json(self) -> str:
        """Return the plain values as JSON: what ``--json`` prints."""
        return json.dumps(self.facts, indent=2)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a table of pandas, with the units of the columns in their names.

        Raises
        ------
        ModuleNotFoundError
            pandas is not installed.
        """
        try:
            import pandas
        except ModuleNotFoundError as error:
            if error.name != "pandas":
                raise
            said = f"to_pandas needs {remedy('pandas')}"
            raise ModuleNotFoundError(said, name="pandas") from None
        return pandas.DataFrame(self.records())

    def __str__(self) -> str:
        """Return the printed tables, without colours."""
        from rich.console import Console

        out = io.StringIO()
        self.show(Console(file=out, width=_WIDTH))
        return out.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._command}>"

    def _repr_html_(self) -> str:
        """Return tables and pictures for a notebook."""
        from carrysave.report import cell

        return cell.render(self.page(), self.pictures())

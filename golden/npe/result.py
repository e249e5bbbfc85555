"""The result format, by its name: any format, or exact sums."""

from dataclasses import dataclass
from typing import Any

from golden.formats.names import FormatName

__all__ = ["ResultName"]


@dataclass(frozen=True)
class ResultName(FormatName):
    """The name of a format, or "fixed"."""

    @property
    def legal(self) -> str:
        """Legal names, as text."""
        return f"fixed, or {super().legal}"

    def check(self, name: str, value: Any) -> Any:
        """Refuse any other name."""
        return value if value == "fixed" else super().check(name, value)

    def parse(self, name: str, text: str) -> Any:
        """Read a name."""
        return text if text == "fixed" else super().parse(name, text)

"""The result format, by its name: any format, or exact sums."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from golden.formats.names import FormatName

__all__ = ["ResultName", "wrapped"]


def wrapped(sums: np.ndarray, width: int) -> np.ndarray:
    """Return sums modulo 2^width, two's complement; Python integers where they need more bits."""
    half = 1 << (width - 1)
    low, high = (int(sums.min()), int(sums.max())) if sums.size else (0, 0)
    if -half <= low <= high < half:
        return sums
    return ((sums.astype(object) if half > 1 << 61 else sums) + half) % (2 * half) - half


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

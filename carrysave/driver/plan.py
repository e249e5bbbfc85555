"""What a system must know of a network: where codes, parameters and counters are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Parameter", "Plan", "Tensor", "parameter_words"]


@dataclass(frozen=True, eq=False)
class Tensor:
    """Codes in memory.

    Members
    -------
    sources : address of each.
    kind : type in the model.
    offset : what is taken from codes of that type for those in memory, which are int8. Floats, sums
        and places, which are int64 in the model, have 32 bits in memory.
    scale : scale and zero point where the model has floats of these codes; else None.
    """

    sources: np.ndarray
    kind: "np.dtype[Any]"
    offset: int
    scale: tuple[float, int] | None = None

    @property
    def width(self) -> int:
        """Bytes of each in memory."""
        return 1 if self.kind.itemsize == 1 else 4

    @property
    def span(self) -> tuple[int, int]:
        """Address of the first, and bytes to behind the last."""
        first = int(self.sources.min())
        return first, int(self.sources.max()) + 1 - first

    def stored(self, codes: np.ndarray) -> bytes:
        """Return the bytes of :attr:`span` with these codes; 0 where there are none of it."""
        first, size = self.span
        stored = np.zeros(size, np.int8)
        stored[self.sources - first] = codes.astype(np.int64) - self.offset
        return stored.tobytes()

    def codes_of(self, memory: bytes) -> np.ndarray:
        """Return the codes that are in the bytes of :attr:`span`."""
        codes = np.frombuffer(memory, np.int8).astype(np.int64)[self.sources - self.span[0]]
        return (codes + self.offset).astype(self.kind)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A number that is chosen for each run of a program.

    Members
    -------
    name, low, high : its range, both included; it is `low` until it is set.
    address : of the word with its value.
    words : addresses of the words that it changes, and factors: each is its first value plus the
        factor for each one that the parameter is above `low`. Who runs the program changes them.
    """

    name: str
    low: int
    high: int
    address: int = 0
    words: tuple[tuple[int, int], ...] = ()

    def stored(self, value: int) -> bytes:
        """Return the bytes of the word with a value.

        Raises
        ------
        ValueError
            It is out of range.
        """
        if not self.low <= value <= self.high:
            raise ValueError(
                f"parameter {self.name!r} must be {self.low}..{self.high}, not {value}"
            )
        return value.to_bytes(4, "little", signed=True)


def parameter_words(parameters: Sequence[Parameter], values: Mapping[str, int]) -> dict[int, bytes]:
    """Return the bytes that parameters' values are, by address.

    Raises
    ------
    ValueError
        A parameter that is not there, or out of its range.
    """
    known = {one.name: one for one in parameters}
    for name in values:
        if name not in known:
            names = ", ".join(map(repr, known)) or "none"
            raise ValueError(f"the program's parameters are {names}, not {name!r}")
    return {known[name].address: known[name].stored(value) for name, value in values.items()}


@dataclass(frozen=True, eq=False)
class Plan:
    """What a system must know of a network.

    Members
    -------
    parts : bytes of memory, by address.
    start : address of the program.
    inputs : codes that it takes, by name.
    layers : codes of each product, and the addresses of the counters of its starts.
    parameters : what is chosen for each run.
    apart : address of the word that says whether the starts of a ring run each by itself.
    rings : addresses of the counters of rings, and of starts that are in none.
    results : address and bytes of each output that is numbers, not codes.
    """

    parts: dict[int, bytes]
    start: int
    inputs: dict[str, Tensor]
    layers: list[tuple[Tensor, list[int]]]
    parameters: tuple[Parameter, ...] = ()
    apart: int = 0
    rings: tuple[int, ...] = ()
    results: Mapping[str, tuple[int, int]] = field(default_factory=dict)

"""A cell of a library: its pins, and what it computes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from carrysave.asic.liberty.functions import compile_function

__all__ = ["Cell", "Pin", "Register"]


@dataclass(frozen=True)
class Pin:
    """One pin of a cell; ``capacitance`` and ``max_capacitance`` in fF."""

    name: str
    direction: str
    capacitance: float
    max_capacitance: float | None
    function: str | None
    clock: bool
    three_state: bool


@dataclass(frozen=True)
class Register:
    """A flip-flop: names of its state and of the inverse, its functions as Liberty has them."""

    state: str
    inverse: str
    clocked_on: str
    next_state: str


@dataclass(frozen=True)
class Cell:
    """One cell; ``area`` in um2 (as Liberty files of standard cells state it).

    ``gate`` names the clock, enable, output and test pins of an integrated clock gate.
    ``register`` is there for flip-flops without asynchronous set or reset; ``asynchronous`` are the
    pins that set or reset the others.
    """

    name: str
    area: float
    pins: tuple[Pin, ...]
    sequential: bool
    dont_use: bool
    gate: dict[str, str] | None
    register: Register | None
    asynchronous: tuple[str, ...] = ()

    @classmethod
    def from_plain(cls, facts: dict[str, Any]) -> "Cell":
        """Return what ``dataclasses.asdict`` took apart."""
        register = facts["register"]
        return cls(**{
            **facts,
            "pins": tuple(Pin(**pin) for pin in facts["pins"]),
            "register": Register(**register) if register else None,
            "asynchronous": tuple(facts["asynchronous"]),
        })

    @cached_property
    def inputs(self) -> tuple[Pin, ...]:
        """Input pins, in the order of the file."""
        return tuple(pin for pin in self.pins if pin.direction == "input")

    @cached_property
    def outputs(self) -> tuple[Pin, ...]:
        """Output pins, in the order of the file."""
        return tuple(pin for pin in self.pins if pin.direction == "output")

    def table(self, output: Pin) -> tuple[int, ...] | None:
        """Truth table over the inputs (the first is bit 0); None if not combinational."""
        if self.sequential or output.function is None or output.three_state:
            return None
        names = [pin.name for pin in self.inputs]
        if len(names) > 6:
            return None
        evaluate = compile_function(output.function, frozenset(names))
        if evaluate is None:
            return None
        points = range(1 << len(names))
        return tuple(evaluate({n: p >> i & 1 for i, n in enumerate(names)}) for p in points)

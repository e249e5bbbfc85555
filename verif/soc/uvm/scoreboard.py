"""Scoreboard: how each order ended, every byte of memory, and what the bus has seen meanwhile."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyuvm import uvm_analysis_port, uvm_scoreboard, uvm_subscriber

from golden.soc.coprocessor import CoprocessorSpec, Error
from verif.soc.uvm.memory import Burst
from verif.soc.uvm.orders import Order
from verif.soc.uvm.predictor import Expected

__all__ = ["Checked", "Listener", "Outcome", "Scoreboard"]

_OF_MEMORY = {Error.READ: "r", Error.DESCRIPTOR: "r", Error.WRITE: "w"}


@dataclass(frozen=True)
class Outcome:
    """What a host reads after the end of an order, and memory as it is then.

    Members
    -------
    beats : read and written, as memory counted them.
    counters : registers of COUNTERS by name; empty if they were not read.
    """

    error: int
    response: int
    job: int
    address: int
    done: int
    memory: np.ndarray
    beats: tuple[int, int]
    counters: dict[str, int]


@dataclass(frozen=True)
class Checked:
    """An order that ended as it should, and its bursts."""

    order: Order
    bursts: tuple[Burst, ...]


class Listener(uvm_subscriber):
    """Hands what comes to a function."""

    def __init__(self, name: str, parent: Any, function: Any) -> None:
        self.function = function
        super().__init__(name, parent)

    def write(self, item: Any) -> None:
        """Hand it over."""
        self.function(item)


class Scoreboard(uvm_scoreboard):
    """Compares outcomes with what is expected; raises AssertionError at the first difference."""

    spec: CoprocessorSpec

    def build_phase(self) -> None:
        """Make the ports."""
        self.expected: Expected | None = None
        self.bursts: list[Burst] = []
        self.orders = 0
        self.from_predictor = Listener("from_predictor", self, self._expect)
        self.from_memory = Listener("from_memory", self, self.bursts_seen)
        self.from_host = Listener("from_host", self, self._compare)
        self.checked = uvm_analysis_port("checked", self)

    def _expect(self, expected: Expected) -> None:
        assert self.expected is None, "an order began before the last one ended"
        self.expected = expected
        self.bursts = []

    def bursts_seen(self, burst: Burst) -> None:
        """Keep a burst of the present order."""
        self.bursts.append(burst)

    def forget(self) -> Expected | None:
        """Expect nothing any more: there was a reset. Returns what was expected."""
        expected, self.expected = self.expected, None
        return expected

    def _compare(self, outcome: Outcome) -> None:
        expected = self.forget()
        assert expected is not None, "an order ended that had not begun"
        order, error = expected.order, Error(outcome.error)
        assert error == expected.error, f"{error!r}, not {expected.error!r}: {order}"
        assert outcome.done == expected.done, f"{outcome.done} of {expected.done} done: {order}"
        assert outcome.job == (expected.done if error else 0), f"job {outcome.job}: {order}"
        response, address = 0, expected.address
        failing = [burst for burst in self.bursts if burst.errors]
        assert bool(failing) == (error in _OF_MEMORY), f"{failing}: {order}"
        if error in _OF_MEMORY:
            first = next(
                burst
                for burst in failing
                if burst.way == _OF_MEMORY[error]
                and (error == Error.DESCRIPTOR) == order.of_ring(burst.address)
            )
            response, address = first.response, first.address
        assert outcome.response == response, f"response {outcome.response}: {order}"
        assert outcome.address == address, f"{outcome.address:#x}, not {address:#x}: {order}"
        self.memory(expected, outcome.memory)
        if error and order.ring is None and not failing:
            assert outcome.beats == (0, 0), f"{outcome.beats} beats of what is refused: {order}"
        self._count(expected, outcome)
        self.orders += 1
        self.checked.write(Checked(order, tuple(self.bursts)))

    def memory(self, expected: Expected, memory: np.ndarray) -> None:
        """Compare every byte."""
        wrong = memory != expected.memory
        if expected.partly is not None:
            wrong &= memory != expected.partly
        places = np.flatnonzero(wrong).tolist()  # addresses are beyond numpy's integers
        assert not places, (
            f"{len(places)} bytes from {expected.order.base + places[0]:#x} on differ:"
            f" {expected.order}"
        )

    def _count(self, expected: Expected, outcome: Outcome) -> None:
        """Check the counters, of which only some are known to the cycle."""
        values, inside = outcome.counters, self.spec.inside
        if not values:
            return
        if not self.spec.counters:
            assert not any(values.values()), f"{values} of a build that counts nothing"
            return
        beats = values["read_beats"], values["write_beats"]
        assert beats == outcome.beats, f"{beats}, not {outcome.beats} beats: {expected.order}"
        codes = self.spec.kinds[0].codes
        if not expected.error:
            assert values["macs"] == expected.macs, f"{values}: {expected.order}"
            assert values["compute"] * inside.m * inside.n * inside.k * codes >= expected.macs
            # Those of fetching and preparing are stalls too, which cycles have in them.
            both = values["compute"] + values["stall_load"]
            assert both <= self.spec.array_clock * values["cycles"]

"""Partners of a design in Amaranth's simulator: each drives and sees its ports once a cycle."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from amaranth import Signal, Value
from amaranth.lib import wiring
from amaranth.sim import Simulator

__all__ = ["Part", "Pin", "Sink", "Source", "Stable", "Watch", "run", "words"]


class Part:
    """A partner: sets inputs before each clock edge, and is told what the edge found."""

    ports: Sequence[Value] = ()

    def drive(self, ctx: Any) -> None:
        """Set inputs of the design."""

    def see(self, cycle: int, values: Sequence[int]) -> None:
        """Take the values of `ports` at the clock edge."""


def run(
    design: wiring.Component,
    parts: Sequence[Part],
    done: Callable[[], bool],
    *,
    deadline: int,
    more: int = 0,
) -> int:
    """Simulate until it is done, and `more` cycles; return the cycles it took."""
    ports = [port for part in parts for port in part.ports]
    took: list[int] = []

    async def bench(ctx: Any) -> None:
        for cycle in range(deadline + more):
            for part in parts:
                part.drive(ctx)
            _, _, *values = await ctx.tick().sample(*ports)
            start = 0
            for part in parts:
                part.see(cycle, values[start : start + len(part.ports)])
                start += len(part.ports)
            if done():
                took.append(cycle + 1)
            if took and cycle + 1 >= took[0] + more:
                return

    simulator = Simulator(design)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert took, f"not done after {deadline} cycles"
    return took[0]


def words(octets: np.ndarray, count: int) -> list[int]:
    """Cut bytes into integers of `count` bytes, the first byte lowest; the last filled with 0."""
    raw = octets.tobytes()
    return [int.from_bytes(raw[at : at + count], "little") for at in range(0, len(raw), count)]


class Source(Part):
    """Sends items into a stream; once offered, an item stays.

    Parameters
    ----------
    items : payloads as integers.
    rate : how likely the next item is offered in a cycle.
    """

    def __init__(
        self, port: Any, items: Iterable[int], rng: np.random.Generator, rate: float = 1.0
    ) -> None:
        self.valid, self.payload = port.valid, Value.cast(port.payload)
        self.ports = [port.ready]
        self.items = list(items)
        self.rng, self.rate = rng, rate
        self.cycles: list[int] = []
        """Cycle in which each was taken."""
        self.offered = False

    def drive(self, ctx: Any) -> None:
        pending = len(self.cycles) < len(self.items)
        self.offered = pending and (self.offered or self.rng.random() < self.rate)
        ctx.set(self.valid, self.offered)
        ones = (1 << len(self.payload)) - 1
        ctx.set(self.payload, self.items[len(self.cycles)] if self.offered else ones)

    def see(self, cycle: int, values: Sequence[int]) -> None:
        if self.offered and values[0]:
            self.cycles.append(cycle)
            self.offered = False

    @property
    def done(self) -> bool:
        return len(self.cycles) == len(self.items)


class Sink(Part):
    """Takes items from a stream, and checks that what waits does not change.

    Parameters
    ----------
    rate : how likely it is ready in a cycle.
    """

    def __init__(self, port: Any, rng: np.random.Generator, rate: float = 1.0) -> None:
        self.ready = port.ready
        self.ports = [port.valid, Value.cast(port.payload)]
        self.rng, self.rate = rng, rate
        self.items: list[int] = []
        self.cycles: list[int] = []
        self.waits: int | None = None
        self.open = True

    def drive(self, ctx: Any) -> None:
        self.open = self.rng.random() < self.rate
        ctx.set(self.ready, self.open)

    def see(self, cycle: int, values: Sequence[int]) -> None:
        valid, payload = values
        assert self.waits is None or (valid and payload == self.waits), "it changed while it waited"
        self.waits = None
        if valid and self.open:
            self.items.append(payload)
            self.cycles.append(cycle)
        elif valid:
            self.waits = payload


class Pin(Part):
    """Sets an input in each cycle to what a function says."""

    def __init__(self, port: Signal, value: Callable[[], int]) -> None:
        self.port, self.value = port, value

    def drive(self, ctx: Any) -> None:
        ctx.set(self.port, self.value())


class Watch(Part):
    """Calls a function with the cycle and the values of ports."""

    def __init__(self, ports: Sequence[Value], see: Callable[[int, Sequence[int]], None]) -> None:
        self.ports, self.found = ports, see

    def see(self, cycle: int, values: Sequence[int]) -> None:
        self.found(cycle, values)


class Stable(Part):
    """Checks that a channel keeps its payload, and its valid, until it is taken."""

    def __init__(self, valid: Value, ready: Value, payload: Sequence[Value]) -> None:
        self.ports = [valid, ready, *payload]
        self.waits: Sequence[int] | None = None

    def see(self, cycle: int, values: Sequence[int]) -> None:
        valid, ready, *payload = values
        assert self.waits is None or (valid and payload == self.waits), "it changed while it waited"
        self.waits = payload if valid and not ready else None

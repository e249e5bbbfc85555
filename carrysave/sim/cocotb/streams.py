"""Streams under cocotb: drive and watch flattened valid / ready / payload ports, with stalls."""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import cocotb
import numpy as np
from cocotb.simtime import convert, get_sim_time
from cocotb.task import Task
from cocotb.triggers import RisingEdge, SimTimeoutError, with_timeout

from carrysave.sim.cocotb import coverage
from carrysave.sim.cocotb.clocks import PERIOD_NS, start_clocks
from carrysave.sim.cocotb.pins import bits_of, flag_of, writer_of
from carrysave.sim.parameters import BENCH_VARIABLE, bench_parameters
from golden.formats.integer import IntFormat

__all__ = [
    "PERIOD_NS",
    "SCHEDULES",
    "Sink",
    "Source",
    "cycle",
    "deadline",
    "generator",
    "limited",
    "limited_beats",
    "pack",
    "reset",
    "schedule",
    "start_clock",
    "unpack",
]

# What stalls look like, as runs of go and of stall; each maker is given a random generator.
SCHEDULES = {
    "flowing": None,
    "sparse": lambda rng: (int(rng.random() < 0.2), int(rng.geometric(0.3))),
    "bursts": lambda rng: (int(rng.geometric(0.2)), int(rng.geometric(0.2))),
    "rare": lambda rng: (int(rng.geometric(0.03)), 1),
    "long": lambda rng: (int(rng.geometric(0.1)), int(rng.integers(20, 60))),
}


def generator(*more: int) -> np.random.Generator:
    """Make a random generator of the run's seed and `more`; of cocotb's, if the run is not ours."""
    ours = BENCH_VARIABLE in os.environ
    seed = bench_parameters()["seed"] if ours else cocotb.RANDOM_SEED
    return np.random.default_rng([seed, *more])


def schedule(kind: str, rng: np.random.Generator) -> Iterator[bool] | None:
    """Say for each cycle whether a stream may move; None if it always may."""
    runs = SCHEDULES[kind]
    return None if runs is None else _runs(runs, rng)


def _runs(runs: Any, rng: np.random.Generator) -> Iterator[bool]:
    while True:
        go, stall = runs(rng)
        yield from (True,) * go
        yield from (False,) * stall


def pack(codes: np.ndarray, width: int) -> list[int]:
    """Pack rows of codes into integers, element 0 in the least significant bits.

    Parameters
    ----------
    codes : int64, beats x elements.
    width : bits of an element, 1..63; codes are taken modulo 2^width.
    """
    values = []
    for start in range(0, len(codes), 4096):  # a code takes 8 bytes for each of its bits
        part = np.asarray(codes[start : start + 4096], dtype=np.int64)
        bits = ((part[:, :, None] >> np.arange(width)) & 1).astype(np.uint8)
        octets = np.packbits(bits.reshape(len(part), -1), axis=1, bitorder="little")
        values += [int.from_bytes(row.tobytes(), "little") for row in octets]
    return values


def unpack(values: Sequence[str], fmt: IntFormat) -> np.ndarray:
    """Undo :func:`pack` for values as the simulator gives them, as strings of bits, MSB first.

    Returns
    -------
    int64 codes, beats x elements.
    """
    if not values:
        return np.zeros((0, 0), np.int64)
    digits = np.frombuffer("".join(values).encode(), dtype=np.uint8) - ord("0")
    assert digits.max() <= 1, f"X or Z in {values[int(digits.argmax()) // len(values[0])]}"
    bits = digits.reshape(len(values), -1, fmt.width)[:, ::-1, ::-1].astype(np.int64)
    return fmt.wrap(bits @ (1 << np.arange(fmt.width, dtype=np.int64)))


def limited(count: int) -> int:
    """Return how many of some transactions are sent: all, or fewer if the caller asks for that."""
    return min(count, bench_parameters().get("transactions", count))


def limited_beats(last: np.ndarray) -> int:
    """Return how many of some beats are sent, where a transaction ends with each `last` one."""
    ends = np.flatnonzero(last)
    count = limited(len(ends))
    return len(last) if count == len(ends) else int(ends[count - 1]) + 1


async def start_clock(dut: Any) -> None:
    """Start the clock of the design and wait for an edge of it; set inputs that stay constant."""
    for name, value in bench_parameters().get("constants", {}).items():
        getattr(dut, name).value = value
    start_clocks(dut.clk)
    await RisingEdge(dut.clk)


async def reset(dut: Any) -> None:
    """Assert reset for one cycle, from now on; afterwards the design is as at power-up."""
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0


def cycle() -> int:
    """Return the number of the present cycle; constant from one rising edge to the next."""
    return get_sim_time() // _period()


@cache
def _period() -> int:
    """Return the steps of the simulator in a cycle."""
    return convert(PERIOD_NS, "ns", to="step")


async def deadline(task: Task[Any], cycles: int, what: str) -> None:
    """Wait for a task, at most `cycles` clock cycles; then fail, naming `what` was waited for."""
    try:
        await with_timeout(task, cycles * PERIOD_NS, "ns")
    except SimTimeoutError:
        raise AssertionError(f"{what}: not done after {cycles} cycles") from None


class _Stream:
    """Ports of one stream: `name`_valid, `name`_ready and a port for each payload field.

    Parameters
    ----------
    dut : module that has the ports.
    name : what their names begin with.
    fields : of the payload; what the names of their ports end with.
    clk : the clock that the bench drives; `dut.clk` by default.
    valid, ready : what the names of these ports end with.
    """

    def __init__(
        self,
        dut: Any,
        name: str,
        fields: Sequence[str],
        *,
        clk: Any = None,
        valid: str = "valid",
        ready: str = "ready",
    ) -> None:
        self.name = name
        self.clk = dut.clk if clk is None else clk
        self.valid = getattr(dut, f"{name}_{valid}")
        self.ready = getattr(dut, f"{name}_{ready}")
        self.payload = [getattr(dut, f"{name}_{field}") for field in fields]
        self.cycles: list[int] = []
        """Cycle of each transfer."""
        self.offers: list[int] = []
        """Cycle in which each beat was first there to be taken; of an input stream."""
        coverage.watch(name)

    @property
    def count(self) -> int:
        """Transfers so far."""
        return len(self.cycles)

    def _taken(self, offered: int, now: int) -> None:
        """Note a transfer in the cycle `now`, of what was offered since another."""
        coverage.count(self.name, offered, now, self.cycles[-1] if self.cycles else None)
        self.cycles.append(now)


class Source(_Stream):
    """Drives an input stream of the design."""

    def __init__(self, dut: Any, name: str, fields: Sequence[str], **ports: Any) -> None:
        super().__init__(dut, name, fields, **ports)
        self._valid = writer_of(self.valid)
        self._payload = [writer_of(port) for port in self.payload]
        self._ones = [(1 << len(port)) - 1 for port in self.payload]
        self.idle()

    def idle(self) -> None:
        """Withdraw the stream, with ones as payload, which the design must ignore."""
        self._valid(0)
        for write, ones in zip(self._payload, self._ones, strict=True):
            write(ones)

    def send(
        self, beats: Sequence[Sequence[int]], stalls: Iterator[bool] | None = None
    ) -> Task[None]:
        """Start to send beats, each a tuple with a value for each field."""
        return cocotb.start_soon(self._send(beats, stalls))

    async def _send(self, beats: Sequence[Sequence[int]], stalls: Iterator[bool] | None) -> None:
        edge = RisingEdge(self.clk)
        ready = flag_of(self.ready)
        offered = False
        for beat in beats:
            if stalls is not None and not next(stalls):
                self.idle()
                offered = False
                await edge
                while not next(stalls):
                    await edge
            for write, value in zip(self._payload, beat, strict=True):
                write(value)
            if not offered:
                self._valid(1)
                offered = True
            await edge
            self.offers.append(now := cycle())
            taken = now
            while not ready():
                await edge
                taken = cycle()
            self._taken(now, taken)
        self.idle()


class Sink(_Stream):
    """Takes an output stream of the design, and checks that the design keeps the stream rule.

    Members
    -------
    beats : what was taken, a tuple of strings of bits for each transfer.
    """

    def __init__(self, dut: Any, name: str, fields: Sequence[str], **ports: Any) -> None:
        super().__init__(dut, name, fields, **ports)
        self.beats: list[tuple[str, ...]] = []
        self._ready = writer_of(self.ready)
        self._payload = [bits_of(port) for port in self.payload]
        self._ready(0)

    def take(self, count: int, stalls: Iterator[bool] | None = None) -> Task[None]:
        """Start to take `count` more beats."""
        return cocotb.start_soon(self._take(self.count + count, stalls))

    async def _take(self, total: int, stalls: Iterator[bool] | None) -> None:
        edge = RisingEdge(self.clk)
        valid, payload = flag_of(self.valid), self._payload
        held = None
        offered = 0
        ready = None
        while self.count < total:
            go = stalls is None or next(stalls)
            if go is not ready:
                self._ready(int(go))
                ready = go
            await edge
            if not valid():
                assert held is None, f"{self.name}_valid was withdrawn before the transfer"
                continue
            beat = tuple([read() for read in payload])
            assert held in (None, beat), f"{self.name} changed while it waited: {held} to {beat}"
            if held is None:
                offered = cycle()
            if go:
                self.beats.append(beat)
                self._taken(offered, cycle())
                held = None
            else:
                held = beat
        self.ready.value = 0

    async def silent(self, cycles: int) -> None:
        """Check that nothing more comes for a number of cycles, taking whatever would."""
        self.ready.value = 1
        for _ in range(cycles):
            await RisingEdge(self.clk)
            assert not self.valid.value, f"{self.name} sent more than the {self.count} beats due"
        self.ready.value = 0

    def pop(self) -> list[list[str]]:
        """Hand over what was taken: for each field its values, as strings of bits."""
        beats, self.beats = self.beats, []
        return [list(values) for values in zip(*beats, strict=True)] or [[] for _ in self.payload]

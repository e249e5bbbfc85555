"""A host's side of a system: loads a network over the serial line, and runs it.

Needs numpy and the driver's serial line only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import CoprocessorError
from .line import Command, Line, SerialPort

__all__ = [
    "COUNTERS",
    "Outcome",
    "Parameter",
    "Plan",
    "System",
    "Tensor",
    "counters_of",
    "parameter_words",
]

COUNTERS = ("cycles", "compute", "stall_load", "stall_store", "read_beats", "write_beats", "macs")
"""Fields of the C driver's carrysave_counters, of 64 bits each."""
_CHUNK = 1024
"""Bytes of one command: what is sent again if it is lost."""
_ANSWER = 16
_ADDRESS, _COUNT = 24, 16
"""Bits of a frame's address, and of a count of bytes in its value."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """Codes in memory.

    Members
    -------
    sources : address of each.
    kind : type in the model.
    offset : what is taken from codes of that type for those in memory, which are int8.
    scale : scale and zero point where the model has floats of these codes; else None.
    """

    sources: np.ndarray
    kind: "np.dtype[Any]"
    offset: int
    scale: tuple[float, int] | None = None

    @property
    def span(self) -> tuple[int, int]:
        """Address of the first, and bytes to behind the last."""
        first = int(self.sources.min())
        return first, int(self.sources.max()) + 1 - first

    def stored(self, codes: np.ndarray) -> bytes:
        """Return the bytes of :attr:`span` with these codes; 0 where there are none of it."""
        first, size = self.span
        found = np.zeros(size, np.int8)
        found[self.sources - first] = codes.astype(np.int64) - self.offset
        return found.tobytes()

    def found(self, memory: bytes) -> np.ndarray:
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
    """What a system must be told of a network.

    Members
    -------
    parts : bytes of memory, by address.
    start : address of the program.
    inputs : codes that it takes, by name.
    layers : codes of each product, and the addresses of the counters of its starts.
    parameters : what is chosen for each run.
    """

    parts: dict[int, bytes]
    start: int
    inputs: dict[str, Tensor]
    layers: list[tuple[Tensor, list[int]]]
    parameters: tuple[Parameter, ...] = ()


def counters_of(memory: np.ndarray, addresses: Iterable[int]) -> dict[str, int]:
    """Return the sums of the counters of starts, that are at some addresses of memory."""
    size = 8 * len(COUNTERS)
    starts = [memory[address : address + size].view("<u8") for address in addresses]
    return dict(zip(COUNTERS, np.sum(starts, axis=0).tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run made.

    Members
    -------
    cycles : of the firmware, from the first step to the last.
    best : number of the greatest of the last layer's codes.
    codes : of each layer; None of one whose codes were not read.
    counters : of each layer; see :data:`COUNTERS`.
    """

    cycles: int
    best: int
    codes: list[np.ndarray | None]
    counters: list[dict[str, int]]


class System:
    """A system at a serial line.

    Parameters
    ----------
    port : an open serial line.
    plan : of the network.
    patience : what ``port.timeout`` is while a network runs.

    Raises
    ------
    CoprocessorError
        The firmware does not answer, or the co-processor fails.
    """

    def __init__(self, port: SerialPort, plan: Plan, patience: float) -> None:
        self._port, self._plan, self._patience = port, plan, patience
        self._line = Line(port)
        self._line.open()

    def load(self, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Write the network into memory; `progress` is told bytes done, and their total."""
        total, done = sum(map(len, self._plan.parts.values())), 0
        for address, data in self._plan.parts.items():
            self._write(address, data)
            done += len(data)
            progress(done, total)

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        parameters: Mapping[str, int] | None = None,
        *,
        every: bool = True,
    ) -> Outcome:
        """Run the network on codes, by names of :attr:`Plan.inputs`.

        Parameters
        ----------
        parameters : values, by name; others stay as they are.
        every : read the codes of all layers, not of the last alone.

        Raises
        ------
        ValueError
            A parameter that is not there, or out of its range.
        """
        for address, data in parameter_words(self._plan.parameters, parameters or {}).items():
            self._write(address, data)
        for name, tensor in self._plan.inputs.items():
            self._write(tensor.span[0], tensor.stored(inputs[name]))
        usual, self._port.timeout = self._port.timeout, self._patience
        try:
            answer, failed = self._command(Command.RUN, self._plan.start, answer=_ANSWER)
        finally:
            self._port.timeout = usual
        cycles, best, status, code = np.frombuffer(answer, "<u4").tolist()
        if failed or status:
            raise CoprocessorError(f"the run failed: status {status} of the C driver, error {code}")
        last = self._plan.layers[-1][0]
        codes = [
            tensor.found(self._read(*tensor.span)) if every or tensor is last else None
            for tensor, _ in self._plan.layers
        ]
        counters = [self._counters(addresses) for _, addresses in self._plan.layers]
        return Outcome(cycles, best, codes, counters)

    def _counters(self, addresses: list[int]) -> dict[str, int]:
        size = 8 * len(COUNTERS)
        data = b"".join(self._read(address, size) for address in addresses)
        return counters_of(np.frombuffer(data, np.uint8), range(0, len(data), size))

    def _write(self, address: int, data: bytes) -> None:
        for first in range(0, len(data), _CHUNK):
            part = data[first : first + _CHUNK]
            self._command(Command.WRITE, address + first, len(part), part)

    def _read(self, address: int, size: int) -> bytes:
        found = b""
        for first in range(0, size, _CHUNK):
            count = min(_CHUNK, size - first)
            found += self._command(Command.READ, address + first, count, answer=count)[0]
        return found

    def _command(
        self, command: Command, address: int, count: int = 0, data: bytes = b"", *, answer: int = 0
    ) -> tuple[bytes, int]:
        """Send a command; the bits of its address that frames have no room for are in its value."""
        high, low = divmod(address, 1 << _ADDRESS)
        return self._line.command(command, low, count | high << _COUNT, data, answer)

"""A host's side of a system: loads a network over the serial line, and runs it.

Needs numpy and the driver's serial line only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .errors import CoprocessorError
from .line import Command, Line, SerialPort
from .plan import Parameter, Plan, Tensor, parameter_words

__all__ = [
    "COUNTERS",
    "RUN_WORDS",
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
RUN_WORDS = ("cycles", "best", "status", "code", "moves")
"""What the firmware answers a run with, words of 32 bits."""


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
    counters : of each layer, if its starts ran each by itself; see :data:`COUNTERS`.
    results : bytes of each output that is numbers.
    jobs, moves : cycles of the co-processor from starts to their ends, 0 if starts ran each by
        itself; and of what the processor moves. The rest is set-up.
    """

    cycles: int
    best: int
    jobs: int
    moves: int
    codes: list[np.ndarray | None]
    counters: list[dict[str, int]]
    results: dict[str, bytes] = field(default_factory=dict)


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
        """Write the network into memory; `progress` gets bytes done, and their total."""
        total, done = sum(map(len, self._plan.parts.values())), 0
        for address, data in self._plan.parts.items():
            self.write(address, data)
            done += len(data)
            progress(done, total)

    def run(
        self,
        inputs: Mapping[str, np.ndarray],
        parameters: Mapping[str, int] | None = None,
        *,
        every: bool = True,
        apart: bool = False,
    ) -> Outcome:
        """Run the network on codes, by names of :attr:`Plan.inputs`.

        Parameters
        ----------
        parameters : values, by name; others stay as they are.
        every : read the codes of all layers, not of the last alone.
        apart : run the starts of rings each by itself, so that there are counters of each layer.

        Raises
        ------
        ValueError
            A parameter that is not there, or out of its range.
        """
        for address, data in parameter_words(self._plan.parameters, parameters or {}).items():
            self.write(address, data)
        for name, tensor in self._plan.inputs.items():
            self.write(tensor.span[0], tensor.stored(inputs[name]))
        if self._plan.apart:
            self.write(self._plan.apart, int(apart).to_bytes(4, "little"))
        cycles, best, moves = self.start()
        last = len(self._plan.layers) - 1
        codes = [
            tensor.codes_of(self.read(*tensor.span)) if every or number == last else None
            for number, (tensor, _) in enumerate(self._plan.layers)
        ]
        counters = [self._counters(addresses) for _, addresses in self._plan.layers if apart]
        jobs = 0 if apart or not self._plan.rings else self._counters(self._plan.rings)["cycles"]
        results = {name: self.read(*span) for name, span in self._plan.results.items()}
        return Outcome(cycles, best, jobs, moves, codes, counters, results)

    def start(self) -> tuple[int, int, int]:
        """Run what is in memory; return cycles, the best class, and cycles of moves."""
        usual, self._port.timeout = self._port.timeout, self._patience
        try:
            answer, failed = self._line.command(
                Command.RUN, self._plan.start, size=4 * len(RUN_WORDS)
            )
        finally:
            self._port.timeout = usual
        cycles, best, status, code, moves = np.frombuffer(answer, "<u4").tolist()
        if failed or status:
            raise CoprocessorError(f"the run failed: status {status} of the C driver, error {code}")
        return cycles, best, moves

    def _counters(self, addresses: Sequence[int]) -> dict[str, int]:
        size = 8 * len(COUNTERS)
        data = b"".join(self.read(address, size) for address in addresses)
        return counters_of(np.frombuffer(data, np.uint8), range(0, len(data), size))

    def write(self, address: int, data: bytes) -> None:
        """Write bytes of memory."""
        for first in range(0, len(data), _CHUNK):
            part = data[first : first + _CHUNK]
            self._line.command(Command.WRITE, address + first, len(part), part)

    def read(self, address: int, size: int) -> bytes:
        """Read bytes of memory."""
        data = b""
        for first in range(0, size, _CHUNK):
            count = min(_CHUNK, size - first)
            data += self._line.command(Command.READ, address + first, count, size=count)[0]
        return data

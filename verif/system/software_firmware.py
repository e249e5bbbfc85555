"""What the firmware does with a program, in numpy; and at its end of the line."""

from typing import Any

import numpy as np

from carrysave.driver import Requantisation
from carrysave.driver.batch import Work
from carrysave.driver.line import Command
from carrysave.driver.system import COUNTERS, Plan
from carrysave.networks import golden
from golden.soc.serial.host_link import HostLink, frame
from golden.soc.spec import CoprocessorSpec

__all__ = ["Firmware", "run"]


class Firmware(HostLink):
    """Takes bytes of the line, and runs programs; each takes 1,000 cycles.

    Parameters
    ----------
    spec : of the co-processor.
    """

    def __init__(self, spec: CoprocessorSpec) -> None:
        registers: Any = None  # of a system, the line sees none
        super().__init__(np.zeros(1 << 24, np.uint8), registers)
        self.spec = spec
        self.runs = 0

    def _do(self) -> None:
        super()._do()
        if self._code == Command.RUN:
            self.runs += 1
            execute(self.spec, self.memory, self._address)

    def _answer(self) -> bytes:
        if self._code != Command.RUN:
            return super()._answer()
        self._place, self._last = None, self._sequence
        _, _, scores, count = self.memory[self._address :][:16].view("<u4").tolist()
        best = int(np.argmax(self.memory[scores : scores + count].view(np.int8)))
        data = np.array([1000, best, 0, 0], "<u4").tobytes()
        return frame(bytes([self._sequence]) + data + bytes([0]))


def run(spec: CoprocessorSpec, plan: Plan, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """Return memory after a run; bytes that nobody wrote are random, and nothing may need them."""
    memory = np.random.default_rng(0).integers(0, 256, 1 << 20).astype(np.uint8)
    for address, data in plan.parts.items():
        memory[address : address + len(data)] = np.frombuffer(data, np.uint8)
    for name, tensor in plan.inputs.items():
        first, size = tensor.span
        memory[first : first + size] = np.frombuffer(tensor.stored(inputs[name]), np.uint8)
    execute(spec, memory, plan.start)
    return memory


def execute(spec: CoprocessorSpec, memory: np.ndarray, start: int) -> None:
    """Run the program at an address."""
    words = memory[start:].view("<i4")
    place = 4
    for _ in range(words[0]):
        kind, place = words[place], place + 1
        place = _gather(memory, words, place) if kind == 1 else _product(spec, memory, words, place)


def _gather(memory: np.ndarray, words: np.ndarray, place: int) -> int:
    to, table, count, taps = words[place : place + 4]
    sources = memory[table : table + 4 * count * taps].view("<i4").reshape(count, taps)
    codes = np.where(sources < 0, sources.astype(np.int8), memory.view(np.int8)[sources])
    memory[to : to + count] = codes.max(axis=1).view(np.uint8)
    return place + 4


def _product(spec: CoprocessorSpec, memory: np.ndarray, words: np.ndarray, place: int) -> int:
    count, counters = words[place : place + 2].tolist()
    memory[counters : counters + 8 * len(COUNTERS)].view("<u8")[:] = 1
    place += 2
    for _ in range(count):
        a, b, c, bias, records, m, n, k, lda, ldb, ldc, flags = words[place : place + 12].tolist()
        multiplier, shift, zero, low, high = words[place + 12 : place + 17].tolist()

        def matrix(at: int, rows: int, columns: int, stride: int) -> np.ndarray:
            codes = memory.view(np.int8)[
                at + stride * np.arange(rows)[:, None] + np.arange(columns)
            ]
            return codes.astype(np.int64)

        if flags & 4:
            kind = np.dtype([("m", "<u4"), ("s", "u1"), ("none", "u1"), ("z", "<i2")])
            each = memory[records : records + 8 * n].view(kind)
            how = Requantisation(
                multiplier=each["m"], shift=each["s"], zero_point=each["z"], low=low, high=high
            )
        else:
            how = Requantisation(
                multiplier=multiplier, shift=shift, zero_point=zero, low=low, high=high
            )
        work = Work(
            a=matrix(a, m, k, lda), b=matrix(b, k, n, ldb),
            bias=memory[bias : bias + 4 * n].view("<i4").astype(np.int64), requantisation=how,
        )  # fmt: skip
        (result,) = golden.run(spec, [work])
        at = c + ldc * np.arange(m)[:, None] + np.arange(n)
        memory[at] = result.astype(np.int8).view(np.uint8)
        place += 20
    return place

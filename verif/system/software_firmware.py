"""What the firmware does at its end of the line, with programs run by golden."""

from typing import Any

import numpy as np

from carrysave.compiler.run.golden import execute
from carrysave.driver.line import Command
from golden.soc.serial.host_link import HostLink, frame
from golden.soc.spec import CoprocessorSpec

__all__ = ["Firmware"]


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
        self._bytes, self._last = None, self._sequence
        _, _, scores, count = self.memory[self._address :][:16].view("<u4").tolist()
        best = int(np.argmax(self.memory[scores : scores + count].view(np.int8)))
        data = np.array([1000, best, 0, 0, 0], "<u4").tobytes()
        return frame(bytes([self._sequence]) + data + bytes([0]))

"""Programs on a co-processor in software behind a serial line, by either driver."""

from collections.abc import Callable
from ctypes import byref, c_uint32, c_uint64, c_void_p
from typing import Any

import numpy as np

from carrysave.compiler.program.program import Program, Section
from carrysave.compiler.run.device import by_device, place
from carrysave.compiler.run.network import Runner
from carrysave.driver import Coprocessor
from carrysave.driver.uart import UartLink
from golden.soc.serial.host_link import HostLink
from verif.soc.driver.c_link import CLineDevice, CLink
from verif.soc.driver.software_device import SoftwareDevice

__all__ = ["Port", "by_c", "by_python"]


class Port:
    """A host's end of a line with a co-processor in software at the other one.

    Members
    -------
    memory : of the device.
    sent, came : bytes on the line, so far.
    """

    timeout: float | None = 0.1
    baudrate = 1_000_000

    def __init__(self, program: Program) -> None:
        design = program.target.design
        self.memory = np.zeros(design.spec.memory_bytes, np.uint8)
        self.sent = self.came = 0
        self._hardware = SoftwareDevice(design.spec, self.memory)
        self._hardware.constants |= {
            "hash_lo": int(design.digest, 16) & 0xFFFFFFFF,
            "hash_hi": int(design.digest, 16) >> 32,
        }
        self._answers = bytearray()
        self.link = HostLink(self.memory, _Registers(self._hardware))

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self.sent += len(data)
        answer = b"".join(self.link.take(byte) for byte in data)
        self.came += len(answer)
        self._answers += answer

    @property
    def used(self) -> int:
        """Return bytes of memory up to the last one that is not 0."""
        return int(np.flatnonzero(self.memory)[-1]) + 1

    def read(self, size: int) -> bytes:
        """Take bytes that came."""
        taken, self._answers = bytes(self._answers[:size]), self._answers[size:]
        return taken


class _Registers:
    def __init__(self, hardware: SoftwareDevice) -> None:
        self._hardware = hardware

    def read(self, address: int) -> tuple[int, int]:
        """Read a register."""
        return self._hardware.read(address), 0

    def write(self, address: int, value: int) -> int:
        """Write a register."""
        self._hardware.write(address, value)
        return 0


def by_python(program: Program, port: Port) -> tuple[np.ndarray, Runner]:
    """Return a program's memory here, and what runs its sections by the Python driver."""
    link = UartLink(port)
    device = Coprocessor(link, link)
    return by_device(device, place(device, program))


class _CRunner:
    """Runs sections by the C driver.

    Parameters
    ----------
    device, memory : the driver, and the program's memory here.
    there : what the driver notes of the device's, which must live as long.
    """

    def __init__(self, device: CLineDevice, memory: np.ndarray, there: np.ndarray) -> None:
        self._device, self._memory, self._there = device, memory, there

    def __call__(self, section: Section) -> None:
        """Run a section."""
        start, none = c_uint32(section.start), None
        memory = self._memory.ctypes.data_as(c_void_p)
        status = self._device.call("program_run", memory, c_uint64(0), start, none, none)
        self._device.check(status)

    def mend(self) -> None:
        """Reset the co-processor, and greet the device anew, after an error of the line."""
        self._device.reset()


def by_c(library: Any) -> Callable[[Program, Port], tuple[np.ndarray, _CRunner]]:
    """Return the same for the C driver, of :func:`verif.soc.driver.c_link.compile_link`."""

    def make(program: Program, port: Port) -> tuple[np.ndarray, _CRunner]:
        link = CLink(library, port)
        device = CLineDevice(library, link)
        memory = np.frombuffer(bytearray(program.memory.tobytes()), np.uint8)
        there = np.zeros_like(memory)

        def at(array: np.ndarray) -> c_void_p:
            return array.ctypes.data_as(c_void_p)

        device.check(
            library.carrysave_uart_place(
                byref(link.state), at(memory), at(there), c_uint32(len(memory))
            )
        )

        return memory, _CRunner(device, memory, there)

    return make

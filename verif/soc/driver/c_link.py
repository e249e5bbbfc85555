"""The C driver behind a serial line, with the interface of the Python one."""

import ctypes
import subprocess
from collections.abc import Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_bool, c_uint8, c_uint32, c_void_p
from pathlib import Path
from typing import Any

from carrysave.driver import Coprocessor, CoprocessorError, Counters, Info, Job, LinkError
from carrysave.driver.allocator import Room
from carrysave.driver.line import Command, SerialPort
from carrysave.driver.uart import UartLink
from carrysave.ip import driver_sources as driver
from verif.soc.driver import c_driver
from verif.soc.driver.c_structs import CCounters, CDeviceState, CJob

__all__ = ["SANITISED", "CLineDevice", "CLink", "compile_link"]

SANITISED = ("-g", "-O0", "-fsanitize=undefined,float-cast-overflow")
"""Flags with which the driver says on stderr what it does that C leaves undefined, and goes on."""

_LINK, _UNSTARTED = 16, 22
"""Statuses."""
_SEND = CFUNCTYPE(c_bool, c_void_p, POINTER(c_uint8), c_uint32)
_RECEIVE = CFUNCTYPE(c_uint32, c_void_p, POINTER(c_uint8), c_uint32)


class CUart(Structure):
    """The link as the C driver has it."""

    _fields_ = [
        ("context", c_void_p),
        ("send", _SEND),
        ("receive", _RECEIVE),
        ("tries", c_uint32),
        ("patience", c_uint32),
        ("sequence", c_uint8),
        ("memory_bytes", c_uint32),
        ("resets", c_uint32),
        ("failed", c_bool),
        ("unstarted", c_bool),
        ("here", c_void_p),
        ("there", c_void_p),
        ("placed", c_uint32),
        ("bytes", c_uint32),
    ]


def compile_link(folder: Path, flags: Sequence[str] = ()) -> Any:
    """Make a library of the driver for a line, by more flags of the compiler, and load it."""
    c_driver.write_driver(folder)
    driver.c(folder, uart=True)
    library = folder / "carrysave_uart.so"
    command = [
        "cc",
        "-std=c99",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-shared",
        "-fPIC",
        '-DCARRYSAVE_CONFIG="carrysave_uart.h"',
        "-DCARRYSAVE_UART_BURST=100u",
        "-o",
        str(library),
        *map(str, c_driver.sources(folder)),
        str(folder / "carrysave_uart.c"),
        *flags,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = c_driver.load(library)
    loaded.carrysave_uart_get.restype = c_uint32
    return loaded


class CLink(UartLink):
    """The C link; buffers are those of the Python one."""

    def __init__(self, library: Any, port: SerialPort, tries: int = 0) -> None:
        def receive(context: Any, bytes_: Any, count: int) -> int:
            came = port.read(count)
            ctypes.memmove(bytes_, came, len(came))
            return len(came)

        def send(context: Any, bytes_: Any, count: int) -> bool:
            port.write(ctypes.string_at(bytes_, count))
            return True

        self._library = library
        self._burst = 65535
        self.state = CUart(send=_SEND(send), receive=_RECEIVE(receive), tries=tries)
        self._check(library.carrysave_uart_open(byref(self.state)))
        self.size = self.state.memory_bytes
        self._room = Room(self.size)

    @property
    def failed(self) -> bool:
        """Whether the last access failed."""
        return bool(self.state.failed)

    @property
    def resets(self) -> int:
        """How often the device was found reset."""
        return int(self.state.resets)

    def reset(self) -> None:
        """Reset by the C driver."""
        self._check(self._library.carrysave_uart_reset(byref(self.state)))

    @property
    def started(self) -> bool:
        """Whether memory has started."""
        status = self._library.carrysave_uart_started(byref(self.state))
        if status != _UNSTARTED:
            self._check(status)
        return bool(status != _UNSTARTED)

    def _check(self, status: int) -> None:
        if self.state.unstarted:
            status = _UNSTARTED
        if status or self.failed:
            text = self._library.carrysave_status_text(status).decode()
            raise (LinkError if status in (0, _LINK) else CoprocessorError)(text)

    def _command(
        self, command: Command, address: int, value: int = 0, data: bytes = b"", size: int = 0
    ) -> bytes:
        link, call = byref(self.state), self._library
        if command == Command.READ_WORD:
            word = call.carrysave_uart_get(link, address)
            self._check(0)
            return int(word).to_bytes(4, "little")
        taken = ctypes.create_string_buffer(size)
        if command == Command.WRITE_WORD:
            call.carrysave_uart_put(link, address, c_uint32(value))
            self._check(0)
        elif command == Command.ZERO:
            self._check(call.carrysave_uart_zero(link, address, value))
        elif command == Command.WRITE:
            self._check(call.carrysave_uart_write(link, address, data, value))
        else:
            self._check(call.carrysave_uart_read(link, address, taken, value))
        return taken.raw


class CLineDevice(c_driver.CDevice):
    """A co-processor that the C driver handles over a line."""

    def __init__(self, library: Any, link: CLink, **more: Any) -> None:
        self._library = library
        self._modes = {}
        self._errors = []
        self._device = CDeviceState()
        self._link = link
        Coprocessor.__init__(self, link, link, **more)

    def check(self, status: int) -> None:
        """Raise what is wrong, if anything is."""
        if status == _LINK:
            raise LinkError(self._library.carrysave_status_text(status).decode())
        super().check(status)

    def open(self) -> None:
        """Open by the C driver."""
        self.check(self.call("open", None, byref(self._link.state)))
        assert not self._device.info.ring
        self.info = Info.read(self._get)

    def reset(self) -> None:
        """Reset by the C driver, which mends the link."""
        self.check(self.call("reset"))
        self.lost = False

    def run_jobs(self, jobs: Sequence[Job], *, timeout: float | None = None) -> Counters:
        """Run jobs by the C driver, one by one."""
        many = (CJob * len(jobs))(*map(self.c_job, jobs))
        timeout = self._timeout if timeout is None else timeout
        total = CCounters()
        waits = self.waits(timeout)
        status = self.call("run", many, len(jobs), None, 0, *waits, byref(total))
        self.tell(status, len(jobs), timeout)
        return self._counters(total)

"""Registers, memory and interrupts of a Linux without PYNQ: UIO or /dev/mem, and u-dma-buf."""

import mmap
import os
import select
import weakref
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from .allocator import Room

__all__ = ["DmaBuffer", "DmaMemory", "MappedRegisters", "UioInterrupt"]


def _map(path: Path, size: int, offset: int = 0) -> mmap.mmap:
    """Map a device, uncached."""
    handle = os.open(path, os.O_RDWR | os.O_SYNC)
    try:
        return mmap.mmap(handle, size, offset=offset)
    finally:
        os.close(handle)


class MappedRegisters:
    """Registers at an address of ``/dev/mem``, or at 0 of ``/dev/uio0`` and the like."""

    def __init__(self, path: Path | str = "/dev/mem", address: int = 0, size: int = 4096) -> None:
        page = address % mmap.PAGESIZE
        mapped = _map(Path(path), page + size, address - page)
        self._words = np.frombuffer(mapped, np.uint32, size // 4, page)

    def read(self, offset: int) -> int:
        """Read a register."""
        return int(self._words[offset // 4])

    def write(self, offset: int, value: int) -> None:
        """Write a register."""
        self._words[offset // 4] = value


class UioInterrupt:
    """Waits for the interrupt of ``/dev/uio0`` and the like."""

    def __init__(self, path: Path | str) -> None:
        self._device = os.open(path, os.O_RDWR)

    def __call__(self, seconds: float) -> bool:
        """Wait; False if it does not come."""
        os.write(self._device, (1).to_bytes(4, "little"))  # the kernel disables it each time
        if not select.select([self._device], [], [], seconds)[0]:
            return False
        os.read(self._device, 4)
        return True


class DmaBuffer(np.ndarray):
    """An array in contiguous, uncached memory."""

    device_address: int
    release: Any

    def flush(self) -> None:
        """Do nothing: the memory is uncached."""

    def invalidate(self) -> None:
        """Do nothing: the memory is uncached."""

    def freebuffer(self) -> None:
        """Free the memory."""
        self.release()


class DmaMemory:
    """Contiguous memory of the module u-dma-buf, allocated in pages.

    Parameters
    ----------
    name : of the device in ``/dev``.
    devices, classes : folders of device files, and of their sysfs classes.
    """

    def __init__(
        self,
        name: str = "udmabuf0",
        *,
        devices: Path | str = "/dev",
        classes: Path | str = "/sys/class/u-dma-buf",
    ) -> None:
        folder = Path(classes) / name
        self.address = int((folder / "phys_addr").read_text(), 0)
        self.size = int((folder / "size").read_text(), 0)
        self._memory = _map(Path(devices) / name, self.size)
        self._room = Room(self.size, mmap.PAGESIZE)

    def __call__(self, shape: tuple[int, ...], dtype: Any = np.uint8) -> DmaBuffer:
        """Allocate an array of zeros, first fit.

        Raises
        ------
        MemoryError
            Out of memory.
        """
        length = prod(shape) * np.dtype(dtype).itemsize
        start = self._room.take(length)
        array = np.ndarray(shape, dtype, self._memory, start).view(DmaBuffer)
        array.device_address = self.address + start
        array.release = weakref.finalize(array, self._room.free, start)
        array[...] = 0
        return array

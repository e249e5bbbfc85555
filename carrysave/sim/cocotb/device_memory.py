"""Contiguous memory for drivers, behind a cache that must be flushed."""

from math import prod
from typing import Any

import numpy as np

__all__ = ["CachedBuffer", "Pool"]


class CachedBuffer(np.ndarray):
    """The processor's cached view of a part of memory, like a PYNQ buffer."""

    device_address: int
    pool: "Pool"

    def flush(self) -> None:
        """Write it back."""
        if not self.pool.manual:
            self.pool.clean(self.device_address, self.nbytes)

    def invalidate(self) -> None:
        """Fetch it."""
        if not self.pool.manual:
            self.pool.drop(self.device_address, self.nbytes)

    def freebuffer(self) -> None:
        """Give it back."""
        del self.pool.live[self.device_address]


class Pool:
    """Allocates parts of a memory; reuses it when everything has been freed.

    A buffer that is used after it was freed is a `KeyError`.

    Parameters
    ----------
    memory : uint8.
    rng : draws the gaps between parts, and the initial contents of caches.
    base : address of its first byte.
    manual : buffers neither flush nor invalidate; the caller uses :meth:`clean` and :meth:`drop`.
    """

    def __init__(
        self, memory: np.ndarray, rng: np.random.Generator, base: int = 0, manual: bool = False
    ) -> None:
        self.memory = memory
        self.base = base
        self.manual = manual
        self.live: dict[int, CachedBuffer] = {}
        self._dirty: set[int] = set()
        """Buffers whose dirty cache lines may still overwrite the device's data."""
        self._rng = rng
        self._next = 0

    def __call__(self, shape: tuple[int, ...], dtype: Any = np.uint8) -> CachedBuffer:
        """Allocate an array, like ``pynq.allocate``."""
        if not self.live:
            self._next = 0
        start = self._next + int(self._rng.integers(0, 100))
        size = prod(shape) * np.dtype(dtype).itemsize
        self._next = start + size
        assert self._next <= len(self.memory), "out of memory"
        noise = self._rng.integers(0, 256, size, dtype=np.uint8)
        buffer = noise.view(dtype).reshape(shape).view(CachedBuffer)
        buffer.device_address = self.base + start
        buffer.pool = self
        self.live[buffer.device_address] = buffer
        self._dirty.add(buffer.device_address)
        return buffer

    def clean(self, address: int, size: int) -> None:
        """Write cached bytes back."""
        begin, cached, memory = self._bytes(address, size)
        self._dirty.discard(begin)
        memory[:] = cached

    def drop(self, address: int, size: int) -> None:
        """Fetch bytes from memory again."""
        begin, cached, memory = self._bytes(address, size)
        assert begin not in self._dirty, "a buffer was never flushed"
        cached[:] = memory

    def _bytes(self, address: int, size: int) -> tuple[int, np.ndarray, np.ndarray]:
        """Find some bytes of a buffer, in the cache and in memory."""
        begin = max((used for used in self.live if used <= address), default=-1)
        cached = self.live[begin].reshape(-1).view(np.ndarray).view(np.uint8)
        assert address + size <= begin + cached.size, "bytes that are no buffer's"
        start = address - self.base
        cached = cached[address - begin : address - begin + size]
        return begin, cached, self.memory[start : start + size]

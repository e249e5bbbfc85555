"""Memory allocator of the device."""

__all__ = ["Room"]


class Room:
    """Allocates bytes of a memory, first fit.

    Parameters
    ----------
    size : bytes of the memory.
    grain : alignment of allocations, bytes.
    """

    def __init__(self, size: int, grain: int = 1) -> None:
        self.size = size
        self._grain = grain
        self._used: dict[int, int] = {}

    def take(self, length: int) -> int:
        """Allocate bytes; return their address.

        Raises
        ------
        MemoryError
            Out of memory.
        """
        start = 0
        for begin, end in sorted(self._used.items()):
            if begin - start >= length:
                break
            start = -(-end // self._grain) * self._grain
        if start + length > self.size:
            raise MemoryError(f"no {length} bytes of {self.size} in a row are free")
        self._used[start] = start + length
        return start

    def free(self, start: int) -> None:
        """Free the allocation at an address."""
        del self._used[start]

"""Room in a memory: which bytes of it are handed out."""

__all__ = ["Room"]


class Room:
    """Hands out bytes of a memory, each time at the first place with room.

    Parameters
    ----------
    size : bytes of the memory.
    grain : places are multiples of this.
    """

    def __init__(self, size: int, grain: int = 1) -> None:
        self.size = size
        self._grain = grain
        self._used: dict[int, int] = {}

    def take(self, length: int) -> int:
        """Return where so many bytes are.

        Raises
        ------
        MemoryError
            There is no room.
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
        """Take back what begins there."""
        del self._used[start]

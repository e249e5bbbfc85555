"""Memory of a bench, handed out from its beginning."""

__all__ = ["Room"]


class Room:
    """Matrices one after the other, whose rows begin with beats.

    Parameters
    ----------
    beat : bytes.

    Members
    -------
    free : the first address that nobody has.
    """

    def __init__(self, beat: int) -> None:
        self.free = 0
        self._beat = beat

    def take(self, rows: int, length: int) -> tuple[int, int]:
        """Return the address of a matrix, and the bytes from one of its rows to the next."""
        at, distance = self.free, -(-length // self._beat) * self._beat
        self.free += rows * distance
        return at, distance

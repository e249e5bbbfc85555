"""When an array is through with tiles, in cycles of its own clock."""

from golden.soc.ring_build import RingBuild
from golden.soc.spec import CoprocessorSpec

__all__ = ["RingArray"]

_A, _B = (9, 9), (8, 8)
"""From a row's last beat to the engine, in cycles of the bus, of an array of the same clock, and of
one of twice that."""
_LEAVES = (0, 1)
"""More from the last beat of a tile to its first row, between clocks."""


class RingArray:
    """Times, as tiles go by.

    Of an array of twice the bus's clock a cycle of the bus is two: these are the times that it
    keeps; those that it takes and gives are cycles of the bus.

    Parameters
    ----------
    spec : of the co-processor.
    build : how it is built.

    Members
    -------
    clock : cycles of the array in one of the bus.
    engine : when it can begin a tile, in its cycles.
    leaves : from a tile's last beat to its first row, in cycles of the bus.
    """

    def __init__(self, spec: CoprocessorSpec, build: RingBuild) -> None:
        m = spec.inside.m
        self.clock = spec.array_clock
        latency = -(-(build.latency or m + 3) // self.clock)
        self.leaves = latency - 1 + _LEAVES[self.clock - 1]
        # By a fast clock a tile begins a cycle after the one before, or later.
        self._gap = build.gap or self.clock - 1
        self._drain = 0 if build.gap and self.clock == 1 else self.clock * (m + (m - 1) // 8)
        self.engine = self._tile = self._at = 0
        """When it began the last tile, and was through with it."""
        self._b = 0
        """By when B lets it begin."""

    @property
    def through(self) -> int:
        """When it was through with the last tile."""
        return -(-self._at // self.clock)

    def begin(self, at: int) -> None:
        """Begin no tile before a cycle of the bus."""
        self.engine = max(self.engine, self.clock * at)

    def rows_of_b(self, last: list[int]) -> None:
        """Have rows of B, the last ones of each beat, come at these cycles."""
        waits = (self.clock * came - number for number, came in enumerate(last))
        self._b = max(waits) + self.clock * _B[self.clock - 1]

    def later(self, rows: int, engine: int) -> None:
        """Have all be so much later: what comes, by cycles of the bus, and tiles, by its own."""
        self._b += self.clock * rows
        self.engine, self._tile, self._at = (
            time + engine for time in (self.engine, self._tile, self._at)
        )

    def first_tile(self) -> None:
        """Begin a tile, which does not go on with the one before."""
        self._tile = self._at = self.engine

    def tiles(self, came: int, beats: int, across: int, *, goes_on: bool) -> int:
        """Run the tiles side by side of a block; return when it is through with them.

        Parameters
        ----------
        came : when their rows of A have come.
        beats : of each.
        across : how many they are.
        goes_on : the engine goes on with the tile, in the next block.
        """
        gap = 0 if goes_on else self._gap
        step = max(beats + gap, self._drain)
        self._at = max(self._at, self.clock * (came + _A[self.clock - 1]), self._b) + beats
        self.engine = max(self._at + gap, self._tile + self._drain)
        if across > 1:
            # What the other tiles of these rows take is there.
            self._tile = self.engine + (across - 2) * step
            self._at, self.engine = self._tile + beats, self._tile + step
        return self.through

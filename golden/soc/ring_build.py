"""What cycles depend on of how a co-processor is built."""

from typing import NamedTuple

__all__ = ["RingBuild"]


class RingBuild(NamedTuple):
    """How a co-processor is built.

    Members
    -------
    columns : of C that leave in a cycle; 0: all of a tile.
    latency : of the engine, from the last operands of a tile to its first row; 0: a cycle for each
        row, and three.
    gap : cycles between tiles in which the engine takes nothing, of an array of blocks; 0: the next
        tile follows at once, if the rows of the one before have left by then.
    """

    columns: int = 0
    latency: int = 0
    gap: int = 0

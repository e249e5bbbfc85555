"""Where rows from memory go: the stores of the loader, and the vector unit."""

from enum import IntEnum

from golden.soc.spec import CoprocessorSpec

__all__ = ["OF_A", "Destination", "PackedDestination", "destinations", "of_tables"]


class Destination(IntEnum):
    """The store that a row is for, by the number with which it travels to and from memory.

    The base address of a matrix bears the number too; that of C has the number of what C is added
    to. What a vector job reads goes to the vector unit, past all stores, so it is the last one.
    Builds whose blocks have scales have no tables, which bear the numbers of the scales: that of
    codes of C of A's, but for :func:`of_tables`, that of codes of B of B's; nor factors of rows, or
    lists, which bear that of B's, too.
    """

    A = 0
    B = 1
    A_SCALES = 2
    TABLE = 2
    B_SCALES = 3
    ROW_FACTORS = 3
    CODEBOOK = 3
    PLACES = 3
    BIAS = 4
    RECORD = 5
    ADDEND = 6
    VECTOR = 7


class PackedDestination(IntEnum):
    """Where else rows go in a build in which B can be packed: offsets of blocks, and blocks."""

    OFFSETS = 8
    PACKED = 9


def destinations(spec: CoprocessorSpec) -> int:
    """Return how many numbers a build has."""
    more = spec.table and _of_blocks(spec)
    return len(Destination) + len(PackedDestination) * spec.sparse + more


def of_tables(spec: CoprocessorSpec) -> int:
    """Return the number of tables of codes of C: the last one, where A's has numbers of blocks."""
    return destinations(spec) - 1 if _of_blocks(spec) else Destination.TABLE


def _of_blocks(spec: CoprocessorSpec) -> bool:
    """Return whether A has octaves of shares, or powers of groups."""
    return spec.shares or spec.group_scales != "none"


OF_A = (Destination.A, Destination.A_SCALES)
"""What a job that is loaded ahead may wait for alone."""

"""Where rows from memory go: the stores of the loader, and the vector unit."""

from enum import IntEnum

__all__ = ["Destination"]


class Destination(IntEnum):
    """The store that a row is for, by the number with which it travels to and from memory.

    The base address of a matrix bears the number too; that of C has the number of what C is added
    to. What a vector job reads goes to the vector unit, past all stores, so it is the last one.
    """

    A = 0
    B = 1
    A_SCALES = 2
    B_SCALES = 3
    BIAS = 4
    RECORD = 5
    ADDEND = 6
    VECTOR = 7

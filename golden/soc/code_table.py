"""Codes that are looked up in a table, by codes of a byte."""

import numpy as np

__all__ = ["CODES", "cycles", "looked_up"]

CODES = 256
"""Bytes of a table: one for each code."""
_WORD = 4
"""Most bytes of a table that are taken in a cycle."""


def cycles(beat: int) -> int:
    """Return the cycles in which a table is read, by beats of some bytes."""
    return CODES // min(beat, _WORD)


def looked_up(codes: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Look codes up, by their bytes.

    Parameters
    ----------
    codes : any integers, of which the lowest 8 bits count.
    table : :data:`CODES` bytes.
    """
    return np.asarray(table)[codes & CODES - 1]

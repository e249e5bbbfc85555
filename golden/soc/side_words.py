"""Room for the side bytes of blocks along K: scales and zero points."""

from collections.abc import Sequence

from golden.soc.blocking import Stores
from golden.soc.mode import Inside

__all__ = ["side_bytes", "side_words"]


def side_words(kinds: Sequence[tuple[Stores, int]], inside: Inside) -> int:
    """Return the words of a buffer of the store of B's side bytes; 0 without them.

    Parameters
    ----------
    kinds : for each memory layout the stores, and codes of a word.
    inside : the engine.
    """
    block = inside.block
    if not block:
        return 0
    if inside.a_sides:
        return max(stores.most_beats(1, 1) * codes // block for stores, codes in kinds)
    # A word of B's store may have twice as many columns as one of zero points, and a block of K
    # has as many of its rows; else as many words hold those of every block that B's store holds.
    return max(2 * stores.b_words * codes // block for stores, codes in kinds)


def side_bytes(words: int, word_bytes: int, inside: Inside) -> int:
    """Return the most bytes of a row of side bytes: of A along K, of B those of a store at most."""
    return max(words if inside.a_sides else words * word_bytes, inside.n * inside.b_sides)

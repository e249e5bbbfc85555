"""Random bits for numbers of a matrix, which depend on a seed and on the number's place alone.

The generator counts, as those of Salmon and others ("Parallel random numbers: as easy as 1, 2, 3",
2011): a block cipher whose key is the row and the seed, on the number of a group of columns. The
cipher are the first :data:`ROUNDS` of the 32 rounds of SIMON32/64 (Beaulieu and others, 2013), the
fewest after which each bit of a place and of a seed turns each bit of a block in half of all cases.
That is no secret, and enough to round by.
"""

import numpy as np

from golden.check import Integer
from golden.formats.random_bits import RANDOM_WIDTH, RandomBits

__all__ = ["ROUNDS", "ROWS", "SEED", "columns_of_block", "placed_bits", "simon32"]

ROUNDS = 12
"""Rounds that make a block."""
ROWS = 1 << 24
"""Rows of a matrix, at most."""
SEED = Integer("seed of the random bits", 0, 0, (1 << 31) - 1)
_BLOCK = 32
"""Bits of a block."""
_WORD = 16
_MASK = (1 << _WORD) - 1
_CONSTANTS = 0b11111010001001010110000111001101111101000100101011000011100110
"""Bits of the key schedule's constants, the first one highest: the sequence z0 of SIMON."""
_CONSTANTS_WIDTH = 62


def columns_of_block(width: int) -> int:
    """Return the columns whose numbers of `width` bits are of one block, a power of two."""
    return 1 << (_BLOCK // width).bit_length() - 1


def placed_bits(seed: int, rows: np.ndarray, columns: np.ndarray, width: int) -> RandomBits:
    """Make the random numbers of places of a matrix.

    Parameters
    ----------
    seed : 0 .. 2^31 - 1.
    rows, columns : integers 0 .. 2^24 - 1, of shapes that are broadcast.
    width : bits of a number.
    """
    SEED.check("seed", seed)
    RANDOM_WIDTH.check("random_width", width)
    row, column = np.asarray(rows, np.int64), np.asarray(columns, np.int64)
    each = columns_of_block(width)
    group, lane = column // each, column % each
    key = (row & _MASK, row >> _WORD, seed & _MASK, seed >> _WORD)
    left, right = simon32((group & _MASK, group >> _WORD), key, ROUNDS)
    block = left << _WORD | right
    return RandomBits(block >> width * lane & (1 << width) - 1, width)


def simon32(
    block: tuple[np.ndarray, np.ndarray], key: tuple[np.ndarray | int, ...], rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Encrypt blocks by the first rounds of SIMON32/64.

    Parameters
    ----------
    block : left and right word, 16 bits each.
    key : four words of 16 bits, that of the first round first.
    rounds : 1 .. 32.
    """
    left, right = block
    words = list(key)
    for number in range(rounds):
        if number >= len(key):
            mixed = _rotated(words[-1], -3) ^ words[-3]
            constant = _CONSTANTS >> _CONSTANTS_WIDTH - 1 - (number - len(key)) & 1
            words.append(words[-4] ^ mixed ^ _rotated(mixed, -1) ^ constant ^ _MASK - 3)
        both = _rotated(left, 1) & _rotated(left, 8)
        left, right = right ^ both ^ _rotated(left, 2) ^ words[number], left
    return left, right


def _rotated(word: np.ndarray | int, left: int) -> np.ndarray | int:
    """Rotate words to the left, or, by a negative count, to the right."""
    left %= _WORD
    return (word << left | word >> _WORD - left) & _MASK

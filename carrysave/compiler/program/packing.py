"""Places of blocks of bytes that are on chip for some steps each: first fit, in several orders."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from carrysave.compiler.program.on_chip import ALIGN

__all__ = ["Block", "Key", "places_of_blocks", "rounded"]

_SHUFFLED = 500
"""Orders that are tried besides."""
Key = tuple[str, int]
"""What a block is, and its number."""


@dataclass(frozen=True)
class Block:
    """Bytes on chip from a step to the one before another."""

    first: int
    last: int
    size: int

    def meets(self, other: "Block") -> bool:
        """Return whether there is a step that both are on chip in."""
        return self.first < other.last and other.first < self.last


def rounded(size: int) -> int:
    """Return the bytes of a block with those to where the next one can begin."""
    return -(-size // ALIGN) * ALIGN


def places_of_blocks(
    blocks: Mapping[Key, Block], size: int
) -> tuple[dict[Key, int] | None, list[Key]]:
    """Place blocks, first fit in several orders; or return those among which one has no place."""
    orders: list[Callable[[Block], tuple[int, ...]]] = [
        lambda one: (-one.size, one.first),
        lambda one: (one.first, -one.size),
        lambda one: (one.first - one.last, -one.size),
        lambda one: (-one.size * (one.last - one.first), one.first),
        lambda one: (one.last, -one.size),
    ]
    failed: list[Key] = []
    keys, rng = sorted(blocks), np.random.default_rng(0)
    ways = list[list[Key]]()
    for order in orders:
        ways.append([key for _, key in sorted((order(blocks[one]), one) for one in keys)])
    # Whatever places there are, first fit finds them in the order of addresses.
    shuffled = ([keys[at] for at in rng.permutation(len(keys))] for _ in range(_SHUFFLED))
    for way in chain(ways, shuffled):
        placed: dict[Key, int] = {}
        for key in way:
            block = blocks[key]
            near = [
                (at, blocks[one].size) for one, at in placed.items() if block.meets(blocks[one])
            ]
            ends = sorted({0, *(rounded(at + other) for at, other in near)})
            fits = (
                at
                for at in ends
                if at + block.size <= size
                and all(at + block.size <= start or start + other <= at for start, other in near)
            )
            at = next(fits, None)
            if at is None:
                failed = failed or [key, *(one for one in placed if block.meets(blocks[one]))]
                break
            placed[key] = at
        else:
            return placed, []
    return None, failed

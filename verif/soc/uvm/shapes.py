"""Classes of sizes: M, N and K against the tile and the blocks of a build."""

import math
import random
from collections.abc import Sequence
from functools import cache
from itertools import product

from golden.soc.coprocessor import CoprocessorSpec

__all__ = ["K_CLASSES", "SIDE_CLASSES", "Shapes"]

SIDE_CLASSES = ("one", "smaller", "equal", "multiple", "ragged", "blocks")
K_CLASSES = ("one", "part", "beat", "beats", "ragged", "blocks")
_LONGEST = 4
"""Tiles of a side, or beats of K, of sizes that need no more."""
_MOST_BEATS, _MOST_BYTES = 4000, 40_000
"""Beats of the engine in a job, and bytes of its matrices."""

Blocks = tuple[int, int, int]


def _class(size: int, tile: int, block: int, names: Sequence[str]) -> str:
    """Class of a size, if so many tiles are a block."""
    one, smaller, equal, multiple, ragged, blocks = names
    if size == 1:
        return one
    if size < tile:
        return smaller
    if size == tile:
        return equal
    if size > tile * block:
        return blocks
    return ragged if size % tile else multiple


class Shapes:
    """Draws sizes and blocks of jobs.

    Parameters
    ----------
    spec : the build.
    """

    def __init__(self, spec: CoprocessorSpec) -> None:
        self.spec = spec
        inside, mode = spec.inside, spec.inside.modes[0, 0]
        self.tile = (inside.m, inside.n, inside.k * mode.codes)
        self.k_max = mode.k_max
        self.own: Blocks = spec.default_blocks()
        most = min(6, *(max(side, 2) for side in self.own[:2]))
        self.given: list[Blocks] = [
            blocks
            for blocks in product(range(1, most + 1), range(1, most + 1), range(1, 9))
            if spec.fits(*blocks)
        ]
        self._fitting: dict[tuple[str, ...], list[Blocks]] = {}
        # A class is there if some size is in it, whatever the blocks are.
        self.bins = tuple(
            tuple(
                name
                for name in names
                if any(self.sizes(side, name, blocks) for blocks in (self.own, *self.given))
            )
            for side, names in enumerate((SIDE_CLASSES, SIDE_CLASSES, K_CLASSES))
        )

    def sizes(self, side: int, name: str, blocks: Blocks) -> tuple[int, ...]:
        """List sizes of a side (0: M, 1: N, 2: K) in a class."""
        return _sizes(self.tile[side], blocks[side], name, side == 2, self.k_max)

    def longest(self, side: int) -> int:
        """Return the longest side of a block of all that may be drawn."""
        names = K_CLASSES if side == 2 else SIDE_CLASSES
        return max(
            min(size, blocks[side] * self.tile[side])
            for blocks in (self.own, *self.given)
            for name in names
            for size in self.sizes(side, name, blocks)
        )

    def fitting(self, how: str, m: str, n: str, k: str) -> list[Blocks]:
        """List the blocks, the hardware's own or given ones, in which these classes are."""
        classes = (how, m, n, k)
        if classes not in self._fitting:
            self._fitting[classes] = [
                blocks
                for blocks in ([self.own] if how == "own" else self.given)
                if self.choices(blocks, m, n, k)
            ]
        return self._fitting[classes]

    def draw(
        self, rng: random.Random, how: str, m: str, n: str, k: str
    ) -> tuple[tuple[int, ...], Blocks]:
        """Draw M, N, K and the blocks that a job gives: 0 if they are the hardware's own."""
        blocks = rng.choice(self.fitting(how, m, n, k))
        sizes = rng.choice(self.choices(blocks, m, n, k))
        return sizes, (0, 0, 0) if how == "own" else blocks

    def choices(self, blocks: Blocks, *names: str) -> list[tuple[int, ...]]:
        """List sizes of these classes that are not too much, some of each side."""
        sides = []
        for side, name in enumerate(names):
            sizes = self.sizes(side, name, blocks)
            sides.append(sizes[:: max(len(sizes) // 4, 1)])
        return [sizes for sizes in product(*sides) if self._small(*sizes)]

    def _small(self, m: int, n: int, k: int) -> bool:
        """Whether a job is short, and its matrices leave room in memory, wherever rows begin."""
        spec = self.spec
        beats = math.prod(-(-size // tile) for size, tile in zip((m, n, k), self.tile, strict=True))
        room = 2 * spec.bytes + 1
        kind = spec.kinds[0]
        of_a, of_b = -(-k * kind.a_bits // 8), -(-n * kind.b_bits // 8)
        size = m * (of_a + room) + k * (of_b + room) + m * (n * spec.sum_bytes + room)
        return beats <= _MOST_BEATS and size <= _MOST_BYTES

    def classes(self, sizes: Sequence[int], given: Blocks) -> tuple[str, ...]:
        """Classes of M, N, K."""
        blocks = given if all(given) else self.own
        names = (SIDE_CLASSES, SIDE_CLASSES, K_CLASSES)
        return tuple(map(_class, sizes, self.tile, blocks, names))


@cache
def _sizes(tile: int, block: int, name: str, is_k: bool, depth: int) -> tuple[int, ...]:
    names = K_CLASSES if is_k else SIDE_CLASSES
    limit = tile * (2 * block + 1) if name == "blocks" else tile * min(block, _LONGEST)
    if is_k and tile * block >= depth:  # no K is of several blocks: long rows are of one
        limit = depth
    return tuple(
        size
        for size in range(1, min(limit, depth if is_k else limit) + 1)
        if _class(size, tile, block, names) == name
    )

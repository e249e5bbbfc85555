"""Block sizes and order of a product, and their cost; needs numpy alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, product
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LATENCY", "Blocks", "Cost", "Part", "Stores", "candidates", "cost", "costs", "order", "plan",
    "ranges", "spans", "word_bytes",
]  # fmt: skip

Numbers = NDArray[np.int64]

LATENCY = 64
"""Cycles from a row's request to its data, where nothing is known of the memory."""


@dataclass(frozen=True, kw_only=True)
class Stores:
    """The build parameters that limit blocks, named as the discovery registers.

    `a_bits`, `b_bits` are bits of words of A and B in memory, `a_widest`, `b_widest` their maximum;
    0 if all have the same. A word of B has `b_deep` steps along K. If `block` is not 0, every
    `block` words along K have side bytes, and blocks of C whole ones of K; with `alone`, 1, blocks
    are one tile. `latency` and `beat` are the memory's: cycles from a row's request to its data, of
    a beat, on average. The array has `array_clock` cycles in one of the memory.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    a_bits: int
    b_bits: int
    data_width: int
    outstanding: int
    sums: int
    a_bytes: int
    b_bytes: int
    a_widest: int = 0
    b_widest: int = 0
    block: int = 0
    alone: int = 1
    b_deep: int = 1
    latency: int = LATENCY
    beat: float = 1
    array_clock: int = 1

    @property
    def a_slices(self) -> int:
        """Beats of a row of A in a word of its store: a power of two."""
        return 8 * self.a_word_bytes // (self.tile_k * self.a_bits)

    @property
    def b_slices(self) -> int:
        """Tiles of a row of B in a word of its store: a power of two."""
        return 8 * self.b_word_bytes // (self.tile_n * self.b_bits)

    @property
    def a_word_bytes(self) -> int:
        """Bytes of a word of the store of A, of one row."""
        return word_bytes(self.data_width, self.tile_k * (self.a_widest or self.a_bits))

    @property
    def b_word_bytes(self) -> int:
        """Bytes of a word of the store of B, of one row."""
        return word_bytes(self.data_width, self.tile_n * (self.b_widest or self.b_bits))

    @property
    def a_words(self) -> int:
        """Words per buffer of the store of A, for each of the tile's rows."""
        return self.a_bytes // (self.tile_m * self.a_word_bytes)

    @property
    def b_words(self) -> int:
        """Words per buffer of the store of B, for each of the beat's rows of words."""
        return self.b_bytes // (self.tile_k // self.b_deep * self.b_word_bytes)

    @property
    def rows(self) -> int:
        """Rows of n sums in half of the sum store."""
        return self.sums // self.tile_n

    def fits(self, m: int, n: int, k: int) -> bool:
        """Return whether m x n tiles and k beats fit into the stores, with byte-aligned rows."""
        return (
            not (self.block and (k % self.block or (self.alone and (m, n) != (1, 1))))
            and k * self.tile_k * self.a_bits % 8 == 0
            and n * self.tile_n * self.b_bits % 8 == 0
            and m * -(-k // self.a_slices) <= self.a_words
            and k * -(-n // self.b_slices) <= self.b_words
            and m * self.tile_m * n <= self.rows
        )

    @property
    def grain(self) -> int:
        """Beats of K, of which a block has a multiple: of whole bytes, and whole scale blocks."""
        return lcm(max(self.block, 1), _grain(self.tile_k * self.a_bits))

    def most_beats(self, m: int, n: int) -> int:
        """Return the beats of K that the stores hold for m x n tiles; 0 if none."""
        return int(self.most_beats_of(np.array(m), np.array(n)))

    def most_beats_of(self, m: Numbers, n: Numbers) -> Numbers:
        """Return that of several m and n."""
        k = np.minimum(self.a_words // m * self.a_slices, self.b_words // -(-n // self.b_slices))
        fits = (n * self.tile_n * self.b_bits % 8 == 0) & (m * self.tile_m * n <= self.rows)
        if self.block and self.alone:
            fits &= (m == 1) & (n == 1)
        return np.where(fits, k - k % self.grain, 0)


@dataclass(frozen=True)
class Blocks:
    """A block: m x n tiles of C, k beats of K; blocks go by rows or by columns."""

    m: int
    n: int
    k: int
    by_columns: bool = False

    @classmethod
    def of(cls, row: Numbers) -> "Blocks":
        """Return a row of :func:`candidates`."""
        m, n, k, by_columns = row.tolist()
        return cls(m, n, k, bool(by_columns))


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a product under a plan: cycles, and bus beats."""

    cycles: int
    read_beats: int
    write_beats: int


class Part(NamedTuple):
    """A part of a row of a matrix: a byte range."""

    name: str
    row: int
    first: int
    bytes: int


def order(
    stores: Stores, blocks: Blocks, bits: Mapping[str, int], m: int, n: int, words: int
) -> Iterator[Part]:
    """List the parts of rows read and written, see :func:`spans`."""
    for name, rows, first, size in spans(stores, blocks, bits, m, n, words):
        yield from (Part(name, row, first, size) for row in rows)


def spans(
    stores: Stores, blocks: Blocks, bits: Mapping[str, int], m: int, n: int, words: int
) -> Iterator[tuple[str, range, int, int]]:
    """List what is read and written, block by block: of each matrix rows, first byte, and bytes.

    A block's biases and requantisations come before its B. Data shared with the previous block is
    not read again: A if blocks go by rows and all of K is in one; B if they go by columns.

    Parameters
    ----------
    stores, blocks : the build, and the blocks of the product.
    bits : per number of each matrix in use, by name; ``addend``: the existing C that is added to.
    m, n, words : rows and columns of C, words along K.
    """
    up, across = blocks.m * stores.tile_m, blocks.n * stores.tile_n
    deep, each = blocks.k * stores.tile_k, max(stores.block, 1)

    def part(name: str, down: range, along: range) -> Iterator[tuple[str, range, int, int]]:
        if name in bits:
            low, high = along.start * bits[name] // 8, -(-along.stop * bits[name] // 8)
            yield name, down, low, high - low

    places = list(product(ranges(m, up), ranges(n, across)))
    if blocks.by_columns:
        places.sort(key=lambda place: (place[1].start, place[0].start))
    before: tuple[range, range] | None = None
    for rows, columns in places:
        a_stays = deep >= words and not blocks.by_columns and before and before[0] == rows
        b_stays = deep >= words and blocks.by_columns and before and before[1] == columns
        yield from chain(*(part(name, range(1), columns) for name in ("bias", "records")))
        yield from chain(part("row_factors", range(1), rows), part("addend", rows, columns))
        for along in ranges(words, deep):
            scales = range(along.start // each, -(-along.stop // each))
            if not a_stays:
                yield from part("a", rows, along)
                yield from part("a_scales", rows, scales)
            if not b_stays:
                packed = range(along.start // stores.b_deep, -(-along.stop // stores.b_deep))
                yield from part("b", packed, columns)
                yield from part("b_scales", scales, columns)
        before = rows, columns
        yield from part("c", rows, columns)


def ranges(size: int, part: int) -> list[range]:
    """Split a side into parts; the last one may be shorter."""
    return [range(start, min(start + part, size)) for start in range(0, size, part)]


def word_bytes(beat: int, bits: int) -> int:
    """Return the bytes of a word of slices, whose bits are a power of two: a beat or more."""
    count = max(_grain(bits), 1 << (-(-beat // bits) - 1).bit_length())
    return count * bits // 8


@lru_cache(maxsize=4096)
def cost(
    stores: Stores, blocks: Blocks, m: int, n: int, k: int, c_bits: int, count: int = 1
) -> Cost:
    """Estimate the cost of a `count` of M x K by K x N products that overlap.

    Rows are aligned to beats; short ones cost their latency, divided by the outstanding bursts.
    Reads and writes pass beside each other. The first tile is multiplied as its rows of B arrive;
    from then on the slowest of load, engine and write-back counts. The last block is multiplied
    after its load, except for its first tile; the last row of tiles leaves at the end.
    """
    row = np.array([[blocks.m, blocks.n, blocks.k, blocks.by_columns]], np.int64)
    return Cost(*(int(one[0]) for one in costs(stores, row, m, n, k, c_bits, count)))


def costs(
    stores: Stores, blocks: Numbers, m: int, n: int, k: int, c_bits: int, count: int = 1
) -> tuple[Numbers, Numbers, Numbers]:
    """Return cycles, beats read and beats written, of each row of :func:`candidates`."""
    tile_m, tile_n, tile_k = stores.tile_m, stores.tile_n, stores.tile_k
    of_m, of_n, of_k, by_columns = blocks.T
    rows, columns, codes = of_m * tile_m, of_n * tile_n, of_k * tile_k
    ups, acrosses, depths = -(-m // rows), -(-n // columns), -(-k // codes)

    def beats(
        count: Numbers | int, length: Numbers | int, part: Numbers, bits: int, *, timed: bool = True
    ) -> Numbers:
        """Return the beats of rows that are read in parts, or the cycles that they take."""
        width, parts = stores.data_width, -(-length // part)
        inside = parts - 1  # ends of parts; a beat that has one in it is read twice
        inside -= inside // (width // np.gcd(part * bits, width))
        moved = -(-length * bits // width) + inside
        if timed:
            least = parts * -(-stores.latency // stores.outstanding)
            moved = np.maximum(np.ceil(stores.beat * moved).astype(np.int64), least)
        return np.asarray(count * moved)

    times_a: Numbers = np.where((depths == 1) & (by_columns == 0), 1, acrosses)
    times_b: Numbers = np.where((depths == 1) & (by_columns == 1), 1, ups)
    of_a = m, k, codes, stores.a_bits
    of_b = -(-k // stores.b_deep), n, columns, stores.b_bits
    of_c = (m, n, columns, c_bits)
    load = times_a * beats(*of_a) + times_b * beats(*of_b)
    deep = np.minimum(k, codes)
    first_a = beats(np.minimum(m, rows), deep, codes, stores.a_bits)
    first_b = beats(-(-deep // stores.b_deep), np.minimum(n, columns), columns, stores.b_bits)
    up, across = -(-np.minimum(m, rows) // tile_m), -(-np.minimum(n, columns) // tile_n)
    drain = tile_m + (tile_m - 1) // 8
    whole, rest = np.divmod(all_k := -(-k // tile_k), of_k)
    # Cycles of a tile in the first block of K, in the last one, in any, in all of K; and in total.
    sizes = np.minimum(all_k, of_k), np.where(rest > 0, rest, of_k), of_k, np.array(all_k)
    step, final, each, at_once = (np.maximum(-(-one // stores.array_clock), drain) for one in sizes)
    tile = whole * each + np.where(rest > 0, final, 0)
    tile, final = (np.where((up == 1) & (across == 1), at_once, one) for one in (tile, final))
    first = first_a + np.maximum(first_b - step, 0)
    tiles = -(-m // tile_m) * -(-n // tile_n)
    last = beats(min(m, tile_m), np.minimum(n, columns), columns, c_bits)
    cycles = first + np.maximum(
        np.maximum(count * tiles * tile, count * load - first + (up * across - 1) * final) + last,
        np.where(depths == 1, across, up * across) * tile + count * beats(*of_c),
    )
    read: Numbers = times_a * beats(*of_a, timed=False) + times_b * beats(*of_b, timed=False)
    return cycles, count * read, count * beats(*of_c, timed=False)


@cache
def plan(stores: Stores, m: int, n: int, k: int, c_bits: int) -> Blocks:
    """Choose the blocks that minimise cycles + beats_read / 50."""
    some = candidates(stores, m, n, k)
    cycles, read, _ = costs(stores, some, m, n, k, c_bits)
    return Blocks.of(some[np.lexsort((cycles, 50 * cycles + read))[0]])


def candidates(stores: Stores, m: int, n: int, k: int) -> Numbers:
    """List blocks that split each side evenly, as far as byte alignment of rows allows.

    Returns
    -------
    Rows of m, n, k and by_columns: few tiles first, and of as many tiles the longest K.
    """
    beats = -(-k // stores.tile_k)
    of_m = _sizes(-(-m // stores.tile_m))
    of_n = _sizes(-(-n // stores.tile_n), _grain(stores.tile_n * stores.b_bits))
    up, across = (one.reshape(-1) for one in np.meshgrid(of_m, of_n, indexing="ij"))
    most = stores.most_beats_of(up, across)
    longest = np.minimum(most, beats + -beats % stores.grain)
    parts = _sizes(beats, stores.grain)[::-1]
    parts = parts[parts >= stores.tile_m]
    parts = np.broadcast_to(parts, (len(up), len(parts)))
    # The longest that the stores hold may be no even split.
    depth = np.concatenate([longest[:, None], parts], axis=1)
    used = (depth > 0) & (depth <= longest[:, None])
    used[:, 1:] &= depth[:, 1:] < longest[:, None]
    at, column = np.nonzero(used)
    rows = np.stack([up[at], across[at], depth[at, column], np.zeros_like(at)], axis=1)
    rows = np.repeat(rows, 2, axis=0)
    rows[1::2, 3] = 1
    return rows


def _grain(bits: int) -> int:
    """Return the count of numbers of some bits that fills whole bytes: a power of two."""
    return next(count for count in (1, 2, 4, 8) if count * bits % 8 == 0)


def _sizes(whole: int, grain: int = 1) -> Numbers:
    """List, for each number of parts, the smallest part size, as a multiple of the grain."""
    parts = np.arange(1, whole + 1, dtype=np.int64)
    least = np.unique(-(-whole // parts))
    return np.unique(-(-least // grain) * grain)

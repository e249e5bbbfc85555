"""Block sizes and order of a product, and their cost; needs only Python's standard library."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

__all__ = [
    "LATENCY",
    "Blocks",
    "Cost",
    "Part",
    "Stores",
    "candidates",
    "cost",
    "order",
    "plan",
    "word_bytes",
]

LATENCY = 64
"""Read latency in cycles, as the planner assumes."""


@dataclass(frozen=True, kw_only=True)
class Stores:
    """The build parameters that limit blocks, named as the discovery registers.

    `a_bits`, `b_bits` are bits of words of A and B in memory, `a_widest`, `b_widest` their maximum;
    0 if all have the same. A word of B has `b_deep` steps along K. If `block` is not 0, every
    `block` words along K have a scale: then a block of C is one tile, and covers whole scale blocks
    of K.
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
    b_deep: int = 1

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
        """Tell whether m x n tiles and k beats fit into the stores, with byte-aligned rows."""
        if self.block and not (m == n == 1 and k % self.block == 0):
            return False
        return (
            k * self.tile_k * self.a_bits % 8 == 0
            and n * self.tile_n * self.b_bits % 8 == 0
            and m * -(-k // self.a_slices) <= self.a_words
            and k * -(-n // self.b_slices) <= self.b_words
            and m * self.tile_m * n <= self.rows
        )

    def most_beats(self, m: int, n: int) -> int:
        """Return the beats of K that the stores hold for m x n tiles; 0 if none."""
        k = min(self.a_words // m * self.a_slices, self.b_words // -(-n // self.b_slices))
        while k and not self.fits(m, n, k):
            k -= 1
        return k


@dataclass(frozen=True)
class Blocks:
    """A block: m x n tiles of C, k beats of K; blocks go by rows or by columns."""

    m: int
    n: int
    k: int
    by_columns: bool = False


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
    """List the parts of rows read and written, block by block, in order.

    A block's biases and requantisations come before its B. Data shared with the previous block is
    not read again: A if blocks go by rows and all of K is in one; B if they go by columns.

    Parameters
    ----------
    stores, blocks : the build, and the blocks of the product.
    bits : bits per number of each matrix in use: a, b, c, bias, records, a_scales, b_scales.
    m, n, words : rows and columns of C, words along K.
    """
    up, across = blocks.m * stores.tile_m, blocks.n * stores.tile_n
    deep, each = blocks.k * stores.tile_k, max(stores.block, 1)

    def part(name: str, down: range, along: range) -> Iterator[Part]:
        if name in bits:
            low, high = along.start * bits[name] // 8, -(-along.stop * bits[name] // 8)
            yield from (Part(name, row, low, high - low) for row in down)

    places = list(product(_ranges(m, up), _ranges(n, across)))
    if blocks.by_columns:
        places.sort(key=lambda place: (place[1].start, place[0].start))
    before: tuple[range, range] | None = None
    for rows, columns in places:
        kept_a = deep >= words and not blocks.by_columns and before and before[0] == rows
        kept_b = deep >= words and blocks.by_columns and before and before[1] == columns
        for name in ("bias", "records"):
            yield from part(name, range(1), columns)
        for along in _ranges(words, deep):
            scales = range(along.start // each, -(-along.stop // each))
            if not kept_a:
                yield from part("a", rows, along)
                yield from part("a_scales", rows, scales)
            if not kept_b:
                packed = range(along.start // stores.b_deep, -(-along.stop // stores.b_deep))
                yield from part("b", packed, columns)
                yield from part("b_scales", scales, columns)
        before = rows, columns
        yield from part("c", rows, columns)


def _ranges(size: int, part: int) -> list[range]:
    """Split a side into parts; the last one may be shorter."""
    return [range(start, min(start + part, size)) for start in range(0, size, part)]


def word_bytes(beat: int, bits: int) -> int:
    """Return the bytes of a word of slices, whose bits are a power of two: a beat or more."""
    count = 1
    while count * bits < beat or count * bits % 8:
        count *= 2
    return count * bits // 8


def cost(stores: Stores, blocks: Blocks, m: int, n: int, k: int, c_bits: int) -> Cost:
    """Estimate the cost of an M x K by K x N product.

    Rows are aligned to beats. Short rows cost their latency, divided by the outstanding bursts. The
    first tile is multiplied as its rows of B arrive; from then on the slowest of load, engine and
    write-back counts. The last block is multiplied after its load, except for its first tile; the
    last row of tiles leaves at the end.
    """
    least = -(-LATENCY // stores.outstanding)
    tile_m, tile_n, tile_k = stores.tile_m, stores.tile_n, stores.tile_k
    rows, columns, codes = blocks.m * tile_m, blocks.n * tile_n, blocks.k * tile_k
    ups, acrosses, depths = (
        -(-size // part) for size, part in ((m, rows), (n, columns), (k, codes))
    )

    def beats(count: int, length: int, part: int, bits: int, least: int = least) -> int:
        """Return the beats of rows that are read in parts."""
        whole, rest = divmod(length, part)
        found = whole * max(-(-part * bits // stores.data_width), least)
        return count * (found + (max(-(-rest * bits // stores.data_width), least) if rest else 0))

    times_a = 1 if depths == 1 and not blocks.by_columns else acrosses
    times_b = 1 if depths == 1 and blocks.by_columns else ups
    of_a = m, k, codes, stores.a_bits
    of_b = -(-k // stores.b_deep), n, columns, stores.b_bits
    of_c = (m, n, columns, c_bits)
    load = times_a * beats(*of_a) + times_b * beats(*of_b)
    first_a = beats(min(m, rows), min(k, codes), codes, stores.a_bits)
    first_b = beats(-(-min(k, codes) // stores.b_deep), min(n, columns), columns, stores.b_bits)
    up, across = -(-min(m, rows) // tile_m), -(-min(n, columns) // tile_n)
    drain = tile_m + (tile_m - 1) // 8
    whole, rest = divmod(-(-k // tile_k), blocks.k)
    # Cycles of a tile in the first block of K, in the last one, and in total.
    step = max(min(-(-k // tile_k), blocks.k), drain)
    final = max(rest or blocks.k, drain)
    tile = whole * max(blocks.k, drain) + (max(rest, drain) if rest else 0)
    if up == across == 1:
        tile = final = max(-(-k // tile_k), drain)
    first = first_a + max(first_b - step, 0)
    tiles = -(-m // tile_m) * -(-n // tile_n)
    last = beats(min(m, tile_m), min(n, columns), columns, c_bits)
    cycles = first + max(
        tiles * tile + last,
        load - first + (up * across - 1) * final + last,
        (across if depths == 1 else up * across) * tile + beats(*of_c),
    )
    read = times_a * beats(*of_a, least=1) + times_b * beats(*of_b, least=1)
    return Cost(cycles, read, beats(*of_c, least=1))


@cache
def plan(stores: Stores, m: int, n: int, k: int, c_bits: int) -> Blocks:
    """Choose the blocks that minimise cycles + beats_read / 50."""

    def price(blocks: Blocks) -> tuple[int, int]:
        found = cost(stores, blocks, m, n, k, c_bits)
        return 50 * found.cycles + found.read_beats, found.cycles

    return min(candidates(stores, m, n, k), key=price)


def candidates(stores: Stores, m: int, n: int, k: int) -> Iterator[Blocks]:
    """List blocks that split each side evenly, as far as byte alignment of rows allows."""
    beats = -(-k // stores.tile_k)
    grain_n = _grain(stores.tile_n * stores.b_bits)
    grain_k = stores.block or _grain(stores.tile_k * stores.a_bits)
    for up in _sizes(-(-m // stores.tile_m), stores.a_words):
        most_n = stores.rows // (up * stores.tile_m)
        for across in _sizes(-(-n // stores.tile_n), most_n, grain_n):
            most = stores.most_beats(up, across)
            longest = min(most, _up(beats, grain_k))
            depths = {longest} | {
                depth for depth in _sizes(beats, most, grain_k) if depth >= stores.tile_m
            }
            for depth, by_columns in product(sorted(depths - {0}, reverse=True), (False, True)):
                if stores.fits(up, across, depth):
                    yield Blocks(up, across, depth, by_columns)


def _grain(bits: int) -> int:
    """Return the count of numbers of some bits that fills whole bytes: a power of two."""
    return next(count for count in (1, 2, 4, 8) if count * bits % 8 == 0)


def _up(size: int, grain: int) -> int:
    return -(-size // grain) * grain


def _sizes(whole: int, most: int, grain: int = 1) -> list[int]:
    """List, for each number of parts, the smallest part size, none larger than `most`.

    All are multiples of the grain.
    """
    sizes = {_up(-(-whole // -(-whole // size)), grain) for size in range(1, min(whole, most) + 1)}
    return sorted(size for size in sizes if size <= most)

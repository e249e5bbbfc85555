"""Blocks of a product: what they cost, against a count of all that is read and a known bound."""

import math
from dataclasses import replace

import pytest

from golden.soc.blocking import Blocks, Stores, candidates, cost, order, plan

ARRAY = Stores(
    tile_m=8,
    tile_n=8,
    tile_k=1,
    a_bits=8,
    b_bits=8,
    data_width=128,
    outstanding=64,
    sums=4096,
    a_bytes=8192,
    b_bytes=8192,
)
WIDE = Stores(
    tile_m=16,
    tile_n=16,
    tile_k=1,
    a_bits=8,
    b_bits=8,
    data_width=128,
    outstanding=16,
    sums=4096,
    a_bytes=8192,
    b_bytes=8192,
)
CUBE = Stores(
    tile_m=4,
    tile_n=4,
    tile_k=4,
    a_bits=8,
    b_bits=8,
    data_width=64,
    outstanding=16,
    sums=1024,
    a_bytes=4096,
    b_bytes=4096,
)
BITS = {"a": 8, "b": 8, "c": 8}


def beats(stores: Stores, blocks: Blocks, m: int, k: int, n: int) -> tuple[int, int]:
    """Count the beats that are read and written, row by row; rows begin at whole beats."""
    found = {"a": 0, "b": 0, "c": 0}
    size = stores.data_width // 8
    for part in order(stores, blocks, BITS, m, n, k):
        found[part.name] += (part.first + part.bytes - 1) // size - part.first // size + 1
    return found["a"] + found["b"], found["c"]


@pytest.mark.parametrize("stores", [ARRAY, WIDE, CUBE])
@pytest.mark.parametrize("size", [(256, 256, 256), (100, 200, 300), (1, 64, 300), (64, 7, 64)])
@pytest.mark.parametrize("by_columns", [False, True])
def test_beats_are_those_of_all_rows(
    stores: Stores, size: tuple[int, int, int], by_columns: bool
) -> None:
    """Where blocks begin at whole beats, the cost's beats are a count of every row's."""
    m, k, n = size
    grain = stores.data_width // 8
    for up, across, depth in ((1, grain, grain), (2, 2 * grain, grain), (1, grain, 4 * grain)):
        blocks = Blocks(up, across, depth, by_columns)
        found = cost(stores, blocks, m, n, k, 8)
        assert (found.read_beats, found.write_beats) == beats(stores, blocks, m, k, n)


@pytest.mark.sample(4)
@pytest.mark.parametrize("stores", [ARRAY, WIDE, CUBE])
@pytest.mark.parametrize("size", [256, 512, 1024])
def test_large_products_read_no_more_than_the_sums_that_are_held_force(
    stores: Stores, size: int
) -> None:
    """Reads of a large product are within 5 % of 2 M N K / sqrt(sums), the least there can be.

    A block of C of rows x columns reads rows + columns codes for each step along K, and the
    stores hold rows x columns sums of a block.
    """
    blocks = plan(stores, size, size, size, 8)
    read, _ = beats(stores, blocks, size, size, size)
    least = 2 * size**3 / math.sqrt(stores.sums) / (stores.data_width // 8)
    assert least <= read <= 1.05 * least


@pytest.mark.parametrize("k", [16, 20, 64, 201, 512])
def test_array_of_twice_the_clock_takes_half_the_beats(k: int) -> None:
    """But a row of a tile leaves in each cycle of the bus, which is then what a tile takes."""
    stores = replace(WIDE, latency=1, data_width=1 << 14)
    drain = WIDE.tile_m + (WIDE.tile_m - 1) // 8
    for clock in (1, 2):
        blocks, size, tiles = Blocks(10, 10, k), 160, 100
        took = cost(replace(stores, array_clock=clock), blocks, size, size, k, 8).cycles
        # Besides its tiles it reads A first, and writes the last rows.
        least = tiles * max(-(-k // clock), drain)
        assert least <= took <= least + 2 * size + k


NARROW = replace(CUBE, a_bits=2, b_bits=4, tile_n=1, tile_k=1, tile_m=2)
SCALED = replace(CUBE, block=24)


@pytest.mark.parametrize("stores", [ARRAY, CUBE, NARROW, SCALED])
@pytest.mark.parametrize("size", [(7, 40, 50), (1, 64, 300), (33, 5, 200), (90, 60, 3)])
def test_candidates_are_all_even_splits_that_fit(
    stores: Stores, size: tuple[int, int, int]
) -> None:
    """They are the smallest parts of each side for each number of parts, and the longest K."""
    m, n, k = size

    def parts(size: int, tile: int, step: int) -> set[int]:
        whole = -(-size // tile)
        even = {-(-whole // count) for count in range(1, whole + 1)}
        return {-(-one // step) * step for one in even}

    def whole_bytes(bits: int) -> int:
        return next(count for count in range(1, 9) if count * bits % 8 == 0)

    beats = -(-k // stores.tile_k)
    along = whole_bytes(stores.tile_k * stores.a_bits)
    along = math.lcm(along, stores.block or 1)
    expected = []
    for up in sorted(parts(m, stores.tile_m, 1)):
        for across in sorted(parts(n, stores.tile_n, whole_bytes(stores.tile_n * stores.b_bits))):
            deep = [one for one in range(1, 5000) if stores.fits(up, across, one)]
            longest = min(max(deep, default=0), -(-beats // along) * along)
            even = {one for one in parts(k, stores.tile_k, along) if one >= stores.tile_m}
            for depth in sorted({longest, *even} & set(deep), reverse=True):
                expected += [[up, across, depth, 0], [up, across, depth, 1]]
    assert candidates(stores, m, n, k).tolist() == expected


@pytest.mark.parametrize("size", [(256, 256, 256), (100, 200, 300), (64, 64, 4096)])
@pytest.mark.parametrize("stores", [ARRAY, WIDE])
def test_no_other_blocks_read_much_less(stores: Stores, size: tuple[int, int, int]) -> None:
    """Of all blocks that fit, the plan's read within 5 % of the fewest beats, or are faster."""
    m, k, n = size
    chosen = cost(stores, plan(stores, m, n, k, 8), m, n, k, 8)
    found = [
        cost(stores, Blocks(up, across, depth, by_columns), m, n, k, 8)
        for up in range(1, -(-m // stores.tile_m) + 1)
        for across in range(1, -(-n // stores.tile_n) + 1)
        for depth in (stores.most_beats(up, across),)
        for by_columns in (False, True)
        if depth and stores.fits(up, across, depth)
    ]
    assert chosen.read_beats <= 1.05 * min(
        each.read_beats for each in [chosen, *found] if each.cycles <= chosen.cycles
    )
    assert chosen.cycles <= 1.01 * min(each.cycles for each in found)


@pytest.mark.parametrize("bits", [8, 13])
@pytest.mark.parametrize("beat", [1, 1.25, 3])
def test_no_product_takes_less_than_its_beats(bits: int, beat: float) -> None:
    """A beat in which a part of a row ends and another begins takes its time twice."""
    stores = replace(CUBE, b_bits=bits, outstanding=64, beat=beat)
    size = 4, 936, 64
    for row in candidates(stores, *size):
        found = cost(stores, Blocks.of(row), *size, 8)
        assert found.cycles >= beat * max(found.read_beats, found.write_beats)

"""How a product is cut into blocks, and what that costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from golden.soc.spec import CoprocessorSpec

__all__ = ["Blocks", "Cost", "cost", "plan"]


@dataclass(frozen=True)
class Blocks:
    """A block: m x n tiles of C, k beats of K; blocks follow each other by rows or columns."""

    m: int
    n: int
    k: int
    by_columns: bool = False


_LATENCY = 64
"""Cycles of a read, as the planner supposes."""


@dataclass(frozen=True)
class Cost:
    """What a product costs at least, by a plan: cycles, and beats of the bus."""

    cycles: int
    read_beats: int
    write_beats: int


def cost(spec: CoprocessorSpec, blocks: Blocks, m: int, n: int, k: int, c_bytes: int) -> Cost:
    """Estimate what an M x K by K x N product costs, numbers of C being of so many bytes.

    Rows begin at whole beats. Short ones cost what their latency does, shared by all bursts that
    may be under way. The first block is loaded before anything is multiplied, the last
    one leaves when all is; between, the slowest of load, engine and store counts.
    """
    engine = spec.inside
    least = -(-_LATENCY // spec.outstanding)
    rows, columns, codes = blocks.m * engine.m, blocks.n * engine.n, blocks.k * engine.k
    ups, acrosses, depths = (
        -(-size // part) for size, part in ((m, rows), (n, columns), (k, codes))
    )

    def beats(count: int, length: int, part: int, bits: int, least: int = least) -> int:
        """Count beats of so many rows, each of so many numbers, read by parts."""
        whole, rest = divmod(length, part)
        sizes = [part] * whole + [rest] * (rest > 0)
        return count * sum(max(-(-size * bits // spec.data_width), least) for size in sizes)

    times_a = 1 if depths == 1 and not blocks.by_columns else acrosses
    times_b = 1 if depths == 1 and blocks.by_columns else ups
    of_a, of_b = (m, k, codes, spec.a_bits), (k, n, columns, spec.b_bits)
    of_c = (m, n, columns, 8 * c_bytes)
    load = times_a * beats(*of_a) + times_b * beats(*of_b)
    first = beats(min(m, rows), min(k, codes), codes, spec.a_bits)
    first += beats(min(k, codes), min(n, columns), columns, spec.b_bits)
    tiles = -(-m // engine.m) * -(-n // engine.n)
    drain = engine.m + (engine.m - 1) // 8
    if blocks.m == blocks.n == 1:
        passes = [-(-k // engine.k)]
    else:
        whole, rest = divmod(-(-k // engine.k), blocks.k)
        passes = [blocks.k] * whole + [rest] * (rest > 0)
    busy = tiles * sum(max(beat, drain) for beat in passes)
    last = beats(min(m, rows), min(n, columns), columns, 8 * c_bytes)
    cycles = first + max(busy, load - first, beats(*of_c)) + last
    read = times_a * beats(*of_a, least=1) + times_b * beats(*of_b, least=1)
    return Cost(cycles, read, beats(*of_c, least=1))


@cache
def plan(spec: CoprocessorSpec, m: int, n: int, k: int, c_bytes: int) -> Blocks:
    """Choose blocks: least traffic of those that cost a fiftieth more than the fewest cycles."""
    costs = {blocks: cost(spec, blocks, m, n, k, c_bytes) for blocks in _candidates(spec, m, n, k)}
    limit = 1.02 * min(found.cycles for found in costs.values())
    good = {blocks: found for blocks, found in costs.items() if found.cycles <= limit}
    return min(good, key=lambda blocks: (good[blocks].read_beats, good[blocks].cycles))


def _candidates(spec: CoprocessorSpec, m: int, n: int, k: int) -> Iterator[Blocks]:
    """Blocks that cut each side into like parts."""
    engine = spec.inside
    beats = -(-k // engine.k)
    for up in _sizes(-(-m // engine.m), spec.a_words):
        for across in _sizes(-(-n // engine.n), spec.rows // (up * engine.m)):
            most = min(spec.most_beats(up, across), beats)
            depths = {most} | {depth for depth in _sizes(beats, most) if depth >= engine.m}
            for depth, by_columns in product(depths, (False, True)):
                blocks = Blocks(up, across, depth, by_columns)
                if depth and spec.fits(up, across, depth):
                    yield blocks


def _sizes(whole: int, most: int) -> list[int]:
    """List the least sizes that cut a whole into as many parts, none greater than `most`."""
    return sorted({-(-whole // -(-whole // size)) for size in range(1, min(whole, most) + 1)})

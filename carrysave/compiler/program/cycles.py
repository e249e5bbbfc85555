"""Cycles of a product in a system: the walk of its loads, tiles and results past one SDRAM.

The planner's :func:`golden.soc.blocking.cost` is of a memory that reads and writes a beat per cycle
each. Behind LiteDRAM both share one bus of fewer bits, on which rows are opened, and refreshed.

The constants are fitted to what the simulated system counts: ``scripts/figures/bench_system.py``.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import groupby

from golden.soc.blocking import Blocks, Part, Stores, order
from golden.soc.memory_timing import LitedramTiming

__all__ = ["Places", "cycles"]


Places = Mapping[str, tuple[int, int]]
"""Address and bytes from row to row of each matrix."""


def cycles(
    stores: Stores,
    blocks: Blocks,
    sizes: tuple[int, int, int],
    bits: dict[str, int],
    places: Sequence[Places],
    memory: LitedramTiming,
    requantisers: int = 1,
) -> int:
    """Return the cycles of products of one size from their start to the last answer to a write.

    Parameters
    ----------
    stores, blocks : the build, and the blocks of the product.
    sizes : its M, N, K.
    bits : of a number of each of its matrices: a, b, c, bias, records.
    places : where the matrices of each product are; products overlap.
    memory : how long it takes.
    requantisers : codes of C per cycle.
    """
    walk = _Walk(stores, memory, requantisers)
    parts = list(order(stores, blocks, bits, *sizes))
    for one in places:
        walk.product(parts, blocks, sizes[2], one)
    return round(walk.finish() + memory.job)


class _Walk:
    """Times, as the walk goes on."""

    def __init__(self, stores: Stores, memory: LitedramTiming, requantisers: int) -> None:
        self._places: Places = {}
        self._open: dict[int, int] = {}
        """The open row of each bank."""
        self._refreshed = 0.0
        self._stores, self._memory, self._requantisers = stores, memory, requantisers
        self._bus = 0.0
        """When memory is free."""
        self._turned = 0.0
        self._writing = False
        self._engine = [0.0, 0.0]
        """When the engine is through with each chunk of K."""
        self._codes = 0.0
        """When the requantiser is free."""
        self._waiting: deque[tuple[float, Part, Places]] = deque()
        """Rows of C, when they are ready, and of which product."""

    def product(self, parts: list[Part], blocks: Blocks, k: int, places: Places) -> None:
        """Go through all blocks of a product."""
        self._places = places
        load: list[Part] = []
        for name, group in groupby(parts, key=lambda part: part.name):
            several = list(group)
            if name == "c":
                # Parts of K: B is loaded once for each, at its end.
                self.block(load, several, blocks, k)
                load = []
            else:
                load += several

    def block(self, load: list[Part], rows: list[Part], blocks: Blocks, k: int) -> None:
        """Load a block, multiply, and have its rows written."""
        stores = self._stores
        up, across = -(-len(rows) // stores.tile_m), -(-self._columns(rows) // stores.tile_n)
        step = 0.0
        chunks = _chunks(load, blocks, k, stores.tile_k)
        for beats, chunk in chunks:
            # A chunk takes the store of the one before the last.
            self._bus = max(self._bus, self._engine[-2])
            for part in chunk:
                self._write_some()
                self._transfer(part, False, self._places)
            step = max(beats + stores.tile_m + self._memory.tile, self._memory.least)
            first = max(self._engine[-1] + step, self._bus + self._memory.latency)
            self._engine.append(first + (up * across - 1) * step)
        for number, row in enumerate(rows):
            # Sums that are accumulated in the store leave it when all are.
            later = 0 if len(chunks) > 1 else up - 1 - number // stores.tile_m
            ready = self._engine[-1] - later * across * step + self._memory.result
            codes = (
                self._columns(rows) / self._requantisers * self._memory.code + self._memory.codes
            )
            self._codes = max(self._codes, ready) + codes
            self._waiting.append((self._codes, row, self._places))

    def finish(self) -> float:
        """Write what waits; return when the last of it is written."""
        while self._waiting:
            self._write()
        return self._bus

    @staticmethod
    def _columns(rows: list[Part]) -> int:
        return rows[0].bytes  # codes of 8 bits

    def _write_some(self) -> None:
        """Write rows that are ready, when reads have gone on for long enough."""
        memory = self._memory
        if not self._writing and self._bus - self._turned < memory.reads:
            return
        while self._waiting and self._waiting[0][0] <= self._bus:
            if self._writing and self._bus - self._turned >= memory.writes:
                return
            self._write()

    def _write(self) -> None:
        ready, row, places = self._waiting.popleft()
        self._bus = max(self._bus, ready)
        self._transfer(row, True, places)

    def _transfer(self, part: Part, write: bool, places: Places) -> None:
        memory = self._memory
        if write != self._writing:
            self._bus += memory.turn
            self._turned, self._writing = self._bus, write
        if self._bus - self._refreshed >= memory.every:
            self._refreshed = self._bus
            self._bus += memory.refresh
            self._open.clear()
        start, stride = places[part.name]
        beat = self._stores.data_width // 8
        first = (start + part.row * stride + part.first) // beat * beat
        beats = -(-part.bytes // beat)
        for page in range(first // memory.page, (first + beats * beat - 1) // memory.page + 1):
            row, bank = divmod(page, memory.banks)
            if self._open.get(bank) != row:
                self._bus += memory.row
                self._open[bank] = row
        self._bus += self._stores.beat * beats + (memory.write if write else memory.read)


def _chunks(load: list[Part], blocks: Blocks, k: int, tile_k: int) -> list[tuple[int, list[Part]]]:
    """Split what a block loads into parts of K, each with its beats."""
    depths = [
        min(blocks.k, -(-k // tile_k) - first) for first in range(0, -(-k // tile_k), blocks.k)
    ]
    if len(depths) == 1:
        return [(depths[0], load)]
    chunks: list[list[Part]] = [[]]
    last = ""
    for part in load:
        # A comes before B in each.
        if part.name == "a" and last == "b":
            chunks.append([])
        chunks[-1].append(part)
        last = part.name
    assert len(chunks) == len(depths)
    return list(zip(depths, chunks, strict=True))

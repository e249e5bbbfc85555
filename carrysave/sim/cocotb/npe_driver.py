"""The three streams of an array of lanes under cocotb: tiles of any formats in, sums out."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from cocotb.task import Task

from carrysave.sim.cocotb.bench import Bench
from carrysave.sim.cocotb.npe_tiles import Rows, Tile
from carrysave.sim.cocotb.streams import Sink, Source, unpack
from carrysave.sim.cocotb.streams import pack as bits
from carrysave.sim.tiling import Tiles
from golden.formats.integer import IntFormat
from golden.npe.npe import NpeSpec, pack

__all__ = ["NpeDriver", "numbers_of"]

Stalls = Iterator[bool] | None


class NpeDriver(Bench):
    """Sends tiles to an array of lanes and takes the rows of C.

    What the array has to ignore is random: formats with the later beats of a tile, scales and zero
    points with the later ones of a block, signs of E4M3, and bits above a code.
    """

    def __init__(self, dut: Any, spec: NpeSpec, rng: np.random.Generator) -> None:
        super().__init__(dut, spec, rng)
        self.spec = spec
        self.rng = rng
        scale = [] if spec.scale == "none" else ["scale"]
        self.a = Source(dut, "i_a", ["data", "format", "last", *scale])
        zero = ["zero"] if spec.zeros else []
        self.b = Source(dut, "i_b", ["data", "format", *scale, *zero])
        self.c = Sink(dut, "o_c", ["data", "invalid", "overflow", "last"])

    def send_a(self, tiles: Sequence[Tile], stalls: Stalls = None) -> Task[None]:
        """Start to send the beats of A; the last of each tile is marked."""
        beats: list[tuple[int, ...]] = []
        for tile in tiles:
            words, _ = pack(self.spec, *tile[:2], *tile.pair)
            values = self._beats(words.T, tile.pair, 0)
            last = [0] * (len(values) - 1) + [1]
            formats = self._formats(tile.pair[0], len(values))
            scales = [] if tile.a_scales is None else [self._scales(tile, tile.a_scales.T)]
            beats += zip(values, formats, last, *scales, strict=True)
        return self.a.send(beats, stalls)

    def send_b(self, tiles: Sequence[Tile], stalls: Stalls = None) -> Task[None]:
        """Start to send the beats of B."""
        beats: list[tuple[int, ...]] = []
        for tile in tiles:
            _, words = pack(self.spec, *tile[:2], *tile.pair)
            values = self._beats(words, tile.pair, 1)
            formats = self._formats(tile.pair[1], len(values))
            more = [] if tile.b_scales is None else [self._scales(tile, tile.b_scales)]
            if tile.b_zeros is not None:
                more.append(self._zeros(tile, tile.b_zeros))
            beats += zip(values, formats, *more, strict=True)
        return self.b.send(beats, stalls)

    def send_job(self, job: Tiles, pair: tuple[int, int]) -> None:
        """Start to send the words of a product, as they are."""
        last = np.zeros(len(job.a), dtype=int)
        last[np.cumsum(job.lengths) - 1] = 1
        a, b = bits(job.a, self.spec.element.word_width), bits(job.b, self.spec.element.word_width)
        self.a.send([(word, pair[0], end) for word, end in zip(a, last.tolist(), strict=True)])
        self.b.send([(word, pair[1]) for word in b])

    def take(self, tiles: int, stalls: Stalls = None) -> Task[None]:
        """Start to take the rows of some tiles of C."""
        return self.c.take(tiles * self.spec.m, stalls)

    def rows(self) -> Rows:
        """Rows taken since the last call; checks that the last of each tile is marked."""
        data, invalid, overflow, last = self.c.pop()
        marks = np.array([int(value) for value in last])
        due = np.arange(1, len(marks) + 1) % self.spec.m == 0
        assert np.array_equal(marks, due), f"o_c_last is {marks} and must be {due.astype(int)}"
        one = IntFormat(width=1, signed=False)
        return Rows(
            numbers_of(self.spec, data),
            unpack(invalid, one) == 1,
            unpack(overflow, one).reshape(-1) == 1,
        )

    def _beats(self, words: np.ndarray, pair: tuple[int, int], side: int) -> list[int]:
        """Make beats of words, with random bits where no code is."""
        lane = self.spec.element
        pitch, width = lane.pitch(*pair), lane.elements[pair[side]].width
        used = sum((1 << width) - 1 << start for start in range(0, lane.word_width, pitch))
        litter = self.rng.integers(0, 1 << lane.word_width, words.shape) & ~used
        return bits(words | litter, lane.word_width)

    def _formats(self, index: int, count: int) -> list[int]:
        """Make the formats of a tile's beats."""
        later = self.rng.integers(0, 1 << self.spec.element.format_width, count - 1)
        return [index, *later.tolist()]

    def _scales(self, tile: Tile, scales: np.ndarray) -> list[int]:
        """Make the scales of a tile's beats of those of its blocks, one block a row."""
        full = self.spec.block_scale.scale_width == 8
        signs = 0 if full else self.rng.integers(0, 2, scales.shape) << 7
        return self._sides(tile, scales | signs)

    def _zeros(self, tile: Tile, zeros: np.ndarray) -> list[int]:
        """Make the zero points of a tile's beats; bits above those of a code are random."""
        width = self.spec.element.elements[tile.pair[1]].width
        litter = self.rng.integers(0, 256, zeros.shape) >> width << width
        return self._sides(tile, zeros & (1 << width) - 1 | litter)

    def _sides(self, tile: Tile, rows: np.ndarray) -> list[int]:
        """Make bytes of beats of those of blocks, a row each: with a block's first beat."""
        count = -(-tile.a.shape[1] // self.spec.element.codes(*tile.pair))
        beats = self.rng.integers(0, 256, (count, rows.shape[1]))
        beats[:: self.spec.beats(*tile.pair)] = rows
        return bits(beats, 8)


def numbers_of(spec: NpeSpec, data: Sequence[str]) -> np.ndarray:
    """Take rows of strings of bits apart: numbers of C, rows x n."""
    fmt, width, count = spec.result_format, spec.result_width, spec.n
    if fmt is not None:
        return fmt.wrap(unpack(data, IntFormat(width=width, signed=False)))
    if width <= 62:
        return unpack(data, IntFormat(width=width))
    values = [
        [int(row[len(row) - (j + 1) * width : len(row) - j * width], 2) for j in range(count)]
        for row in data
    ]
    half = 1 << (width - 1)
    return (np.array(values, dtype=object) + half) % (2 * half) - half

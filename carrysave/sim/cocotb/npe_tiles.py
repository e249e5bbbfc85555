"""Tiles for an array of lanes, and what has to come of them."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from golden.npe.npe import NpeSpec, npe

__all__ = ["Numbers", "Rows", "Tile", "TileMaker", "compare"]


class Tile(NamedTuple):
    """Codes of A, m x K, and B, K x n, the indices of their formats; scales, zeros of blocks."""

    a: np.ndarray
    b: np.ndarray
    pair: tuple[int, int]
    a_scales: np.ndarray | None = None
    b_scales: np.ndarray | None = None
    b_zeros: np.ndarray | None = None


class Rows(NamedTuple):
    """Rows of C: numbers and invalid, rows x n, and overflow, a bit for each row."""

    numbers: np.ndarray
    invalid: np.ndarray
    overflow: np.ndarray


class Numbers(NamedTuple):
    """Codes of a format: all numbers, their extremes and zero, ones, and NaNs."""

    every: np.ndarray
    edges: np.ndarray
    one: np.ndarray
    wrong: np.ndarray


def compare(spec: NpeSpec, tiles: Sequence[Tile], rows: Rows) -> None:
    """Check that the rows of some tiles are those that golden gives."""
    expected = [npe(spec, *tile[:2], *tile.pair, *tile[3:]) for tile in tiles]
    due = Rows(
        np.concatenate([numbers for numbers, _, _ in expected]),
        np.concatenate([invalid for _, invalid, _ in expected]),
        np.repeat([overflow for _, _, overflow in expected], spec.m),
    )
    for name, got, want in zip(Rows._fields, rows, due, strict=True):
        assert got.shape == want.shape
        assert got.size > 0
        differ = np.argwhere(got != want)
        if differ.size:
            row, *column = differ[0]
            tile = tiles[row // spec.m]
            formats = [spec.element.names[index] for index in tile.pair]
            raise AssertionError(
                f"{len(differ)} of {got.size} {name} differ; tile {row // spec.m} ({formats}, K"
                f" {tile.a.shape[1]}) row {row % spec.m} {column} is {got[(row, *column)]} and"
                f" must be {want[(row, *column)]}"
            )


class TileMaker:
    """Draws tiles for an array."""

    def __init__(self, spec: NpeSpec) -> None:
        self.spec = spec
        self.lane = spec.element

    @cached_property
    def numbers(self) -> list[Numbers]:
        """Codes of each format."""
        result = []
        for fmt in self.lane.elements:
            codes = np.arange(fmt.low, fmt.high + 1)
            nan = fmt.decode(codes).nan
            every = codes[~nan]
            values = fmt.to_float(every)
            edges = every[np.isin(values, [values.min(), values.max(), 0.0])]
            result.append(Numbers(every, edges, every[values == 1.0], codes[nan]))
        return result

    def codes(self, rng: np.random.Generator, index: int, shape: tuple[int, int]) -> np.ndarray:
        """Draw numbers of a format, one of ten an extreme or zero."""
        known = self.numbers[index]
        edge = rng.random(shape) < 0.1
        return np.where(edge, rng.choice(known.edges, shape), rng.choice(known.every, shape))

    def tile(
        self,
        rng: np.random.Generator,
        k: int,
        pair: tuple[int, int] | None = None,
        rate: float = 0.01,
    ) -> Tile:
        """Draw a tile of K = k, in any formats if none are given, some codes NaR or NaN."""
        if pair is None:
            pair = self.lane.pairs[rng.integers(len(self.lane.pairs))]
        parts = []
        for index, shape in zip(pair, ((self.spec.m, k), (k, self.spec.n)), strict=True):
            part, wrong = self.codes(rng, index, shape), self.numbers[index].wrong
            if wrong.size:
                part = np.where(rng.random(shape) < rate, rng.choice(wrong, shape), part)
            parts.append(part)
        return self.scaled(rng, parts[0], parts[1], pair, rate)

    def scaled(
        self,
        rng: np.random.Generator,
        a: np.ndarray,
        b: np.ndarray,
        pair: tuple[int, int],
        rate: float = 0.0,
    ) -> Tile:
        """Draw scales and zero points, if there are any.

        Most scales are near each other, some extremes, some NaN.
        """
        blocks = -(-a.shape[1] // self.spec.block)
        zeros = self.codes(rng, pair[1], (blocks, self.spec.n)) if self.spec.zeros else None
        if self.spec.scale == "none":
            return Tile(a, b, pair, b_zeros=zeros)
        nan = self.no_scale
        centre = int(rng.integers(0, nan)) if rng.random() < 0.5 else nan // 2
        scales = []
        for shape in ((self.spec.m, blocks), (blocks, self.spec.n)):
            near = np.clip(centre + rng.integers(-6, 7, shape), 0, nan - 1)
            edges = rng.choice([0, 1, nan - 1], shape)
            codes = np.where(rng.random(shape) < 0.05, edges, near)
            scales.append(np.where(rng.random(shape) < rate, nan, codes))
        return Tile(a, b, pair, scales[0], scales[1], zeros)

    @property
    def no_scale(self) -> int:
        """Code of a scale that is NaN."""
        return (1 << self.spec.block_scale.scale_width) - 1

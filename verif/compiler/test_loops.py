"""Moves as records and loops: any sources come back, and regular ones take few words."""

from collections.abc import Callable

import numpy as np
import pytest

from carrysave.compiler.graph.im2col import Windows
from carrysave.compiler.program.loops import looped
from carrysave.compiler.run.interpret import move

SIZE = 1 << 16
Make = Callable[[], tuple[np.ndarray, int]]


def check(sources: np.ndarray, row: int) -> int:
    """Compare what words make with the sources; return how many they are."""
    words = looped(sources, row)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, SIZE).astype(np.uint8)
    at = -(-(SIZE + len(sources)) // 4) * 4
    memory = np.zeros(at + 4 * len(words), np.uint8)
    memory[:SIZE] = codes
    memory[at:] = np.frombuffer(words.astype("<i4").tobytes(), np.uint8)
    move(memory, SIZE, at, len(words), sources.shape[1], 0)
    taken = codes.view(np.int8)[np.maximum(sources, 0)].astype(int)
    made = np.where(sources < 0, (sources + 256).astype(np.uint8).view(np.int8), taken)
    np.testing.assert_array_equal(
        memory[SIZE : SIZE + len(sources)].view(np.int8), made.max(axis=1)
    )
    return len(words)


def windows(size: int, kernel: int, channels: int = 4) -> tuple[np.ndarray, int]:
    """Return the windows of a map, channels last, with what is beyond the edges."""
    places = np.moveaxis(np.arange(channels * size * size).reshape(1, size, size, channels), -1, 1)
    pad = kernel // 2
    cut = Windows(kernel=(kernel,) * 2, strides=(1, 1), dilations=(1, 1), pads=(pad,) * 4).cut(
        places, -200
    )
    rows = np.moveaxis(cut, 3, -1).reshape(size * size, -1)
    return rows.reshape(-1, 1), rows.shape[1]


def gate(pixels: int) -> tuple[np.ndarray, int]:
    """Return pixels of eight channels, and one number for each channel."""
    return np.stack([np.arange(8 * pixels), 9000 + np.tile(np.arange(8), pixels)], axis=1), 0


def turned(rows: int, columns: int) -> tuple[np.ndarray, int]:
    return np.arange(rows * columns).reshape(rows, columns).T.reshape(-1, 1), 0


def greatest(size: int) -> tuple[np.ndarray, int]:
    """Return windows of 3 x 3 of a map, of which the greatest is taken."""
    sources, row = windows(size, 3)
    return sources.reshape(-1, 9, row // 9).transpose(0, 2, 1).reshape(-1, 9), row // 9


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda: windows(24, 3), 240),
        (lambda: windows(24, 5), 600),
        (lambda: windows(6, 1), 8),
        (lambda: gate(400), 8),
        (lambda: turned(300, 7), 12),
        (lambda: greatest(20), 400),
    ],
)
def test_regular_moves_take_few_words(
    make: Callable[[], tuple[np.ndarray, int]], most: int
) -> None:
    """As many for a map of any size."""
    sources, row = make()
    assert check(sources, row or len(sources)) <= most


@pytest.mark.parametrize("seed", range(30))
def test_any_sources_come_back(seed: int) -> None:
    """Random ones, in parts regular: with constants, several taps, gaps."""
    rng = np.random.default_rng(seed)
    taps = int(rng.integers(1, 5))
    parts = []
    for _ in range(int(rng.integers(1, 6))):
        body = rng.integers(-256, 3000, (int(rng.integers(1, 6)), taps))
        wide = (body[:, None] + np.arange(rng.integers(1, 5))[:, None]).reshape(-1, taps)
        step = rng.integers(-5, 90, 2)[np.minimum(np.arange(taps), 1)]
        again = wide + step * np.arange(rng.integers(1, 30))[:, None, None]
        again = np.where(wide < 0, wide, np.maximum(again, 0)).reshape(-1, taps)
        parts += [again] * int(rng.integers(1, 4))
    sources = np.concatenate(parts)
    check(sources, [len(sources), 7][seed % 2])

"""Split matrix products into an engine's tiles and beats, and join the resulting rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from golden.engine import EngineSpec, TileSpec

__all__ = ["Tiles", "cut", "join", "save", "tile_beats"]


@dataclass(frozen=True)
class Tiles:
    """One matrix product as a sequence of tiles: by rows of C, then columns, then chunks of K.

    Members
    -------
    shape : rows and columns of C.
    lengths : beats of each tile.
    a, b : codes of each beat, beats x (m k), and patterns, beats x (b_codes n).
    """

    shape: tuple[int, int]
    lengths: np.ndarray
    a: np.ndarray
    b: np.ndarray


def tile_beats(spec: EngineSpec, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Arrange tiles as beats, for all passes; K is padded to whole beats.

    That is with zeros, but in A with -1 where codes are bipolar, of which none is 0.

    Parameters
    ----------
    spec : the engine.
    a, b : tiles, ... x m x K and ... x K x n.

    Returns
    -------
    Codes of the beats of A, ... x beats x (m k), and patterns of those of B, ... x beats x
    (b_codes n).
    """
    pad = -a.shape[-1] % spec.k
    a, b = _pad(a, -1, pad, -1 if spec.bipolar else 0), _patterns(spec, _pad(b, -2, pad))
    beats = a.shape[-1] // spec.k
    slices = np.moveaxis(a.reshape(*a.shape[:-1], beats, spec.k), -3, -2)
    once = slices.reshape(*a.shape[:-2], beats, spec.m * spec.k)
    return (
        np.concatenate([once] * spec.passes, axis=-2),
        b.reshape(*b.shape[:-2], beats * spec.passes, spec.b_codes * spec.n),
    )


def cut(spec: EngineSpec, a: np.ndarray, b: np.ndarray) -> Tiles:
    """Cut a product of any shape; raises as :func:`golden.engine.matmul` does for wrong codes."""
    a, b = spec.a_format.check("a", a), spec.b_format.check("b", b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"a and b must be M x K and K x N, not {a.shape} and {b.shape}")
    shape = a.shape[0], b.shape[1]
    a, b = _pad(a, 0, -shape[0] % spec.m), _pad(b, 1, -shape[1] % spec.n)
    rows, columns = a.shape[0] // spec.m, b.shape[1] // spec.n
    chunks = []
    for start in range(0, a.shape[1], spec.k_max):
        k = slice(start, start + spec.k_max)
        row_tiles = a[:, k].reshape(rows, spec.m, -1)
        column_tiles = b[k].reshape(-1, columns, spec.n).swapaxes(0, 1)
        chunks.append(tile_beats(spec, row_tiles, column_tiles))
    order = [(i, j, part) for i in range(rows) for j in range(columns) for part in chunks]
    return Tiles(
        shape=shape,
        lengths=np.array([part[0].shape[1] for _, _, part in order], dtype=np.int64),
        a=_stack((part[0][i] for i, _, part in order), spec.m * spec.k),
        b=_stack((part[1][j] for _, j, part in order), spec.b_codes * spec.n),
    )


def join(spec: TileSpec, job: Tiles, rows: np.ndarray) -> np.ndarray:
    """Join the engine's rows of C, tiles x m rows of n codes; add up chunks of K."""
    if not len(job.lengths):
        return np.zeros(job.shape, dtype=np.int64)
    height, width = -(-job.shape[0] // spec.m), -(-job.shape[1] // spec.n)
    tiles = rows.reshape(height, width, -1, spec.m, spec.n).sum(axis=2)
    whole = tiles.swapaxes(1, 2).reshape(height * spec.m, width * spec.n)
    return whole[: job.shape[0], : job.shape[1]]


def save(path: Path, jobs: Sequence[Tiles]) -> None:
    """Write all beats of some jobs, and the lengths of their tiles, for the bench to send."""
    np.savez(
        path,
        lengths=np.concatenate([job.lengths for job in jobs]),
        a=np.concatenate([job.a for job in jobs]),
        b=np.concatenate([job.b for job in jobs]),
    )


def _patterns(spec: EngineSpec, b: np.ndarray) -> np.ndarray:
    """Return the patterns of codes of B, ... x K x n."""
    columns = np.moveaxis(b, -2, 0)
    patterns = spec.b_patterns(columns.reshape(len(columns), -1))
    return np.moveaxis(patterns.reshape(len(patterns), *columns.shape[1:]), 0, -2)


def _pad(array: np.ndarray, axis: int, count: int, value: int = 0) -> np.ndarray:
    """Append a value along an axis."""
    if not count:
        return array
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, count)
    return np.pad(array, widths, constant_values=value)


def _stack(parts: Iterable[np.ndarray], width: int) -> np.ndarray:
    return np.concatenate([np.zeros((0, width), np.int64), *parts])

"""Sums of a lane, exact, and the cycles that they take."""

import numpy as np

from golden.formats.integer import IntFormat
from golden.npe.lane import LaneSpec

__all__ = ["cycles", "lane_sums"]


def lane_sums(
    spec: LaneSpec,
    a: np.ndarray,
    b: np.ndarray,
    a_format: np.ndarray | int,
    b_format: np.ndarray | int,
    last: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum the products of each run of words; a run ends where `last` is set.

    Parameters
    ----------
    spec : formats and width of sums.
    a, b : words, one for each beat.
    a_format, b_format : indices of formats, one per beat or one for all; those of the first beat
        of a run are used.
    last : booleans, one per beat; beats after the last one set belong to no complete sum.

    Returns
    -------
    sums : one per `last`; int64, or Python integers if accumulator_width is more than 63.
    invalid : bool; an operand of the run was NaN.
    overflow : bool; the run was longer than :meth:`LaneSpec.k_max_words`.
    """
    word = IntFormat(width=spec.word_width, signed=False)
    a, b = word.check("a", a), word.check("b", b)
    last = np.asarray(last, dtype=bool)
    ends = np.flatnonzero(last) + 1
    starts = np.concatenate(([0], ends[:-1])) if ends.size else ends
    chosen = [
        _check_format(spec, name, np.broadcast_to(indices, last.shape)[starts])
        for name, indices in (("a_format", a_format), ("b_format", b_format))
    ]
    sums = np.zeros(len(ends), dtype=np.int64 if spec.accumulator_width <= 63 else object)
    invalid, overflow = np.zeros((2, len(ends)), dtype=bool)
    lengths = ends - starts
    for pair in {(int(x), int(y)) for x, y in zip(*chosen, strict=True)}:
        runs = (chosen[0] == pair[0]) & (chosen[1] == pair[1])
        beats = np.repeat(runs, lengths)
        words = a[: len(beats)][beats], b[: len(beats)][beats]
        products, wrong = _products(spec, pair, *words)
        stops = np.cumsum(lengths[runs])
        # int64 wraps modulo 2^64, which every narrower modulus divides.
        sums[runs] = _wrap(spec, _between(products, stops))
        invalid[runs] = _between(wrong.astype(np.int64), stops) > 0
        overflow[runs] = lengths[runs] > spec.k_max_words(*pair)
    return sums, invalid, overflow


def cycles(
    spec: LaneSpec,
    a: np.ndarray,
    b: np.ndarray,
    a_format: np.ndarray | int,
    b_format: np.ndarray | int,
    last: np.ndarray,
) -> np.ndarray:
    """Count the cycles that each beat occupies the lane: :meth:`LaneSpec.cycles` of its formats.

    Parameters
    ----------
    spec, a, b, a_format, b_format, last : as for :func:`lane_sums`; without stalls.

    Returns
    -------
    int64 cycles, one per beat. A beat's sum comes the component's latency after its last.
    """
    last = np.asarray(last, dtype=bool)
    starts = np.concatenate(([True], last[:-1]))
    first = np.maximum.accumulate(np.where(starts, np.arange(len(last)), 0))
    pairs = [np.broadcast_to(indices, last.shape)[first] for indices in (a_format, b_format)]
    table = np.ones((len(spec.names), len(spec.names)), dtype=np.int64)
    for pair in spec.pairs:
        table[pair] = spec.cycles(*pair)
    return table[pairs[0], pairs[1]]


def _products(
    spec: LaneSpec, pair: tuple[int, int], a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sum of the products of each pair of words, and whether an operand is NaN."""
    pitch = spec.pitch(*pair)
    exact = [
        spec.elements[index].decode(spec.unpack(words, index, pitch))
        for index, words in zip(pair, (a, b), strict=True)
    ]
    values = [part.fixed(spec.elements[index].lsb) for index, part in zip(pair, exact, strict=True)]
    if spec.accumulator_width > 63:
        values = [value.astype(object) for value in values]
    return (values[0] * values[1]).sum(axis=1), (exact[0].nan | exact[1].nan).any(axis=1)


def _between(values: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Sum consecutive runs that stop there."""
    running = np.concatenate((np.zeros(1, dtype=values.dtype), np.cumsum(values)))
    return running[stops] - running[np.concatenate(([0], stops[:-1]))]


def _wrap(spec: LaneSpec, values: np.ndarray) -> np.ndarray:
    """Reduce to two's complement of the width of sums."""
    if spec.accumulator_width <= 63:
        return spec.sum_format.wrap(values)
    half = 1 << (spec.accumulator_width - 1)
    return (values + half) % (2 * half) - half


def _check_format(spec: LaneSpec, name: str, indices: np.ndarray) -> np.ndarray:
    """Refuse an index out of range."""
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {indices.dtype}")
    wrong = indices[(indices < 0) | (indices >= len(spec.names))]
    if wrong.size:
        raise ValueError(f"{name} must be 0..{len(spec.names) - 1}, not {wrong[0]}")
    return indices

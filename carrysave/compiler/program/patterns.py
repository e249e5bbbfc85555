"""Patterns of moved bytes: rows of records that follow each other and are alike."""

import numpy as np

__all__ = ["like", "patterns"]


def like(sources: np.ndarray) -> np.ndarray | None:
    """Return where codes go, from 0 on, to lie as these do, gaps too; None: they are too far apart.

    Each has to have a place of its own.
    """
    places = sources - sources.min()
    span = int(places.max()) + 1
    if sources.min() < 0 or span > 2 * sources.size or len(np.unique(places)) != sources.size:
        return None
    return places


def patterns(sources: np.ndarray, row: int) -> tuple[int, np.ndarray]:
    """Write records of rows, those that follow each other and are alike as one pattern.

    Parameters
    ----------
    sources : count x sources of each byte.
    row : bytes of a row.

    Returns
    -------
    The count of patterns, and their words.
    """
    # Bytes whose sources follow each other, within a row, are a record.
    change = (sources[1:] - sources[:-1] != (sources[:-1] >= 0)) | (
        (sources[1:] >= 0) != (sources[:-1] >= 0)
    )
    new = np.concatenate([[True], change.any(axis=1)])
    new[::row] = True
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, len(sources)))
    first = sources[starts]
    bounds = np.searchsorted(starts, np.arange(0, len(sources), row))
    counts = np.diff(np.append(bounds, len(starts)))
    heads, repeats, steps = [0], [1], [0]
    for place, step in enumerate(_steps(lengths, first, bounds, counts).tolist(), 1):
        if step != _UNLIKE and (repeats[-1] == 1 or step == steps[-1]):
            repeats[-1], steps[-1] = repeats[-1] + 1, step
        else:
            for own, value in ((heads, place), (repeats, 1), (steps, 0)):
                own.append(value)
    records = np.concatenate([lengths[:, None], first], axis=1)
    words: list[np.ndarray] = []
    for head, repeat, step in zip(heads, repeats, steps, strict=True):
        begin, count = bounds[head], counts[head]
        words += [np.array([repeat, step, count]), records[begin : begin + count].ravel()]
    return len(heads), np.concatenate(words)


_UNLIKE = 1 << 40


def _steps(
    lengths: np.ndarray, first: np.ndarray, bounds: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Return what is added to the addresses of each row but the last to make those of the next.

    Or `_UNLIKE`, if that is not the same for all, or the rows are unlike otherwise.
    """
    strides = np.full(len(bounds) - 1, _UNLIKE)
    for count in np.unique(counts).tolist():
        rows = np.flatnonzero((counts[:-1] == count) & (counts[1:] == count))
        if not rows.size:
            continue
        one, other = (bounds[rows + more][:, None] + np.arange(count) for more in (0, 1))
        known = first[one] >= 0
        apart = np.where(known, first[other] - first[one], 0).reshape(len(rows), -1)
        known_too = first[other] >= 0
        same = (lengths[one] == lengths[other]).all(axis=1)
        same &= (known == known_too).reshape(len(rows), -1).all(axis=1)
        same &= (known | (first[one] == first[other])).reshape(len(rows), -1).all(axis=1)
        flat = known.reshape(len(rows), -1)
        step = apart[np.arange(len(rows)), flat.argmax(axis=1)]
        same &= ((apart == step[:, None]) | ~flat).all(axis=1)
        strides[rows[same]] = step[same]
    return strides

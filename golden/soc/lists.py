"""Lists of places: which codes of a row are large enough, or greatest; products by them."""

from typing import Any

import numpy as np

__all__ = [
    "INDEX",
    "PLACE_BYTES",
    "TOP_K",
    "check_lists",
    "choice",
    "index",
    "list_bytes",
    "list_columns",
    "listed",
    "longest_list",
    "top_bytes",
    "top_k",
    "top_rows",
]

INDEX = "index"
"""The vector job that makes lists."""
TOP_K = "top_k"
"""The vector job that makes lists of the greatest codes."""
PLACE_BYTES = 4
"""Of a place in memory, and of a count."""


def list_columns(size: int) -> int:
    """Return the numbers of a list of at most `size` places: these, and their count at the end."""
    return size + 1


def list_bytes(size: int) -> int:
    """Return the bytes of a list of at most `size` places."""
    return PLACE_BYTES * list_columns(size)


def top_bytes(count: int, code_bytes: int) -> int:
    """Return the bytes of a row of the greatest codes: a list of so many places, and the codes."""
    return list_bytes(count) + code_bytes * count


def longest_list(spec: Any) -> int:
    """Return the most bytes of a row that has a list, of a build; codes may follow."""
    return max(list_bytes(spec.lists), top_bytes(spec.top_k, spec.vector_in_bytes))


def index(rows: np.ndarray, least: int) -> np.ndarray:
    """List the places of a row whose magnitude is at least `least`.

    Parameters
    ----------
    rows : int64, codes with sign, M x N.
    least : 0 or more.

    Returns
    -------
    int64, M x (N + 1): places in rising order, zeros behind them, and in the last column how many
    places there are.
    """
    count = rows.shape[1]
    made = np.zeros((len(rows), list_columns(count)), np.int64)
    for row, codes in zip(made, rows, strict=True):
        places = np.flatnonzero(np.abs(codes) >= least)
        row[: len(places)] = places
        row[count] = len(places)
    return made


def top_k(rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """List the greatest codes of a row, as ONNX TopK does: equal ones from the lower place on.

    Parameters
    ----------
    rows : int64, codes with sign, M x N.
    count : of codes, 1 to N.

    Returns
    -------
    int64, M x (count + 1): places in the order of falling codes, and in the last column their
    count; and the codes, M x count.
    """
    places = np.argsort(-rows, axis=1, kind="stable")[:, :count]
    made = np.pad(places, [(0, 0), (0, 1)], constant_values=count)
    return made, np.take_along_axis(rows, places, axis=1)


def top_rows(rows: np.ndarray, count: int, code_bytes: int) -> np.ndarray:
    """Return bytes of :func:`top_k`, M x :func:`top_bytes`: places, their count, and codes."""
    places, codes = top_k(rows, count)
    parts = places.astype("<u4").view(np.uint8), codes.astype(f"<i{code_bytes}").view(np.uint8)
    return np.concatenate(parts, axis=1).astype(np.int64)


def listed(words: np.ndarray) -> np.ndarray | None:
    """Return which of K places a list has; None if it is none.

    Parameters
    ----------
    words : int64, K + 1: places, and in the last word their count; words between are not looked at.
    """
    size = len(words) - 1
    count = int(words[size])
    if count > size:
        return None
    places = words[:count]
    if (np.diff(places, prepend=-1) <= 0).any() or (places >= size).any():
        return None
    there = np.zeros(size, bool)
    there[places] = True
    return there


def choice(spec: Any, job: Any) -> bool:
    """Return whether a product's B is one of several, of :class:`golden.soc.job.Job`."""
    return bool(spec.top_k and job.vector is None and job.places is not None and job.ldsa)


def check_lists(
    places: int,
    kinds: list[tuple[int, int, int]],
    out_bytes: int | None,
    *,
    others: bool,
    most: int = 0,
) -> None:
    """Refuse lists where rows of A are not of whole bytes, one code each; ValueError.

    Parameters
    ----------
    places : most of a list; 0: there are no lists.
    kinds : of each memory layout, codes of a word along K, steps along K of a word of B, and bits
        of a word of A.
    out_bytes : bytes of a word of the vector unit, of all lanes; None: there is no unit.
    most : greatest codes that a job finds; 0: none does.
    others : there are streams in place of memory, windows, factors of rows, shares, or tables or
        scales of B, whose words of a job are those of lists.
    """
    if most > (places if out_bytes is not None else 0):
        raise ValueError(
            f"top_k must be 0 without a vector unit, and at most lists = {places}, not {most}"
        )
    if not places:
        return
    if others or len(kinds) > 1 or kinds[0][:2] != (1, 1) or kinds[0][2] not in (8, 16):
        raise ValueError(
            "lists must be 0 between streams, where jobs have windows, factors of rows, shares,"
            " scales of blocks or tables of B, and where a code of A is not of 8 or 16 bits, one to"
            f" a step along K, not {places}"
        )
    if out_bytes is not None and out_bytes % PLACE_BYTES:
        raise ValueError(
            f"lists must be 0 where lanes of the vector unit make {out_bytes} bytes, no multiple of"
            f" {PLACE_BYTES}, not {places}"
        )

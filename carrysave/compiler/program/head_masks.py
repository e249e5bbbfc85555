"""What is added to the scores of a head: masks, and numbers of a model."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from carrysave.compiler.program.buffers import Buffer
from carrysave.compiler.program.image import Image
from carrysave.compiler.program.jobs import rows, scaling
from carrysave.compiler.program.operands import Node
from golden.npe.vector import VectorUnitSpec

__all__ = ["Added", "Addend", "Mask", "add_codes", "chunks"]


class Addend(Protocol):
    """What is added to the scores of a head."""

    def codes(self, queries: range, rows: int, keys: int, least: int) -> np.ndarray:
        """Return codes that are added, queries x keys; `least` hides a key.

        Parameters
        ----------
        queries : some of the rows of queries.
        rows, keys : all of them.
        least : the least score.
        """


@dataclass(frozen=True, kw_only=True)
class Mask:
    """Which keys a query sees: none behind its own place, and of those before it the last ones.

    Queries are the last places that have keys.

    Members
    -------
    window : how many keys a query sees, its own among them; None: all.
    sinks : the first keys, which all queries see besides; what is between is computed, and hidden.
    group : queries of one place, which follow each other: heads that share keys and values.
    """

    window: int | None = None
    sinks: int = 0
    group: int = 1

    def seen(self, queries: range, rows: int, keys: int) -> np.ndarray:
        """Return which keys some of the rows of queries see: booleans, queries x keys."""
        places = np.array(queries)[:, None] // self.group + keys - rows // self.group
        behind, first = places - np.arange(keys), np.arange(keys) < self.sinks
        return (behind >= 0) & ((behind < (self.window or keys)) | first)

    def codes(self, queries: range, rows: int, keys: int, least: int) -> np.ndarray:
        """Return the least score for keys that are not seen; see :class:`Addend`."""
        return np.where(self.seen(queries, rows, keys), 0, least)


@dataclass(frozen=True, kw_only=True, eq=False)
class Added:
    """Numbers that are added to scores, as a model has them.

    Members
    -------
    numbers : rows x keys; -inf hides a key.
    scale_width : scores have as many bits behind the binary point.
    """

    numbers: np.ndarray
    scale_width: int

    def codes(self, queries: range, rows: int, keys: int, least: int) -> np.ndarray:
        """Round the numbers of some rows, within the scores' range; see :class:`Addend`."""
        numbers = self.numbers[queries.start : queries.stop].astype(np.float64)
        units = np.rint(np.ldexp(numbers, self.scale_width))
        return np.clip(units, least, -least - 1).astype(np.int64)


def chunks(
    size: tuple[int, int], count: int, mask: Addend | None, unit: VectorUnitSpec
) -> Iterator[tuple[tuple[int, int], int, np.ndarray]]:
    """Yield rows, the first key that any of them sees, and what is added to their scores.

    Parameters
    ----------
    size : rows and keys.
    count : rows at a time.
    mask : what is added; None: nothing.
    unit : whose width scores have.
    """
    (total, keys), least = size, -(1 << unit.width - 1)
    for first in range(0, total, count):
        here = first, min(first + count, total)
        codes = np.zeros((here[1] - first, keys), np.int64)
        if mask is not None:
            codes = mask.codes(range(*here), total, keys, least)
        columns = np.flatnonzero((codes > least).any(axis=0))
        low, high = int(columns[0]), int(columns[-1]) + 1
        yield here, low, codes[:, low:high]


def add_codes(image: Image, node: Node, scores: Buffer, codes: np.ndarray) -> None:
    """Have codes added to scores, in the columns that have any.

    Raises
    ------
    ValueError
        A vector unit that cannot.
    """
    unit = image.target.spec.vector
    assert unit is not None
    columns = np.flatnonzero(codes.any(axis=0))
    if len(columns) and not (unit.builds(["add"]) and unit.out_width >= unit.width):
        raise ValueError(
            f"{node[0]}: a mask takes add, and codes as wide as scores, of the vector unit"
        )
    # Behind the window, and behind the queries' own places; in rows that the unit has room for.
    cuts = np.flatnonzero(np.diff(columns) > 1) + 1
    most = unit.most("add")
    runs = [
        run[at : at + most] for run in np.split(columns, cuts) for at in range(0, len(run), most)
    ]
    for run in runs:
        part = int(run[0]), int(run[-1]) + 1
        added = codes[:, slice(*part)]
        digest = hashlib.sha256(np.ascontiguousarray(added).tobytes()).hexdigest()[:16]
        name = f"mask.{added.shape[0]}x{added.shape[1]}.{digest}"
        given = image.buffers.get(name) or image.place(name, added, scores.bits)
        c, how = scores.part(None, part), scaling(1.0, unit.width)
        image.start(*node, rows(image.target, "add", c, c, b=given, how=how))

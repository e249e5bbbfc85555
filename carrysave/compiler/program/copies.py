"""Codes that lie apart, put into one map by jobs: parts of a Concat, what Resize repeats.

Addresses say what has to be done, whatever operators made them. Where they are even, a box is
copied; where codes are taken several times in a row along an axis, each of them is put there once,
and these are copied as often; where they are of several maps in turns, each of these is copied;
else they are cut where they are uneven.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import gcd

import numpy as np

from carrysave.compiler.program.image import Image, code_of
from carrysave.compiler.program.operands import Node
from carrysave.compiler.program.places import places_of, regular, steps_of
from carrysave.compiler.program.row_jobs import COPY, Axis, are_few, jobs_of, row_groups, start_rows
from carrysave.driver import Maps
from carrysave.driver.system import Tensor

__all__ = ["lay"]

_PARTS = 64
"""Of an axis that is cut or repeated, at most."""
_IN_TURNS, _PROOF = 16, 3
"""Rows of codes that are taken in turns, at most, and codes of each, at least."""
_COPIES = 512
"""Boxes of a map, at most."""


def _laid(image: Image, node: Node, x: Tensor, any_order: bool) -> Tensor:
    """Have jobs put codes into a map; return where they are: as before, if these lie even.

    So they are, too, if the block has no such jobs, or there would be many of few codes.
    """
    if image.target.spec.vector is None or not image.target.spec.taps or x.kind.itemsize > 1:
        return x
    if not x.sources.size:
        return x
    if regular(_in_order(x.sources) if any_order else x.sources) is not None:
        return x
    plan = _Plan(image)
    try:
        made = plan.whole(x.sources)
    except _TooMany:
        return x
    if not are_few(plan.jobs, x.sources.size):
        return x
    return replace(x, sources=plan.start(node)[made.room] + made.places)


def lay(
    image: Image,
    node: Node,
    tensors: dict[str, Tensor],
    names: Iterable[str],
    *,
    any_order: bool = False,
) -> None:
    """Have codes of those tensors lie in maps that are in memory; see :func:`_laid`.

    Parameters
    ----------
    any_order : codes of a row may come in another order, which is that of all rows: weights follow.
    """
    for name in names:
        if name in tensors:
            tensors[name] = _laid(image, node, tensors[name], any_order)


class _TooMany(Exception):
    """There would be many jobs of few codes, or no end of parts."""


@dataclass(frozen=True)
class _Codes:
    """Where codes are: addresses, or places in a room that is to be made; room -1: addresses."""

    places: np.ndarray
    room: int = -1

    def along(self, axis: int, some: slice) -> "_Codes":
        """Return some of them along an axis."""
        return _Codes(_along(self.places, axis, some), self.room)


@dataclass
class _Plan:
    """Copies of boxes, in order, and rooms that they need.

    Members
    -------
    rooms : codes of a row, rows, and bytes from a row to the next, of each.
    copies : from where, to where, and axes.
    jobs : of all copies.
    """

    image: Image
    rooms: list[tuple[int, int, int]] = field(default_factory=list)
    copies: list[tuple[_Codes, _Codes, list[Axis]]] = field(default_factory=list)
    jobs: int = 0

    def whole(self, sources: np.ndarray) -> _Codes:
        """Plan a map of all codes, if they lie uneven."""
        if regular(sources) is not None and sources.min() >= 0:
            return _Codes(sources)
        to = self._room(sources)
        self._put(sources, to)
        return to

    def start(self, node: Node) -> list[int]:
        """Have jobs copy; return the addresses of rooms, and 0 for those of addresses."""
        at = [
            self.image.reserve(
                f"{node[0]}.map", rows, columns, 8, stride=stride, lasting=False
            ).address
            for columns, rows, stride in self.rooms
        ] + [0]
        for source, to, axes in self.copies:
            c = at[to.room] + int(to.places.flat[0])
            first, job = int(source.places.flat[0]), COPY
            if source.room < 0 and first < 0:
                # A number: nothing times what is there, and the code.
                how = replace(COPY.how, zero_point=code_of(first))
                first, job = c, replace(COPY, how=how, maps=Maps(factors=(0, 0)))
            else:
                first += at[source.room]
            start_rows(self.image, node, job, (first, first, c), axes)
        return at

    def _room(self, sources: np.ndarray) -> _Codes:
        """Plan a room whose rows are along the axis in which most codes follow each other."""
        shape = sources.shape
        follow = [
            np.mean(np.diff(sources, axis=axis) == 1) if size > 1 else 0.0
            for axis, size in enumerate(shape)
        ]
        inner = max(range(len(shape)), key=lambda axis: (follow[axis], axis == 1))
        stride = self.image.stride(8, shape[inner])
        steps, step = [0] * len(shape), stride
        steps[inner] = 1
        for axis in reversed(range(len(shape))):
            if axis != inner:
                steps[axis] = step
                step *= shape[axis]
        self.rooms.append((shape[inner], sources.size // shape[inner], stride))
        return _Codes(places_of(0, shape, steps), len(self.rooms) - 1)

    def _put(self, sources: np.ndarray, to: _Codes) -> None:
        """Plan copies of codes to places that lie even."""
        if regular(sources) is not None:
            self._copy(_Codes(sources), to)
            return
        for axis in range(sources.ndim):
            if (times := _times(sources, axis)) > 1:
                once = self.whole(_along(sources, axis, slice(None, None, times)))
                for number in range(times):
                    self._copy(once, to.along(axis, slice(number, None, times)))
                return
        ends = [_ends(sources, axis) for axis in range(sources.ndim)]
        # Two codes are no proof of where an axis is uneven.
        ways = [
            ((len(some) > sources.shape[axis], len(some) - 1), axis, some, 0)
            for axis, some in enumerate(ends)
            if len(some) > 2
        ] + [
            ((False, turns), axis, [], turns)
            for axis in range(sources.ndim)
            if (turns := _turns(sources, axis)) > 1
        ]
        if not ways:
            raise _TooMany
        (_, parts), axis, some, turns = min(ways, key=lambda way: way[0])
        if parts > _PARTS:
            raise _TooMany
        pieces = [slice(at, None, turns) for at in range(turns)]
        for piece in pieces or map(slice, some, some[1:]):
            self._put(_along(sources, axis, piece), to.along(axis, piece))

    def _copy(self, source: _Codes, to: _Codes) -> None:
        """Plan the copy of a box."""
        unit = self.image.target.spec.vector
        assert unit is not None
        ways = steps_of(source.places), steps_of(to.places)
        if source.room < 0 and source.places.flat[0] < 0:
            if any(ways[0]):
                raise _TooMany
            ways = ways[1], ways[1]
        sizes = zip(source.places.shape, *ways, strict=True)
        axes = sorted(
            (Axis(size, (a, a, c)) for size, a, c in sizes), key=lambda one: -one.steps[2]
        )
        self.copies.append((source, to, axes))
        groups = row_groups(axes, unit.most(COPY.operation))
        if groups is None or min(ways[0]) < 0 or len(self.copies) > _COPIES:
            raise _TooMany
        self.jobs += jobs_of(groups)


def _along(sources: np.ndarray, axis: int, some: slice) -> np.ndarray:
    """Return some addresses along an axis."""
    return sources[(*[slice(None)] * axis, some)]


def _in_order(sources: np.ndarray) -> np.ndarray:
    """Return addresses with those of the first row in order, and of others as of that."""
    order = np.argsort(sources.reshape(-1, sources.shape[-1])[0], kind="stable")
    return np.asarray(sources[..., order])


def _times(sources: np.ndarray, axis: int) -> int:
    """Return how often each code is taken in a row along an axis."""
    other = tuple(at for at in range(sources.ndim) if at != axis)
    changes = np.flatnonzero(np.diff(sources, axis=axis).any(axis=other)) + 1
    times = gcd(sources.shape[axis], *map(int, changes))
    return times if times <= _PARTS else 1


def _turns(sources: np.ndarray, axis: int) -> int:
    """Return of how many rows of even places codes are taken in turns along an axis."""
    size = sources.shape[axis]
    for times in range(1, min(_IN_TURNS, size // _PROOF) + 1):
        steps = _along(sources, axis, slice(times, None)) - _along(
            sources, axis, slice(None, -times)
        )
        if not np.diff(steps, axis=axis).any():
            return times
    return 1


def _ends(sources: np.ndarray, axis: int) -> list[int]:
    """Return where an axis is cut: before and behind steps that are none of their neighbours'."""
    size = sources.shape[axis]
    if size == 1:
        return [0, 1]
    steps = np.moveaxis(np.diff(sources, axis=axis), axis, 0).reshape(size - 1, -1)
    same = (steps[1:] == steps[:-1]).all(axis=1)
    alike = np.zeros(size - 1, bool)
    alike[1:] |= same
    alike[:-1] |= same
    return [0, *(np.flatnonzero(~alike) + 1).tolist(), size]

"""Sources of moved bytes as records, and loops of what comes again at other addresses."""

from dataclasses import dataclass

import numpy as np

__all__ = ["like", "looped"]

_HEAD = 4
"""Words of a loop before its body."""
_DEPTH = 6
"""Loops within each other, at most."""
_WORTH = 50
"""Loops are made if they save one word of so many."""
_LONGEST = 128
"""Items of a loop's body, at most."""
_TRIED = 3
"""Lengths of a body that are tried, those of most items that come again."""


def like(sources: np.ndarray) -> np.ndarray | None:
    """Return where codes go, from 0 on, to lie as these do, gaps too; None: they are too far apart.

    Each has to have a place of its own.
    """
    places = sources - sources.min()
    span = int(places.max()) + 1
    if sources.min() < 0 or span > 2 * sources.size:
        return None
    taken = np.zeros(span, bool)
    taken[places] = True
    return places if np.count_nonzero(taken) == sources.size else None


def looped(sources: np.ndarray, row: int) -> np.ndarray:
    """Return the words of what moves bytes; see :mod:`.words`.

    Parameters
    ----------
    sources : count x sources of each byte.
    row : bytes of a row, with which a record ends.
    """
    items = _Items.of(*_records(sources, row))
    while (better := items.joined()) is not None:
        items = better
    return items.words()


def _records(sources: np.ndarray, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Split bytes into records, whose sources follow each other: their lengths, and the first."""
    new = np.zeros(len(sources), bool)
    for column in sources.T:
        moves = column >= 0
        new[1:] |= np.diff(column) != moves[:-1]
        new[1:] |= moves[1:] != moves[:-1]
    new[::row] = True
    starts = np.flatnonzero(new)
    return np.diff(np.append(starts, len(sources))), sources[starts]


@dataclass(frozen=True, eq=False)
class _Kind:
    """Words of an item at address 0: which of them are of the first source, which of the others."""

    words: np.ndarray
    first: np.ndarray
    others: np.ndarray
    depth: int = 0

    def at(self, position: np.ndarray) -> np.ndarray:
        return np.asarray(self.words + self.first * position[0] + self.others * position[1])


@dataclass(eq=False)
class _Items:
    """Records and loops in order.

    Members
    -------
    kinds : of items; alike ones have the same.
    kind : number of that of each.
    position, known : addresses of the first source and of the others; constants have none.
    """

    kinds: list[_Kind]
    kind: np.ndarray
    position: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, lengths: np.ndarray, first: np.ndarray) -> "_Items":
        """Return records as items."""
        taps = first.shape[1]
        moves = first >= 0
        sides = [slice(0, 1), slice(1, taps)]
        position, known = np.zeros((2, len(first), 2), np.int64)
        relative = first.copy()
        for side, part in enumerate(sides):
            if part.start < taps:
                some = moves[:, part]
                known[:, side] = some.any(axis=1)
                index = part.start + some.argmax(axis=1)
                ours = np.where(known[:, side], first[np.arange(len(first)), index], 0)
                position[:, side] = ours
                relative[:, part] -= np.where(some, ours[:, None], 0)
        table = np.concatenate([lengths[:, None], relative, moves], axis=1)
        unique, kind = _numbered(table)
        kinds = []
        for one in unique:
            address = np.concatenate([[0], one[1 + taps :]])
            head = np.arange(1 + taps) == 1
            kinds.append(_Kind(one[: 1 + taps], address * head, address * ~head))
        return cls(kinds, kind, position, known.astype(bool))

    def joined(self) -> "_Items | None":
        """Return items with more loops, in fewer words; None: there are no such."""
        sizes = np.array([len(one.words) for one in self.kinds])[self.kind]
        depths = np.array([one.depth for one in self.kinds])[self.kind]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        count = len(self.kind)
        again = {
            body: int(np.count_nonzero(self.kind[body:] == self.kind[:-body]))
            for body in range(1, min(_LONGEST, count // 2) + 1)
        }
        deep = np.concatenate([[0], np.cumsum(depths >= _DEPTH)])
        best: tuple[int, int, np.ndarray] = (0, 0, depths)
        for body in sorted(again, key=lambda one: (-again[one], one))[:_TRIED]:
            loops = self._loops_of(body)
            start, times = loops.T
            less = (times - 1) * (ends[start + body] - ends[start]) - _HEAD
            some = (less > 0) & (deep[start + body] == deep[start])
            saved = int(less[some].sum())
            if saved > best[0]:
                best = saved, body, loops[some]
        worth = best[0] * _WORTH > ends[-1]
        return self._with(best[1], best[2]) if worth else None

    def _loops_of(self, body: int) -> np.ndarray:
        """Return where so many items begin that come again, and how often they are there."""
        same = self.kind[body:] == self.kind[:-body]
        apart = self._apart(body, same)
        changes = np.ones(len(same), bool)
        changes[1:] = same[1:] != same[:-1]
        for side in apart.T:
            changes[1:] |= side[1:] != side[:-1]
        starts = np.flatnonzero(changes)
        lengths = np.diff(np.append(starts, len(same)))
        some = same[starts] & (lengths >= body)
        end, loops = 0, []
        for start, length in zip(starts[some].tolist(), lengths[some].tolist(), strict=True):
            first = max(start, end)
            left = length - (first - start)
            if left >= body:
                times = left // body + 1
                end = first + times * body
                loops.append((first, times))
        return np.array(loops, np.int64).reshape(-1, 2)

    def _apart(self, body: int, same: np.ndarray) -> np.ndarray:
        """Return how far items are from those so many further on; constants as what is beside."""
        apart = self.position[body:] - self.position[:-body]
        numbers, groups = np.arange(len(same)), np.cumsum(~same)
        for side in range(2):
            known = self.known[:-body, side]
            if known.all() or not known.any():  # nothing is beside, or nothing is apart
                continue
            before = np.maximum.accumulate(np.where(known, numbers, -1))
            behind = np.where(known, numbers, len(same))[::-1]
            behind = np.minimum.accumulate(behind)[::-1]
            near = (before >= 0) & (groups[before] == groups)
            far = ~near & (behind < len(same))
            far &= groups[np.minimum(behind, len(same) - 1)] == groups
            index = np.where(near, before, np.where(far, behind, 0))
            apart[:, side] = np.where(near | far, apart[index, side], 0)
        return apart

    def _with(self, body: int, loops: np.ndarray) -> "_Items":
        """Return items with loops, of starts and times, in place of what is in them."""
        starts, times = loops.T
        part = starts[:, None] + np.arange(body)
        known = self.known[part]
        some, first = known.any(axis=1), known.argmax(axis=1)
        sides = np.arange(2)
        start = self.position[starts[:, None] + first, sides] * some
        step = (self.position[starts[:, None] + body + first, sides] - start) * some
        inside = (self.position[part] - start[:, None]) * known
        flat = inside.reshape(len(loops), -1)
        table = np.concatenate([times[:, None], step, self.kind[part], flat], axis=1)
        unique, kind = _numbered(table)
        count = len(self.kinds)
        kinds = [*self.kinds, *(self._loop(one, body) for one in unique)]
        # Each loop is in the place of its first item.
        bounds = np.zeros(len(self.kind) + 1, np.int64)
        bounds[starts] += 1
        np.add.at(bounds, starts + times * body, -1)
        stays = np.cumsum(bounds)[:-1] == 0
        stays[starts] = True
        columns = [self.kind.copy(), self.position.copy(), self.known.copy()]
        for whole, loop in zip(columns, (count + kind, start, some), strict=True):
            whole[starts] = loop
        return _Items(kinds, *(whole[stays] for whole in columns))

    def _loop(self, row: np.ndarray, body: int) -> _Kind:
        """Return the kind of a loop: of its times, steps, kinds of items and where they are."""
        of = [self.kinds[one] for one in row[3 : 3 + body]]
        inside = row[3 + body :].reshape(body, 2)
        words = np.concatenate([one.at(at) for one, at in zip(of, inside, strict=True)])
        none = np.zeros(_HEAD, np.int64)
        return _Kind(
            np.concatenate([[-row[0], len(words), row[1], row[2]], words]),
            np.concatenate([none, *(one.first for one in of)]),
            np.concatenate([none, *(one.others for one in of)]),
            1 + max(one.depth for one in of),
        )

    def words(self) -> np.ndarray:
        """Return all words."""
        sizes = np.array([len(one.words) for one in self.kinds])[self.kind]
        ends = np.cumsum(sizes)
        words = np.zeros(ends[-1], np.int64)
        order = np.argsort(self.kind, kind="stable")
        bounds = np.flatnonzero(np.diff(self.kind[order])) + 1
        for alike in np.split(order, bounds):
            kind, at = self.kinds[self.kind[alike[0]]], self.position[alike]
            made = kind.words + at[:, :1] * kind.first + at[:, 1:] * kind.others
            words[(ends[alike] - len(kind.words))[:, None] + np.arange(len(kind.words))] = made
        return words


def _numbered(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different rows of a table, and which of them each is."""
    number = np.zeros(len(table), np.int64)
    for column in table.T:
        low = int(column.min())
        wide = int(column.max()) - low + 1
        number = _dense(number * wide + (column - low), (int(number.max()) + 1) * wide)
    first = np.empty(int(number.max()) + 1, np.int64)
    first[number[::-1]] = np.arange(len(table))[::-1]
    return table[first], number


def _dense(number: np.ndarray, count: int) -> np.ndarray:
    """Return numbers from 0 on in place of some below a count."""
    if count > 4 * len(number) + (1 << 16):
        return np.asarray(np.unique(number, return_inverse=True)[1]).reshape(-1)
    there = np.zeros(count, bool)
    there[number] = True
    return np.asarray((np.cumsum(there) - 1)[number])

"""When bursts of rows pass on a bus whose memory moves a beat each way per cycle."""

from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from golden.soc.bus import BusSpec

__all__ = ["ADDRESS", "ANSWERED", "FREE", "NEAR", "RingBus", "Rows"]

_PAGE = 4096
ADDRESS, FREE = 3, 2
"""To a burst's address on the bus: from its row, and from the last beat of the one whose place it
takes."""
ANSWERED = 8
"""From an answer to the first beat of the burst that takes the place of the answered one."""
NEAR = 3
"""Latency of what is on chip."""
_WAITING = 4
"""Addresses for which there is room before the bus."""


class Rows(NamedTuple):
    """Rows of bytes: the first address, bytes from row to row, how many, bytes of each."""

    address: int
    distance: int
    number: int
    bytes: int


class Bursts(NamedTuple):
    """Bytes of a beat, and the most beats of a burst."""

    beat: int
    most: int

    def of(self, address: int, count: int) -> Sequence[int]:
        """Return the beats of each burst of a row."""
        beat, most = self
        first, end = address // beat, -(-(address + count) // beat)
        if end - first <= most and address % _PAGE + count <= _PAGE:
            return (end - first,)
        page, parts = _PAGE // beat, list[int]()
        while first < end:
            beats = min(end - first, most, page - first % page)
            parts.append(beats)
            first += beats
        return parts


class State(NamedTuple):
    """Of reads: the last beat, when the last addresses were on the bus and bursts complete."""

    read: int
    asked: tuple[int, ...]
    ends: tuple[int, ...]


class RingBus:
    """Times of reads and of writes, as they go by.

    Parameters
    ----------
    spec : the bus.
    latency : cycles from an address to its first beat, and from the last beat of a burst that is
        written to the answer.
    beat : cycles of a beat.
    base : first address on chip, where data comes at once.

    Members
    -------
    written : the last beat.
    """

    def __init__(self, spec: BusSpec, latency: int, beat: int = 1, base: int | None = None) -> None:
        self._spec, self._latency, self._beat = spec, latency, beat
        self._bursts = Bursts(spec.bytes, spec.burst)
        self._base = 1 << 64 if base is None else base
        self._asked: deque[int] = deque([0] * _WAITING, maxlen=_WAITING)
        """When the addresses of the last bursts were on the bus."""
        self._read = self.written = 0
        """The last beat read."""
        self._ends: deque[int] = deque([0] * spec.outstanding, maxlen=spec.outstanding)
        """When the last bursts read were complete."""
        self._answers: deque[int] = deque([0] * spec.outstanding, maxlen=spec.outstanding)
        """When the last bursts written were answered."""

    @property
    def room(self) -> int:
        """When there is room for another row before the bus."""
        return self._asked[0] + 1

    def read(self, time: int, start: int, count: int) -> int:
        """Read bytes, which are requested at a time; return when the last beat comes."""
        asked, ends = self._asked, self._ends
        latency, each = (self._latency, self._beat) if start < self._base else (NEAR, 1)
        for beats in self._bursts.of(start, count):
            address = max(time + ADDRESS, asked[-1] + 1, ends[0] + FREE)
            self._read = max(address + latency, self._read) + beats * each
            asked.append(address)
            ends.append(self._read)
        return self._read

    def read_rows(self, time: int, rows: Rows) -> tuple[int, list[int]]:
        """Read rows, one after the other.

        Of many that are alike, those behind the first ones take what these do.

        Parameters
        ----------
        time : a cycle before the first can be requested.

        Returns
        -------
        When the last one was requested, and when the last beat of each comes.
        """
        latency, each = self._of(rows.address)
        # What was before these does not hold them up.
        state = State(
            max(self._read - time, 1 + ADDRESS + latency),
            tuple([one - time if one > time else 0 for one in self._asked]),
            tuple([one - time if one > time else 0 for one in self._ends]),
        )
        last, came, after = _row_times(state, _alike(rows), self._bursts, latency, each)
        self._read = time + after.read
        self._asked.extend([time + one for one in after.asked])
        self._ends.extend([time + one for one in after.ends])
        return time + last, [time + one for one in came]

    def fill(self, time: int, count: int) -> int:
        """Have bytes pass that are not read, behind what is; return when the last beat does."""
        self._read = max(self._read, time + ADDRESS) + -(-count // self._spec.bytes)
        return self._read

    def hold(self, cycles: int) -> None:
        """Have the beats of what was read last take longer."""
        self._read += cycles

    def cycles(self, start: int, beats: int) -> int:
        """Return the cycles of beats that follow each other, of what is at an address."""
        return beats * self._of(start)[1]

    def write(self, first: int, last: int, start: int, count: int) -> None:
        """Write bytes, of which beats come from one time to another."""
        latency, each = self._of(start)
        parts = self._bursts.of(start, count)
        left = sum(parts)
        for beats in parts:
            left -= beats
            begins = max(first, self._answers[0] + ANSWERED, self.written + 1)
            self.written = max(last - left, begins + beats * each - 1)
            self._answers.append(self.written + latency + 1)

    def answered(self) -> int:
        """Return when the last burst is answered of all that are written."""
        return self._answers[-1]

    def later(self, reads: int, writes: int) -> None:
        """Have all that is under way as it is, so much later."""
        self._shift_reads(reads)
        self._answers.extend([time + writes for time in self._answers])
        self.written += writes

    def _shift_reads(self, by: int) -> None:
        for times in (self._asked, self._ends):
            times.extend([time + by for time in times])
        self._read += by

    def _of(self, address: int) -> tuple[int, int]:
        """Return latency, and cycles of a beat, of what is at an address."""
        return (self._latency, self._beat) if address < self._base else (NEAR, 1)


def _alike(rows: Rows) -> Rows:
    """Return rows whose bursts are the same, from as few addresses as can be."""
    whole = 1 << (rows.bytes - 1).bit_length()
    if rows.address % whole == rows.distance % whole == 0 and whole <= _PAGE:
        return Rows(0, 0, rows.number, rows.bytes)
    return Rows(rows.address % _PAGE, rows.distance % _PAGE, rows.number, rows.bytes)


@lru_cache(maxsize=1 << 11)
def _row_times(
    state: State, rows: Rows, bursts: Bursts, latency: int, each: int
) -> tuple[int, tuple[int, ...], State]:
    """Return what :meth:`RingBus.read_rows` does from cycle 0 on, and the state after it.

    This is where most of a model's time goes, and jobs read rows from few states.
    """
    came, more, time = list[int](), len(state.ends), 0
    read, asked, ends = state.read, deque(state.asked, _WAITING), deque(state.ends, more)
    number, start = 0, rows.address
    same = None if rows.distance else bursts.of(start, rows.bytes)
    while number < rows.number:
        time += 1
        if time <= asked[0]:
            time = asked[0] + 1
        for beats in same or bursts.of(start, rows.bytes):
            address = time + ADDRESS
            if address <= asked[-1]:
                address = asked[-1] + 1
            if address < ends[0] + FREE:
                address = ends[0] + FREE
            if read < address + latency:
                read = address + latency
            read += beats * each
            asked.append(address)
            ends.append(read)
        came.append(read)
        start += rows.distance
        number += 1
        if number % more or number < 3 * more:
            continue
        by = came[-1] - came[-1 - more]
        times = (rows.number - number) // more
        if times and by == came[-1 - more] - came[-1 - 2 * more]:
            last = came[-more:]
            came += [one + by * (1 + step) for step in range(times) for one in last]
            read, time, number = came[-1], time + times * by, number + times * more
            start += times * more * rows.distance
            asked, ends = (
                deque([one + times * by for one in each_], each_.maxlen) for each_ in (asked, ends)
            )
    return time, tuple(came), State(read, tuple(asked), tuple(ends))

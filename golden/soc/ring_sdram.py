"""When bursts of rows pass to and from SDRAM, whose one bus is for both ways."""

from collections import deque
from collections.abc import Iterator

from golden.soc.bus import BusSpec
from golden.soc.memory_timing import LitedramTiming, MemoryTiming
from golden.soc.ring_bus import ADDRESS, ANSWERED, FREE, RingBus, Rows
from golden.soc.spec import CoprocessorSpec

__all__ = ["SdramBus", "bus_of"]

_ALIKE, _MEAN = 96, 48
"""Rows from which on most are left out; of how many of them the mean is."""


class SdramBus(RingBus):
    """Times of reads and of writes; those that are written wait until reads leave them room.

    Parameters
    ----------
    spec, latency, beat, base : of :class:`golden.soc.ring_bus.RingBus`.
    timing : of the memory, besides beats.
    """

    def __init__(
        self, spec: BusSpec, latency: int, beat: int, base: int | None, timing: LitedramTiming
    ) -> None:
        super().__init__(spec, latency, beat, base)
        self._timing = timing
        self._free = 0.0
        """When the memory can take a burst."""
        self._refreshed = self._turned = 0.0
        self._writing = False
        self._open: dict[int, int] = {}
        """The open row of each bank."""
        self._bank = 0
        """Of the last burst."""
        self._waiting: deque[tuple[int, int, int, int]] = deque()
        """Writes: times of the first and the last beat, address, and bytes."""

    def read(self, time: int, start: int, count: int) -> int:
        """Read bytes; see :meth:`golden.soc.ring_bus.RingBus.read`."""
        if start >= self._base:
            return super().read(time, start, count)
        for at, beats in self._pieces(start, count):
            address = max(time + ADDRESS, self._asked[-1] + 1, self._ends[0] + FREE)
            self._write_before(address)
            opened = self._transfer(address, at, beats, write=False)
            first = self._free + self._latency - (0 if opened else self._timing.opening)
            self._read = max(round(first), self._read + beats)
            self._asked.append(address)
            self._ends.append(self._read)
        return self._read

    def read_rows(self, time: int, rows: Rows) -> tuple[int, list[int]]:
        """Read rows; see :meth:`golden.soc.ring_bus.RingBus.read_rows`."""
        if rows.address >= self._base:
            return super().read_rows(time, rows)
        came, number, start = list[int](), 0, rows.address
        while number < rows.number:
            time = max(time + 1, self._asked[0] + 1)
            came.append(self.read(time, start, rows.bytes))
            start += rows.distance
            number += 1
            if number == _ALIKE and (left := rows.number - number - self._spec.outstanding) > 0:
                each = (came[-1] - came[-1 - _MEAN]) / _MEAN
                came += [came[-1] + round(each * (1 + step)) for step in range(left)]
                by = round(each * left)
                time, number, start = time + by, number + left, start + left * rows.distance
                self._shift_reads(by)
                self._free += by
        return time, came

    def write(self, first: int, last: int, start: int, count: int) -> None:
        """Have bytes wait that are written; those on chip do not."""
        if start >= self._base:
            super().write(first, last, start, count)
        else:
            self._waiting.append((first, last, start, count))

    def answered(self) -> int:
        """Return when all that waits would be answered if nothing more was read."""
        if not self._waiting:
            return super().answered()
        ahead = SdramBus(self._spec, self._latency, self._beat, self._base, self._timing)
        vars(ahead).update(vars(self))
        ahead._answers, ahead._open = self._answers.copy(), self._open.copy()
        ahead._waiting = self._waiting.copy()
        while ahead._waiting:
            ahead._write_one()
        return super(SdramBus, ahead).answered()

    def later(self, reads: int, writes: int) -> None:
        """Have all that is under way as it is, so much later."""
        super().later(reads, writes)
        self._free += reads
        self._waiting = deque(
            (first + writes, last + writes, start, count)
            for first, last, start, count in self._waiting
        )

    def _write_before(self, address: int) -> None:
        """Write what is ready, when no read is asked for, or reads have gone on for long enough."""
        timing = self._timing
        while self._waiting:
            begins = self._begins(self._waiting[0][0])
            if max(self._free, begins) >= address:
                if begins > self._free:
                    return
                since = self._free - self._turned
                if since >= timing.writes if self._writing else since < timing.reads:
                    return
            self._write_one()

    def _begins(self, first: int) -> int:
        """Return when the first beat of the next write can be on the bus."""
        return max(first, self._answers[0] + ANSWERED, self.written + 1)

    def _write_one(self) -> None:
        first, last, start, count = self._waiting.popleft()
        begins = self._begins(first)
        for at, beats in self._pieces(start, count):
            ends = max(begins + last - first, last)
            self._transfer(begins, at, beats, write=True)
            self._free = max(self._free, ends)
            self.written = ends
            self._answers.append(round(self._free) + int(self._timing.answer))

    def _transfer(self, time: int, start: int, beats: int, *, write: bool) -> bool:
        """Have a burst pass that is asked for at a time; return whether a row is opened for it."""
        timing = self._timing
        free, opened = max(self._free, float(time)), False
        if write != self._writing:
            free += timing.turn
            self._turned, self._writing = free, write
        if free - self._refreshed >= timing.every:
            self._refreshed = free
            free += timing.refresh
            self._open.clear()
        end = start + beats * self._spec.bytes
        for page in range(start // timing.page, (end - 1) // timing.page + 1):
            row, bank = divmod(page, timing.banks)
            if bank != self._bank:
                free += timing.bank
                self._bank = bank
            if self._open.get(bank) != row:
                free += timing.row
                self._open[bank], opened = row, True
        self._free = free + self._beat * beats + (timing.write if write else timing.read)
        return opened

    def _pieces(self, start: int, count: int) -> Iterator[tuple[int, int]]:
        """Yield the address of each burst, whole beats, and its beats."""
        at = start // self._spec.bytes * self._spec.bytes
        for beats in self._bursts.of(start, count):
            yield at, beats
            at += beats * self._spec.bytes


def bus_of(spec: CoprocessorSpec, memory: MemoryTiming) -> RingBus:
    """Return the bus of a co-processor, with nothing on its way."""
    given = spec, memory.answer, memory.beat(spec.bytes), spec.scratch_base
    return RingBus(*given) if memory.sdram is None else SdramBus(*given, memory.sdram)

"""When rows that the jobs of a ring read are requested, and come; and their descriptors."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from golden.formats.bitmap import CHUNK, ENTRY_BYTES
from golden.soc.block_rows import Parts, Span
from golden.soc.code_table import CODES
from golden.soc.code_table import cycles as table_cycles
from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix
from golden.soc.ring_bus import RingBus, Rows
from golden.soc.spec import CoprocessorSpec
from golden.soc.window import Window
from golden.soc.window_runs import WindowRuns

__all__ = ["ADDRESSES", "BEGUN", "DESCRIPTOR", "NEXT", "Begin", "RingLoader"]

ADDRESSES, DESCRIPTOR = 56, 128
"""Bytes of what is read of a job: its addresses; all."""
NEXT, _ROWS, _BLOCK = 3, 4, 2
"""To a matrix's first row, from the row before; to a job's first one, from its begin; and more to a
block's first one."""
_PLACE = 3
"""More before the first row of a block of windows, whose place is stored or fetched."""
_BUFFERS = {
    **dict.fromkeys(("a", "b", "a_scales", "b_scales"), CoprocessorSpec.PARTS),
    **dict.fromkeys(("bias", "row_factors", "addend"), 2),
    "records": 4,
}
"""Of the stores of each matrix."""
_PAIR, _BLOCK_BEGINS = 2 * ENTRY_BYTES, 6
"""Bytes of the offsets of a block of a packed B; from those of a job's first one to its request."""
_ASKS = 66
"""From the first job's begin to its successor's descriptor, unless all rows have been requested."""
_TAKEN = 6
"""From a descriptor's last beat to the request of the next one, which waits in a queue."""
BEGUN = 2
"""From a job's copy to its begin, if it is not loaded while the one before runs."""


class Begin(NamedTuple):
    """When a job is copied, loaded, and runs, and when its A is there; how many are to follow.

    ``alike``: bytes of the next one's descriptor, which is requested at ``asks``: if of this one
    only addresses have been read, or of the next one only these are.
    """

    copied: int
    load: int
    run: int
    a: int
    left: int
    alike: int = 0
    asks: int = 0


class RingLoader:
    """Times, as jobs go by.

    Parameters
    ----------
    spec : the co-processor.
    bus : where rows come from.

    Members
    -------
    row : when the last row was requested.
    came : when the next descriptor was there.
    free : when the buffers of each matrix became free, the oldest first.
    """

    def __init__(self, spec: CoprocessorSpec, bus: RingBus) -> None:
        self._spec, self._bus = spec, bus
        self.row = self.came = 0
        self.free = {name: deque([0] * count, maxlen=count) for name, count in _BUFFERS.items()}
        self._due, self._asks = 0, 0
        """Descriptors that are requested while a job is loaded; when, if rows are still to be."""
        self._waits, self._size = 0, DESCRIPTOR
        """When the descriptor after the next one was there, in the queue; bytes of the next one."""
        self._placed: Mapping[str, Matrix] = {}
        self._walks: tuple[Window, WindowRuns] | None = None
        self._share, self._offsets = 0.0, False
        """Of the job: bytes of a packed B by those of its rows, 0 if it is not; whether offsets of
        its first block are to be read."""

    def begin(self, job: Job, begin: Begin) -> None:
        """Begin a job: say which descriptors are requested, and when; read its table."""
        self._placed, window = matrices(self._spec, job), job.window
        self._share, self._offsets = 0.0, job.packed
        if job.packed:
            dense = matrices(self._spec, replace(job, packed=False))["b"]
            self._share = job.ldb / (dense.rows * dense.row_bytes)
        self._walks = None if window is None else (window, WindowRuns(window, job.lda))
        self._size = begin.alike or DESCRIPTOR
        if begin.alike:
            self.came, self._due, self._asks = 0, min(1, begin.left), begin.asks
        elif begin.copied:
            # It is taken when the job before it has been copied, and checked when that has begun.
            taken = begin.copied + DESCRIPTOR // self._spec.bytes
            self.came = max(self._waits, taken, begin.load - BEGUN)
            self._due, self._asks = int(begin.left > 1), self.came + _TAKEN
            if self._asks >= begin.run:
                self._asks = max(self._asks, begin.load + _ASKS)
        else:
            self._due, self._asks = min(2, begin.left), begin.load + _ASKS
        self.row = begin.load + _ROWS - NEXT - _BLOCK
        if "table" in self._placed and job.vector is None:
            self._bus.read(self.row, self._placed["table"].address, CODES)
            self._bus.hold(table_cycles(self._spec.bytes) - CODES // self._spec.bytes)
            self.row += 1
        if job.vector is None and self._spec.inside.expander.table_bytes:
            book = self._placed["b_scales"]
            self._bus.read(self.row, book.address, book.row_bytes)
            self.row += 1

    def end(self, row: int) -> None:
        """End the job's rows, the last of which was requested at a time: request descriptors."""
        while self._due and self._asks <= row:
            self._fetch(self._asks)
        self.row = row
        while self._due:
            self._fetch(max(row + NEXT, self.came + _TAKEN))

    def next_block(self) -> None:
        """Go on to the next block, or its next part of K."""
        self.row += _BLOCK

    def read(self, name: str, number: int) -> int:
        """Read a whole row of a matrix; return when its last beat comes."""
        one = self._placed[name]
        self._step()
        self.row = max(self.row, self._bus.room)
        return self._bus.read(self.row, one.address + number * one.distance, one.row_bytes)

    def load(self, span: Span) -> list[int]:
        """Read rows of a matrix; return when the last beat of each comes."""
        if span.name == "b" and self._share:
            return self._load_packed(span)
        came, bus, name = list[int](), self._bus, span.name
        matrix = self._placed["c" if name == "addend" else name]
        walks = self._walks if name == "a" else None
        self.row = max(self.row, self.free[name][0]) + NEXT - 1 + (_PLACE if walks else 0)
        for number, row in enumerate(span.rows):
            address = matrix.address + row * matrix.distance + span.first
            if walks:
                self._step()
                came.append(self._walk(row, span, walks))
            elif self._due:
                self._step()
                self.row = max(self.row, bus.room)
                came.append(bus.read(self.row, address, span.bytes))
            else:
                rows = Rows(address, matrix.distance, len(span.rows) - number, span.bytes)
                self.row, more = bus.read_rows(self.row, rows)
                return came + more
        return came

    def _load_packed(self, span: Span) -> list[int]:
        """Read a block of a packed B, which has as many zeros as others; as :meth:`load`."""
        bus, beat, at = self._bus, self._spec.bytes, self._placed["b"].address
        self.row = max(self.row, self.free["b"][0], bus.room) + NEXT
        came = bus.read(self.row, at, _PAIR)
        if self._offsets:
            self.row, self._offsets = came + _BLOCK_BEGINS, False
        size = max(ENTRY_BYTES, round(len(span.rows) * span.bytes * self._share))
        self._step()
        last = bus.read(self.row, at, size)
        unpacked = first = max(came, last - bus.cycles(at, -(-size // beat)))
        each, times = -(-span.bytes // beat) + -(-span.bytes // CHUNK), list[int]()
        for number in range(1, len(span.rows) + 1):
            here = first + (last - first) * number // len(span.rows)
            unpacked = max(unpacked + each, here)
            times.append(unpacked)
        bus.hold(unpacked - last)
        return times

    def later(self, rows: int, buffers: int) -> None:
        """Have all that is under way as it is, so much later."""
        self.row += rows
        for times in self.free.values():
            times.extend([time + buffers for time in times])

    def inside(self, block: Iterable[Parts]) -> int:
        """Return how many lines of the first window of a block are of the map."""
        first = next((rows.start for name, rows, *_ in block if name == "a"), None)
        if self._walks is None or first is None:
            return 0
        window, _ = self._walks
        top = first // window.across * window.strides[0] - window.first[0]
        lines = range(top, top + window.kernel[0] * window.dilations[0], window.dilations[0])
        return sum(0 <= line < window.height for line in lines)

    def _step(self) -> None:
        self.row += 1
        if self._due and self._asks <= self.row:
            self._fetch(self._asks)

    def _walk(self, row: int, span: Span, walks: tuple[Window, WindowRuns]) -> int:
        """Walk a window, or a part of it; return when its last beat comes."""
        bus, (window, runs), address = self._bus, walks, self._placed["a"].address
        first = span.first // window.channels
        taps = range(first, first + span.bytes // window.channels)
        # The walk waits where there is no room for a run.
        begin, time, came, late = self.row + window.strides[1], 0, 0, 0
        for at, count, _, cycles in runs.of(row, taps):
            time = begin + cycles + late
            if at is None:
                came = bus.fill(time, count)
            else:
                room = bus.room
                late += max(0, room - time)
                came = bus.read(max(time, room), address + at, count)
        self.row = max(self.row, time, begin + late)
        return came

    def _fetch(self, time: int) -> None:
        """Read a descriptor: that of the next job, or one that waits."""
        last = self._bus.read(time, 0, self._size)
        if self.came:
            self._waits = last
        else:
            self.came, self._asks = last, last + _TAKEN
        self._due -= 1

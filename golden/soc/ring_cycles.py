"""Cycles of a ring of products, job by job, on a memory that moves a beat each way per cycle.

The planner's :func:`golden.soc.blocking.cost` takes rows in the mean; here each row has its time. A
job begins when all before it are complete; its descriptor is read and checked before that.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from golden.soc.blocking import Blocks, Part, order
from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix
from golden.soc.spec import CoprocessorSpec

__all__ = ["ring_cycles"]

_DESCRIPTOR, _PAGE = 128, 4096
_ROWS = 4
"""From the begin of a job to its first row."""
_NEXT = 3
"""From a matrix's last row to the first one of the next."""
_BLOCK = 2
"""More from a block's last row to the first one of the next block."""
_ADDRESS = 3
"""From a row to its address on the bus."""
_WAITING = 4
"""Addresses for which there is room before the bus."""
_FREE = 2
"""From a burst's last beat to the address of the one that takes its place."""
_A, _B = 9, 8
"""From a row's last beat to the engine."""
_LEAVES = 17
"""From a row of sums to its first beat on the bus."""
_BUFFERS = {"a": CoprocessorSpec.PARTS, "b": CoprocessorSpec.PARTS, "bias": 2, "records": 4}
"""Of the stores of each matrix."""
_ASKS = 66
"""From a job's begin to its successor's descriptor, unless all rows have been requested before."""
_CHECK = 9
"""From a descriptor's last beat to the job's begin, beside its multiplications."""
_ENDS = 2
"""From the last answer to a write to the begin of the next job."""
_FIRST, _LAST = 19, 4
"""From a ring's start to the check of the first job, and from its last answer to the interrupt."""


@dataclass
class _Chunk:
    """A block's part of K: rows that are read, of A and of B if they are new, and rows of C.

    There are rows of C if it is the block's last part.
    """

    beats: int
    first: list[list[Part]] = field(default_factory=list)
    """Biases and records."""
    a: list[Part] = field(default_factory=list)
    b: list[Part] = field(default_factory=list)
    c: list[Part] = field(default_factory=list)


def ring_cycles(spec: CoprocessorSpec, jobs: Sequence[Job], latency: int) -> int:
    """Return the cycles of products whose blocks are given, from the start to the interrupt.

    Parameters
    ----------
    spec : the co-processor.
    jobs : products of one format.
    latency : cycles from an address to its first beat, and from the last beat of a burst that is
        written to the answer.
    """
    walk = _Walk(spec, latency)
    begins = _FIRST + latency + _DESCRIPTOR // spec.bytes + _multiplications(spec, jobs[0])
    complete = begins
    for job, following in zip(jobs, [*jobs[1:], None], strict=True):
        complete, read = walk.job(job, begins, following is not None)
        begins = complete + _ENDS
        if following is not None:
            begins = max(begins, read + _CHECK + _multiplications(spec, following))
    return complete + _LAST


def _multiplications(spec: CoprocessorSpec, job: Job) -> int:
    """Return the cycles of the multiplications of a job's check: the ends of matrices, blocks."""
    placed = matrices(spec, job)
    factors = [placed[name].rows - 1 for name in ("a", "b", "c")] + [0, 0]
    if spec.inside.block:
        factors += [placed[name].rows - 1 for name in ("a_scales", "b_scales")]
    if spec.blocks:
        factors += [job.block_m, job.block_k, job.block_m]
    return sum(2 + max(1, factor.bit_length()) for factor in factors)


class _Walk:
    """Times, as jobs go by."""

    def __init__(self, spec: CoprocessorSpec, latency: int) -> None:
        self._spec, self._latency = spec, latency
        self._asked: deque[int] = deque([0] * _WAITING, maxlen=_WAITING)
        """When the addresses of the last bursts were on the bus."""
        self._read = self._left = self._written = 0
        """The last beat read, the last row of a tile that left, and the last beat written."""
        self._ends: deque[int] = deque([0] * spec.outstanding, maxlen=spec.outstanding)
        """When the last bursts read were complete."""
        self._answers: deque[int] = deque([0] * spec.outstanding, maxlen=spec.outstanding)
        """When the last bursts written were answered."""
        self._free = {name: deque([0] * count, maxlen=count) for name, count in _BUFFERS.items()}
        """When the buffers of each matrix became free, the oldest first."""
        self._engine = self._row = 0
        """When it can begin a tile; when the last row was requested."""
        self._asks: int | None = None
        """When the next descriptor is requested."""
        self._came = 0
        """When it was there."""

    def job(self, job: Job, begins: int, more: bool) -> tuple[int, int]:
        """Run a job; return when it is complete, and when the next descriptor has come."""
        spec, placed = self._spec, matrices(self._spec, job)
        stores = spec.stores(spec.inside.modes[job.a_format, job.b_format])
        blocks = Blocks(job.block_m, job.block_n, job.block_k, job.by_columns)
        bits = {name: one.bits for name, one in placed.items()}
        words = placed["a"].columns
        parts = order(stores, blocks, bits, job.m, job.n, words)
        self._asks = begins + _ASKS if more else None
        self._engine, self._row, complete = begins, begins + _ROWS - _NEXT - _BLOCK, begins
        a, b, block = list[int](), list[int](), list[tuple[_Chunk, list[int], list[int]]]()
        for chunk in _chunks(parts, blocks.k, -(-words // stores.tile_k)):
            self._row += _BLOCK
            for rows in chunk.first:
                self._load(rows, placed)
            a = self._load(chunk.a, placed) if chunk.a else a
            b = self._load(chunk.b, placed) if chunk.b else b
            block.append((chunk, a, b))
            if chunk.c:
                complete = self._multiply(block, placed["c"].bits)
                block = []
        if self._asks is not None:
            self._fetch(self._row + _NEXT)
        return complete, self._came

    def _load(self, rows: list[Part], placed: Mapping[str, Matrix]) -> list[int]:
        """Read rows of a matrix; return when the last beat of each comes."""
        came = list[int]()
        if rows:
            self._row = max(self._row, self._free[rows[0].name][0])
        for number, part in enumerate(rows):
            matrix = placed[part.name]
            self._row += 1 if number else _NEXT
            if self._asks is not None and self._asks <= self._row:
                self._fetch(self._asks)
            self._row = max(self._row, self._asked[0] + 1)
            place = matrix.address + part.row * matrix.distance + part.first
            came.append(self._burst(self._row, place, part.bytes))
        return came

    def _fetch(self, time: int) -> None:
        """Read the next descriptor."""
        self._came, self._asks = self._burst(time, 0, _DESCRIPTOR), None

    def _burst(self, time: int, place: int, count: int) -> int:
        """Read a row; return when its last beat comes."""
        for beats in self._bursts(place, count):
            free = self._ends[0] + _FREE
            address = max(time + _ADDRESS, self._asked[-1] + 1, free)
            self._read = max(address + self._latency, self._read) + beats
            self._asked.append(address)
            self._ends.append(self._read)
        return self._read

    def _bursts(self, place: int, count: int) -> Iterator[int]:
        """Yield the beats of each burst of a row."""
        beat = self._spec.bytes
        first, end = place // beat, -(-(place + count) // beat)
        while first < end:
            beats = min(end - first, self._spec.burst, _PAGE // beat - first % (_PAGE // beat))
            yield beats
            first += beats

    def _multiply(self, block: list[tuple[_Chunk, list[int], list[int]]], c_bits: int) -> int:
        """Multiply a block, and write it; return when its last row is answered."""
        spec, inside, rows = self._spec, self._spec.inside, block[-1][0].c
        columns = rows[0].bytes * 8 // c_bits
        across, up = -(-columns // inside.n), -(-len(rows) // inside.m)
        alone, drain = across == up == 1, inside.m + (inside.m - 1) // 8
        ready = [0] * len(rows)
        begin = at = self._engine
        for number, (chunk, a, b) in enumerate(block):
            for tile in range(across * up):
                top = tile // across * inside.m
                bottom = min(top + inside.m, len(rows))
                if number == 0 or not alone:
                    begin = at = self._engine
                at = max(at, a[bottom - 1] + _A)
                for beat in range(chunk.beats):
                    at = max(at, b[min((beat + 1) * inside.k, len(b)) - 1] + _B) + 1
                self._engine = max(at, begin + drain)
                for row in range(top, bottom):
                    ready[row] = at + inside.m + 2 + row - top
            for name in ("a", "b"):
                if getattr(chunk, name):
                    self._free[name].append(at)
        # The last row waits for the rows of its tile that are below C.
        ready[-1] += -len(rows) % inside.m
        for part, *_ in block[0][0].first:
            self._free[part.name].append(ready[-1])
        if len(block) > 1 and not alone:
            ready = [ready[-1]] * len(rows)
        for time, part in zip(ready, rows, strict=True):
            free = self._answers[0] + _FREE
            beats = -(-part.bytes // spec.bytes)
            first = max(time, self._left + 1)
            self._left = first + across - 1
            self._written = max(
                self._left + _LEAVES,
                max(first + _LEAVES, free, self._written + 1) + beats - 1,
            )
            self._answers.append(self._written + self._latency + 1)
        return self._answers[-1]


def _chunks(parts: Iterator[Part], deep: int, beats: int) -> Iterator[_Chunk]:
    """Put together the rows of each part of K of each block."""
    left = beats
    chunk = _Chunk(min(left, deep))
    for name, group in groupby(parts, key=lambda part: part.name):
        rows = list(group)
        if name == "c":
            chunk.c = rows
            yield chunk
            left = beats
            chunk = _Chunk(min(left, deep))
            continue
        if name == "a" and chunk.b:
            yield chunk
            left -= deep
            chunk = _Chunk(min(left, deep))
        if name in ("a", "b"):
            setattr(chunk, name, rows)
        else:
            chunk.first.append(rows)

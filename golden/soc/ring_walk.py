"""When the jobs of a ring load, multiply and write, block by block."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from golden.soc.block_rows import Chunk, Parts, Span, blocks, chunks, kind_of
from golden.soc.blocking import Blocks, spans
from golden.soc.group_scales import grouped
from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix
from golden.soc.memory_timing import MemoryTiming
from golden.soc.ring_array import RingArray
from golden.soc.ring_build import RingBuild
from golden.soc.ring_groups import RingGroups
from golden.soc.ring_loader import NEXT, Begin, RingLoader
from golden.soc.ring_maps import map_rows
from golden.soc.ring_marks import LEAST, Mark, left_out
from golden.soc.ring_sdram import bus_of
from golden.soc.shares import shifts
from golden.soc.spec import CoprocessorSpec

__all__ = ["RingWalk"]

_LEAVES = 17
"""From a row of sums to its first beat on the bus."""
_FREES = 4
"""From a block's last row of sums to where its biases and records were."""
_RUNS, _ASKED = 8, 4
"""From a begin to the first beat, at least; from that of a vector job until nothing is loaded."""


class RingWalk:
    """Times, as jobs go by.

    Where many blocks are alike, their mean stands for those between the first and the last ones.

    Parameters
    ----------
    spec : of the co-processor.
    memory : behind it.
    build : how it is built.

    Members
    -------
    freed : when all that a job has loaded was used.
    asked, ready : when all of its rows were requested; and those of a vector job handed over.
    """

    def __init__(self, spec: CoprocessorSpec, memory: MemoryTiming, build: RingBuild) -> None:
        self._spec, self._latency = spec, memory.answer
        self._columns = build.columns or spec.inside.n
        self._array = RingArray(spec, build)
        self._bus = bus_of(spec, memory)
        self._loader = RingLoader(spec, self._bus)
        self._left = 0
        """When the last row of a tile left."""
        self.freed = self.asked = self.ready = 0
        self._placed: Mapping[str, Matrix] = {}
        """Of the job."""
        self._a = list[int]()
        """When rows of A in the stores came."""
        self._shifts = False
        """The job has octaves, or groups: no tile stays in the engine."""
        self._groups: RingGroups | None = None
        """Of the job, if it has groups."""

    def rows(self, job: Job, begin: Begin, cycles: int | None) -> tuple[int, int]:
        """Run a vector job, on maps or of so many cycles; return what :meth:`product` does."""
        loader = self._loader
        loader.begin(job, begin)
        if cycles is None:
            self.asked, self.ready = map_rows(
                self._spec, job, begin.run, self._bus, loader, self._later
            )
            complete = self._bus.answered()
        else:
            complete = begin.run + cycles
            self.asked = self.ready = complete - self._latency - _LEAVES
        self.freed = begin.run + _ASKED
        self._array.engine = self._array.clock * self.asked
        loader.end(self.asked)
        return complete, loader.came

    def product(self, job: Job, begin: Begin) -> tuple[int, int]:
        """Run a job; return when it is complete, and when the next descriptor has come."""
        self._placed, window, loader = matrices(self._spec, job), job.window, self._loader
        stores = self._spec.stores(self._spec.inside.modes[job.a_format, job.b_format])
        deep, words = job.block_k, job.k
        if window is None:
            words = self._placed["a"].columns
        else:
            deep = -(-deep * window.channels // stores.tile_k)
        split = Blocks(job.block_m, job.block_n, deep, job.by_columns)
        tables = {"table", *(["b_scales"] if self._spec.inside.expander.table_bytes else [])}
        bits = {name: one.bits for name, one in self._placed.items() if name not in tables}
        bits["b"] = self._spec.inside.modes[job.a_format, job.b_format].b_bits
        if job.accumulate:
            bits["addend"] = bits["c"]
        self._shifts, unit = shifts(self._spec, job), self._spec.vector
        self._groups = RingGroups(self._spec, self._loader) if grouped(self._spec, job) else None
        if self._groups is not None:
            bits = {name: one for name, one in bits.items() if not name.endswith("_scales")}
        elif self._shifts and unit is not None:
            stores = replace(stores, block=unit.block // stores.tile_k, alone=0)
        parts = blocks(spans(stores, split, bits, job.m, job.n, words))
        loader.begin(job, begin)
        self._array.begin(begin.run + _RUNS)
        self._all(parts, deep, -(-words // stores.tile_k), begin.a)
        self.asked = self.ready = loader.row
        loader.end(loader.row)
        return self._bus.answered(), loader.came

    def _all(self, parts: list[list[Parts]], deep: int, beats: int, held: int) -> None:
        """Load and multiply blocks.

        Parameters
        ----------
        parts, deep, beats : of :func:`golden.soc.block_rows.chunks`.
        held : when rows of A can be requested.
        """
        kinds = [(self._loader.inside(block), kind_of(block)) for block in parts]
        marks, number, alike = list[Mark](), 0, 0
        while number < len(parts):
            self._block(chunks(parts[number], deep, beats), held)
            marks.append(self._mark())
            alike = alike + 1 if number and kinds[number] == kinds[number - 1] else 1
            number += 1
            number += self._leave_out(kinds, number, alike, marks)

    def _leave_out(self, kinds: list[Any], number: int, alike: int, marks: list[Mark]) -> int:
        """Leave out what is alike; return how many: see :func:`golden.soc.ring_marks.left_out`."""
        skipped, by = left_out(kinds, number, alike, marks)
        if skipped:
            self._later(by)
        return skipped

    def _later(self, by: Mark) -> None:
        """Have all that is under way as it is, so much later: each at the rate at which it goes."""
        self._bus.later(by.rows, by.written)
        self._array.later(by.rows, by.engine)
        engine = -(-by.engine // self._array.clock)
        self._loader.later(by.rows, engine)
        self._a = [time + by.rows for time in self._a]
        self._left, self.freed = self._left + by.written, self.freed + engine
        if self._groups is not None:
            self._groups.later(engine)

    def _mark(self) -> Mark:
        return Mark(self._loader.row, self._array.engine, self._bus.written)

    def _block(self, block: list[Chunk], held: int) -> None:
        """Load a block and multiply it."""
        kinds = [chunk.kind if len(block) > LEAST else () for chunk in block]
        marks, number, alike, c = list[Mark](), 0, 0, block[-1].c
        assert c is not None
        ready, loader = list[int](), self._loader
        while number < len(block):
            chunk = block[number]
            loader.next_block()
            for span in chunk.first:
                loader.load(span)
            if self._groups is not None:
                self._groups.load(c, number)
            if held > loader.row:
                self._load_b(chunk)
                loader.row = max(loader.row, held - NEXT)
                self._load_a(chunk)
            else:
                self._load_a(chunk)
                self._load_b(chunk)
            ready = self._multiply(chunk, c, number)
            marks.append(self._mark())
            alike = alike + 1 if number and kinds[number] == kinds[number - 1] else 1
            number += 1
            number += self._leave_out(kinds, number, alike, marks)
        for span in block[0].first:
            loader.free[span.name].append(ready[-1] + _FREES)
        self._write(c, ready)

    def _load_a(self, chunk: Chunk) -> None:
        """Load rows of A, if there are new ones."""
        if chunk.a is not None:
            self._a = self._loader.load(chunk.a)
        if chunk.octaves is not None:
            self._loader.load(chunk.octaves)

    def _load_b(self, chunk: Chunk) -> None:
        """Load rows of B, if there are new ones."""
        if chunk.b is not None:
            came, each = self._loader.load(chunk.b), self._spec.inside.k
            # The last row of each beat; rows that are of several come with the first of them.
            self._array.rows_of_b([*came[each - 1 :: each], came[-1]][: chunk.beats])

    def _multiply(self, chunk: Chunk, c: Span, number: int) -> list[int]:
        """Multiply a block's part of K; return when its rows are ready, if it is the last part.

        Parameters
        ----------
        c : rows of C of the block.
        number : of the part; the engine goes on with the tile, if that is the block's only one.
        """
        inside, rows = self._spec.inside, len(c.rows)
        across = -(-c.bytes * 8 // self._placed["c"].bits // inside.n)
        up = -(-rows // inside.m)
        alone = across == up == 1 and not self._shifts and self._groups is None
        array, goes_on = self._array, alone and chunk.c is None
        if self._groups is not None:
            array.begin(self._groups.room)
        if not (alone and number):
            array.first_tile()
        ready = list[int]()
        for top in range(up):
            came = self._a[min((top + 1) * inside.m, rows) - 1]
            if top:
                array.first_tile()
            first = array.tiles(came, chunk.beats, across, goes_on=goes_on) + array.leaves
            ready += range(first, first + min(inside.m, rows - top * inside.m))
        self.freed = array.through
        for name, loaded in (("a", chunk.a), ("b", chunk.b), ("a_scales", chunk.octaves)):
            if loaded is not None:
                self._loader.free[name].append(array.through)
        # The last row waits for the rows of its tile that are below C.
        ready[-1] += -rows % inside.m
        if self._groups is not None:
            return self._groups.added(ready, c)
        return [ready[-1]] * rows if number and not alone else ready

    def _write(self, span: Span, ready: list[int]) -> None:
        """Write rows of a block."""
        c = self._placed["c"]
        columns = self._columns if self._groups is None else 1
        across = -(-span.bytes * 8 // c.bits // columns)
        for time, row in zip(ready, span.rows, strict=True):
            first = max(time, self._left + 1)
            self._left = first + across - 1
            address = c.address + row * c.distance + span.first
            self._bus.write(first + _LEAVES, self._left + _LEAVES, address, span.bytes)

"""What a job takes: cycles, and bytes on the bus."""

from collections import Counter
from dataclasses import astuple, dataclass, replace
from operator import add

import numpy as np

from carrysave.compiler.program.beats import beats_of
from carrysave.compiler.program.cycles import cycles
from carrysave.compiler.program.golden_job import golden_job
from carrysave.compiler.program.groups import JobGroup
from carrysave.compiler.program.row_moves import gathered_cycles, turned_cycles
from carrysave.compiler.program.words import JOBS
from carrysave.compiler.target.target import Target, start_of
from carrysave.driver import Mode
from carrysave.driver.job import Job
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import cycles as unit_cycles
from golden.soc.blocking import Blocks, Stores, cost, plan
from golden.soc.code_table import cycles as table_cycles
from golden.soc.depthwise import DEPTHWISE
from golden.soc.depthwise_limits import cycles as depthwise_cycles
from golden.soc.depthwise_limits import lines_read
from golden.soc.job_check import matrices
from golden.soc.maps import MAPS
from golden.soc.maps import cycles as map_cycles
from golden.soc.memory import Matrix

__all__ = [
    "Spent", "blocks_of", "cycles_of", "product_cycles", "rows_cycles", "spent", "spent_by_all",
    "stores_of",
]  # fmt: skip

_NEXT = 65
"""Cycles at least from a job of a group to the next: its descriptor is read while it waits."""
_COUNTED = 6, 7
"""Rows of which cycles are counted; from there on each row takes what the last one does."""


@dataclass(frozen=True)
class Spent:
    """What jobs take.

    Members
    -------
    jobs : how many.
    cycles : clock cycles, one job after the other.
    macs : products of codes.
    least : cycles that products take at least: in the engine, or for operands and results on the
        bus, each once.
    moved : bytes on the bus, in whole beats, of rows that begin with one; nothing of what is on
        chip.
    slots : products that the engine makes while it takes operands, padding of tiles included.
    """

    jobs: int = 0
    cycles: int = 0
    macs: int = 0
    least: float = 0.0
    moved: int = 0
    slots: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        """Add what both take."""
        return Spent(*map(add, astuple(self), astuple(other)))

    def times(self, count: int) -> "Spent":
        """Return what as many of them take."""
        return Spent(*(count * one for one in astuple(self)))


def cycles_of(jobs: Job | JobGroup, target: Target) -> int:
    """Return the cycles of a job, its start included; or of a group of jobs, which overlap.

    A product's are the planner's, or those of the walk past SDRAM. Those of the vector unit are
    exact, of values that come without stalls, but for a row's scale, which depends on its values;
    or those of its operands on the bus, whichever are more. What is on chip comes and goes at the
    rate of the bus.
    """
    group = jobs if isinstance(jobs, JobGroup) else JobGroup(job=jobs)
    job, table = group.job, group.job.table * table_cycles(target.spec.bytes)
    operands = matrices(target.spec, golden_job(job, target.spec))
    if job.vector is not None:
        rows = rows_cycles(job, job.vector, operands, target) + table
        return group.count * (start_of(target.memory.latency) + rows)
    product = product_cycles(group, blocks_of(job, operands, target), operands, target)
    return product + -(-group.count // JOBS) * table


def spent(job: Job, target: Target) -> Spent:
    """Return what a job takes; see :func:`cycles_of`."""
    operands = matrices(target.spec, golden_job(job, target.spec))
    beat = target.info.stores.data_width // 8
    near = {name for name, one in operands.items() if one.address >= target.spec.scratch_base}
    took = cycles_of(job, target)
    if job.vector is not None:
        rows = dict(operands)
        if job.vector == "gather":  # as much of a table is read as is written
            rows["a"] = replace(operands["a"], rows=job.m)
        if job.ldb == 0 and "b" in operands:
            rows["b"] = replace(operands["b"], rows=1)
        macs = 0
        if job.vector == DEPTHWISE:
            macs = job.m * job.k
            lines = lines_read(target.spec, golden_job(job, target.spec))
            rows["a"] = replace(operands["a"], rows=lines)
        return Spent(
            1,
            took,
            macs,
            moved=sum(
                one.rows * -(-one.row_bytes // beat) * beat
                for name, one in rows.items()
                if name not in near
            ),
        )
    macs = job.m * job.k * job.n
    moved = sum(
        one.rows * one.row_bytes for name, one in operands.items() if name not in {*near, "records"}
    )
    mode, (stores, words) = _mode(job, target), stores_of(job, target)
    bits = {name: one.bits for name, one in operands.items() if name != "records"}
    blocks = blocks_of(job, operands, target)
    beats = beats_of(stores, blocks, bits, (job.m, job.n, words), beat)
    slots = mode.codes
    for size, tile in ((job.m, stores.tile_m), (job.n, stores.tile_n), (words, stores.tile_k)):
        slots *= -(-size // tile) * tile
    least = max(macs / target.peak(mode), target.info.stores.beat * moved / beat)
    count = sum(number for name, number in beats.items() if name not in near)
    return Spent(1, took, macs, least, count * beat, slots)


def spent_by_all(jobs: list[Job], target: Target) -> Spent:
    """Return what jobs of one product take; those of one shape, of which it has many, the same."""
    shapes = [(job.m, job.k, job.n) for job in jobs]
    of_shape = dict(zip(shapes, jobs, strict=True))
    parts = (spent(of_shape[one], target).times(count) for one, count in Counter(shapes).items())
    return sum(parts, Spent())


def _mode(job: Job, target: Target) -> Mode:
    """Return the formats of a product."""
    formats = job.a_format, job.b_format
    return next(
        (one for one in target.modes.values() if (one.a_format, one.b_format) == formats),
        target.mode,
    )


def stores_of(job: Job, target: Target) -> tuple[Stores, int]:
    """Return what limits blocks of a product, and its words along K."""
    mode = _mode(job, target)
    return mode.stores(target.info.stores), -(-job.k // mode.codes)


def blocks_of(job: Job, operands: dict[str, Matrix], target: Target) -> Blocks:
    """Return the blocks of a product; those of the planner where the hardware chooses."""
    stores, words = stores_of(job, target)
    if job.block_m and job.block_n and job.block_k:
        depth = job.block_k
        if job.window is not None:
            depth = -(-depth * job.window.channels // stores.tile_k)
        return Blocks(job.block_m, job.block_n, depth, job.by_columns)
    return plan(stores, job.m, job.n, words, operands["c"].bits)


def product_cycles(
    group: JobGroup, blocks: Blocks, operands: dict[str, Matrix], target: Target
) -> int:
    """Return the cycles of a group: of the starts that it takes, on each of which jobs overlap."""
    whole, rest = divmod(group.count, JOBS)
    return whole * (_start_cycles(group, JOBS, blocks, operands, target) if whole else 0) + (
        _start_cycles(group, rest, blocks, operands, target) if rest else 0
    )


def _start_cycles(
    group: JobGroup, count: int, blocks: Blocks, operands: dict[str, Matrix], target: Target
) -> int:
    job = group.job
    stores, words = stores_of(job, target)
    if target.memory.sdram is None:
        bits = operands["c"].bits
        alone, all_ = (
            cost(stores, blocks, job.m, job.n, words, bits, one).cycles for one in (1, count)
        )
        return start_of(stores.latency) + max(all_, alone + (count - 1) * _NEXT)
    shared = int(target.design.parameters["requantisers"]) or stores.tile_n
    width = {name: one.bits for name, one in operands.items()}
    places = [
        {
            name: (one.address + number * getattr(group, name, 0), one.distance)
            for name, one in operands.items()
        }
        for number in range(count)
    ]
    return cycles(stores, blocks, (job.m, job.n, words), width, places, target.memory.sdram, shared)


def rows_cycles(job: Job, operation: str, operands: dict[str, Matrix], target: Target) -> int:
    """Return the cycles of the rows of a vector job."""
    unit, latency = target.spec.vector, target.memory.latency
    assert unit is not None
    if operation == "transpose":
        took = turned_cycles(job.m, job.n, target)
    elif operation == "gather":
        took = gathered_cycles(job, unit, latency)
    elif operation == DEPTHWISE:
        took = depthwise_cycles(target.spec, golden_job(job, target.spec))
    elif operation in MAPS:
        took = latency + map_cycles(job.m, job.n, unit.lanes, one_row=not job.ldb)
    else:
        row = _row(unit, operation, job.n)
        few = min(job.m, _COUNTED[0])
        took = unit_cycles(unit, [(operation, row)] * few)
        if job.m > few:
            more = unit_cycles(unit, [(operation, row)] * _COUNTED[1]) - took
            took += (job.m - few) * more
    bus = target.info.stores.data_width // 8
    read = sum(
        (1 if name == "b" and not job.ldb else job.m if operation == "gather" else one.rows)
        * one.row_bytes
        for name, one in operands.items()
        if name not in ("c", "table")
    )
    written = operands["c"].rows * operands["c"].row_bytes
    beats = -(-read // bus), -(-written // bus)
    together = sum if target.memory.sdram else max
    return max(took, target.info.stores.beat * together(beats))


def _row(unit: VectorUnitSpec, operation: str, columns: int) -> np.ndarray:
    """Return a row whose scale takes about as long as those of most rows."""
    if operation == "softmax":  # values that fall evenly, by a factor of e^8 in all
        return -(np.arange(columns) << unit.scale_width + 3) // columns
    row = np.zeros(columns, np.int64)
    row[::2] = 1 << unit.width // 2
    return row

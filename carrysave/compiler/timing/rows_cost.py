"""Blocks of a product, and the cycles of rows of a vector job."""

import numpy as np

from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.compiler.timing.row_moves import gathered_cycles, turned_cycles
from carrysave.driver import Mode
from carrysave.driver.job import Job
from golden.npe.vector import VectorUnitSpec
from golden.npe.vector_unit import cycles as unit_cycles
from golden.soc.blocking import Blocks, Stores, plan
from golden.soc.depthwise import DEPTHWISE
from golden.soc.depthwise_limits import cycles as depthwise_cycles
from golden.soc.lists import INDEX, TOP_K
from golden.soc.memory import Matrix
from golden.soc.second_rows import BLEND, blended_cycles

__all__ = ["blocks_of", "mode_of", "rows_cycles", "stores_of"]

_COUNTED = 6, 7
"""Rows of which cycles are counted; from there on each row takes what the last one does."""


def mode_of(job: Job, target: Target) -> Mode:
    """Return the formats of a product."""
    formats = job.a_format, job.b_format
    return next(
        (one for one in target.modes.values() if (one.a_format, one.b_format) == formats),
        target.mode,
    )


def stores_of(job: Job, target: Target) -> tuple[Stores, int]:
    """Return what limits blocks of a product, and its words along K."""
    mode = mode_of(job, target)
    return mode.stores(target.info.stores), -(-job.k // mode.codes)


def blocks_of(job: Job, operands: dict[str, Matrix], target: Target) -> Blocks:
    """Return the blocks of a product; those of the planner where the hardware chooses."""
    stores, words = stores_of(job, target)
    if job.block_m and job.block_n and job.block_k:
        depth = job.block_k
        if job.window is not None:
            depth = -(-depth * job.window.channels // stores.tile_k)
        return Blocks(job.block_m, job.block_n, depth, job.by_columns)
    try:
        return plan(stores, job.m, job.n, words, operands["c"].bits)
    except IndexError:  # there are none to choose from
        raise ValueError(f"no blocks of a product of {job.m} x {job.n} fit") from None


def rows_cycles(job: Job, operation: str, operands: dict[str, Matrix], target: Target) -> int:
    """Return the cycles of the rows of a vector job."""
    unit, latency = target.spec.vector, target.memory.latency
    assert unit is not None
    if operation == "transpose":
        took = turned_cycles(job.m, job.n, target)
    elif operation == "gather":
        took = gathered_cycles(job, unit, latency)
    elif operation == INDEX:
        took = job.m * (2 * job.n + 2)
    elif operation == TOP_K:
        took = job.m * (job.n + 2 * job.k + 5)
    elif operation == BLEND:
        took = blended_cycles(job.m, job.n, unit.lanes)
    elif operation == DEPTHWISE:
        # Weights, biases and records come before the map.
        took = depthwise_cycles(target.spec, golden_job(job, target.spec))
        before = sum(
            one.rows * -(-one.row_bytes * 8 // target.info.stores.data_width)
            for name, one in operands.items()
            if name in ("b", "bias", "records") and one.address < target.info.memory_end
        )
        took += round((target.info.stores.beat - 1) * before)
    else:
        row = _row(unit, operation, job.n)
        few = min(job.m, _COUNTED[0])
        took = unit_cycles(unit, [(operation, row)] * few)
        if job.m > few:
            more = unit_cycles(unit, [(operation, row)] * _COUNTED[1]) - took
            took += (job.m - few) * more
    return max(took, *_moved_cycles(job, operation, operands, target))


def _moved_cycles(
    job: Job, operation: str, operands: dict[str, Matrix], target: Target
) -> tuple[int, int, int]:
    """Return the cycles in which a vector job's rows cross the bus, and are read and written."""
    bus = target.info.stores.data_width // 8

    def beats(reads: bool, end: int) -> int:
        """Count the beats of what is read, or written, below an address."""
        size = 0
        for name, one in operands.items():
            if name == "table" or (name != "c") != reads or one.address >= end:
                continue
            rows = job.m if operation == "gather" and reads else one.rows
            size += one.row_bytes * (1 if name == "b" and not job.ldb else rows)
        return -(-size // bus)

    memory, every = target.info.memory_end, 1 << target.spec.address_width
    together = sum if target.memory.sdram else max
    crossed = target.info.stores.beat * together((beats(True, memory), beats(False, memory)))
    return round(crossed), beats(True, every), beats(False, every)


def _row(unit: VectorUnitSpec, operation: str, columns: int) -> np.ndarray:
    """Return a row whose scale takes about as long as those of most rows."""
    if operation == "softmax":  # values that fall evenly, by a factor of e^8 in all
        return -(np.arange(columns) << unit.scale_width + 3) // columns
    row = np.zeros(columns, np.int64)
    row[::2] = 1 << unit.width // 2
    return row

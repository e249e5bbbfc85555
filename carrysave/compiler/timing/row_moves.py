"""Cycles of vector jobs that move rows, and compute nothing: transpositions and gathers."""

from carrysave.compiler.target.target import Target
from carrysave.driver.job import Job
from golden.npe.vector import VectorUnitSpec
from hw.soc.path.gather_rows import GatherRows
from hw.soc.path.transpose_rows import TransposeRows

__all__ = ["gathered_cycles", "turned_cycles"]


def turned_cycles(rows: int, columns: int, target: Target) -> int:
    """Count the cycles of a transposition: blocks come by rows, and leave by columns.

    Short rows cost their latency, divided by the outstanding bursts, as the planner says.
    """
    unit = target.spec.vector
    assert unit is not None
    least = -(-target.memory.latency // target.spec.outstanding)
    heights = [TransposeRows.DEEP] * (rows // (TransposeRows.DEEP * unit.lanes))
    heights += (
        [-(-rest // unit.lanes)] if (rest := rows % (TransposeRows.DEEP * unit.lanes)) else []
    )
    leave = columns * sum(max(least, height) for height in heights)
    return rows * -(-columns // unit.lanes) + leave


def gathered_cycles(job: Job, unit: VectorUnitSpec, latency: int) -> int:
    """Count the cycles of a gather: the first number comes, then rows, or where they are."""
    index_cycles = max((job.k - 1).bit_length(), 1) + 2
    ahead = -(-(latency + index_cycles) // GatherRows.AHEAD)
    return latency + job.m * max(-(-job.n // unit.lanes), index_cycles, ahead)

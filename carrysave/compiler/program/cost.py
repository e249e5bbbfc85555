"""What a job takes: cycles, and bytes on the bus."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from operator import add

from carrysave.compiler.program.beats import beats_of
from carrysave.compiler.target.target import Target
from carrysave.compiler.timing.golden_job import golden_job
from carrysave.compiler.timing.job_cycles import job_cycles
from carrysave.compiler.timing.rows_cost import blocks_of, mode_of, stores_of
from carrysave.driver.job import Job
from golden.soc.blocking import Blocks, Stores, ranges
from golden.soc.depthwise import DEPTHWISE
from golden.soc.depthwise_limits import lines_read
from golden.soc.group_scales import SCALE_BYTES, grouped
from golden.soc.job_check import matrices
from golden.soc.memory import Matrix

__all__ = ["Spent", "moved_bytes", "spent", "spent_by_all"]


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


def spent(job: Job, target: Target) -> Spent:
    """Return what a job takes; see :func:`.ring_cost.cycles_of`."""
    took, moved = job_cycles(job, target), moved_bytes(job, target)
    if job.vector is not None:
        return Spent(1, took, job.m * job.k if job.vector == DEPTHWISE else 0, moved=moved)
    operands = matrices(target.spec, golden_job(job, target.spec))
    near = _near(operands, target)
    macs = job.m * job.k * job.n
    least_moved = sum(
        one.rows * one.row_bytes for name, one in operands.items() if name not in {*near, "records"}
    )
    if job.accumulate:
        least_moved += operands["c"].rows * operands["c"].row_bytes
    mode, (stores, words) = mode_of(job, target), stores_of(job, target)
    slots = mode.codes
    for size, tile in ((job.m, stores.tile_m), (job.n, stores.tile_n), (words, stores.tile_k)):
        slots *= -(-size // tile) * tile
    beat = target.info.stores.data_width // 8
    least = max(macs / target.peak(mode), target.info.stores.beat * least_moved / beat)
    return Spent(1, took, macs, least, moved, slots)


def moved_bytes(job: Job, target: Target) -> int:
    """Return the bytes of a job on the bus, in whole beats; see :class:`Spent`."""
    operands = matrices(target.spec, golden_job(job, target.spec))
    beat = target.info.stores.data_width // 8
    near = _near(operands, target)
    if job.vector is not None:
        rows = dict(operands)
        if job.vector == "gather":  # as much of a table is read as is written
            rows["a"] = replace(operands["a"], rows=job.m)
        if job.ldb == 0 and "b" in operands:
            rows["b"] = replace(operands["b"], rows=1)
        if job.vector == DEPTHWISE:
            lines = lines_read(target.spec, golden_job(job, target.spec))
            rows["a"] = replace(operands["a"], rows=lines)
        return sum(
            one.rows * -(-one.row_bytes // beat) * beat
            for name, one in rows.items()
            if name not in near
        )
    stores, words = stores_of(job, target)
    bits = {name: one.bits for name, one in operands.items() if name != "records"}
    if job.accumulate:
        bits["addend"] = bits["c"]
    blocks = blocks_of(job, operands, target)
    sides = 0
    if grouped(target.spec, job):
        bits = {name: one for name, one in bits.items() if not name.endswith("_scales")}
        sides = _sides_of_groups(job, blocks, stores, beat)
    if job.packed:
        bits["b"] = stores.b_bits
    beats = beats_of(stores, blocks, bits, (job.m, job.n, words), beat)
    if job.packed:
        share = job.ldb / (-(-words // stores.b_deep) * (-(-job.n * stores.b_bits // 8)))
        beats["b"] = round(share * beats["b"])
    return beat * (sides + sum(number for name, number in beats.items() if name not in near))


def _sides_of_groups(job: Job, blocks: Blocks, stores: Stores, beat: int) -> int:
    """Return the beats of powers of groups, and of their scales, which each block of C reads."""
    rows, columns = (
        ranges(size, tiles * tile)
        for size, tiles, tile in (
            (job.m, blocks.m, stores.tile_m),
            (job.n, blocks.n, stores.tile_n),
        )
    )
    powers = len(columns) * sum(-(-len(some) // beat) for some in rows)
    scales = len(rows) * sum(-(-SCALE_BYTES * len(some) // beat) for some in columns)
    return -(-job.k // (blocks.k * stores.tile_k)) * (powers + scales)


def _near(operands: Mapping[str, Matrix], target: Target) -> set[str]:
    """Return the names of matrices on chip."""
    return {name for name, one in operands.items() if one.address >= target.spec.scratch_base}


def spent_by_all(jobs: list[Job], target: Target) -> Spent:
    """Return what jobs of one product take; those of one shape, of which it has many, the same."""
    shapes = [
        (
            *(job.m, job.k, job.n, job.vector, job.a_format, job.b_format, job.accumulate),
            job.packed and job.ldb,
            job.ldsa,
            job.bias is None,
        )
        for job in jobs
    ]
    of_shape = dict(zip(shapes, jobs, strict=True))
    parts = (spent(of_shape[one], target).times(count) for one, count in Counter(shapes).items())
    return sum(parts, Spent())

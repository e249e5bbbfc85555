"""Cycles of jobs: of products by the planner's cost model, of rows by the vector unit's."""

from dataclasses import dataclass

from carrysave.compiler.program.jobs import Gather, Job, Product, Transpose
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.program.rows import operands_of, operation_of, runs
from carrysave.compiler.target.cost import cycles_of
from carrysave.compiler.target.mapping import START
from carrysave.compiler.target.target import Target
from golden.npe.vector_unit import PASS, cycles
from golden.soc.blocking import LATENCY, order, plan
from hw.soc.path.gather_rows import GatherRows
from hw.soc.path.turn_rows import TurnRows

__all__ = ["Spent", "spent"]


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
    """

    jobs: int = 0
    cycles: int = 0
    macs: int = 0
    least: float = 0.0
    moved: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        """Add what both take."""
        return Spent(
            self.jobs + other.jobs, self.cycles + other.cycles, self.macs + other.macs,
            self.least + other.least, self.moved + other.moved,
        )  # fmt: skip


def spent(job: Job, memory: Memory, target: Target) -> Spent:
    """Count the cycles of a job that has just run, and whose operands are still there.

    A product's are the planner's; those of the vector unit are exact, of values that come without
    stalls; of others see :func:`_turned` and :func:`_gathered`. Jobs that the hardware does not
    have are counted as if it took operands of any width, at the rate of such an operation; or as
    their operands on the bus, whichever are more. What is on chip comes and goes at the rate of the
    bus. Each job has 206 cycles to start.

    Parameters
    ----------
    job, memory : the job, and what it works on.
    target : the co-processor, with a vector unit if any job is on rows.
    """
    if isinstance(job, Product):
        return _of_product(job, memory, target)
    unit = target.spec.vector
    assert unit is not None
    rows, columns = memory.read(job.c).shape
    operation = operation_of(job)
    if isinstance(job, Transpose):
        found = _turned(columns, rows, target)
    elif isinstance(job, Gather):
        found = _gathered(job, memory, target)
    elif operation is not None and runs(job, memory, target):
        found = cycles(unit, [(operation, row) for row in memory.read(operands_of(job)[0])])
    else:
        period = 1 if operation is None else unit.period(operation)
        found = rows * (period * -(-columns // unit.lanes) + PASS + 1)
    # Of a table as much is read as is written.
    views = (job.rows, job.c) if isinstance(job, Gather) else operands_of(job)
    read = sum(_bytes(memory, view) for view in views)
    bus = target.info.stores.data_width // 8
    found = max(found, -(-read // bus), -(-_bytes(memory, job.c) // bus))
    moved = sum(_moved(memory, view, bus) for view in (*views, job.c))
    return Spent(1, START + found, moved=moved)


def _turned(rows: int, columns: int, target: Target) -> int:
    """Count the cycles of a transposition: blocks come by rows, and leave by columns.

    Short rows cost their latency, divided by the outstanding bursts, as the planner says.
    """
    unit = target.spec.vector
    assert unit is not None
    least = -(-LATENCY // target.spec.outstanding)
    heights = [TurnRows.DEEP] * (rows // (TurnRows.DEEP * unit.lanes))
    heights += [-(-rest // unit.lanes)] if (rest := rows % (TurnRows.DEEP * unit.lanes)) else []
    leave = columns * sum(max(least, height) for height in heights)
    return rows * -(-columns // unit.lanes) + leave


def _gathered(job: Gather, memory: Memory, target: Target) -> int:
    """Count the cycles of a gather: the first number comes, then rows, or where they are."""
    unit, (rows, columns) = target.spec.vector, memory.read(job.c).shape
    assert unit is not None
    place = max(int(memory.read(job.rows).max()).bit_length(), 1) + 2
    ahead = -(-(LATENCY + place) // GatherRows.AHEAD)
    return LATENCY + rows * max(-(-columns // unit.lanes), place, ahead)


def _bytes(memory: Memory, view: View) -> int:
    return memory.read(view).size * memory.bits[view.name] // 8


def _moved(memory: Memory, view: View, beat: int) -> int:
    """Count bytes on the bus, of rows that are moved once each."""
    if view.name in memory.on_chip:
        return 0
    rows, columns = memory.read(view).shape
    return rows * -(-columns * memory.bits[view.name] // 8 // beat) * beat


def _moved_by_product(job: Product, memory: Memory, target: Target) -> int:
    """Count bytes on the bus, of parts of rows that are moved as often as the planner says."""
    views = {"a": job.a, "b": job.b, "c": job.c} | ({"bias": job.bias} if job.bias else {})
    (m, k), n = memory.read(job.a).shape, memory.read(job.b).shape[1]
    bits = {name: memory.bits[view.name] for name, view in views.items()}
    stores = target.mode.stores(target.info.stores)
    parts = order(stores, plan(stores, m, n, k, bits["c"]), bits, m, n, k)
    beat = stores.data_width // 8
    return sum(
        -(-part.bytes // beat) * beat
        for part in parts
        if views[part.name].name not in memory.on_chip
    )


def _of_product(job: Product, memory: Memory, target: Target) -> Spent:
    (m, k), n = memory.read(job.a).shape, memory.read(job.b).shape[1]
    views = [job.a, job.b, job.c, *([job.bias] if job.bias else [])]
    moved = sum(_bytes(memory, view) for view in views if view.name not in memory.on_chip)
    macs = m * k * n
    least = max(macs / target.peak(None), 8 * moved / target.info.stores.data_width)
    found = cycles_of(target, m, k, n, job.how is not None, wide=job.wide)
    return Spent(1, START + found, macs, least, _moved_by_product(job, memory, target))

"""The rows of matrices that a block needs, in the order in which they are requested."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from amaranth import C, Module, Mux, Signal, Value

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.block_walk import BlockWalk
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import FACTOR_BYTES, SCALE_BYTES, scales_of, words_bytes

__all__ = ["RowPlan", "count_rows", "row_plans", "rows_names"]


class RowPlan(NamedTuple):
    """The rows of one matrix that a block needs.

    Members
    -------
    needed, again : whether it needs any; but not, if it has all of K.
    rows, length, step : how many, bytes of each, and bytes from one to the next.
    home : the first one is at the matrix's address; else at a place stored in `slot`.
    before : bytes from there to the first one.
    slot : where the place is stored.
    end_slot, stores_end : where the address after the last row is stored, and whether it is.
    """

    needed: Value
    again: Value
    rows: Value
    length: Value
    step: Value
    home: Value
    before: Value
    slot: Value
    end_slot: Value
    stores_end: Value


def row_plans(
    spec: CoprocessorSpec,
    job: Any,
    walk: BlockWalk,
    codes: Value,
    columns: Value,
    turn: Value,
    slots: Iterator[int],
    rows: Sequence[Value],
) -> dict[Destination, RowPlan]:
    """List the rows of a block in the order of requests.

    Operands come last, since sums start when A and B arrive, one of which may be loaded
    already; C after them, since it waits until the block before the last has left.

    Parameters
    ----------
    job : :class:`~hw.soc.schedule.geometry.Geometry`.
    walk : the block.
    codes, columns, rows : its offset: words of K, columns of C; rows, where groups are scaled.
    turn : the row of blocks, even or odd: it starts where the one before has ended.
    slots : numbers of places where addresses are stored, each taken once.
    """
    plans: dict[Destination, RowPlan] = {}

    def of_columns(to: Destination, needed: Value, size: int) -> None:
        plans[to] = _of_columns(walk, needed, columns * size, walk.o_columns * size)

    def of_codes(to: Destination, rows: Value, step: Value, before: Value, length: Value) -> None:
        plans[to] = _of_codes(walk, slots, rows, step, before, length)

    if spec.bias:
        of_columns(Destination.BIAS, job.biased, spec.sum_bytes)
    if spec.requantises_columns:
        of_columns(Destination.RECORD, job.per_column, spec.RECORD_BYTES)
    before, length = (words_bytes(spec, "a", x, job.kind) for x in (codes, walk.o_codes))
    plans[Destination.A] = _of_rows(walk, slots, turn, job.lda, before, length)
    if spec.windows:
        plans[Destination.A] = _of_map(plans[Destination.A], job.of_windows)
    scales = _scales(spec, job, walk.o_codes)
    if spec.inside.a_sides or spec.shares:
        plan = _of_rows(walk, slots, turn, job.ldsa, _scales(spec, job, codes), scales)
        plans[Destination.A_SCALES] = plan._replace(needed=job.shifted) if spec.shares else plan
    before, length = (words_bytes(spec, "b", x, job.kind) for x in (columns, walk.o_columns))
    of_codes(Destination.B, walk.o_codes, job.ldb, before, length)
    if spec.lists:
        plans |= _of_list(plans, job.listed, before)
    if spec.sparse:
        # A row stands for all of a block.
        b = plans[Destination.B]
        plans[Destination.B] = b._replace(rows=Mux(job.packed, 1, b.rows))
    if spec.scales:
        before, length = (x * spec.inside.b_sides for x in (columns, walk.o_columns))
        of_codes(Destination.B_SCALES, scales, job.ldsb, before, length)
    if spec.group_scales != "none":
        plans = _of_groups(job, walk, slots, columns, rows[0]) | plans
    if spec.accumulates:
        plans |= _of_addends(spec, job, walk, slots, columns, turn)
    return plans


def _of_addends(
    spec: CoprocessorSpec,
    job: Any,
    walk: BlockWalk,
    slots: Iterator[int],
    columns: Value,
    turn: Value,
) -> dict[Destination, RowPlan]:
    """Plan the existing C, and before it the factors of its rows, as one row."""
    ends, first = job.by_columns | walk.o_first_column, walk.o_first_code
    plans: dict[Destination, RowPlan] = {}
    if spec.row_factors:
        size = walk.o_rows * FACTOR_BYTES
        factors = _of_rows(walk, slots, turn, size, C(0), size)
        plans[Destination.ROW_FACTORS] = factors._replace(
            needed=job.factored & first, again=C(0), rows=C(1), stores_end=ends
        )
    before, length = (x * spec.sum_bytes for x in (columns, walk.o_columns))
    addends = _of_rows(walk, slots, turn, job.ldc, before, length)
    down = job.by_columns & ~walk.o_first_row
    plans[Destination.ADDEND] = addends._replace(
        needed=job.accumulate & first,
        again=C(0),
        before=Mux(down, 0, before),
        stores_end=ends,
    )
    return plans


def rows_names(spec: CoprocessorSpec) -> list[str]:
    """Name the offset of a block's rows, which only powers of groups need."""
    return ["rows"] * (spec.group_scales != "none")


def count_rows(m: Module, job: Any, walk: BlockWalk, rows: Sequence[Signal], ends: Value) -> None:
    """Go to the next row of blocks where one ends, if there is anything that counts these."""
    for offset in rows:
        with m.If(ends):
            m.d.sync += offset.eq(Mux(walk.o_last_row, 0, offset + job.rows))


def _of_groups(
    job: Any, walk: BlockWalk, slots: Iterator[int], columns: Value, rows: Value
) -> dict[Destination, RowPlan]:
    """Plan a row of scales of a block's columns, and one of powers of its rows; each block's."""
    before, length = (count * SCALE_BYTES for count in (columns, walk.o_columns))
    powers = _of_codes(walk, slots, C(1), job.ldsa, rows, walk.o_rows)
    scales = _of_codes(walk, slots, C(1), job.ldsb, before, length)
    plans = {Destination.A_SCALES: powers, Destination.B_SCALES: scales}
    return {to: one._replace(needed=job.grouped, again=C(0)) for to, one in plans.items()}


def _of_map(plan: RowPlan, here: Value) -> RowPlan:
    """Plan rows of a map, which is taken apart later: each begins with its first byte."""
    step, before = (Mux(here, 0, value) for value in (plan.step, plan.before))
    return plan._replace(step=step, before=before, home=plan.home | here)


def _of_list(
    plans: dict[Destination, RowPlan], here: Value, before: Value
) -> dict[Destination, RowPlan]:
    """Plan rows of A and of B by a list, whose places tell what of a row, and which one.

    Rows begin at their first code, and those of B at that of K, `before` bytes from its address on.
    """
    a, b = plans[Destination.A], plans[Destination.B]
    first, step = Mux(here, before, b.before), Mux(here, 0, b.step)
    return {
        Destination.A: a._replace(before=Mux(here, 0, a.before)),
        Destination.B: b._replace(step=step, before=first, home=b.home | here),
    }


def _scales(spec: CoprocessorSpec, job: Any, words: Value) -> Value:
    """Return the scales of a count of words along K; 0 if codes have none."""
    if not (spec.inside.block or spec.shares):
        return C(0)
    return scales_of(spec, words, job.kind)


def _of_columns(walk: BlockWalk, needed: Value, before: Value, length: Value) -> RowPlan:
    """Plan one row, of what each column has, before the first codes of K."""
    zero, one = C(0), C(1)
    return RowPlan(
        needed=needed & walk.o_first_code,
        again=zero,
        rows=one,
        length=length,
        step=zero,
        home=one,
        before=before,
        slot=zero,
        end_slot=zero,
        stores_end=zero,
    )


def _of_rows(
    walk: BlockWalk, slots: Iterator[int], turn: Value, step: Value, before: Value, length: Value
) -> RowPlan:
    """Plan the rows of A's kind: a row of blocks begins where the one above has ended."""
    even, odd = next(slots), next(slots)
    return RowPlan(
        needed=C(1),
        again=walk.o_again_a,
        rows=walk.o_rows,
        length=length,
        step=step,
        home=walk.o_first_row,
        before=before,
        slot=Mux(turn, odd, even),
        end_slot=Mux(turn, even, odd),
        stores_end=walk.o_first_code,
    )


def _of_codes(
    walk: BlockWalk, slots: Iterator[int], rows: Value, step: Value, before: Value, length: Value
) -> RowPlan:
    """Plan the rows of B's kind: a block begins where the one before along K has ended."""
    slot, first = C(next(slots), 3), walk.o_first_code
    return RowPlan(
        needed=C(1),
        again=walk.o_again_b,
        rows=rows,
        length=length,
        step=step,
        home=first,
        before=Mux(first, before, 0),
        slot=slot,
        end_slot=slot,
        stores_end=C(1),
    )

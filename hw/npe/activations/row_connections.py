"""What connects the parts of the vector unit: rows, passes over them, and their scales."""

from amaranth import C, Cat, Module, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.npe.activations.row_banks import RowBanks
from hw.npe.activations.row_order import numbers_of
from hw.npe.activations.row_scale import RowScale
from hw.npe.activations.row_schedule import RowSchedule

__all__ = ["connect_rows", "held_scale", "is_norm", "take_sums"]


def is_norm(spec: VectorUnitSpec, operation: Value) -> Value:
    """Return whether an operation multiplies values, not exponentials of them."""
    others = numbers_of(spec, "softmax", "exps")
    if not others:
        return C(1, 1)
    if others == [0]:
        return (operation != 0) & int(spec.builds(spec.NORMS) or spec.scales)
    return ~operation.matches(*others)


def connect_rows(
    m: Module, spec: VectorUnitSpec, banks: RowBanks, schedule: RowSchedule, row: RowScale
) -> None:
    """Connect the row memory, the schedule of passes, and the unit that computes scales."""
    begins = schedule.o_summed
    norm = is_norm(spec, begins.operation)
    if spec.builds(spec.SHARES):
        divides = begins.operation.matches(*numbers_of(spec, "divide"))
        m.d.comb += row.one.eq(divides)
        norm &= ~divides
    m.d.comb += [
        schedule.full.eq(banks.full),
        schedule.busy.eq(row.busy),
        schedule.i_row0.eq(banks.o_row0),
        schedule.i_row1.eq(banks.o_row1),
        banks.start.eq(schedule.start),
        banks.bank.eq(schedule.bank),
        banks.final.eq(schedule.final),
        banks.end.eq(schedule.now.end),
        row.start.eq(schedule.begin),
        row.norm.eq(norm),
        row.count.eq(begins.end * spec.lanes + begins.count + 1),
    ]


def held_scale(
    m: Module, spec: VectorUnitSpec, schedule: RowSchedule, row: RowScale
) -> tuple[Value, Value]:
    """Return the factor and the shift of a pass; while it divides, the next ones are computed."""
    if not spec.builds(spec.SHARES):
        return row.factor, row.shift
    factor = Signal.like(row.factor, name="held_factor", reset_less=True)
    shift = Signal.like(row.shift, name="held_shift", reset_less=True)
    with m.If(schedule.start):
        m.d.sync += [factor.eq(row.factor), shift.eq(row.shift)]
    return factor, shift


def take_sums(
    m: Module, spec: VectorUnitSpec, schedule: RowSchedule, row: RowScale, summed: Value
) -> None:
    """Store the sums of a row's passes, from which its scale is computed; or take its divisor."""
    total, last_sum = (
        Signal.like(out, name=name, reset_less=True)
        for out, name in ((row.total, "total"), (row.sum, "last_sum"))
    )
    m.d.comb += [row.total.eq(total), row.sum.eq(last_sum)]
    if spec.builds(spec.SHARES):
        divisor = schedule.o_summed.divisor
        with m.If(row.one):
            positive = divisor[:-1] & (~divisor[-1]).replicate(len(divisor) - 1)
            m.d.comb += row.sum.eq(Cat(C(0, 1), positive))
    with m.If(schedule.done & ~schedule.scaling):
        m.d.sync += last_sum.eq(summed)
    with m.If(schedule.start & ~schedule.final):
        # Squares come after values.
        m.d.sync += total.eq(summed)
    with m.If(schedule.start & ~schedule.final & ~schedule.done):
        m.d.sync += total.eq(0)

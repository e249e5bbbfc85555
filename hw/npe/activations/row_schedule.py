"""Which of two rows is read next, and what for."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec
from hw.npe.activations.row_beats import RowContext
from hw.npe.activations.row_order import numbers_of

__all__ = ["RowSchedule"]


class RowSchedule(wiring.Component):
    """Orders the passes over rows: one row is summed up while the scale of the last is found.

    A row is read for each of its sums, then waits until the row before it has left, has its scale
    found, and is read once more to be scaled. Passes do not overlap. Rows with a requantisation of
    their own have the last pass alone.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: operations, lanes, length.

    Members
    -------
    full, i_row0, i_row1 : In
        Of :class:`~hw.npe.activations.row_banks.RowBanks`.
    start, bank, final : Out(1)
        To it.
    done : In(1)
        The last beat of a pass is through.
    begin, busy : Out(1), In(1)
        Find the scale of `o_summed`; it is not found yet.
    now, o_summed : Out
        :class:`RowContext` of the pass; and, when ``begin`` comes and the cycle before that, of the
        row whose scale is found.
    scaling, squaring : Out(1)
        The pass is the row's last; or sums squares, else values or exponentials.
    refused : Out(1)
        Its operation is not built.
    """

    full: Signal
    i_row0: data.View
    i_row1: data.View
    start: Signal
    bank: Signal
    final: Signal
    done: Signal
    begin: Signal
    busy: Signal
    now: data.View
    o_summed: data.View
    scaling: Signal
    squaring: Signal
    refused: Signal

    def __init__(self, spec: VectorUnitSpec):
        self.spec = spec
        self.numbers = numbers_of(spec, *spec.OPERATIONS)
        # Those whose rows are summed up.
        self.summed = numbers_of(spec, "softmax", *spec.NORMS)
        # Those whose rows have a scale.
        self.scaled = numbers_of(spec, "softmax", *spec.NORMS, "divide")
        row = RowContext(spec)
        super().__init__({
            "full": In(2),
            "i_row0": In(row),
            "i_row1": In(row),
            **dict.fromkeys(("start", "bank", "final", "begin"), Out(1)),
            **dict.fromkeys(("done", "busy"), In(1)),
            "now": Out(row),
            "o_summed": Out(row),
            **dict.fromkeys(("scaling", "squaring", "refused"), Out(1)),
        })

    def elaborate(self, platform):
        m = Module()
        layout = RowContext(self.spec)

        def is_(view: data.View, name: str) -> Value:
            matches: Value = view.operation.matches(*numbers_of(self.spec, name))
            return matches

        def row(bank: Value) -> data.View:
            rows = (Value.cast(self.i_row1), Value.cast(self.i_row0))
            return data.View(layout, Mux(bank, *rows))

        # The row that is or will be summed, and the one before it, whose scale is or will be known.
        summing, summed, known, known_bank = Signal(), Signal(), Signal(), Signal()
        idle, again = Signal(init=1), Signal()
        following, now = row(summing), row(self.bank)
        built = following.operation.matches(*self.summed)
        ready = self._ready(idle, following)
        held = Signal(layout.size, reset_less=True)
        # The greatest value of a row that has just come is there a cycle after the row.
        started, source = Signal(), Signal(reset_less=True)
        top = Signal.like(self.now.top, reset_less=True)
        m.d.sync += started.eq(self.start)
        with m.If(started):
            m.d.sync += top.eq(row(source).top)
        m.d.comb += [
            Value.cast(self.now).eq(held),
            self.now.top.eq(top),
            Value.cast(self.o_summed).eq(Value.cast(now)),
            self.refused.eq(~self.now.operation.matches(*self.numbers)),
            self.final.eq(idle & known & ~self.busy),
            self.bank.eq(Mux(self.final, known_bank, summing)),
        ]
        with m.If(summed & ~known):
            m.d.comb += self.begin.eq(following.operation.matches(*self.scaled))
            m.d.sync += [known.eq(1), known_bank.eq(summing), summed.eq(0), summing.eq(~summing)]
        with m.If(self.final):
            m.d.comb += self.start.eq(1)
        with m.Elif(ready & self.full.bit_select(summing, 1) & ~summed):
            m.d.comb += self.start.eq(built)
            m.d.sync += summed.eq(~built)
        with m.If(self.start):
            m.d.sync += [idle.eq(0), held.eq(Value.cast(now)), self.scaling.eq(self.final)]
            m.d.sync += source.eq(self.bank)
            m.d.sync += self.squaring.eq(is_(now, "rms_norm"))
        with m.If(self.done):
            m.d.sync += idle.eq(1)
            with m.If(self.scaling):
                m.d.sync += known.eq(0)
            with m.Elif(is_(self.now, "layer_norm") & ~self.squaring):
                m.d.comb += again.eq(1)
            with m.Else():
                m.d.sync += summed.eq(1)
        self._free_scale(m, known, summed, now)
        with m.If(again):
            m.d.comb += self.start.eq(1)
            m.d.sync += [idle.eq(0), self.squaring.eq(1)]
        return m

    def _ready(self, idle: Value, row: data.View) -> Value:
        """Return whether a row is looked at: one to be divided while another one leaves, too."""
        if not self.spec.builds(self.spec.SHARES):
            return idle
        return idle | row.operation.matches(*numbers_of(self.spec, "divide"))

    def _free_scale(self, m: Module, known: Signal, summed: Signal, row: data.View) -> None:
        """Find the scale of the next row while a division, whose factor is held, is in its pass.

        Parameters
        ----------
        known, summed : the scale of a row is, or will be, known; the next one waits for that.
        row : whose pass starts.
        """
        if not self.spec.builds(self.spec.SHARES):
            return
        divide, leaves = numbers_of(self.spec, "divide"), Signal()
        m.d.sync += leaves.eq(self.final & row.operation.matches(*divide))
        with m.If(leaves):
            m.d.sync += known.eq(0)
        with m.If(self.done & self.scaling & self.now.operation.matches(*divide)):
            # That of the next row may be known, or begin to be.
            m.d.sync += known.eq(known | summed)

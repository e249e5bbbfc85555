"""Rows of digit-serial elements, and their control."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.pe.opt3 import Opt3Spec
from hw.lib.shared_module import SharedModule
from hw.pe.digit_elements import DigitElements
from hw.pe.digit_selector import DigitSelector

__all__ = ["DigitControl", "DigitRow"]


class DigitRow(SharedModule):
    """One row of operands a times n operands b: n accumulators.

    Parameters
    ----------
    spec : Opt3Spec
        What: an element.
    n : int
        What: elements, 1 or more.
    shared : int
        How: elements that share registers of selected digits; 0 for a selector in each element.
    stops : bool
        How: there is an enable.

    Members
    -------
    en : In(1)
        Common clock enable; while it is low only operands a move. Only if the row `stops`.
    i_load, i_go, i_a, last : as those of :class:`~hw.pe.digit_selector.DigitSelector`
    i_first : In(1)
        The digits issued start a sum.
    i_b : In
        k rows of n operands, row by row, one cycle after their digits were issued.
    o : Out
        The sums, ``spec.drain`` cycles after the last digits were issued.
    """

    module = "row"

    en: Signal
    i_load: Signal
    i_go: Signal
    i_first: Signal
    i_a: Signal
    i_b: Signal
    last: Signal
    o: Signal

    def __init__(self, spec: Opt3Spec, n: int, *, shared: int, stops: bool = True):
        self.spec = spec
        self.n = n
        self.stops = stops
        self.selector = DigitSelector(spec)
        sizes = [min(shared or 1, n - start) for start in range(0, n, shared or 1)]
        self.shared = bool(shared)
        self.kinds = {size: DigitElements(spec, size, stops=stops) for size in sizes}
        self.sizes = sizes
        super().__init__({
            **({"en": In(1)} if stops else {}),
            "i_load": In(1),
            "i_go": In(1),
            "i_first": In(1),
            "i_a": In(len(self.selector.i_a)),
            "i_b": In(spec.k * n * spec.b_width),
            "last": Out(1),
            "o": Out(n * spec.accumulator_width),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The selector, and elements in groups."""
        return (self.selector, *self.kinds.values())

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        start = 0
        sums = []
        for number, size in enumerate(self.sizes):
            if not number or not self.shared:
                m.submodules[f"selector{number}"] = selector = self.selector.place()
                m.d.comb += [
                    selector.i_load.eq(self.i_load),
                    selector.i_go.eq(self.i_go),
                    selector.i_step.eq(self.i_go & self.en if self.stops else self.i_go),
                    selector.i_a.eq(self.i_a),
                ]
            if not number:
                m.d.comb += self.last.eq(selector.last)
            m.submodules[f"elements{number}"] = elements = self.kinds[size].place()
            if self.stops:
                m.d.comb += elements.en.eq(self.en)
            m.d.comb += [
                elements.i_lines.eq(selector.o),
                elements.i_first.eq(self.i_first),
                elements.i_b.eq(
                    Cat(
                        self.i_b.word_select(code * self.n + column, spec.b_width)
                        for column in range(start, start + size)
                        for code in range(spec.k)
                    )
                ),
            ]
            sums.append(elements.o)
            start += size
        m.d.comb += self.o.eq(Cat(sums))
        return m


class DigitControl(wiring.Component):
    """Controls rows of digit-serial elements: beats of a and b in, sums out.

    Beats of a are taken one ahead. A beat of b is held by its sender until its last digits have
    been used. Sums leave row by row before those of the next tile begin. After reset the rows are
    flushed before operands are taken.

    Parameters
    ----------
    spec : Opt3Spec
        What: an element.
    rows : int
        What: rows, 1 or more.

    Members
    -------
    a_valid, a_last, a_ready : In(1), In(1), Out(1)
        A beat of a is valid; it is the last one of its sums; it is taken.
    b_valid, b_ready : In(1), Out(1)
        The beat of b is valid; it is taken.
    o_valid, o_ready, o_row : Out(1), In(1), Out(rows)
        The sums of a row are valid; they are taken; the row, one-hot.
    row_last : In(1)
        ``last`` of all rows.
    en, load, go, first : Out(1)
        Those of the rows.
    """

    a_valid: Signal
    a_last: Signal
    a_ready: Signal
    b_valid: Signal
    b_ready: Signal
    o_valid: Signal
    o_ready: Signal
    o_row: Signal
    row_last: Signal
    en: Signal
    load: Signal
    go: Signal
    first: Signal

    def __init__(self, spec: Opt3Spec, rows: int):
        self.spec = spec
        super().__init__({
            **dict.fromkeys(("a_valid", "a_last", "b_valid", "o_ready", "row_last"), In(1)),
            **dict.fromkeys(("a_ready", "b_ready", "o_valid"), Out(1)),
            **dict.fromkeys(("en", "load", "go", "first"), Out(1)),
            "o_row": Out(rows),
        })

    def elaborate(self, platform):
        m = Module()
        drain = self.spec.drain

        # Stage d: digits in the selector; stage s: selected digits. While `busy`, sums leave, or
        # sums that are discarded.
        d_valid, d_end = Signal(), Signal()
        s_valid, s_last, s_end = Signal(), Signal(), Signal()
        busy = Signal(init=1)
        # After reset it takes this long to flush the rows with zeros.
        wait = Signal(range(drain + 1), init=self.spec.REGISTERS + len(self.spec.groups))
        clean = Signal()
        new = Signal(init=1)
        done = Signal()
        out = Signal()
        row = Signal(len(self.o_row), init=1)

        m.d.comb += [
            self.en.eq(~s_valid | self.b_valid),
            self.o_row.eq(row),
            out.eq(self.o_valid & self.o_ready & row[-1]),
            self.go.eq(d_valid & (~busy | out)),
            self.first.eq((self.go & new) | ~clean),
            done.eq(self.go & self.en & self.row_last),
            self.a_ready.eq(clean & (~d_valid | done)),
            self.load.eq(self.a_valid & self.a_ready),
            self.b_ready.eq(s_valid & s_last),
        ]
        with m.If(self.load):
            m.d.sync += [d_valid.eq(1), d_end.eq(self.a_last)]
        with m.Elif(done):
            m.d.sync += d_valid.eq(0)
        with m.If(self.en):
            m.d.sync += [
                s_valid.eq(self.go),
                s_last.eq(self.row_last),
                s_end.eq(d_end & self.row_last),
            ]
        with m.If(self.go & self.en):
            m.d.sync += new.eq(self.row_last & d_end)

        with m.If(out):
            m.d.sync += busy.eq(0)
        with m.If(done & d_end):
            m.d.sync += busy.eq(1)
        with m.If(s_valid & s_end & self.b_valid):
            m.d.sync += wait.eq(drain - 1)
        with m.Elif(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(wait == 1):
            m.d.sync += [self.o_valid.eq(clean), clean.eq(1)]
            with m.If(~clean):
                m.d.sync += busy.eq(0)
        with m.If(self.o_valid & self.o_ready):
            m.d.sync += [row.eq(row.rotate_left(1)), self.o_valid.eq(~row[-1])]
        return m

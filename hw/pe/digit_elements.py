"""Digit-serial elements: terms of selected digits, added to self-resolving accumulators."""

from itertools import pairwise

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from golden.pe.opt3 import Opt3Spec
from hw.arith.bit_heap import BitHeap
from hw.arith.counter import count
from hw.arith.term import fills, multiple, placed, reaches
from hw.lib.shared_module import SharedModule
from hw.pe.digit_selector import DigitSelector

__all__ = ["DigitElements"]


class DigitElements(SharedModule):
    """A few elements with the registers that drive them: one term per lane per cycle.

    An accumulator is a row of bits, a carry at some of the low columns (``spec.carry_weights``),
    and for each group of high columns (``spec.groups``) whether it must count up or down. Zero
    terms let the carries ripple out: ``spec.drain`` cycles after its last lines, the row alone
    holds the sum. Terms are sign-extended without constants, so that a zero term is all zeros.

    Parameters
    ----------
    spec : Opt3Spec
        What: operands, lanes, and the sum.
    elements : int
        How: elements that share the registers, 1 or more.
    stops : bool
        How: there is an enable.

    Members
    -------
    en : In(1)
        Common clock enable; while it is low nothing moves. Only if it `stops`.
    i_lines : In
        The digit of each lane, :class:`hw.pe.digit_selector.Lines`.
    i_first : In(1)
        These lines start a sum: the previous, resolved one is cleared in the next cycle.
    i_b : In
        k operands for each element, one cycle after the lines, with the same enable.
    o : Out
        Sum of each element.
    """

    en: Signal
    i_lines: data.View
    i_first: Signal
    i_b: Signal
    o: Signal

    def __init__(self, spec: Opt3Spec, elements: int, *, stops: bool = True):
        self.spec = spec
        self.elements = elements
        self.stops = stops
        self.module = f"elements{elements}"
        super().__init__({
            **({"en": In(1)} if stops else {}),
            "i_lines": In(DigitSelector(spec).o.shape()),
            "i_first": In(1),
            "i_b": In(elements * spec.k * spec.b_width),
            "o": Out(elements * spec.accumulator_width),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        lines = data.View(self.i_lines.shape(), self._held(m, "lines", self.i_lines.as_value()))
        first = self._held(m, "first", self.i_first)
        lanes = [lines[str(lane)] for lane in range(spec.lanes)]

        # Stage p: decoded places, shared by all elements.
        p_place = [self._held(m, f"p_place{n}", lane.place) for n, lane in enumerate(lanes)]
        p_reach = [
            self._held(m, f"p_reach{n}", Cat(reaches(lane.place))) for n, lane in enumerate(lanes)
        ]
        p_fill = [
            self._held(m, f"p_fill{n}", Cat(fills(lane.place, lane.negative)))
            for n, lane in enumerate(lanes)
        ]
        negatives = sum((lane.negative for lane in lanes), C(0, 1))
        p_negatives = self._held(m, "p_negatives", negatives[: spec.lanes.bit_length()])
        issued = sum((lane.place.any() for lane in lanes), C(0, 1))
        offset = spec.low_width - (spec.term_width - 1)
        p_offset = self._held(m, "p_offset", (-issued)[: max(offset, 0)])
        issued = self._held(m, "p_issued", issued.any())
        if spec.REGISTERS > 1:
            issued = self._held(m, "t_issued", issued)

        for element in range(self.elements):
            b = self.i_b.word_select(element, spec.k * spec.b_width)
            heap = BitHeap(min(spec.low_width + 2, spec.accumulator_width))
            for n, lane in enumerate(lanes):
                codes = [b.word_select(c, spec.b_width) for c in range(n, spec.k, spec.lanes)]
                digit = multiple(
                    m,
                    _chosen(codes, lane.code),
                    spec.multiple_width,
                    signed=spec.b_signed,
                    digit=(lane.one, lane.two, lane.negative),
                    name=f"m{element}_{n}",
                )
                p_digit = self._held(m, f"p_digit{element}_{n}", digit)
                shared = list(p_place[n]), list(p_reach[n]), list(p_fill[n])
                *low, sign = placed(m, p_digit, *shared, f"t{element}_{n}")
                heap.add_term(low, signed=False, arrival=_TERM)
                # The sign s of a valid term is put as 1 - s, with one common offset.
                heap.add_bit(p_reach[n][-1] & ~sign, len(low), arrival=_TERM)
            heap.add_term(list(p_negatives), signed=False)
            heap.add_term(list(p_offset), spec.term_width - 1, signed=False)
            total = self._total(m, element, heap, issued, first)
            m.d.comb += self.o.word_select(element, spec.accumulator_width).eq(total)
        return m

    @property
    def _enable(self) -> Value:
        """The enable; 1 if nothing stops."""
        return self.en if self.stops else C(1, 1)

    def _held(self, m: Module, name: str, value: Value) -> Signal:
        """Hold a value in a register."""
        held = Signal(len(value), name=name, reset_less=True)
        with m.If(self._enable):
            m.d.sync += held.eq(value)
        return held

    def _total(
        self, m: Module, element: int, heap: BitHeap, issued: Signal, first: Signal
    ) -> Signal:
        """Build one accumulator, to which a heap is added."""
        spec = self.spec
        if spec.REGISTERS > 1:
            heap = heap.register(m, self._enable)
        total = Signal(spec.accumulator_width, name=f"total{element}", reset_less=True)
        low = spec.low_width
        heap.add_columns([[bit] for bit in total[:low]])
        # No carry comes into the lowest column: it may have a third bit.
        columns = heap.compress(m, [3, *[2] * (heap.width - 1)])

        # Low columns: carries ripple, but not beyond columns that keep one.
        cuts = [0, *spec.carry_weights, len(columns)]
        sums: list[Value] = []
        carry: list[Value] = []
        for start, end in pairwise(cuts):
            adder = BitHeap(min(end + 1, len(columns)) - start)
            adder.add_columns(columns[start:end], arrival=_TERM)
            adder.add_columns([carry])
            bits = [column[0] for column in adder.compress(m, [1] * adder.width)]
            sums += bits[: end - start]
            carry = [self._held(m, f"carry{element}_{end}", bits[-1])]
        after, leaving = sums[:low], [*sums[low:], C(0, 1), C(0, 1)]

        # High columns: the carry out of the low ones is -1, 0 or 1.
        up = self._held(m, f"up{element}", Mux(issued, leaving[1], leaving[0]))
        down = self._held(m, f"down{element}", issued & ~leaving[0] & ~leaving[1])
        for start, end in spec.groups:
            part = list(total[start:end])
            bits, higher, lower = count(m, part, up, down, f"u{element}_{start}")
            after += bits
            up = self._held(m, f"up{element}_{end}", higher)
            down = self._held(m, f"down{element}_{end}", lower)
        with m.If(self._enable):
            m.d.sync += total.eq(Cat(after) & ~first.replicate(len(after)))
        return total


# Arrival time of a term in XOR gates, after the accumulator.
_TERM = 3.0


def _chosen(codes: list[Value], lines: Value) -> Value:
    """Select the code whose line is set; a single one needs no line."""
    if len(codes) == 1:
        return codes[0]
    chosen: Value = C(0, len(codes[0]))
    for code, line in zip(codes, lines, strict=True):
        chosen = chosen | (code & line.replicate(len(code)))
    return chosen

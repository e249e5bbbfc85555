"""Lanes of a vector unit for softmax and norms alone: shifts around the product, one adder each."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.arith.pick_bit import pick_bit
from hw.arith.shifter import shift_left
from hw.npe.activations.summed_logic import SummedLogic
from hw.npe.activations.summed_prefixes import GROUP, held_sums
from hw.npe.activations.summed_step import SummedStep
from hw.npe.activations.summed_table import SummedTable
from hw.npe.activations.summed_widths import SummedWidths

__all__ = ["SummedLanes"]


class SummedLanes:
    """Multiplies differences or exponentials by a factor, and adds products up.

    A mantissa is shifted by a part of its octaves before the product, a norm's factor once a row;
    so there are few windows in which a result can be in the product. Sums of a beat's values are
    made in stage s, of all lanes and of those before each group. In stage t rounding errors are
    carried along the lanes of a group; the same adders round norms.

    Parameters
    ----------
    m : where the gates go.
    spec : operations without requantisation.
    step : what is done.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.
    table : mantissas are looked up, two lanes in a memory.
    """

    def __init__(
        self, m: Module, spec: VectorUnitSpec, step: SummedStep, adder: str, *, table: bool
    ):
        self.spec, self.step = spec, step
        self.widths = SummedWidths(spec, table=table)
        self.rounds: Value = step.norm & step.scaling
        factor, self.window = self._row(m, SummedTable.ONE if table else 0)
        self.factors: SummedTable | SummedLogic = (
            SummedTable(m, spec, self.widths, step, factor)
            if table
            else SummedLogic(m, spec, self.widths, step, factor, adder)
        )
        self.before: Value = C(0, 1)

    def _row(self, m: Module, squares: int) -> tuple[Value, Value]:
        """Return the factor of all lanes, and the window of a norm, from one on; else zero.

        The factor of a sum of squares is given.
        """
        spec, widths, step = self.spec, self.widths, self.step
        places, window = Signal(range(widths.fine)), Signal(range(len(widths.places) + 1))
        factor, chosen = Signal(widths.factor), Signal.like(window)
        one = 1 << spec.magnitude_width + 4
        own: Value = Mux(step.scaling, Cat(C(0, 1), step.factor), one)
        if widths.norms:
            with m.Switch(step.shift):
                for shift in range(widths.least, widths.places[-1] + 1):
                    number = sum(place < shift for place in widths.places)
                    with m.Case(shift):
                        m.d.comb += [places.eq(widths.places[number] - shift)]
                        m.d.comb += window.eq(number + 1)
            # Stable before the row is read.
            scaled = Signal(widths.factor, reset_less=True)
            m.d.sync += scaled.eq(-shift_left(m, step.factor, places, widths.factor, "norm"))
            m.d.comb += chosen.eq(Mux(self.rounds, window, 0))
            sums = Mux(step.squaring, squares, -1)
            own = Mux(step.norm, Mux(step.scaling, scaled, sums), own)
        m.d.comb += factor.eq(own)
        return factor, chosen

    def add(
        self, m: Module, values: list[Value], keep: list[Value], carried: Value
    ) -> tuple[list[Value], Value, Value]:
        """Build all lanes.

        Parameters
        ----------
        m : where the gates go.
        values, keep : of each lane: a value, and whether it counts.
        carried : half a code, and what is left of the codes before, of stage t.

        Returns
        -------
        Codes; what is left after them; and the sum of the values, two's complement.
        """
        lanes = [
            self._value(m, lane, value, kept)
            for lane, (value, kept) in enumerate(zip(values, keep, strict=True))
        ]
        group, point = GROUP if self.widths.softmax else len(lanes), self.widths.point
        # What a norm rounds by is half a code in all lanes.
        clear = self.rounds if self.widths.softmax and self.widths.norms else None
        values = [value for value, _, _ in lanes]
        starts, total = held_sums(m, self.step.move, values, group, carried[:point], clear)
        codes: list[Value] = []
        for lane, made in enumerate(lanes):
            if lane % group == 0:
                self.before = starts[lane // group]
            codes.append(self._code(m, lane, made))
        return codes, (carried + total)[:point], total

    def _code(self, m: Module, lane: int, made: tuple[Value, Value, Value]) -> Value:
        """Make a code of a value in stage s; :attr:`before` is added, then what is left."""
        spec, widths, step = self.spec, self.widths, self.step
        value, over, sign = (
            Signal(len(part), name=f"t{name}{lane}", reset_less=True)
            for name, part in zip(("", "_over", "_sign"), made, strict=True)
        )
        with m.If(step.move):
            m.d.sync += [value.eq(made[0]), over.eq(made[1]), sign.eq(made[2])]
        point, width, more = widths.point, spec.out_width, spec.magnitude_width
        if widths.softmax:
            grown = Signal(widths.value, name=f"grown{lane}")
            m.d.comb += grown.eq(value + self.before)
            self.before = Cat(grown[: point - 1], grown[point - 1] | self.rounds)
            whole: Value = grown[point : point + width + 1]
        else:
            whole = Signal(width + 1, name=f"whole{lane}")
            m.d.comb += whole.eq(value[: width + 2] + 1 >> 1)
        beyond = over | Mux(step.norm, whole[-1] ^ whole[-2], whole[more])
        high = Mux(step.norm, sign, int(more == width))
        top = Mux(beyond, high, whole[width - 1] & (step.norm | int(more == width)))
        kept = ~(step.norm & sign).replicate(width - 1)
        return Cat(Mux(beyond, kept, whole[: width - 1]), top)

    def _value(self, m: Module, lane: int, bits: Value, keep: Value) -> tuple[Value, Value, Value]:
        """Make a value; return it, whether it overflows as a code, and its sign."""
        spec, widths, step = self.spec, self.widths, self.step

        def signal(name: str, width: int) -> Signal:
            return Signal(width, name=f"{name}{lane}", reset_less=True)

        difference, d_keep = Signal(spec.width + 1, name=f"difference{lane}"), signal("d_keep", 1)
        given = self.factors.lane(m, lane, difference)
        # Flip-flops that are set begin set.
        ones = (1 << len(step.low)) - 1 if widths.norms else 0
        a = Signal(widths.operand, name=f"a{lane}", init=ones, reset_less=True)
        a_octave, a_keep = signal("a_octave", widths.octave), signal("a_keep", 1)
        p, p_octave = signal("p", widths.operand + widths.factor), signal("p_octave", widths.octave)
        s, s_over, s_sign = signal("s", widths.value), signal("s_over", 1), signal("s_sign", 1)
        value, split, over = self._windows(p, p_octave)
        m.d.comb += difference.eq(self.factors.offset - bits.as_signed())
        with m.If(step.move):
            m.d.sync += [
                d_keep.eq(keep), a.eq(given.operand),
                a_keep.eq(d_keep & given.keep), a_octave.eq(given.octave), p_octave.eq(a_octave),
                p.eq(a.as_signed() * given.factor.as_signed()),
                s.eq(value), s_over.eq(over), s_sign.eq(p[-1]),
            ]  # fmt: skip
            with m.If(~a_keep):
                m.d.sync += p.eq(0)
            if widths.norms:
                for bit, low in zip(a, step.low, strict=False):
                    with m.If(step.norm & low):
                        m.d.sync += bit.eq(1)
            if widths.softmax:
                with m.If(self.rounds):
                    m.d.sync += s[: widths.point - 1].eq(0)
                with m.If(p_octave.any() & ~self.rounds):
                    m.d.sync += s[split:].eq(0)
        return s, s_over, s_sign

    def _windows(self, p: Value, number: Value) -> tuple[Value, int, Value]:
        """Choose a value out of a product.

        Returns
        -------
        It; the first of its bits that must be cleared in octaves but the first; and the overflow.
        """
        spec, widths = self.spec, self.widths
        step, width = widths.span, spec.exponential_width + 1

        def bit(place: int) -> Value:
            return p[min(place, len(p) - 1)]

        split = width - step if widths.softmax and widths.octaves > 1 else widths.value
        value: list[Value] = []
        for place in range(widths.value):
            found = bit(spec.MEAN_FRACTION + place)
            if place < split and widths.softmax:
                found = pick_bit(number, [
                    bit(spec.MEAN_FRACTION + step * octave + place)
                    for octave in range(widths.octaves) if place < width - step * octave
                ] or [found])  # fmt: skip
            if widths.norms and place >= widths.point - 1:
                norms = [bit(norm - widths.point + place) for norm in widths.places]
                found = pick_bit(self.window, [found, *norms])
            value.append(found)
        over: Value = C(0, 1)
        overs: list[Value] = []
        above = len(p) - 1
        for norm in reversed(widths.places if widths.norms else []):
            end, above = above, min(norm + spec.out_width - 1, above)
            if above < end:
                over = over | (p[above:end] ^ p[-1].replicate(end - above)).any()
            overs.insert(0, over)
        return Cat(value), split, pick_bit(self.window, [C(0, 1), *overs])

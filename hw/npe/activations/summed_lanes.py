"""Lanes of a vector unit for softmax and norms alone: shifts around the product, one adder each."""

from amaranth import C, Cat, Module, Mux, Signal, Value, signed

from golden.npe.vector import VectorUnitSpec
from hw.arith.pick_bit import pick_bit
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
        factor, self.window = self._row(m, SummedTable.ONE if table else 1)
        # The window is this one, or one before it.
        places = self.widths.places if self.widths.norms else []
        self.within = [Signal(name=f"within{number}") for number, _ in enumerate(places)]
        for number, within in enumerate(self.within, 1):
            m.d.comb += within.eq((self.window != 0) & (self.window <= number))
        self.factors: SummedTable | SummedLogic = (
            SummedTable(m, spec, self.widths, step, factor)
            if table
            else SummedLogic(m, spec, self.widths, step, factor, adder)
        )
        self.offset = self._offset(m, SummedTable.lowest(spec) if table else -1)
        self.low = step.mean[: spec.MEAN_FRACTION] & self.rounds.replicate(spec.MEAN_FRACTION)
        self.before: Value = C(0, 1)

    def _offset(self, m: Module, squares: int) -> Signal:
        """Return what values are subtracted from; that of squares is given.

        Of a norm it is less one: the mean's floor, from minus the mean, by inversion.
        """
        step, width = self.step, self.spec.width + 2
        offset, number = Signal(signed(width), name="offset"), Signal(2, name="offset_number")
        floor = ~step.mean[self.spec.MEAN_FRACTION :].as_signed()
        # A table for each bit.
        choices = [Signal(signed(width), name=f"offset{which}") for which in range(4)]
        m.d.comb += [
            *(
                choice.eq(one)
                for choice, one in zip(choices, (step.top, -1, floor, squares), strict=True)
            ),
            number.eq(Cat(~step.scaling, step.scaling | step.squaring) & step.norm.replicate(2)),
            offset.eq(Cat(pick_bit(number, bits) for bits in zip(*choices, strict=True))),
        ]
        return offset

    def _row(self, m: Module, squares: int) -> tuple[Value, Value]:
        """Return the factor of all lanes, and the window of a norm, from one on; else zero.

        The factor of a sum of squares is given; of values it is one.
        """
        spec, widths, step = self.spec, self.widths, self.step
        window = Signal(range(len(widths.places) + 1))
        factor, chosen = Signal(widths.factor), Signal.like(window)
        one: Value = C(1 << spec.magnitude_width + 4, widths.factor)
        scale = step.factor
        if widths.norms:
            with m.Switch(step.shift):
                for shift in range(widths.least, widths.places[-1] + 1):
                    with m.Case(shift):
                        m.d.comb += window.eq(1 + sum(weight < shift for weight in widths.places))
            m.d.comb += chosen.eq(Mux(self.rounds, window, 0))
            one = Mux(step.norm, Mux(step.squaring, squares, 1), one)
        else:
            scale = Cat(C(0, 1), scale)
        m.d.comb += factor.eq(Mux(step.scaling, scale, one))
        return factor, chosen

    def add(
        self, m: Module, values: list[Value], keep: list[Value], carried: Value
    ) -> tuple[list[Value], Value, list[Value]]:
        """Build all lanes.

        Parameters
        ----------
        m : where the gates go.
        values, keep : of each lane: a value, and whether it counts.
        carried : half a code, and what is left of the codes before, of stage t.

        Returns
        -------
        Codes; the sum of the values, two's complement; and whether codes have ones in all bits but
        the highest instead.
        """
        lanes = [
            self._value(m, lane, value, valid)
            for lane, (value, valid) in enumerate(zip(values, keep, strict=True))
        ]
        group, point = GROUP if self.widths.softmax else len(lanes), self.widths.point
        # What a norm rounds by is half a code in all lanes.
        clear = self.rounds if self.widths.softmax and self.widths.norms else None
        values = [value for value, _ in lanes]
        starts, total = held_sums(m, self.step.move, values, group, carried[:point], clear)
        codes: list[Value] = []
        fulls: list[Value] = []
        for lane, (value, high) in enumerate(lanes):
            if lane % group == 0:
                self.before = starts[lane // group]
            code, full = self._code(m, lane, value, high)
            codes.append(code)
            fulls.append(full)
        return codes, total, fulls

    def _code(self, m: Module, lane: int, made: Value, high: Value) -> tuple[Value, Value]:
        """Make a code of a value in stage s; :attr:`before` is added, then what is left."""
        spec, widths, step = self.spec, self.widths, self.step
        point, width, more = widths.point, spec.out_width, spec.magnitude_width
        ones = (1 << width - 1) - 1 << point if widths.norms else 0
        value = Signal(len(made), name=f"t{lane}", init=ones, reset_less=True)
        with m.If(step.move):
            m.d.sync += value.eq(made)
            if widths.norms:
                with m.If(high):
                    m.d.sync += value[point : point + width - 1].eq(-1)
        if widths.softmax:
            grown = Signal(widths.value, name=f"grown{lane}")
            m.d.comb += grown.eq(value + self.before)
            self.before = Cat(grown[: point - 1], grown[point - 1] | self.rounds)
            whole: Value = grown[point : point + width + 1]
        else:
            whole = Signal(width + 1, name=f"whole{lane}")
            m.d.comb += whole.eq(value[: width + 2] + 1 >> 1)
        # A norm that was not beyond the least code before is not after it is rounded.
        beyond = Signal(name=f"beyond{lane}")
        m.d.comb += beyond.eq(Mux(step.norm, whole[-1] ^ whole[-2], whole[more]))
        full = ~step.norm & int(more == width)
        top = Mux(beyond, full, whole[width - 1] & (step.norm | int(more == width)))
        return Cat(whole[: width - 1], top), beyond

    def _value(self, m: Module, lane: int, bits: Value, keep: Value) -> tuple[Value, Value]:
        """Make a value, of a norm the least if it is beyond; and whether it is the greatest."""
        spec, widths, step = self.spec, self.widths, self.step

        def signal(name: str, width: int) -> Signal:
            return Signal(width, name=f"{name}{lane}", reset_less=True)

        difference, d_keep = Signal(spec.width + 1, name=f"difference{lane}"), signal("d_keep", 1)
        given = self.factors.lane(m, lane, difference)
        # Flip-flops that are set begin set.
        ones = (1 << spec.MEAN_FRACTION) - 1 if widths.norms else 0
        a = Signal(widths.operand, name=f"a{lane}", init=ones, reset_less=True)
        a_octave, a_keep = signal("a_octave", widths.octave), signal("a_keep", 1)
        p, p_octave = signal("p", widths.operand + widths.factor), signal("p_octave", widths.octave)
        s, s_high = signal("s", widths.value), signal("s_high", 1)
        value, clears, over = self._windows(m, lane, p, p_octave)
        m.d.comb += difference.eq(self.offset - bits.as_signed())
        with m.If(step.move):
            m.d.sync += [
                d_keep.eq(keep),
                a.eq(given.operand),
                a_keep.eq(d_keep & given.keep),
                a_octave.eq(given.octave),
                p_octave.eq(a_octave),
                p.eq(a.as_signed() * given.factor.as_signed()),
                s.eq(value),
                s_high.eq(over & ~p[-1]),
            ]
            with m.If(~a_keep):
                m.d.sync += p.eq(0)
            if widths.norms:
                for bit, low in zip(a, self.low, strict=False):
                    with m.If(low):
                        m.d.sync += bit.eq(1)
            for bit, clear in zip(s, clears, strict=True):
                with m.If(clear):
                    m.d.sync += bit.eq(0)
        return s, s_high

    def _windows(
        self, m: Module, lane: int, p: Value, number: Value
    ) -> tuple[Value, list[Value], Value]:
        """Choose a value out of a product.

        Returns
        -------
        It; which of its bits are cleared; and whether it overflows as a code.
        """
        spec, widths = self.spec, self.widths
        step, width = widths.span, spec.exponential_width + 1
        # Places of a norm: half a code, and its sign.
        half, sign = widths.point - 1, widths.point + spec.out_width - 1

        def bit(position: int) -> Value:
            return p[min(position, len(p) - 1)]

        split = width - step if widths.softmax and widths.octaves > 1 else widths.value
        value: list[Value] = []
        for position in range(widths.value):
            chosen = bit(spec.MEAN_FRACTION + position)
            if position < split and widths.softmax:
                chosen = pick_bit(
                    number,
                    [
                        bit(spec.MEAN_FRACTION + step * octave + position)
                        for octave in range(widths.octaves)
                        if position < width - step * octave
                    ]
                    or [chosen],
                )
            if widths.norms and position >= sign:
                chosen = Mux(self.rounds, p[-1], chosen & ~number.any())
            elif widths.norms and position >= half:
                norms = [bit(norm - widths.point + position) for norm in widths.places]
                chosen = pick_bit(self.window, [chosen, *norms])
            value.append(chosen)
        over: Value = C(0, 1)
        # A difference times a factor has no more bits below its sign.
        above = min(len(p) - 1, spec.width + spec.MEAN_FRACTION + widths.factor - 1)
        for within, norm in reversed([*zip(self.within, widths.places, strict=False)]):
            end, above = above, min(norm + spec.out_width - 1, above)
            if above < end:
                over = over | within & (p[above:end] ^ p[-1].replicate(end - above)).any()
        beyond, later, either = (
            Signal(name=f"{name}{lane}") for name in ("p_beyond", "p_later", "p_either")
        )
        m.d.comb += [beyond.eq(over), later.eq(number.any()), either.eq(later | beyond)]
        clears: list[Value] = []
        for position in range(widths.value):
            if widths.softmax and position < half:
                clears.append(self.rounds | (later if position >= split else 0))
            elif widths.norms and position >= sign:
                clears.append(C(0, 1))
            else:
                clears.append(either if position >= split else beyond)
        return Cat(value), clears, beyond

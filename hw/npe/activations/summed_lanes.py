"""Lanes of a vector unit for softmax and norms alone: shifts around the product, one adder each."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.arith.shifter import shift_left
from hw.npe.activations.row_exponential import exp_parts
from hw.npe.activations.summed_table import SummedTable
from hw.npe.activations.summed_widths import SummedWidths

__all__ = ["SummedLanes", "SummedStep"]


@dataclass(kw_only=True)
class SummedStep:
    """What all lanes do in a cycle.

    Members
    -------
    move : clock enable.
    norm, scaling, squaring : the pass is of a norm; makes codes; or sums of squares.
    offset, low : what values are subtracted from; bits below.
    factor, shift : of the row.
    """

    move: Value
    norm: Value
    scaling: Value
    squaring: Value
    offset: Value
    low: Value
    factor: Value
    shift: Value


class SummedLanes:
    """Multiplies differences or exponentials by a factor, and adds products up, from lane to lane.

    A mantissa is shifted by a part of its octaves before the product, a norm's factor once a row;
    so there are few windows in which a result can be in the product. The adders that carry
    rounding errors along the row make sums, too, and round norms.

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
        self.spec, self.step, self.adder = spec, step, adder
        self.widths = SummedWidths(spec, table=table)
        self.tables: list[SummedTable] | None = [] if table else None
        self.rounds: Value = step.norm & step.scaling
        self.factor, self.window = self._row(m)
        self.before: Value = C(0, 1)
        self.sum: Value = C(0, 1)

    def _row(self, m: Module) -> tuple[Value, Value]:
        """Return the factor of all lanes, and the window of a norm, from one on; else zero."""
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
            # Squares have another one.
            sums = Mux(step.squaring, 0, -1)
            own = Mux(step.norm, Mux(step.scaling, scaled, sums), own)
        m.d.comb += factor.eq(own)
        return factor, chosen

    def add(self, m: Module, lane: int, bits: Value, keep: Value, carried: Value) -> Value:
        """Build the next lane.

        Parameters
        ----------
        m, lane : where the gates go, and the lane's number.
        bits, keep : a value, and whether it counts.
        carried : what the first lane adds: half a code, and what is left of the codes before.

        Returns
        -------
        The code. :attr:`before` is then what is left, :attr:`sum` the sum up to here.
        """
        spec, widths, step = self.spec, self.widths, self.step
        value, over, sign = self._value(m, lane, bits, keep)
        grown = Signal(widths.value + lane.bit_length(), name=f"grown{lane}")
        point, width, more = widths.point, spec.out_width, spec.magnitude_width
        if widths.softmax:
            before = self.before if lane else Cat(carried, C(0, 1))
            m.d.comb += grown.eq(value.as_signed() + before.as_signed())
            errors = Cat(grown[: point - 1], grown[point - 1] | self.rounds)
            whole = grown[point : point + width + 1]
            self.before = Cat(errors, Mux(step.scaling, 0, grown[point:]))
            self.sum = grown
        else:
            m.d.comb += grown.eq(self.sum.as_signed() + value.as_signed())
            self.sum = grown
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

        below, d_keep = signal("d_below", spec.width + 1), signal("d_keep", 1)
        difference = Signal(spec.width + 1, name=f"difference{lane}")
        m.d.comb += difference.eq(step.offset.as_signed() - bits.as_signed())
        a, a_factor = signal("a", widths.operand), signal("a_factor", widths.factor)
        p = signal("p", widths.operand + widths.factor)
        a_octave, p_octave = signal("a_octave", widths.octave), signal("p_octave", widths.octave)
        octave: Value = C(0, widths.octave)
        operand: Value = Cat(step.low, below).as_signed()
        kept: Value = d_keep
        if self.tables is not None:
            operand, octave = self._looked_up(m, lane, difference)
        elif widths.softmax:
            power, octave, beyond = self._power(m, lane, below)
            kept = d_keep & (step.norm | ~beyond)
            operand = Mux(step.norm, operand, power) if widths.norms else power
            octave = Mux(step.norm, 0, octave)
        squares = step.squaring & step.norm & ~step.scaling
        s, s_over, s_sign = signal("s", widths.value), signal("s_over", 1), signal("s_sign", 1)
        value, split, over = self._windows(p, p_octave)
        low = len(below)
        with m.If(step.move):
            m.d.sync += [
                below.eq(difference), d_keep.eq(keep), a.eq(operand),
                a_octave.eq(octave), p_octave.eq(a_octave), a_factor.eq(self.factor),
                p.eq(a.as_signed() * a_factor.as_signed()),
                s.eq(value), s_over.eq(over), s_sign.eq(p[-1]),
            ]  # fmt: skip
            with m.If(~kept):
                m.d.sync += a.eq(0)
            if widths.norms:
                with m.If(squares):
                    m.d.sync += a_factor[:low].eq(below)
                with m.If(squares & below[-1]):
                    m.d.sync += a_factor[low:].eq(-1)
            if widths.softmax:
                with m.If(self.rounds):
                    m.d.sync += s[: widths.point - 1].eq(0)
                with m.If(p_octave.any() & ~self.rounds):
                    m.d.sync += s[split:].eq(0)
        return s, s_over, s_sign

    def _looked_up(self, m: Module, lane: int, difference: Value) -> tuple[Value, Value]:
        """Look the operand and the octave of a difference up, for stage d."""
        assert self.tables is not None
        if lane % 2 == 0:
            self.tables.append(SummedTable(self.spec, self.widths))
            m.submodules[f"table{lane // 2}"] = self.tables[-1].memory
        step, spec = self.step, self.spec
        word, octave = self.tables[-1].read(m, difference, step.norm, step.move, f"word{lane}")
        if not self.widths.norms:
            return word, octave
        word = word | (step.low & step.norm.replicate(spec.MEAN_FRACTION))  # mantissas: no sign
        return Cat(word, word[-1] & step.norm), octave

    def _power(self, m: Module, lane: int, below: Value) -> tuple[Value, Value, Value]:
        """Return an exponential within its octave, that one's number, and whether it is beyond."""
        spec, widths = self.spec, self.widths
        mantissa, whole = exp_parts(m, 1 << spec.scale_width, below[: spec.width], self.adder)
        fine = (widths.span - 1).bit_length()
        width = len(mantissa) + widths.span - 1
        places = ~Cat(whole, C(0, fine))[:fine]
        shifted = shift_left(m, mantissa, places, width, f"power{lane}_")
        octave = whole[fine:]
        return (
            Cat(C(0, widths.left), shifted, C(0, 1)),
            octave[: widths.octave],
            octave >= widths.octaves,
        )

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
                found = _pick(number, [
                    bit(spec.MEAN_FRACTION + step * octave + place)
                    for octave in range(widths.octaves) if place < width - step * octave
                ] or [found])  # fmt: skip
            if widths.norms and place >= widths.point - 1:
                norms = [bit(norm - widths.point + place) for norm in widths.places]
                found = _pick(self.window, [found, *norms])
            value.append(found)
        over: Value = C(0, 1)
        overs: list[Value] = []
        above = len(p) - 1
        for norm in reversed(widths.places if widths.norms else []):
            end, above = above, min(norm + spec.out_width - 1, above)
            if above < end:
                over = over | (p[above:end] ^ p[-1].replicate(end - above)).any()
            overs.insert(0, over)
        return Cat(value), split, _pick(self.window, [C(0, 1), *overs])


def _pick(number: Value, bits: Sequence[Value]) -> Value:
    """Choose one of some bits, or zero beyond them; of four, in two look-up tables of four."""
    if not len(number):
        return bits[0]
    if len(number) == 1:
        return Mux(number, bits[1] if len(bits) > 1 else C(0, 1), bits[0])
    if len(number) == 2:
        first, second, third, fourth = [*bits, *[C(0, 1)] * 3][:4]
        either = Mux(number[1], number[0], Mux(number[0], second, first))
        return Mux(number[1], Mux(either, fourth, third), either)
    half = 1 << len(number) - 1
    upper = _pick(number[:-1], bits[half:] or [C(0, 1)])
    return Mux(number[-1], upper, _pick(number[:-1], bits[:half]))

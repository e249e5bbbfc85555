"""Lanes of a vector unit for softmax and norms alone: shifts around the product, one adder each."""

from collections.abc import Sequence
from dataclasses import dataclass

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.arith.shifter import shift_left
from hw.npe.activations.row_exponential import exp_parts
from hw.npe.activations.summed_widths import FINE, SummedWidths

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

    A mantissa is shifted by the lowest bits of its octaves before the product, a norm's factor
    once a row; so there are few windows in which a result can be in the product. The adders that
    carry rounding errors along the row make sums, too, and round norms.

    Parameters
    ----------
    m : where the gates go.
    spec : operations without requantisation.
    step : what is done.
    adder : carry propagation, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    widths : :class:`SummedWidths`.
    """

    def __init__(self, m: Module, spec: VectorUnitSpec, step: SummedStep, adder: str):
        self.spec, self.step, self.adder = spec, step, adder
        self.widths = SummedWidths(spec)
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
            own = Mux(step.norm, Mux(step.scaling, scaled, -1), own)
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
        a, a_factor = signal("a", widths.operand), signal("a_factor", widths.factor)
        p = signal("p", widths.operand + widths.factor)
        number = widths.octaves.bit_length()
        a_octave, p_octave = signal("a_octave", number), signal("p_octave", number)
        operand: Value = Cat(step.low, below).as_signed()
        octave: Value = C(0, number)
        if widths.softmax:
            power, octave = self._power(m, lane, below, number)
            if widths.norms:
                operand = Mux(step.norm, operand, power)
                octave = Mux(step.norm, step.scaling.replicate(number), octave)
            else:
                operand = power
        own = Mux(step.squaring & step.norm & ~step.scaling, below.as_signed(),
                  self.factor.as_signed())  # fmt: skip
        s, s_over, s_sign = signal("s", widths.value), signal("s_over", 1), signal("s_sign", 1)
        value, cleared, over = self._windows(p, p_octave)
        clears = p_octave.any() & ~self.rounds
        with m.If(step.move):
            m.d.sync += [
                below.eq(step.offset.as_signed() - bits.as_signed()), d_keep.eq(keep),
                a_factor.eq(own), a_octave.eq(octave), p_octave.eq(a_octave),
                p.eq(a.as_signed() * a_factor.as_signed()),
                s.eq(Cat(value, cleared)), s_over.eq(over), s_sign.eq(p[-1]),
            ]  # fmt: skip
            with m.If(d_keep):
                m.d.sync += a.eq(operand)
            with m.Else():
                m.d.sync += a.eq(0)
            if len(cleared):
                with m.If(clears):
                    m.d.sync += s[-len(cleared) :].eq(0)
        return s, s_over, s_sign

    def _power(self, m: Module, lane: int, below: Value, number: int) -> tuple[Value, Value]:
        """Return an exponential without its higher octaves, and their number: ones if beyond."""
        spec = self.spec
        mantissa, whole = exp_parts(m, 1 << spec.scale_width, below[: spec.width], self.adder)
        width = len(mantissa) + (1 << FINE) - 1
        shifted = shift_left(m, mantissa, ~Cat(whole, C(0, FINE))[:FINE], width, f"power{lane}_")
        high = Cat(whole[FINE:], C(0, number))
        beyond = high[number:].any()
        left = C(0, spec.carry_width - spec.scale_width - 5)
        return Cat(left, shifted, C(0, 1)), high[:number] | beyond.replicate(number)

    def _windows(self, p: Value, number: Value) -> tuple[Value, Value, Value]:
        """Choose a value out of a product.

        Returns
        -------
        Its lower bits; those that must be cleared if there are higher octaves; and the overflow.
        """
        spec, widths = self.spec, self.widths
        step, width = 1 << FINE, spec.exponential_width + 1

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
        return Cat(value[:split]), Cat(value[split:]), _pick(self.window, [C(0, 1), *overs])


def _pick(number: Value, bits: Sequence[Value]) -> Value:
    """Choose one of some bits, or zero beyond them; of four, in two look-up tables of four."""
    if len(number) == 1:
        return Mux(number, bits[1] if len(bits) > 1 else C(0, 1), bits[0])
    if len(number) == 2:
        first, second, third, fourth = [*bits, *[C(0, 1)] * 3][:4]
        either = Mux(number[1], number[0], Mux(number[0], second, first))
        return Mux(number[1], Mux(either, fourth, third), either)
    half = 1 << len(number) - 1
    upper = _pick(number[:-1], bits[half:] or [C(0, 1)])
    return Mux(number[-1], upper, _pick(number[:-1], bits[:half]))

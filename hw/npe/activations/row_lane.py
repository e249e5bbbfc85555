"""A lane of the vector unit: a difference, an exponential, a product, a shift."""

from dataclasses import dataclass, field

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.npe.vector import VectorUnitSpec
from hw.npe.activations.row_exponential import exp_parts
from hw.npe.activations.row_gate import GateDigits
from hw.npe.activations.row_shares import mantissa
from hw.npe.activations.row_shares import octaves as octaves_of
from hw.npe.rounding.requantise_column import floor_shift

__all__ = ["Elements", "LaneWidths", "RowStep", "row_lane"]


class LaneWidths:
    """Bits of what lanes hold, for the operations that are built.

    Members
    -------
    value : of a shifted product.
    factor, operand : of the factors of a product.
    shift : of the places that it is shifted.
    below : of a difference.
    linear : whether differences are operands, not exponentials alone.
    """

    def __init__(self, spec: VectorUnitSpec):
        norms = spec.builds(spec.NORMS)
        self.linear = norms or spec.scales
        # Exponentials, shifted until nothing is left of them; a sign.
        self.value = spec.exponential_width + 2
        self.factor = spec.magnitude_width + 5
        self.operand = spec.carry_width - 2
        self.below = spec.width + 1 + spec.builds(["add"])
        most = spec.exponential_width + 1
        if self.linear:
            # Differences from a mean.
            self.factor = max(spec.reciprocal_width, spec.width) + 1
            self.operand = self.below + spec.MEAN_FRACTION
        if norms:
            # Squares; shifts, of the largest deviation.
            self.value = max(self.value, 2 * spec.width)
            deviation = spec.reciprocal_width + spec.width + spec.MEAN_FRACTION
            most = max(most, deviation - spec.norm_fraction)
        if spec.scales:
            most = max(most, spec.scaling.shift_format.high)
        if spec.builds(["multiply"]):
            self.operand = max(self.operand, 2 * spec.width)
        self.shift = most.bit_length()


@dataclass(kw_only=True)
class Elements:
    """What requantised operations add to a step.

    Members
    -------
    sums : a value is subtracted from the difference before it, not from the offset.
    products, gates : the operation of the pass.
    again : a product comes back as an operand.
    first, second : of the beat in stage d: the first of a gate, the other of two operands.
    multiplier : of the requantisation.
    slope : of a gate.
    ones : in place of values, where a gate's are multiplied by its quotients, there are ones: the
        operation is a sigmoid.
    digits : of a gate's quotients; None where none is built.
    """

    sums: Value
    products: Value
    gates: Value
    again: Value
    first: Value
    second: Value
    multiplier: Value
    slope: Value
    ones: Value
    digits: GateDigits | None = field(default=None)


@dataclass(kw_only=True)
class RowStep:
    """What all lanes do in a cycle.

    Members
    -------
    move : clock enable.
    norm : differences, not exponentials, are multiplied.
    offset, low : what values are subtracted from; bits below.
    factor, shift : that all lanes have.
    square : differences are multiplied by themselves.
    elements : of requantised operations, if any is built.
    shares, block_octaves : where shares are built: the pass is of those; whole octaves of the
        greatest value of the block, of stage d.
    """

    move: Value
    norm: Value
    offset: Value
    low: Value
    factor: Value
    square: Value
    shift: Value
    elements: Elements | None = None
    shares: Value | None = None
    block_octaves: Value | None = None


def row_lane(
    m: Module, spec: VectorUnitSpec, lane: int, bits: Value, keep: Value, step: RowStep, adder: str
) -> tuple[Value, Value, Value]:
    """Subtract a value, take the exponential, multiply and shift.

    Returns
    -------
    The floor, the bit below it, and whether it overflows; two's complement.
    """
    widths, more = LaneWidths(spec), step.elements

    def signal(name: str, width: int) -> Signal:
        return Signal(width, name=f"{name}{lane}", reset_less=True)

    def held(name: str, width: int, value: Value, register: Signal | None = None) -> Signal:
        register = signal(name, width) if register is None else register
        with m.If(step.move):
            m.d.sync += register.eq(value)
        return register

    norm, offset = step.norm, step.offset.as_signed()
    product_width = widths.operand + widths.factor
    back: Signal | None = None
    below_register: Signal | None = None
    if more is not None:
        back, below_register = signal("p", product_width), signal("d_below", widths.below)
        offset = Mux(more.sums, below_register.as_signed(), offset)
    below = held("d_below", widths.below, offset - bits.as_signed(), below_register)
    d_keep = held("d_keep", 1, keep)
    argument: Value = below[: spec.width]
    chosen: Value = norm
    valid: Value = d_keep
    if more is not None and back is not None:
        if spec.builds(spec.GATES):
            # The slope's bits after the point, too.
            start = spec.MEAN_FRACTION + 6
            turned = back[start : start + spec.width]
            argument = Mux(more.again, turned, argument) if "softmax" in spec.built else turned
        chosen, valid = norm & ~(more.again & more.gates), d_keep | more.again
    value: Value = below
    if more is not None and spec.builds(["sigmoid"]):
        value = Mux(more.ones, -1, below.as_signed())[: len(below)]
    linear: Value = Cat(step.low, value) if widths.linear else C(0, widths.operand)
    linear = Cat(linear, linear[-1].replicate(max(widths.operand - len(linear), 0)))
    if more is not None and back is not None and spec.builds(["multiply"]):
        product = back[spec.MEAN_FRACTION : spec.MEAN_FRACTION + widths.operand]
        linear = Mux(more.again, product, linear)
    power, octaves = _power(m, spec, lane, (argument, below), step, adder)
    a = held("a", widths.operand, Mux(chosen, linear, power) & valid.replicate(widths.operand))
    factor = step.factor
    if widths.linear:
        factor = Mux(step.square, below.as_signed(), factor.as_signed())
    gated: Value | None = None
    if more is not None:
        factor, gated = _factor(m, spec, lane, below, factor, step, more)
    a_factor = held("a_factor", widths.factor, factor)
    a_shift = held("a_shift", widths.shift, Mux(chosen, step.shift, octaves))
    p = held("p", product_width, a.as_signed() * a_factor.as_signed(), back)
    p_shift = held("p_shift", widths.shift, a_shift)
    # A probability is not negative, and fits.
    wide = p if widths.linear else Cat(p[: spec.exponential_width + 1], C(0, 1))
    floor, half, _, over = floor_shift(m, wide, p_shift, widths.value)
    s = held("s", widths.value, floor)
    if gated is not None:
        m.d.comb += gated.eq(s[spec.exponential_width - spec.gate_width :])
    return s, held("s_half", 1, half), held("s_over", 2, Cat(over, p[-1]))


def _power(
    m: Module,
    spec: VectorUnitSpec,
    lane: int,
    of: tuple[Value, Value],
    step: RowStep,
    adder: str,
) -> tuple[Value, Value]:
    """Return the mantissa of an exponential, as an operand, and the octaves it is shifted by.

    Of a magnitude; or, of shares, of a value that all bits have been inverted of.
    """
    widths, (argument, below) = LaneWidths(spec), of
    power: Value = C(0, widths.operand)
    octaves: Value = C(0, widths.shift)
    if spec.builds(["softmax", *spec.GATES]):
        line, whole = exp_parts(m, 1 << spec.scale_width, argument, adder)
        power = Cat(C(0, spec.carry_width - spec.scale_width - 5), line)
        beyond = whole[widths.shift :].any() if len(whole) > widths.shift else C(0, 1)
        octaves = whole[: widths.shift] | beyond.replicate(widths.shift)
    if step.shares is None or step.block_octaves is None:
        return power, octaves
    whole, rest = octaves_of(m, spec, ~below[: spec.width], adder)
    # The factor, one, has places for a probability, and a code has those of what is carried.
    places = spec.carry_width - spec.magnitude_width - 3
    most = ((1 << spec.width) * spec.octave_factor >> spec.width + spec.scale_width) + 2
    less = Signal(range(most + max(-places, 0)), name=f"share_octaves{lane}")
    m.d.comb += less.eq(step.block_octaves - whole + max(-places, 0))
    share = Cat(C(0, max(places, 0)), mantissa(m, spec, rest, f"share{lane}"))
    shift: Value = less
    if len(less) > widths.shift:
        shift = less[: widths.shift] | less[widths.shift :].any().replicate(widths.shift)
    return Mux(step.shares, share, power), Mux(step.shares, shift, octaves)


def _factor(
    m: Module,
    spec: VectorUnitSpec,
    lane: int,
    below: Value,
    factor: Value,
    step: RowStep,
    more: Elements,
) -> tuple[Value, Value | None]:
    """Choose the factor of a lane; return it, and where a gate's exponential goes."""
    exponential: Signal | None = None
    if spec.builds(["multiply"]):
        other = Signal(spec.width + 1, name=f"a_other{lane}", reset_less=True)
        with m.If(step.move & more.second):
            m.d.sync += other.eq(below)
        factor = Mux(more.products & ~more.again, other.as_signed(), factor.as_signed())
    if more.digits is not None:
        exponential = Signal(spec.gate_width + 1, name=f"exponential{lane}")
        sign = below[-1]
        gate = more.digits.factor(m, lane, exponential, more.multiplier, sign)
        steep = Mux(sign, -more.slope, more.slope)
        gated = Mux(more.first, steep.as_signed(), gate.as_signed())
        factor = Mux(more.gates & ~more.again, gated, factor.as_signed())
    return factor, exponential

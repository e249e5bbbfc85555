"""Largest exponents of blocks, and alignment of codes to them."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from golden.npe.aligner import AlignerSpec
from hw.arith.adder import resolve
from hw.arith.shifter import normalise
from hw.lib.shared_module import SharedModule
from hw.npe.floats.add import align
from hw.npe.floats.greatest import greatest
from hw.npe.floats.term import unpack

__all__ = ["AlignLane", "Frame", "Peak"]


class Frame:
    """Encoding of a block's exponent: a field of the format plus `rise`.

    A block of only subnormals has an exponent below that of its field; its codes are shifted left
    or, thanks to `rise`, less to the right.

    Members
    -------
    rise : how far an exponent may be below the smallest field's.
    least, most : fields of the exponents of the smallest and the largest scale.
    top_width : bits of an exponent.
    """

    def __init__(self, spec: AlignerSpec):
        fmt = spec.number
        self.least, self.most = fmt.bias - 127, fmt.bias + 127
        self.rise = min(max(1 - self.least, 0), fmt.mantissa_bits)
        self.greatest = (1 << fmt.exponent_bits) - 1
        self.top_width = (max(self.greatest, self.least) + self.rise).bit_length()


class Peak(data.StructLayout):
    """Summary of a block's codes: the largest exponent field, at least 1.

    ``normal``: a code is not subnormal; ``low``: the OR of mantissas, if all are subnormal;
    ``nan``: a code is NaN.
    """

    def __init__(self, spec: AlignerSpec):
        self.spec = spec
        fmt = spec.number
        super().__init__({
            "exponent": signed(max(fmt.exponent_bits, 1) + 1),
            "normal": 1,
            "low": fmt.mantissa_bits,
            "nan": 1,
        })

    def signal(self, name: str) -> Signal:
        """Make a register of this layout."""
        return Signal(self.size, name=name, reset_less=True)

    def join(self, m: Module, codes: Value, before: data.View, first: Value) -> Value:
        """Merge the codes of a beat into the block's summary, or start with a first beat."""
        fmt = self.spec.number
        numbers = [
            unpack(m, codes.word_select(lane, fmt.width), fmt, f"number{lane}")
            for lane in range(self.spec.lanes)
        ]
        start = Signal(self.size, name="kept")
        m.d.comb += start.eq(Mux(first, 0, before.as_value()))
        others = data.View(self, start)
        peak = data.View(self, Signal(self.size, name="peak"))
        mantissas = [number.significand[: fmt.mantissa_bits] for number in numbers]
        m.d.comb += [
            peak.exponent.eq(greatest(m, [others.exponent, *(x.exponent for x in numbers)])),
            peak.normal.eq(others.normal | Cat(x.significand[-1] for x in numbers).any()),
            peak.low.eq(_union([others.low, *mantissas])),
            peak.nan.eq(others.nan | Cat(x.nan | x.infinite for x in numbers).any()),
        ]
        return peak.as_value()

    def top(self, m: Module, peak: data.View) -> tuple[Value, Value]:
        """Return the exponent of a block, and the code of its scale."""
        frame, bits = Frame(self.spec), self.spec.number.mantissa_bits
        exponent = Signal(frame.top_width, name="top")
        m.d.comb += exponent.eq(peak.exponent.as_unsigned() + frame.rise)
        if frame.rise:
            zeros: Value = C(0, 1) if bits == 1 else normalise(m, peak.low, "subnormal")[1]
            with m.If(~peak.normal):
                few = Mux(zeros < frame.rise, zeros, frame.rise - 1)
                m.d.comb += exponent.eq(frame.rise - few)
        if frame.least > 1:
            with m.If(peak.exponent < frame.least):
                m.d.comb += exponent.eq(frame.least)
        if frame.greatest > frame.most:
            with m.If(peak.exponent > frame.most):
                m.d.comb += exponent.eq(frame.most + frame.rise)
        scale = Signal(8, name="scale")
        m.d.comb += scale.eq(exponent - (frame.rise + frame.least))
        with m.If(peak.nan):
            m.d.comb += scale.eq(255)
        with m.Elif(~peak.normal & ~peak.low.any()):
            m.d.comb += scale.eq(0)
        return exponent, scale


class AlignLane(SharedModule):
    """Aligns a code to the exponent of its block, and rounds it.

    Magnitudes are shifted and rounded; one addition negates and rounds up.

    Parameters
    ----------
    spec : AlignerSpec
        What: formats and rounding.
    adder, pipeline
        How: as in :class:`hw.npe.aligner.Aligner`.

    Members
    -------
    en : In(1)
        Clock enable.
    i : In
        A code.
    i_top, i_nan : In
        Exponent of its block, see :class:`Frame`, and whether that is NaN.
    o : Out
        The integer, :attr:`latency` cycles after its code.
    """

    module = "align_lane"

    en: Signal
    i: Signal
    i_top: Signal
    i_nan: Signal
    o: Signal

    def __init__(self, spec: AlignerSpec, *, adder: str, pipeline: int):
        self.spec = spec
        self.frame = Frame(spec)
        self.adder = adder
        self.pipeline = pipeline
        super().__init__({
            "en": In(1),
            "i": In(spec.number.width),
            "i_top": In(self.frame.top_width),
            "i_nan": In(1),
            "o": Out(spec.width),
        })

    @property
    def latency(self) -> int:
        """Cycles from a code to its integer."""
        return 1 + self.pipeline

    def elaborate(self, platform):
        m = Module()
        fmt, frame = self.spec.number, self.frame
        number = unpack(m, self.i, fmt, "number")
        right = Signal(range(frame.greatest + frame.rise + 1), name="right")
        m.d.comb += right.eq(self.i_top - number.exponent.as_unsigned())
        # Magnitude, guard bit, and sticky bits.
        size = max(fmt.significand_width, self.spec.width + 1)
        room = size - fmt.significand_width + frame.rise
        bits = align(m, Cat(C(0, room), number.significand), right)[:size]
        beyond: Value = C(0, 1)
        if frame.greatest > frame.most:
            beyond = number.exponent > frame.most
        places = self.spec.width - 1
        rest, guard, high = bits[: -places - 1], bits[-places - 1], bits[-places:]
        parts: Value = Cat(
            high | beyond.replicate(places), guard, rest.any(), number.sign, self.i_nan
        )
        if self.pipeline:
            held = Signal(len(parts), name="held", reset_less=True)
            with m.If(self.en):
                m.d.sync += held.eq(parts)
            parts = held
        with m.If(self.en):
            m.d.sync += self.o.eq(self._round(m, parts))
        return m

    def _round(self, m: Module, parts: Value) -> Value:
        """Round a magnitude up, saturating, and negate it."""
        places = self.spec.width - 1
        significand, (guard, sticky, sign, nan) = parts[:places], parts[places:]
        up: Value = C(0, 1)
        if self.spec.rounding == "rne":
            up = guard & (sticky | significand[0]) & ~significand.all()
        # -(x + up) is the complement of x, plus 1 - up.
        columns: list[list[Value]] = [[bit ^ sign] for bit in significand] + [[sign]]
        columns[0].append(up ^ sign)
        return resolve(m, columns, self.adder) & ~nan.replicate(self.spec.width)


def _union(values: list[Value]) -> Value:
    """OR values of equal width."""
    union = values[0]
    for value in values[1:]:
        union = union | value
    return union

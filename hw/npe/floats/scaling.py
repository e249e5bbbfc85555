"""Scaling and accumulation of block sums."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import signed
from amaranth.lib import data

from golden.npe.block_scale import BlockScaleSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.shifter import shift_right
from hw.npe.floats.add import add
from hw.npe.floats.stream import Steps
from hw.npe.floats.term import multiply_integers, unpack
from hw.npe.rounding.normalised import Cut, no_cut, normal
from hw.npe.rounding.round_minifloat import minifloat_reach, round_minifloat
from hw.npe.rounding.rounding import Rounding

__all__ = ["Scaling"]


class Scaling:
    """Scales the sum of a block, and adds it to the accumulator.

    All register places are before the addition, but one with "e4m3" scales, whose sums are exact.

    Parameters
    ----------
    spec : BlockScaleSpec
        What: format of scales, widths.
    encoding, adder : str
        How: see :data:`hw.npe.floats.stream.FLOAT_BUILD`.
    reach : int
        What: how far the last bit of sums may be above that of `spec`, at most, in bits.
    """

    def __init__(self, spec: BlockScaleSpec, encoding: str, adder: str, reach: int = 0):
        self.spec = spec
        self.encoding = encoding
        self.adder = adder
        self.reach = reach
        self.exact = spec.exact

    @property
    def width(self) -> int:
        """Bits of the accumulator: a code, or NaN and a fixed-point number."""
        return 1 + self.spec.accumulator_width if self.exact else self.spec.total.width

    def term(
        self,
        m: Module,
        number: Value,
        scales: tuple[Value, Value],
        invalid: Value,
        steps: Steps,
        above: Value | None = None,
    ) -> data.View:
        """Scale a sum whose last bit is `above` bits above that of `spec`."""
        if self.exact:
            return self._product(m, number, scales, invalid, steps)
        spec = self.spec
        exponent = Signal(signed(11), name="exponent")
        number, fields, less, nan = self._scaled(m, number, scales, invalid)
        least = fields + (spec.lsb - less)
        m.d.comb += exponent.eq(least if above is None else least + above)
        low, high = (spec.lsb + end for end in spec.bounds)
        bounds = low, high + self.reach
        (held,) = steps.cut(nan)
        normalised = normal(m, number, exponent, minifloat_reach(spec.total), bounds, steps.keep)
        (later,) = steps.cut(held)
        code = round_minifloat(
            m,
            spec.total,
            normalised.cut(steps.keep),
            how=Rounding(saturate=False, adder=self.adder),
            nan=later,
        )
        (code,) = steps.cut(code)
        return unpack(m, code, spec.total, "term")

    def _scaled(
        self, m: Module, number: Value, scales: tuple[Value, Value], invalid: Value
    ) -> tuple[Value, Value, int, Value]:
        """Multiply a sum by the significands of its scales.

        Returns
        -------
        The product; the sum of the scales' exponent fields, what it is more than the exponent of
        both last bits together; and whether the sum is invalid, or a scale NaN.
        """
        fmt = self.spec.scale_format
        if fmt is None:
            nan = invalid | scales[0].all() | scales[1].all()
            return number, scales[0] + scales[1], 254, nan
        # They have no sign.
        a, b = (
            unpack(m, Cat(scale[: fmt.width - 1], C(0, 1)), fmt, name)
            for scale, name in zip(scales, "ab", strict=True)
        )
        factor = multiply_integers(
            m, a.significand, b.significand, encoding=self.encoding, adder=self.adder
        )
        product = multiply_integers(
            m, number, factor, a_signed=True, encoding=self.encoding, adder=self.adder
        )
        less = 2 * (fmt.bias + fmt.mantissa_bits)
        return product, a.exponent + b.exponent, less, invalid | a.nan | b.nan

    def _product(
        self, m: Module, number: Value, scales: tuple[Value, Value], invalid: Value, steps: Steps
    ) -> data.View:
        """Multiply a sum by its scales, as an integer times 2^exact_lsb."""
        product, fields, less, nan = self._scaled(m, number, scales, invalid)
        low, high = self.spec.bounds
        # Shifted right from its place for the largest exponents, so that the sign fills in.
        room = high - low
        below = Signal(range(room + 1), name="below")
        m.d.comb += below.eq(high + less - fields)
        shifted, _ = shift_right(m, Cat(C(0, room), product), below, "scaled", fill=product[-1])
        layout = data.StructLayout({"nan": 1, "number": signed(len(shifted))})
        return data.View(layout, steps.cut(Cat(nan, shifted))[0])

    def add(
        self,
        m: Module,
        total: Value,
        term: data.View,
        cuts: tuple[Cut, Cut] = (no_cut, no_cut),
    ) -> Value:
        """Add a scaled sum; with "e8m0" scales, `cuts` are those of the addition."""
        if not self.exact:
            fmt = self.spec.total
            return add(m, unpack(m, total, fmt, "kept"), term, fmt, self.adder, cuts)
        heap = BitHeap(self.spec.accumulator_width)
        heap.add_term(list(total[1:]), signed=True)
        heap.add_term(list(term.number), signed=True)
        rows = heap.compress(m, [2] * heap.width)
        return Cat(total[0] | term.nan, resolve(m, rows, self.adder))

    def result(
        self,
        m: Module,
        total: Value,
        steps: Steps,
        above: Value | None = None,
        saturate: bool = False,
    ) -> Value:
        """Round an exact sum whose last bit is `above` bits above that of `spec`."""
        fmt = self.spec.total
        if not self.exact:
            if not saturate:
                return total
            infinite = total[:-1] == fmt.infinity_code
            return Cat(Mux(infinite, C(fmt.max_code, fmt.width - 1), total[:-1]), total[-1])
        low = self.spec.exact_lsb
        exponent = low if above is None else above + low
        (nan,) = steps.cut(total[0])
        reach = minifloat_reach(fmt)
        number = normal(m, total[1:], exponent, reach, (low, low + self.reach), steps.keep)
        (nan,) = steps.cut(nan)
        return round_minifloat(
            m,
            fmt,
            number.cut(steps.keep),
            how=Rounding(saturate=saturate, adder=self.adder),
            nan=nan,
        )

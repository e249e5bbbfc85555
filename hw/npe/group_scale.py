"""Sums of weight groups: zero points subtracted, scaled and accumulated."""

from dataclasses import replace
from typing import Any, ClassVar

from amaranth import C, Cat, Module, Signal, Value
from amaranth.hdl import signed
from amaranth.lib import data

from golden.check import Integer, Parameter
from golden.formats.integer import IntFormat
from golden.npe.group_scale import GroupScaleSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.product import encode, product_planes
from hw.lib.evidence import FLOAT
from hw.npe.floats.add import add
from hw.npe.floats.stream import FLOAT_BUILD, FloatStream, Steps
from hw.npe.floats.term import multiply_integers, unpack
from hw.npe.rounding.normalised import normal
from hw.npe.rounding.round_minifloat import minifloat_reach, round_minifloat
from hw.npe.rounding.rounding import Rounding

__all__ = ["GroupScale", "GroupSum"]

_BIAS = 127
"""Of E8M0."""


class GroupSum(data.StructLayout):
    """Sum of a group, its scale, NaN flag; ``last`` ends the run.

    With zero points, ``zero`` and the sum of the group's ``activations``; if activations have a
    scale, it is ``power``; with integer scales, ``column`` is the column's scale.
    """

    def __init__(self, spec: GroupScaleSpec):
        zeros = {"zero": spec.zero_width, "activations": spec.activation_width}
        super().__init__({
            "sum": spec.sum_width,
            **(zeros if spec.zeros != "none" else {}),
            "scale": spec.scale_width,
            **({"power": 8} if spec.aligned else {}),
            **({"column": spec.total.width} if spec.exact else {}),
            "invalid": 1,
            "last": 1,
        })


class Exactly(data.StructLayout):
    """An exact sum, and its final scale factors."""

    def __init__(self, spec: GroupScaleSpec, width: int):
        super().__init__({
            "nan": 1,
            "column": spec.total.width,
            "power": 8 if spec.aligned else 0,
            "number": signed(width),
        })


class GroupScale(FloatStream):
    """Scales the sums of weight groups and accumulates them.

    Computes :func:`golden.npe.group_scale.group_scale`, exactly. Floating scales and E8M0: each
    scaled sum is rounded to fp32, then added to the accumulator; all registers are before the
    addition. Integer scales: scaled sums go to a fixed-point accumulator, which is multiplied by
    the column's scale and rounded at the end of the run; two register places are after it.
    Members: see :class:`FloatStream`; ``i`` takes :class:`GroupSum`.

    Parameters
    ----------
    spec : GroupScaleSpec
        What: formats and widths.
    encoding, adder, pipeline
        How: see :data:`hw.npe.floats.stream.FLOAT_BUILD`; there is one more place.

    Examples
    --------
    >>> unit = GroupScale(GroupScaleSpec(sum_width=24))
    >>> unit.i.payload.shape()
    StructLayout({'sum': 24, 'scale': 16, 'invalid': 1, 'last': 1})
    >>> unit.latency
    4
    """

    SPEC = GroupScaleSpec
    SUMMARY = "sums of weight groups, minus zero points, scaled and accumulated"
    BENCH = "tb_float"
    EVIDENCE = (*FLOAT, "mutants")

    CUTS = 4
    BUILD: ClassVar[dict[str, Parameter]] = FLOAT_BUILD | {
        "pipeline": Integer("pipeline registers besides the accumulator", 3, 0, CUTS)
    }

    def __init__(self, spec: GroupScaleSpec, **build: Any):
        if not isinstance(spec, GroupScaleSpec):
            raise TypeError(f"spec must be a GroupScaleSpec, not {spec!r}")
        super().__init__(spec, GroupSum(spec), spec.total, **build)

    def term(self, m: Module, beat: data.View, steps: Steps) -> data.View:
        """Subtract zero points, and scale."""
        spec = self.spec
        number, scale, nan = steps.cut(self._difference(m, beat), beat.scale, beat.invalid)
        power, column = steps.keep(
            beat.power if spec.aligned else C(0, 0), beat.column if spec.exact else C(0, 0)
        )
        if spec.exact:
            product = self._times(m, number, scale)
            layout = Exactly(spec, len(product))
            return data.View(layout, steps.cut(Cat(nan, column, power, product))[0])
        exponent, flip, infinite = power + self._power, C(0, 1), C(0, 1)
        if spec.number is None:
            exponent, nan = exponent + (scale - _BIAS), nan | scale.all()
        else:
            factor = unpack(m, scale, spec.number, "scale")
            some = number.any()
            last = spec.number.bias + spec.number.mantissa_bits
            exponent, flip = exponent + (factor.exponent - last), factor.sign
            nan, infinite = nan | factor.nan | (factor.infinite & ~some), factor.infinite & some
            number = self._times(m, number, factor.significand)
        if spec.aligned:
            nan = nan | power.all()
        flags = nan, infinite, flip
        code = self._round(m, number, exponent, flags, steps)
        return unpack(m, steps.cut(code)[0], spec.total, "term")

    @property
    def _power(self) -> int:
        """Offset of the code of the activations' scale."""
        return -self.spec.fraction_width - (_BIAS if self.spec.aligned else 0)

    def _difference(self, m: Module, beat: data.View) -> Value:
        """Subtract the zero points from a sum, and halve it if it is on the odd grid."""
        spec = self.spec
        if spec.zeros == "none":
            return beat.sum
        width = spec.difference_width
        formats = IntFormat(width=spec.zero_width), IntFormat(width=spec.activation_width)
        zero = encode(m, beat.zero, formats[0], self.encoding)
        heap = BitHeap(width)
        planes = product_planes(m, zero, beat.activations, *formats, self.encoding, width)
        for weight, plane in planes.items():
            heap.add_heap(plane, weight)
        # The complement is the negative minus one: ~(~x + y) is x - y.
        heap.add_term(list(~beat.sum), signed=True)
        difference = ~resolve(m, heap.compress(m, [2] * width), self.adder)
        return difference[1:] if spec.zeros == "odd" else difference

    def _times(self, m: Module, number: Value, factor: Value) -> Value:
        """Multiply an integer by an unsigned one."""
        return multiply_integers(
            m, number, factor, a_signed=True, encoding=self.encoding, adder=self.adder
        )

    def _round(
        self, m: Module, number: Value, exponent: Value, flags: tuple[Value, ...], steps: Steps
    ) -> Value:
        """Round a scaled number to fp32: NaN, infinite, or with its sign flipped, by flags."""
        fmt = self.spec.total
        scale = Signal(signed(11), name="exponent")
        m.d.comb += scale.eq(exponent)
        number, held, *flags_held = steps.cut(number, scale, *flags)
        rounded = normal(m, number, held, minifloat_reach(fmt), self._bounds)
        nan, infinite, flip = steps.cut(*flags_held)
        rounded = rounded.cut(steps.keep)
        return round_minifloat(
            m,
            fmt,
            replace(rounded, sign=rounded.sign ^ flip),
            how=Rounding(saturate=False, adder=self.adder),
            infinite=infinite,
            nan=nan,
        )

    @property
    def _bounds(self) -> tuple[int, int]:
        """Smallest and largest exponent of the last bit before rounding."""
        fmt = self.spec.total if self.spec.exact else self.spec.number
        least, most = self._power, self._power + (255 if self.spec.aligned else 0)
        if fmt is None:
            return least - _BIAS, most + _BIAS + 1
        last = fmt.bias + fmt.mantissa_bits
        return least + 1 - last, most + (1 << fmt.exponent_bits) - 1 - last

    def total(self) -> Signal:
        """Make the accumulator: a code, or an exact sum."""
        spec = self.spec
        width = Exactly(spec, spec.accumulator_width).size if spec.exact else spec.total.width
        return Signal(width, name="total", reset_less=True)

    def add(self, m: Module, total: Value, term: data.View) -> Value:
        """Add."""
        spec, fmt = self.spec, self.spec.total
        if not spec.exact:
            return add(m, unpack(m, total, fmt, "kept"), term, fmt, self.adder)
        accumulated = data.View(Exactly(spec, spec.accumulator_width), total)
        more = term.number[: spec.accumulator_width]
        sign = more[-1].replicate(spec.accumulator_width - len(more))
        rows = zip(accumulated.number.as_unsigned(), Cat(more, sign), strict=True)
        number = resolve(m, [list(bits) for bits in rows], self.adder)
        return Cat(accumulated.nan | term.nan, term.column, term.power, number)

    def result(self, m: Module, total: Value, steps: Steps) -> Value:
        """Multiply an exact sum by its final scales, and round it."""
        spec, fmt = self.spec, self.spec.total
        if not spec.exact:
            return total
        accumulated = data.View(Exactly(spec, spec.accumulator_width), total)
        column = unpack(m, accumulated.column, fmt, "column")
        some = accumulated.number.as_unsigned().any()
        nan = accumulated.nan | column.nan | (column.infinite & ~some)
        if spec.aligned:
            nan = nan | accumulated.power.all()
        exponent = accumulated.power + (
            column.exponent - (fmt.bias + fmt.mantissa_bits - self._power)
        )
        product = self._times(m, accumulated.number.as_unsigned(), column.significand)
        # Zero is +0.
        flip = column.sign & some & column.significand.any()
        flags = nan, column.infinite & some, flip
        return self._round(m, product, exponent, flags, steps)

"""Sums of blocks: exact integers, scaled and added up, in fp32 or exactly."""

from typing import Any

from amaranth import C, Cat, Module, Signal, Value
from amaranth.hdl import signed
from amaranth.lib import data

from golden.npe.block_scale import BlockScaleSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.shifter import shift_right
from hw.npe.float_add import add
from hw.npe.float_stream import FloatStream, Steps
from hw.npe.float_term import multiply_integers, unpack
from hw.npe.normal import normal
from hw.npe.round_minifloat import minifloat_reach, round_minifloat

__all__ = ["BlockScale", "BlockSum"]


class BlockSum(data.StructLayout):
    """Sum of a block, its two scales, whether it is no number; ``last`` ends the run.

    ``sum`` is two's complement. Of scales "e4m3" the sign is ignored.
    """

    def __init__(self, spec: BlockScaleSpec):
        super().__init__({
            "sum": spec.sum_width,
            "a_scale": 8,
            "b_scale": 8,
            "invalid": 1,
            "last": 1,
        })


class BlockScale(FloatStream):
    """Scales the sums of blocks and adds them up.

    Computes :func:`golden.npe.block_scale.block_scale`, exactly. Scales "e8m0": each scaled sum is
    rounded to fp32, then added to the sum so far. Scales "e4m3": scaled sums go to a fixed-point
    accumulator, which is rounded to fp32 at the end of the run; of the places for registers, two
    are behind it. Members: see :class:`FloatStream`; ``i`` takes :class:`BlockSum`.

    Parameters
    ----------
    spec : BlockScaleSpec
        What: format of scales, widths.
    hows
        How: see :data:`hw.npe.float_stream.FLOAT_HOWS`.
    """

    SPEC = BlockScaleSpec

    def __init__(self, spec: BlockScaleSpec, **hows: Any):
        if not isinstance(spec, BlockScaleSpec):
            raise TypeError(f"spec must be a BlockScaleSpec, not {spec!r}")
        super().__init__(spec, BlockSum(spec), spec.total, **hows)
        self._exact = spec.scale == "e4m3"

    def term(self, m: Module, beat: data.View, steps: Steps) -> data.View:
        """Scale a sum."""
        if self._exact:
            return self._product(m, beat, steps)
        spec = self.spec
        scales = [beat.a_scale, beat.b_scale]
        exponent = Signal(signed(11), name="exponent")
        m.d.comb += exponent.eq(scales[0] + scales[1] + (spec.lsb - 254))
        bounds = spec.lsb - 254, spec.lsb + 254
        nan = beat.invalid | scales[0].all() | scales[1].all()
        (held,) = steps.cut(nan)
        number = normal(m, beat.sum, exponent, minifloat_reach(spec.total), bounds, steps.keep)
        (later,) = steps.cut(held)
        code = round_minifloat(
            m, spec.total, number.cut(steps.keep), saturate=False, nan=later, adder=self.adder
        )
        (code,) = steps.cut(code)
        return unpack(m, code, spec.total, "term")

    def _product(self, m: Module, beat: data.View, steps: Steps) -> data.View:
        """Multiply a sum by its scales, as an integer times 2^exact_lsb."""
        fmt = self.spec.scale_format
        a, b = (
            unpack(m, scale, fmt, name)
            for scale, name in ((beat.a_scale, "a"), (beat.b_scale, "b"))
        )
        factor = multiply_integers(
            m, a.significand, b.significand, encoding=self.encoding, adder=self.adder
        )
        product = multiply_integers(
            m, beat.sum, factor, a_signed=True, encoding=self.encoding, adder=self.adder
        )
        # From its place for the greatest exponents down, so that the sign can follow.
        room = 2 * (a.shape().high - 1)
        below = Signal(range(room + 1), name="below")
        m.d.comb += below.eq(2 * a.shape().high - a.exponent - b.exponent)
        shifted, _ = shift_right(m, Cat(C(0, room), product), below, "scaled", fill=product[-1])
        nan = beat.invalid | a.nan | b.nan
        layout = data.StructLayout({"nan": 1, "number": signed(len(shifted))})
        return data.View(layout, steps.cut(Cat(nan, shifted))[0])

    def total(self) -> Signal:
        """Make the register of the sum: a code, or NaN and a fixed-point number."""
        width = 1 + self.spec.accumulator_width if self._exact else self.spec.total.width
        return Signal(width, name="total", reset_less=True)

    def add(self, m: Module, total: Value, term: data.View) -> Value:
        """Add."""
        if not self._exact:
            fmt = self.spec.total
            return add(m, unpack(m, total, fmt, "kept"), term, fmt, self.adder)
        heap = BitHeap(self.spec.accumulator_width)
        heap.add_term(list(total[1:]), signed=True)
        heap.add_term(list(term.number), signed=True)
        rows = heap.compress(m, [2] * heap.width)
        return Cat(total[0] | term.nan, resolve(m, rows, self.adder))

    def result(self, m: Module, total: Value, steps: Steps) -> Value:
        """Round an exact sum."""
        if not self._exact:
            return total
        fmt = self.spec.total
        (nan,) = steps.cut(total[0])
        reach = minifloat_reach(fmt)
        number = normal(m, total[1:], self.spec.exact_lsb, reach, cut=steps.keep)
        (nan,) = steps.cut(nan)
        return round_minifloat(
            m, fmt, number.cut(steps.keep), saturate=False, nan=nan, adder=self.adder
        )

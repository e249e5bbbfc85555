"""Dot products as in GPUs: groups of products and the accumulator, aligned and truncated."""

from dataclasses import replace
from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.hdl import signed
from amaranth.lib import data

from golden.npe.aligned_dot import AlignedDotSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.shifter import shift_right
from hw.lib.evidence import FLOAT
from hw.npe.floats.add import weighted
from hw.npe.floats.greatest import greatest
from hw.npe.floats.stream import FloatStream, Steps
from hw.npe.floats.term import multiply, unpack
from hw.npe.rounding.normalised import normal
from hw.npe.rounding.round_minifloat import minifloat_reach, round_minifloat
from hw.npe.rounding.rounding import Rounding

__all__ = ["AlignedDot", "ProductGroup"]


class ProductGroup(data.StructLayout):
    """Operand pairs of one aligned sum, the first lowest; ``last`` ends the run."""

    def __init__(self, spec: AlignedDotSpec):
        a, b = spec.operands
        super().__init__({"a": spec.group * a.width, "b": spec.group * b.width, "last": 1})


class Products(data.StructLayout):
    """Products before alignment, their largest exponent, and NaN and infinity flags."""

    def __init__(self, product: data.StructLayout, count: int):
        self.product = product
        fields = {name: product[name].shape for name in ("sign", "exponent", "significand")}
        super().__init__({
            "products": data.ArrayLayout(data.StructLayout(fields), count),
            "top": fields["exponent"],
            "nan": 1,
            "plus": 1,
            "minus": 1,
        })


class AlignedDot(FloatStream):
    """Sums groups of products, each aligned with the accumulator and truncated.

    Computes :func:`golden.npe.aligned_dot.aligned_dot`, exactly. Alignment is inside the
    accumulator loop, since the accumulator may have the largest exponent. Members: see
    :class:`FloatStream`; ``i`` takes :class:`ProductGroup`.

    Parameters
    ----------
    spec : AlignedDotSpec
        What: formats, group, widths.
    build
        How: see :data:`hw.npe.floats.stream.FLOAT_BUILD`.

    Examples
    --------
    >>> dot = AlignedDot(AlignedDotSpec(a_format="bf16", b_format="bf16", group=4))
    >>> dot.i.payload.shape()
    StructLayout({'a': 64, 'b': 64, 'last': 1})
    >>> dot.latency, dot.operations_per_cycle
    (3, 8)
    """

    SPEC = AlignedDotSpec
    SUMMARY = "groups of products aligned to the largest exponent and truncated, as in GPUs"
    BENCH = "tb_float"
    EVIDENCE = FLOAT

    def __init__(self, spec: AlignedDotSpec, **build: Any):
        if not isinstance(spec, AlignedDotSpec):
            raise TypeError(f"spec must be an AlignedDotSpec, not {spec!r}")
        super().__init__(spec, ProductGroup(spec), spec.result, **build)

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition per pair."""
        return 2 * self.spec.group

    def term(self, m: Module, beat: data.View, steps: Steps) -> data.View:
        """Multiply, and find the largest exponent of nonzero products."""
        spec = self.spec
        a_format, b_format = spec.operands
        operands = [
            (
                unpack(m, beat.a.word_select(pair, a_format.width), a_format, f"a{pair}"),
                unpack(m, beat.b.word_select(pair, b_format.width), b_format, f"b{pair}"),
            )
            for pair in range(spec.group)
        ]
        steps.cut()
        held = [[_keep(steps, part) for part in pair] for pair in operands]
        rebias = spec.total.bias - a_format.bias - b_format.bias
        products = [
            multiply(m, a, b, rebias, encoding=self.encoding, adder=self.adder) for a, b in held
        ]
        steps.cut()
        products = [_keep(steps, product) for product in products]
        layout = Products(products[0].shape(), spec.group)
        term = data.View(layout, Signal(layout.size, name="term"))
        used = []
        for slot, product in zip(term.products, products, strict=True):
            exponent = Signal.like(product.exponent)
            some = product.significand.any()
            m.d.comb += [
                slot.sign.eq(product.sign),
                slot.significand.eq(product.significand),
                slot.exponent.eq(product.exponent),
                exponent.eq(Mux(some, product.exponent, product.shape().low)),
            ]
            used.append(exponent)
        m.d.comb += [
            term.top.eq(greatest(m, used)),
            term.nan.eq(Cat(product.nan for product in products).any()),
            term.plus.eq(Cat(p.infinite & ~p.sign for p in products).any()),
            term.minus.eq(Cat(p.infinite & p.sign for p in products).any()),
        ]
        return steps.view(term)

    def total(self) -> Signal:
        """Make the accumulator: a code."""
        return Signal(self.spec.total.width, name="total", reset_less=True)

    def add(self, m: Module, total: Value, term: data.View) -> Value:
        """Align all to the largest exponent, truncate, add, and truncate to the format of sums."""
        spec, fmt, product = self.spec, self.spec.total, term.shape().product
        accumulated = unpack(m, total, fmt, "kept")
        # All significands have two integer bits; the accumulator's first one is zero.
        kept_exponent = Signal(signed(len(accumulated.exponent) + 1), name="kept_exponent")
        low = min(product.low, 1)
        m.d.comb += kept_exponent.eq(
            Mux(accumulated.significand.any(), accumulated.exponent + 1, low)
        )
        top = greatest(m, [kept_exponent, term.top])
        heap = BitHeap(spec.fraction_width + 3 + spec.group.bit_length())
        terms = [(x.sign, x.significand, x.exponent) for x in term.products]
        terms.append((accumulated.sign, Cat(accumulated.significand, C(0, 1)), kept_exponent))
        for sign, significand, exponent in terms:
            cut = self._cut(m, significand, (top - exponent).as_unsigned())
            heap.add_term([*(cut ^ sign.replicate(len(cut))), sign], signed=True)
            heap.add_bit(sign, 0)
        number = resolve(m, heap.compress(m, [2] * heap.width), self.adder)
        return self._round(m, accumulated, term, number, top)

    def _cut(self, m: Module, significand: Value, distance: Value) -> Value:
        """Shift right, and truncate to the bits kept."""
        width = self.spec.fraction_width + 2
        missing = width - len(significand)
        bits = Cat(C(0, max(missing, 0)), significand[max(-missing, 0) :])
        levels = width.bit_length()
        shifted, _ = shift_right(m, bits, distance[:levels], "align")
        cut = Signal(width, name="cut")
        m.d.comb += cut.eq(Mux(distance[levels:].any(), 0, shifted))
        return cut

    def _round(
        self, m: Module, accumulated: data.View, term: data.View, sum_: Value, top: Value
    ) -> Value:
        """Truncate a sum whose top bit, not counting growth and sign, weighs 2^top."""
        fmt = self.spec.total
        lsb = -fmt.bias - (self.spec.fraction_width + 1)
        bounds = min(term.shape().product.low, 1), max(term.shape().product.high, 256)
        number = weighted(normal(m, sum_, top, minifloat_reach(fmt), bounds), lsb)
        plus, minus = (
            term.plus | (accumulated.infinite & ~accumulated.sign),
            term.minus | (accumulated.infinite & accumulated.sign),
        )
        # The magnitude of a complemented number may be the next power of two.
        scale = number.scale + number.offset
        power = number.complement & ~number.significand[:-1].any() & ~number.sticky
        some = number.significand[-1] ^ number.complement
        over = some & ((scale > fmt.max_exponent) | ((scale == fmt.max_exponent) & power))
        special = plus | minus
        code = round_minifloat(
            m,
            fmt,
            replace(number, sign=Mux(special, minus, number.sign)),
            how=Rounding(mode="rtz", saturate=False, adder=self.adder),
            infinite=special | over,
            nan=term.nan | accumulated.nan | (plus & minus),
        )
        return Cat(code[:-1], code[-1] & code[:-1].any())

    def result(self, m: Module, total: Value, steps: Steps) -> Value:
        """Lengthen the mantissa to that of fp32."""
        return Cat(C(0, self.spec.result.width - self.spec.total.width), total)


def _keep(steps: Steps, number: data.View) -> data.View:
    """Pass a number through a register place."""
    return data.View(number.shape(), steps.keep(number.as_value())[0])

"""Mixed-precision lane: significand products, shifted and accumulated exactly."""

from collections.abc import Callable
from typing import Any, ClassVar

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import data

from golden.check import Choice, Integer, Parameter, check_fields
from golden.npe.lane import LaneSpec
from hw.arith.adder import ADDER, resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.carry_save import CarrySave
from hw.arith.shifter import shift_left
from hw.npe.lane.decode_word import decode, decode_doubled
from hw.npe.lane.decoded_operand import DecodedOperand
from hw.npe.lane.gated_sum import GatedSum, Terms, exact
from hw.npe.lane.logic import exponent_sum, hold, is_of
from hw.npe.lane.nibble_multiplier import blocks, doubled_blocks, doubled_numbers, numbers
from hw.npe.lane.widths import BYTE, NIBBLE, LaneWidths
from hw.pe.element import ACCUMULATOR_ARRIVAL, SumModule

__all__ = ["PRODUCT", "Lane8", "Slot"]

# Arrival time of a product, and delay of a shifter level, in XOR gates.
PRODUCT, _LEVEL = 12.0, 1.5

# The stages that end in registers, for each number of registers.
_CUTS = (
    (),
    ("product",),
    ("product", "term"),
    ("rows", "product", "term"),
    ("rows", "product", "shift", "term"),
)


Slot = tuple[Value, Value, Value, list[int]]
"""Sign of a product, its shift, its magnitude, and the widths after each shifter level."""


class Lane8(SumModule):
    """Multiply-accumulate of a word of codes in any pair of formats, inside an array.

    A word has one code with a magnitude of up to 8 bits, two of up to 4 bits or, where the spec
    says so, two of 8 bits of a by two of 4 bits of b. Blocks of 4 x 4 bits multiply magnitudes;
    products are shifted by the sum of exponents, and added or subtracted by their signs. Unused
    blocks have zero inputs. Each operand carries a format tag, so sums of
    different formats may follow each other.

    Members: see :class:`hw.pe.element.SumModule`; ``i_a``, ``i_b`` are the outputs of
    :meth:`encode_a` and :meth:`encode_b`, ``o`` is modulo 2^accumulator_width.

    Parameters
    ----------
    spec : LaneSpec
        What: formats and accumulator width; words of 8 bits.
    accumulation : str
        How: "carry_save" keeps a carry where rippling it would cost time; "resolved" propagates
        carries every cycle; "gated" does so in two parts, see :class:`GatedSum`.
    adder : str
        How: carry propagation, also in products; see :func:`hw.arith.adder.resolve`.
    pipeline : int
        How: registers between operands and accumulator: after the product from 1, after shifter and
        complement from 2, before the product's carry propagation from 3, inside the shifter at 4.
    """

    module = "lane"

    WORD: ClassVar[int] = BYTE

    a_layout: Any
    b_layout: Any

    BUILD: ClassVar[dict[str, Parameter]] = {
        "accumulation": Choice(
            "form of the accumulator",
            "carry_save",
            ("carry_save", "resolved", "gated"),
            on_device="resolved",
        ),
        "adder": ADDER,
        "pipeline": Integer("registers between operands and accumulator", 0, 0, 4),
    }

    def __init__(
        self,
        spec: LaneSpec,
        *,
        accumulation: str = "carry_save",
        adder: str = "sklansky",
        pipeline: int = 0,
    ):
        if not isinstance(spec, LaneSpec):
            raise TypeError(f"spec must be a LaneSpec, not {spec!r}")
        build = {"accumulation": accumulation, "adder": adder, "pipeline": pipeline}
        check_fields(self.BUILD, build)
        if spec.WORD != self.WORD:
            raise ValueError(f"spec must be of words of {self.WORD} bits, not {spec.WORD}")
        self.spec = spec
        self.accumulation = accumulation
        self.adder = adder
        self.cuts = _CUTS[pipeline]
        self.plan = LaneWidths(spec)
        self.gated = GatedSum(spec, adder) if accumulation == "gated" else None
        self.a_layout, self.b_layout = self._layouts()
        super().__init__(self.a_layout.size, self.b_layout.size, pipeline)

    def _layouts(self) -> tuple[data.StructLayout, data.StructLayout]:
        """Make the layouts of both decoded operands."""
        exact_formats = exact(self.spec) if self.gated else ()
        return (
            DecodedOperand(self.plan, has_kind=True, exact=exact_formats),
            DecodedOperand(self.plan, has_kind=False, exact=exact_formats),
        )

    def dual(self, a_format: Value, b_format: Value) -> Value:
        """Return whether words of these formats, by index, have two codes."""
        return is_of(self.spec, a_format, NIBBLE) & is_of(self.spec, b_format, NIBBLE)

    @property
    def mode_width(self) -> int:
        """Bits of a mode."""
        return 1 + self.plan.doubled

    def mode(
        self, m: Module, a_format: Value, b_format: Value, taken: Value
    ) -> tuple[Value, Value]:
        """Compute the decoders' mode for a pair of formats, and whether words are finished.

        Parameters
        ----------
        m : where the gates go, and the register that counts the cycles of a word.
        a_format, b_format : indices of formats, stable until the words are finished.
        taken : words enter the lane in this cycle.
        """
        dual = self.dual(a_format, b_format)
        if self.plan.doubled:
            number = self.spec.index
            dual = Cat(dual, (a_format == number("int8")) & (b_format == number("int4")))
        return dual, C(1, 1)

    def encode_a(self, m: Module, a: Value, a_format: Value, mode: Value) -> tuple[Value, Value]:
        """Decode a word to ``i_a``, at the edge of an array; see :mod:`hw.npe.lane.decode_word`.

        `mode` is that of :meth:`mode`.

        Returns
        -------
        ``i_a``, which is 0 for a word that adds nothing, and whether a code is NaN.
        """
        return self._decode(m, self.a_layout, a, a_format, mode)

    def encode_b(self, m: Module, b: Value, b_format: Value, mode: Value) -> tuple[Value, Value]:
        """Decode a word to ``i_b``, as :meth:`encode_a`."""
        return self._decode(m, self.b_layout, b, b_format, mode)

    @property
    def _decode(self) -> Callable[..., tuple[Value, Value]]:
        return decode_doubled if self.plan.doubled else decode

    def _number(self, weight: int, products: BitHeap) -> CarrySave:
        return super()._number(weight, products) if self.gated is None else self.gated.layout

    def _heights(self, products: BitHeap) -> list[int]:
        if self.accumulation == "resolved":
            return [1] * products.width
        return products.sum_heights(ACCUMULATOR_ARRIVAL)

    def _accumulate(
        self, m: Module, products: BitHeap, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        products.add_columns(accumulator, arrival=ACCUMULATOR_ARRIVAL)
        if self.accumulation == "carry_save":
            return products.compress(m, [len(column) for column in accumulator])
        rows = products.compress(m, [2] * products.width)
        return [[bit] for bit in resolve(m, rows, self.adder)]

    def _products(self, m: Module, enable: Value, a: Value, b: Value) -> dict[int, BitHeap]:
        heap = BitHeap(self.spec.accumulator_width)
        x, y = data.View(self.a_layout, a), data.View(self.b_layout, b)
        for number, slot in enumerate(self._slots(m, enable, x, y)):
            term, sign, arrival = self._term(m, enable, number, slot)
            # The complement is the negative minus one.
            heap.add_term(term, signed=True, arrival=arrival)
            heap.add_bit(sign, 0, arrival=arrival)
        return {0: heap}

    def _terms(self, m: Module, enable: Value, a: Value, b: Value, gated: GatedSum) -> Terms:
        """Make the terms of a sum in two parts; those of integers have no bits in the upper one."""
        low, width = gated.low, self.spec.accumulator_width
        x, y = data.View(self.a_layout, a), data.View(self.b_layout, b)
        wide = Cat(x.wide, y.wide).any() if len(x.wide) else C(not exact(self.spec), 1)
        for stage in range(self.pipeline):
            (wide,) = hold(m, enable, f"wide{stage}", [wide])
        lower, rows = BitHeap(low + 2), []
        for number, slot in enumerate(self._slots(m, enable, x, y)):
            term, sign, arrival = self._term(m, enable, number, slot)
            if number < gated.rows:
                bits = [*term, *[sign] * (width - len(term))]
                row = Signal(width - low, name=f"upper_term{number}")
                m.d.comb += row.eq(Cat(bits[low:]) & wide.replicate(len(row)))
                rows.append(row)
                term = [*bits[:low], sign & ~wide]
            lower.add_term(term, signed=True, arrival=arrival)
            lower.add_bit(sign, 0, arrival=arrival)
        return Terms(lower, rows, wide)

    def step(
        self, m: Module, enable: Value, a: Value, b: Value, accumulator: list[list[Value]]
    ) -> list[list[Value]]:
        """Add the products of `a` and `b` to a sum; see :meth:`SumModule.step`."""
        if self.gated is None:
            return super().step(m, enable, a, b, accumulator)
        return self.gated.add(m, self._terms(m, enable, a, b, self.gated), accumulator)

    def elaborate(self, platform):
        """Build the accumulator; a gated one has registers of its own."""
        if self.gated is None:
            return super().elaborate(platform)
        m = Module()
        self._finish(m)
        terms = self._terms(m, self.en, self.i_a, self.i_b, self.gated)
        total = self.gated.accumulate(m, self.en, self.o_done, terms)
        m.d.comb += self.o.as_value().eq(total.as_value())
        return m

    def _slots(self, m: Module, enable: Value, x: data.View, y: data.View) -> list[Slot]:
        """Multiply magnitudes, and add exponents."""
        plan, cuts = self.plan, self.cuts
        kinds = [x.dual if plan.needs_kind else C(plan.dual, 1)]
        signs, amounts = self._shifts(m, plan, x, y)
        if plan.doubled:
            heaps = doubled_blocks(m, plan, x, y, x.dual)
            kinds.append(x.doubled)
        else:
            heaps = [*blocks(m, plan, (x.low, y.low), (x.high, y.high), kinds[0])]
        if "rows" in cuts:
            heaps = [heap.register(m, enable) for heap in heaps]
            kinds = hold(m, enable, "dual", kinds)
            signs, amounts = (hold(m, enable, "rows", values) for values in (signs, amounts))
        if plan.doubled:
            products = doubled_numbers(m, plan, heaps, kinds[0], kinds[1], self.adder)
        else:
            products = numbers(m, plan, heaps[0], heaps[1], kinds[0], self.adder)
        return self._held_slots(m, enable, signs, amounts, products, self._widths_of(plan))

    def _widths_of(self, plan: LaneWidths) -> list[list[int]]:
        """List the widths of both codes' shifters."""
        return [plan.widths(second) for second in (False, True)[: 1 + plan.dual]]

    def _shifts(
        self, m: Module, plan: LaneWidths, x: data.View, y: data.View
    ) -> tuple[list[Value], list[Value]]:
        """Signs of products, and their shifts."""
        signs: list[Value] = [x.negative[slot] ^ y.negative[slot] for slot in range(1 + plan.dual)]
        layouts = x.shape(), y.shape()
        amounts: list[Value] = [
            exponent_sum(
                m,
                layouts[0].exponent_of(x, slot == 1),
                layouts[1].exponent_of(y, slot == 1),
                len(widths) - 1,
            )
            for slot, widths in enumerate(self._widths_of(plan))
        ]
        return signs, amounts

    def _held_slots(
        self,
        m: Module,
        enable: Value,
        signs: list[Value],
        amounts: list[Value],
        products: list[Value],
        widths: list[list[int]],
    ) -> list[Slot]:
        """Bundle sign, shift and magnitude of a product, registered if the pipeline says so."""
        if "product" in self.cuts:
            signs, amounts, products = (
                hold(m, enable, "product", values) for values in (signs, amounts, products)
            )
        return list(zip(signs, amounts, products, widths, strict=True))

    def _term(
        self, m: Module, enable: Value, number: int, slot: Slot
    ) -> tuple[list[Value], Value, float]:
        """Shift a product; return it or its complement, its sign again, and when they arrive."""
        cuts = self.cuts
        sign, amount, bits, widths = slot
        levels = len(amount)
        for level in range(levels):
            if "shift" in cuts and level == levels // 2:
                sign, amount, bits = hold(m, enable, "shift", [sign, amount, bits])
            step = Cat(C(0, level), amount[level])
            bits = shift_left(m, bits, step, widths[level + 1], f"left{number}_")
        if "shift" in cuts and not levels:
            sign, bits = hold(m, enable, "shift", [sign, bits])
        term = Signal(len(bits), name=f"term{number}")
        m.d.comb += term.eq(bits ^ sign.replicate(len(bits)))
        whole: list[Value] = [term, sign]
        if "term" in cuts:
            whole = hold(m, enable, "term", whole)
        arrival = 0.0 if "term" in cuts else PRODUCT + levels * _LEVEL
        return list(Cat(whole)), whole[1], arrival

"""Requantiser of one column: multiplication, floor, rounding, zero point and limits."""

from collections.abc import Callable, Collection

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import In, Out

from golden.npe.requantiser import RequantiserSpec
from hw.arith.adder import resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.product import coded_width, product_planes
from hw.arith.shifter import shift_right
from hw.device.family import Family
from hw.lib.shared_module import SharedModule

__all__ = [
    "RequantiseColumn",
    "add_zero_point",
    "clamp",
    "code",
    "divide",
    "floor_shift",
    "rectify",
    "rounds_first",
]

_Hold = Callable[..., list[Value]]

# The stages that end in a register, for each number of registers, balanced. Of "operator", all but
# the last of several `rows` hold products of pieces: the second one lets a block be far away.
_CUTS = [
    (),
    ("product",),
    ("rows", "scaled"),
    ("rows", "product", "scaled"),
    ("rows", "rows", "product", "scaled"),
    ("rows", "rows", "product", "shifted", "scaled"),
    ("rows", "rows", "rows", "product", "shifted", "scaled"),
]
_BIAS_CUTS = [
    (),
    ("rows",),
    ("rows", "scaled"),
    ("sum", "rows", "scaled"),
    ("sum", "rows", "product", "scaled"),
    ("sum", "rows", "product", "shifted", "scaled"),
    ("sum", "rows", "rows", "product", "shifted", "scaled"),
]

_BLOCK_CUTS = ("product", "shifted", "scaled", "added")
"""What follows products in a device's blocks, and a register behind them."""

_PIECE = 17
"""Most bits, without a sign, of an operand of a device's multiplier block."""


class RequantiseColumn(SharedModule):
    """Requantises one sum per cycle.

    Multiplication, floor and saturation take one wide carry propagation; rounding up is a carry
    into the narrow addition of the zero point. "double" needs no left shift, second multiplication
    or other adder: for right shifts it rounds at 2^multiplier_width first.

    Parameters
    ----------
    spec : RequantiserSpec
        What: widths and rounding.
    encoding, adder, pipeline
        How: as :class:`hw.npe.requantiser.Requantiser`'s.
    travels : bool
        How: multiplier, shift and zero point belong to the sum they come with, and are pipelined
        along; else they are stable while sums are in flight.
    blocks : Family
        How: products are in the multiplier blocks of a family that ``stops``, with their registers,
        instead of what encoding and pipeline say; :attr:`pipeline` is how many there are.

    Members
    -------
    en : In(1)
        Clock enable.
    i : In
        A sum.
    i_multiplier, i_shift, i_zero_point : In
        Its scale; the multiplier encoded by :func:`hw.arith.product.encode`.
    i_bias, i_low, i_high, i_relu : In
        Stable while sums are in flight.
    o : Out
        The code, `pipeline` + 1 cycles after its sum.
    """

    module = "requantise"

    en: Signal
    i: Signal
    i_multiplier: Signal
    i_shift: Signal
    i_zero_point: Signal
    i_bias: Signal
    i_low: Signal
    i_high: Signal
    i_relu: Signal
    o: Signal

    def __init__(
        self,
        spec: RequantiserSpec,
        *,
        encoding: str,
        adder: str,
        pipeline: int,
        travels: bool = False,
        blocks: Family | None = None,
    ):
        assert blocks is None or (blocks.stops and not spec.bias)
        self.spec = spec
        self.blocks = blocks
        self.encoding = encoding
        self.adder = adder
        self.travels = travels
        self.cuts = (_BIAS_CUTS if spec.bias else _CUTS)[pipeline]
        if blocks is not None:
            self.cuts = (*("rows",) * (blocks.multiplier.registers + 1), *_BLOCK_CUTS)
        self.pipeline = len(self.cuts)
        super().__init__({
            "en": In(1),
            "i": In(spec.width),
            "i_multiplier": In(coded_width(spec.multiplier_format, encoding)),
            "i_shift": In(spec.shift_format.width),
            "i_zero_point": In(spec.out_width),
            **({"i_bias": In(spec.width)} if spec.bias else {}),
            "i_low": In(spec.out_width),
            "i_high": In(spec.out_width),
            "i_relu": In(1),
            "o": Out(spec.out_width),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        total: Value = self.i
        if spec.bias:
            rows = [list(bits) for bits in zip(self.i, self.i_bias, strict=True)]
            total = resolve(m, rows, self.adder)
        total = self._cut(m, "sum", total)
        heap = self._heap(m, total)
        product = resolve(m, heap.compress(m, [2] * heap.width), self.adder)
        product = self._cut(m, "product", product)
        shift = self._along(m, "shift", self.i_shift, ("sum", "rows", "product"))
        hold = self._hold if "shifted" in self.cuts else None
        scaled = rectify(divide(m, spec, product, shift, hold), self.i_relu)
        scaled = self._cut(m, "scaled", scaled)
        stages = [cut for cut in self.cuts if cut != "added"]
        zero_point = self._along(m, "zero_point", self.i_zero_point, stages)
        total = add_zero_point(m, spec, scaled, zero_point, self.adder)
        total = self._cut(m, "added", total)
        with m.If(self.en):
            m.d.sync += self.o.eq(clamp(m, spec, total, self.i_low, self.i_high))
        return m

    def _cut(self, m: Module, stage: str, value: Value) -> Value:
        """Register a value, if the stage ends in a register."""
        if stage not in self.cuts:
            return value
        held = Signal(len(value), name=f"{stage}_held", reset_less=True)
        with m.If(self.en):
            m.d.sync += held.eq(value)
        return held

    def _hold(self, m: Module, *values: Value) -> list[Value]:
        """Register values in the middle of the shifter."""
        return [self._cut(m, "shifted", value) for value in values]

    def _along(self, m: Module, name: str, value: Value, stages: Collection[str]) -> Value:
        """Delay values that come with a sum as those stages delay the sum, if `travels`."""
        for number, stage in enumerate(self.cuts if self.travels else ()):
            if stage in stages:
                held = Signal(len(value), name=f"{name}{number}", reset_less=True)
                with m.If(self.en):
                    m.d.sync += held.eq(value)
                value = held
        return value

    def _heap(self, m: Module, total: Value) -> BitHeap:
        """Put the product on a heap, plus half a unit if it is rounded first."""
        spec = self.spec
        multiplier = self._along(m, "multiplier", self.i_multiplier, ("sum",))
        shift = self._along(m, "first_shift", self.i_shift, ("sum",))
        heap = BitHeap(spec.width + spec.multiplier_width)
        early = self.cuts.count("rows") - 1
        parts = self.encoding == "operator" and early > 0
        if parts:
            self._add_parts(m, heap, multiplier, total, early)
        planes = (
            {}
            if parts
            else product_planes(
                m,
                multiplier,
                total,
                spec.multiplier_format,
                spec.sum_format,
                self.encoding,
                heap.width,
            )
        )
        for weight, plane in planes.items():
            heap.add_heap(plane, weight)
        if spec.rounding == "double":
            heap.add_bit(rounds_first(spec, shift), spec.multiplier_width - 1)
        if early > 0 and not parts:
            for rows in heap.cuts(early, lambda left: left.schedule([2] * left.width).delay):
                heap = heap.register(m, self.en, rows)
        return heap.register(m, self.en) if "rows" in self.cuts else heap

    def _add_parts(
        self, m: Module, heap: BitHeap, multiplier: Value, total: Value, registers: int
    ) -> None:
        """Put products of pieces on a heap, each of one multiplier block and its registers.

        Those of one weight are added before the next register.
        """
        spec = self.spec
        sums: dict[int, list[Value]] = {}
        for x_at, x in _pieces(multiplier, spec.multiplier_format.signed):
            for y_at, y in _pieces(total, spec.sum_format.signed):
                unsigned = not (x.shape().signed or y.shape().signed)
                product = x * y
                if self.blocks is not None:
                    product = self.blocks.multiply(m, x, y, self.en)
                    product = product[: len(x) + len(y)] if unsigned else product
                for number in range(0 if self.blocks else registers):
                    name = f"part{x_at}_{y_at}_{number}"
                    held = Signal(product.shape(), name=name, reset_less=True)
                    with m.If(self.en):
                        m.d.sync += held.eq(product)
                    product = held
                sums.setdefault(x_at + y_at, []).append(product)
        for weight, products in sums.items():
            added = sum(products[1:], products[0])
            # Copies of a sign are one register; they take less than bits that correct it.
            most = heap.width - weight
            width = most if added.shape().signed else min(len(added), most)
            row = Signal(width, name=f"sum{weight}")
            m.d.comb += row.eq(added)
            term = BitHeap(most)
            term.add_term(list(row), signed=False)
            heap.add_heap(term, weight)


def _pieces(value: Value, signed: bool) -> list[tuple[int, Value]]:
    """Cut a number into pieces of equal size, and where each begins; the last has the sign."""
    count = -(-(len(value) - signed) // _PIECE)
    size = -(-(len(value) - signed) // count)
    pieces = [(at, value[at : at + size]) for at in range(0, size * (count - 1), size)]
    last = value[size * (count - 1) :]
    return [*pieces, (size * (count - 1), last.as_signed() if signed else last)]


def rounds_first(spec: RequantiserSpec, shift: Value) -> Value:
    """Return whether "double" rounds at 2^multiplier_width before it shifts further right."""
    return shift >= spec.multiplier_width if spec.rounding == "double" else C(0, 1)


def divide(
    m: Module, spec: RequantiserSpec, product: Value, shift: Value, hold: _Hold | None = None
) -> Value:
    """Divide a product by 2^shift, and round.

    Parameters
    ----------
    m : where the gates go.
    spec : rounding, and width of codes.
    product : two's complement; plus 2^(multiplier_width - 1) if :func:`rounds_first`.
    shift : places.
    hold : registers values half way.

    Returns
    -------
    The round-up bit, and above it the floor, two's complement of out_width + 1 bits, saturated:
    from there no zero point leads back into range.
    """
    first = rounds_first(spec, shift)
    remaining = product[: spec.multiplier_width] & ~first.replicate(spec.multiplier_width)
    product = Cat(remaining, product[spec.multiplier_width :])
    floor, half, rest, beyond = floor_shift(m, product, shift, spec.out_width, hold)
    sign = product[-1]
    if hold is not None:
        sign, first = hold(m, sign, first)
    up = {
        "single": half,
        "double": half & (rest | ~sign | ~first),
        "even": half & (rest | floor[0]),
    }[spec.rounding]
    saturated = Mux(beyond, (~sign).replicate(spec.out_width), floor)
    return Cat(up, saturated, sign)


def rectify(scaled: Value, relu: Value) -> Value:
    """Replace a result of :func:`divide` below 0 by 0 with ReLU, so that the zero point is left."""
    return Mux(relu & scaled[-1], 0, scaled)


def code(
    m: Module,
    spec: RequantiserSpec,
    scaled: Value,
    zero_point: Value,
    least: Value,
    high: Value,
    adder: str,
) -> Value:
    """Add the zero point to the result of :func:`divide`, and clamp."""
    return clamp(m, spec, add_zero_point(m, spec, scaled, zero_point, adder), least, high)


def add_zero_point(
    m: Module, spec: RequantiserSpec, scaled: Value, zero_point: Value, adder: str
) -> Value:
    """Add the zero point to the result of :func:`divide`: two's complement of two bits more."""
    if spec.out_signed:
        zero_point = zero_point.as_signed()
    terms = [Signal(spec.out_width + 2, name=name) for name in ("scaled_wide", "zero_wide")]
    m.d.comb += [terms[0].eq(scaled[1:].as_signed()), terms[1].eq(zero_point)]
    # Two equal bits below the lowest one generate its carry in.
    columns = [[scaled[0]] * 2, *(list(bits) for bits in zip(*terms, strict=True))]
    return resolve(m, columns, adder)[1:]


def clamp(m: Module, spec: RequantiserSpec, total: Value, least: Value, high: Value) -> Value:
    """Clamp a sum of :func:`add_zero_point`."""
    if spec.out_signed:
        least, high = least.as_signed(), high.as_signed()
    clamped, total = Signal(spec.out_width, name="clamped"), total.as_signed()
    # Signs of differences: one carry chain each; comparisons of signed numbers are cut in two.
    m.d.comb += clamped.eq(Mux((total - least)[-1], least, Mux((high - total)[-1], high, total)))
    return clamped


def floor_shift(
    m: Module, bits: Value, shift: Value, width: int, hold: _Hold | None = None
) -> tuple[Value, Value, Value, Value]:
    """Divide a two's complement number by 2^shift.

    Levels go from the longest shift down, so that each keeps only bits the rest can still use.

    Returns
    -------
    The low `width` bits of the floor, the bit below them, whether any bit below that is set, and
    whether the floor overflows `width` bits.
    """
    sign = bits[-1]
    reach = (1 << len(shift)) + width
    beyond: list[Value] = [bit ^ sign for bit in bits[reach - 1 :]]
    bits = Cat(C(0, 1), bits)[:reach]
    rest: list[Value] = []
    for level in reversed(range(len(shift))):
        if hold is not None and level == len(shift) // 2 - 1:
            bits, shift, sign, lost, over = hold(
                m, bits, shift, sign, Cat(rest).any(), Cat(beyond).any()
            )
            rest, beyond = [lost], [over]
        reach = (1 << level) + width
        if len(bits) > reach:
            # A shift moves the upper bits into range; without it they must be copies of the sign.
            unmoved = Signal(name=f"unmoved{level}")
            upper = bits[reach:]
            m.d.comb += unmoved.eq(~shift[level] & Mux(sign, ~upper.all(), upper.any()))
            beyond.append(unmoved)
        taken = Cat(C(0, level), shift[level])
        bits, lost = shift_right(m, bits, taken, f"shift{level}_", sign)
        bits = bits[:reach]
        rest.append(lost)
    floor = Cat(bits[1:], sign.replicate(max(width + 1 - len(bits), 0)))
    return floor, bits[0], Cat(rest).any(), Cat(beyond).any()

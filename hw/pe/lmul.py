"""L-Mul: floating-point products by one addition."""

from typing import ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Choice, Parameter, complete
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.pe.lmul import LmulSpec
from hw.arith.adder import ADDER, resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.product import product_planes
from hw.lib.shared_module import SharedModule

__all__ = ["Lmul", "LmulOperands"]


_EXACT = ("carry", "multiply")


class LmulOperands(data.StructLayout):
    """Two codes."""

    def __init__(self, spec: LmulSpec):
        super().__init__({"a": spec.number.width, "b": spec.number.width})


class Lmul(wiring.Component):
    """Multiplies pairs of codes of a floating-point format by adding them.

    Computes :func:`golden.pe.lmul.lmul`, exactly.

    Latency: 1 cycle. Throughput: one pair per cycle. Stalls: ``o.ready`` reaches ``i.ready``
    combinationally.

    Parameters
    ----------
    spec : LmulSpec
        What: format and correction term.
    adder : str
        How: see :func:`hw.arith.adder.resolve`.
    exact : str
        How: exact products by a "carry" into the sum of the codes, or, as a baseline, "multiply":
        multiply significands, normalise, round.

    Members
    -------
    i : In(stream)
        :class:`LmulOperands`.
    o : Out(stream)
        ``product``, a code.

    Examples
    --------
    >>> lmul = Lmul(LmulSpec(format="bf16"))
    >>> lmul.i.payload.shape(), lmul.o.payload.shape()
    (StructLayout({'a': 16, 'b': 16}), StructLayout({'product': 16}))
    >>> lmul.latency
    1
    """

    SPEC = LmulSpec
    SUMMARY = "L-Mul: float products by adding codes; FP8 rounded right if normal, by a carry"
    BENCH = "tb_lmul"
    EVIDENCE = (
        "cocotb against numpy: all pairs of formats up to 8 bits, corners, stalls, resets",
        "netlist simulation",
    )

    BUILD: ClassVar[dict[str, Parameter]] = {
        "adder": ADDER,
        "exact": Choice("exact products: by a carry, or by multiplication", "carry", _EXACT),
    }

    i: stream.Interface
    o: stream.Interface

    def __init__(self, spec: LmulSpec, **build: str):
        if not isinstance(spec, LmulSpec):
            raise TypeError(f"spec must be an LmulSpec, not {spec!r}")
        build = complete(self.BUILD, build)
        if build["exact"] == "multiply" and spec.mode != "exact":
            raise ValueError(f"exact must be carry in mode {spec.mode}, not 'multiply'")
        self.spec = spec
        self.adder = build["adder"]
        self.multiplies = build["exact"] == "multiply"
        super().__init__({
            "i": In(stream.Signature(LmulOperands(spec))),
            "o": Out(stream.Signature(data.StructLayout({"product": spec.number.width}))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """None."""
        return ()

    @property
    def latency(self) -> int:
        """Cycles from a pair to its product."""
        return 1

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication per cycle, no accumulation."""
        return 2

    def elaborate(self, platform):
        m = Module()
        product = self.product(m, self.i.payload.a, self.i.payload.b)
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
        with m.If(self.i.ready & self.i.valid):
            m.d.sync += self.o.payload.product.eq(product)
        return m

    def product(self, m: Module, a: Value, b: Value) -> Value:
        """Compute the code of a product."""
        spec, fmt = self.spec, self.spec.number
        mantissa, body = fmt.mantissa_bits, fmt.width - 1
        added = Signal(body + 2)
        add = self._multiply if self.multiplies else self._add
        m.d.comb += added.eq(add(m, a[:body], b[:body]))
        over = ~added[-1] & (added[:-1] > fmt.max_code)
        under = added[-1] | ~added[mantissa:-1].any()

        beyond = fmt.nan_code if fmt.infinity_code is None else fmt.infinity_code
        if spec.saturate or beyond is None:
            beyond = fmt.max_code
        zeros, nans, infinities = Signal(2), Signal(2), Signal(2)
        for side, code in enumerate((a, b)):
            zero, nan, infinite = _kind(code, fmt)
            m.d.comb += [zeros[side].eq(zero), nans[side].eq(nan), infinities[side].eq(infinite)]
        infinite = infinities.any()
        zero = zeros.any() | (under & ~infinite)
        nan = nans.any() | (infinite & zeros.any())
        if beyond == fmt.nan_code:
            nan = nan | (over & ~zero)

        magnitude = Mux(over, beyond & fmt.sign_code - 1, added[:body])
        if fmt.infinity_code is not None:
            magnitude = Mux(infinite, fmt.infinity_code, magnitude)
        signed = ~zero if fmt.specials == "fnuz" else C(1, 1)
        code = Signal(fmt.width, name="code")
        m.d.comb += code.eq(Cat(Mux(zero, 0, magnitude), (a[-1] ^ b[-1]) & signed))
        return code if fmt.nan_code is None else Mux(nan, fmt.nan_code, code)

    def _add(self, m: Module, x: Value, y: Value) -> Value:
        """Add two magnitudes, with the correction term or carry."""
        spec, fmt = self.spec, self.spec.number
        heap = BitHeap(len(x) + 2)
        heap.add_term(list(x), signed=False)
        heap.add_term(list(y), signed=False)
        heap.constant += spec.addend - (fmt.bias << fmt.mantissa_bits)
        if spec.mode == "exact":
            pairs = Cat(x[: fmt.mantissa_bits], y[: fmt.mantissa_bits])
            up = Signal()
            m.d.comb += up.eq(Cat(pairs == pair for pair in _rounded_up(fmt.mantissa_bits)).any())
            heap.add_bit(up, 0, arrival=3.0)
        return resolve(m, heap.compress(m, [2] * heap.width), self.adder)

    def _multiply(self, m: Module, x: Value, y: Value) -> Value:
        """Multiply two magnitudes, normalise and round: the baseline for :meth:`_add`."""
        fmt = self.spec.number
        bits = fmt.mantissa_bits
        significand = IntFormat(width=bits + 1, signed=False)
        one, other = (Cat(side[:bits], 1) for side in (x, y))
        planes = product_planes(m, one, other, significand, significand, "none", 2 * bits + 2)
        heap = BitHeap(2 * bits + 2)
        for weight, plane in planes.items():
            heap.add_heap(plane, weight)
        product = resolve(m, heap.compress(m, [2] * heap.width), self.adder)
        high = product[-1]
        unrounded = Mux(high, product[bits + 1 : -1], product[bits:-2])
        rest = Mux(high, product[: bits + 1], product[:bits] << 1)
        up = Signal()
        m.d.comb += up.eq(rest[-1] & (rest[:-1].any() | unrounded[0]))
        total = BitHeap(len(x) + 2)
        total.add_term(list(unrounded), signed=False, arrival=8.0)
        total.add_bit(up, 0, arrival=10.0)
        total.add_bit(high, bits, arrival=6.0)
        for side in (x, y):
            total.add_term(list(side[bits:]), bits, signed=False)
        total.constant -= fmt.bias << bits
        return resolve(m, total.compress(m, [2] * total.width), self.adder)


def _kind(code: Value, fmt: MinifloatFormat) -> tuple[Value, Value, Value]:
    """Return whether a code is zero or subnormal, NaN, infinity."""
    body = code[:-1]
    exponent = body[fmt.mantissa_bits :]
    zero, never = ~exponent.any(), C(0, 1)
    match fmt.specials:
        case "ieee":
            fraction = body[: fmt.mantissa_bits].any()
            return zero, exponent.all() & fraction, exponent.all() & ~fraction
        case "nan":
            return zero, body.all(), never
        case "fnuz":
            return zero, code == fmt.sign_code, never
    return zero, never, never


def _rounded_up(mantissa_bits: int) -> list[int]:
    """Find the pairs of mantissas, y above x, whose rounded product needs the carry.

    Without the carry the mantissa sum is x + y; this omits x y and, where the product reaches 2,
    counts the excess double.
    """
    one = 1 << mantissa_bits
    bits = []
    for pair in range(one * one):
        y, x = divmod(pair, one)
        product = (one + x) * (one + y)
        places = mantissa_bits + (product >= 2 * one * one)
        unrounded, rest = divmod(product, 1 << places)
        half = 1 << places - 1
        unrounded += rest > half or (rest == half and unrounded & 1)
        code = unrounded - one + (places - mantissa_bits) * one
        assert code - (x + y) in (0, 1)
        if code > x + y:
            bits.append(pair)
    return bits

"""ShiftGELU: GELU of rows of integers, one division per value."""

from typing import ClassVar

from amaranth import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, check_fields
from golden.formats.integer import IntFormat
from golden.npe.shift_gelu import ShiftGeluSpec
from hw.arith.adder import ADDER, resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.product import product_planes
from hw.lib.evidence import ACTIVATION
from hw.npe.activations.divide import Divide
from hw.npe.activations.row_exponential import Results, RowExponential, Values, add_saturating

__all__ = ["ShiftGelu"]


class ShiftGelu(wiring.Component):
    """Applies GELU to rows of integers.

    Computes :func:`golden.npe.shift_gelu.shift_gelu`, exactly. A row is stored and its maximum
    found; on replay, each value's exponential is divided by its sum with the exponential of the
    negated maximum. Quotient bits are multiplied as they are found.

    Latency, the value of a row of one to its result: :attr:`latency` cycles. Throughput: one
    value per division time plus two cycles, :func:`golden.npe.shift_gelu.cycles`; the input stalls
    from the last value of a row until its last result. Stalls: ``o.ready`` does not reach
    ``i.ready`` combinationally.

    Parameters
    ----------
    spec : ShiftGeluSpec
        What: scale, widths, length of rows, speed of the division.
    adder : str
        How: carry propagation, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    i : In(stream)
        :class:`~hw.npe.activations.row_exponential.Values`, two's complement, 1 .. length per row.
    o : Out(stream)
        :class:`~hw.npe.activations.row_exponential.Results`, two's complement.

    Examples
    --------
    >>> unit = ShiftGelu(ShiftGeluSpec(width=8, length=64))
    >>> unit.i.payload.shape(), unit.o.payload.shape()
    (StructLayout({'data': 8, 'last': 1}), StructLayout({'data': 15, 'last': 1}))
    >>> unit.latency
    22
    """

    SPEC = ShiftGeluSpec
    SUMMARY = "integer GELU of rows (I-ViT): shifts and one serial division per value"
    BENCH = "tb_shift"
    EVIDENCE = ACTIVATION

    BUILD: ClassVar[dict[str, Parameter]] = {
        "adder": ADDER,
    }

    i: stream.Interface
    o: stream.Interface

    shared_modules = ()

    def __init__(self, spec: ShiftGeluSpec, *, adder: str = "sklansky"):
        if not isinstance(spec, ShiftGeluSpec):
            raise TypeError(f"spec must be a ShiftGeluSpec, not {spec!r}")
        check_fields(self.BUILD, {"adder": adder})
        self.spec = spec
        self.adder = adder
        super().__init__({
            "i": In(stream.Signature(Values(spec))),
            "o": Out(stream.Signature(Results(spec))),
        })

    @property
    def latency(self) -> int:
        """Cycles from the value of a row of one to its result."""
        return 6 + self.spec.divide_cycles

    @property
    def operations_per_cycle(self) -> float:
        """Sustained: a subtraction, power, addition, division and product per value."""
        return 5 / (2 + self.spec.divide_cycles)

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        m.submodules.row = row = RowExponential(spec, 0, self.adder)
        width = min(2 * spec.greatest, spec.DIVIDEND).bit_length()
        m.submodules.divide = divide = Divide(
            spec.DIVIDEND, width, spec.least_sum, spec.quotient_bits, self.adder
        )
        of_zero, dividend, divisor, product, value, last = (
            Signal(size, name=name, reset_less=True)
            for name, size in {
                "of_zero": len(row.o),
                "dividend": len(row.o),
                "divisor": width,
                "product": spec.DIVIDEND.bit_length(),
                "value": spec.width,
                "last": 1,
            }.items()
        )
        busy, zero, reading, dividing, accept, emit = (
            Signal(name=name) for name in ("busy", "zero", "reading", "dividing", "accept", "emit")
        )
        m.d.comb += [
            self.i.ready.eq(~busy),
            row.write.eq(self.i.valid & self.i.ready),
            row.i_data.eq(self.i.payload.data),
            row.i_last.eq(self.i.payload.last),
            row.zero.eq(zero),
            row.read.eq(reading),
            emit.eq(dividing & ~divide.busy & (~self.o.valid | self.o.ready)),
            accept.eq(row.valid & ~row.o_zero & (~dividing | emit)),
            row.move.eq(~row.valid | row.o_zero | accept),
            divide.start.eq(accept),
            divide.divisor.eq(divisor),
        ]
        with m.If(row.move):
            m.d.sync += [zero.eq(0), reading.eq(zero | (reading & row.more))]
        with m.If(row.write & row.i_last):
            m.d.sync += [busy.eq(1), zero.eq(1)]
        with m.If(row.o_zero):
            m.d.sync += of_zero.eq(row.o)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(emit):
            m.d.sync += [dividing.eq(0), busy.eq(~last)]
            m.d.sync += [self.o.valid.eq(1), self.o.payload.last.eq(last)]
            m.d.sync += self.o.payload.data.eq(self._result(m, value, product))
        with m.If(divide.busy):
            m.d.sync += product.eq(self._longer(m, product, divide.digits, dividend))
        with m.If(accept):
            sums = add_saturating(m, row.o, of_zero, width, self.adder)
            m.d.sync += [dividing.eq(1), dividend.eq(row.o), divisor.eq(sums), product.eq(0)]
            m.d.sync += [value.eq(row.o_data), last.eq(row.o_last)]
        return m

    def _longer(self, m: Module, product: Value, digits: Value, dividend: Value) -> Value:
        """Append digits of the quotient to a product with it."""
        heap = BitHeap(len(product))
        heap.add_term(list(product), len(digits), signed=False)
        return self._multiply(m, heap, digits, dividend, signed=False, encoding="none")

    def _result(self, m: Module, value: Value, product: Value) -> Value:
        """Multiply a value by the highest bits of a product."""
        heap = BitHeap(self.spec.out_format.width)
        sigmoid = product[32 - self.spec.out_width :]
        return self._multiply(m, heap, sigmoid, value, signed=True, encoding="booth")

    def _multiply(
        self, m: Module, heap: BitHeap, a: Value, b: Value, *, signed: bool, encoding: str
    ) -> Value:
        """Add an unsigned number, times another, to a heap, and resolve it."""
        formats = IntFormat(width=len(a), signed=False), IntFormat(width=len(b), signed=signed)
        for weight, plane in product_planes(m, a, b, *formats, encoding, heap.width).items():
            heap.add_heap(plane, weight)
        return resolve(m, heap.compress(m, [2] * heap.width), self.adder)

"""Shiftmax: integer softmax of rows, in three passes."""

from typing import ClassVar

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, check_fields
from golden.formats.integer import IntFormat
from golden.npe.shiftmax import ShiftmaxSpec
from hw.arith.adder import ADDER, resolve
from hw.arith.bit_heap import BitHeap
from hw.arith.product import product_planes
from hw.lib.evidence import ACTIVATION
from hw.npe.activations.divide import Divide
from hw.npe.activations.row_exponential import Results, RowExponential, Values, add_saturating

__all__ = ["Shiftmax"]


class Shiftmax(wiring.Component):
    """Computes the softmax of rows of integers.

    Computes :func:`golden.npe.shiftmax.shiftmax`, exactly. A row is stored and its maximum found;
    on the first replay the exponentials are summed; on the second they are multiplied by a
    quotient.

    Latency, the value of a row of one to its probability: :attr:`latency` cycles. Throughput: a row
    of L values takes 3 L and a few cycles, :func:`golden.npe.shiftmax.cycles`; the input stalls
    from the last value of a row until its last probability. Stalls: ``o.ready`` does not reach
    ``i.ready`` combinationally. Overflow: the sum saturates at 2^31 - 1.
    Rows sum to 1 within the bounds of the spec's :meth:`~golden.npe.shiftmax.ShiftmaxSpec.bounds`.

    Parameters
    ----------
    spec : ShiftmaxSpec
        What: scale, widths, length of rows, speed of the division.
    adder : str
        How: carry propagation, see :func:`hw.arith.adder.resolve`.

    Members
    -------
    i : In(stream)
        :class:`~hw.npe.activations.row_exponential.Values`, two's complement, 1 .. length per row.
    o : Out(stream)
        :class:`~hw.npe.activations.row_exponential.Results`, probabilities times 2^(out_width - 1).

    Examples
    --------
    >>> unit = Shiftmax(ShiftmaxSpec(width=8, length=64))
    >>> unit.i.payload.shape(), unit.o.payload.shape()
    (StructLayout({'data': 8, 'last': 1}), StructLayout({'data': 8, 'last': 1}))
    >>> unit.latency
    17
    """

    SPEC = ShiftmaxSpec
    SUMMARY = "integer softmax of rows (I-ViT): shifts and one division per row"
    BENCH = "tb_shift"
    EVIDENCE = ACTIVATION

    BUILD: ClassVar[dict[str, Parameter]] = {
        "adder": ADDER,
    }

    i: stream.Interface
    o: stream.Interface

    shared_modules = ()

    def __init__(self, spec: ShiftmaxSpec, *, adder: str = "sklansky"):
        if not isinstance(spec, ShiftmaxSpec):
            raise TypeError(f"spec must be a ShiftmaxSpec, not {spec!r}")
        check_fields(self.BUILD, {"adder": adder})
        self.spec = spec
        self.adder = adder
        super().__init__({
            "i": In(stream.Signature(Values(spec))),
            "o": Out(stream.Signature(Results(spec))),
        })

    @property
    def latency(self) -> int:
        """Cycles from the value of a row of one to its probability."""
        return 5 + max(2, self.spec.divide_cycles)

    @property
    def operations_per_cycle(self) -> float:
        """Sustained in rows of `length`: a subtraction, power, addition and product per value."""
        spec = self.spec
        return 4 * spec.length / (3 * spec.length + 2 + max(2, spec.divide_cycles))

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        m.submodules.row = row = RowExponential(spec, spec.in_format.low, self.adder)
        total = Signal(min(spec.length * spec.greatest, spec.DIVIDEND).bit_length())
        m.submodules.divide = divide = Divide(
            spec.DIVIDEND, len(total), spec.least_sum, spec.quotient_bits, self.adder
        )
        quotient = Signal(spec.divide_cycles * spec.quotient_bits, reset_less=True)
        reading, emit = Signal(), Signal()
        m.d.comb += [
            row.write.eq(self.i.valid & self.i.ready),
            row.i_data.eq(self.i.payload.data),
            row.i_last.eq(self.i.payload.last),
            row.read.eq(reading),
            divide.divisor.eq(total),
        ]
        with m.If(row.move & ~row.more):
            m.d.sync += reading.eq(0)
        with m.If(divide.busy):
            m.d.sync += quotient.eq(Cat(divide.digits, quotient))
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)

        with m.FSM():
            with m.State("TAKE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(row.write & row.i_last):
                    m.d.sync += [reading.eq(1), total.eq(0)]
                    m.next = "ADD"
            with m.State("ADD"):
                m.d.comb += [row.move.eq(1), divide.start.eq(row.valid & row.o_last)]
                with m.If(row.valid):
                    m.d.sync += total.eq(add_saturating(m, total, row.o, len(total), self.adder))
                with m.If(divide.start):
                    m.d.sync += reading.eq(1)
                    m.next = "SCALE"
            with m.State("SCALE"):
                m.d.comb += [
                    emit.eq(row.valid & ~divide.busy & (~self.o.valid | self.o.ready)),
                    row.move.eq(~row.valid | emit),
                ]
                with m.If(emit):
                    m.d.sync += [
                        self.o.valid.eq(1),
                        self.o.payload.data.eq(self._probability(m, row.o, quotient)),
                        self.o.payload.last.eq(row.o_last),
                    ]
                with m.If(emit & row.o_last):
                    m.next = "TAKE"
        return m

    def _probability(self, m: Module, exponential: Value, quotient: Value) -> Value:
        """Take the highest bits of exponential times quotient, at most the dividend."""
        heap = BitHeap(self.spec.DIVIDEND.bit_length())
        a, b = (IntFormat(width=len(x), signed=False) for x in (quotient, exponential))
        planes = product_planes(m, quotient, exponential, a, b, "booth", heap.width)
        for weight, plane in planes.items():
            heap.add_heap(plane, weight)
        product = resolve(m, heap.compress(m, [2] * heap.width), self.adder)
        return product[32 - self.spec.out_width :]

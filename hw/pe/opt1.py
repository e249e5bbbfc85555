"""OPT1: multiply-accumulate that keeps its sum in carry-save form."""

from typing import ClassVar

from golden.check import Choice, Parameter
from golden.pe.mac import MacSpec
from hw.arith.bit_heap import BitHeap
from hw.lib.evidence import ELEMENT
from hw.pe.counted_sum import UPPERS, CountedSum
from hw.pe.element import ACCUMULATOR_ARRIVAL, Element
from hw.pe.element_stream import StreamPe

__all__ = ["Opt1", "Opt1Element"]


class Opt1Element(CountedSum):
    """Compresses product bits and accumulator together, with no carry propagation.

    Compressed accumulation of the HPCA 2025 bit-weight paper (OPT1): for int8 the accumulator keeps
    a third of a carry row. One addition per sum resolves it, outside. Members: see
    :class:`Element`.

    Parameters
    ----------
    upper : str
        How: the upper bits of the sum, see :class:`CountedSum`.
    """

    module = "opt1"
    BUILD: ClassVar[dict[str, Parameter]] = {
        **Element.BUILD,
        "upper": Choice(
            "upper bits of the sum: on the heap, or a counter of the others' overflows, which moves"
            " a cycle later",
            "heap",
            UPPERS,
            searched=True,
        ),
    }

    def __init__(
        self, spec: MacSpec, *, encoding: str = "ent", pipeline: int = 0, upper: str = "heap"
    ):
        self.BUILD["upper"].check("upper", upper)
        self.upper = upper
        super().__init__(spec, encoding=encoding, pipeline=pipeline)

    def _last_delay(self, products: BitHeap) -> float:
        return products.sum_delay([2] * products.width, ACCUMULATOR_ARRIVAL)


class Opt1(StreamPe):
    """Sums products of operand pairs, in carry-save form.

    Computes :func:`golden.pe.opt1.opt1`, exactly: the sum is ``o.sum + o.carry`` modulo
    2^accumulator_width.

    Examples
    --------
    >>> pe = Opt1(MacSpec(a_width=8, b_width=8, accumulator_width=32))
    >>> pe.o.payload.shape()  # the sum is the two words together
    StructLayout({'sum': 32, 'carry': 32})
    >>> pe.latency, pe.operations_per_cycle
    (2, 2)
    """

    SPEC = MacSpec
    SUMMARY = "multiply-accumulate in carry-save form (OPT1): no carry propagation"
    BENCH = "tb_mac"
    EVIDENCE = ELEMENT

    CELL = Opt1Element
    BUILD = Opt1Element.BUILD

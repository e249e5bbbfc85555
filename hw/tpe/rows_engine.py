"""Arrays of integer elements whose rows of C finish one cycle apart."""

from typing import Any, ClassVar

from amaranth import Cat, Module, Mux, Value
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, complete
from golden.pe.mac import MacSpec
from golden.tpe.rows import RowsEngineSpec
from hw.lib.array_entry import ArrayEntry
from hw.lib.engine_ports import ASlice, BSlice, CRow
from hw.pe.element import Element
from hw.tpe.element_choice import ELEMENT_HOWS, make_element
from hw.tpe.rows_array import RowsArray, skew
from hw.tpe.rows_column import RowsColumn

__all__ = ["RowsEngine"]


class RowsEngine(RowsArray):
    """Multiplies matrices tile by tile; each of m x n elements accumulates one element of C.

    Computes :func:`golden.engine.matmul`, exactly. A tile takes ceil(K / k) cycles; the next one
    follows at once if that is at least :attr:`RowsEngineSpec.drain`: rows finish one cycle apart,
    so each column completes one sum per cycle, which leaves by a bus, without a second set of
    accumulators.

    Latency, last operand beat of a tile to its row 0: :attr:`latency` cycles. Throughput: m n k
    multiply-accumulates per cycle. Stalls: a missing operand puts a bubble into the array; a row of
    C that is not taken stalls all of it: ``o_c.ready`` reaches every register's enable and
    ``i_a.ready``, ``i_b.ready`` combinationally. Overflow: none for K <= k_max.

    Parameters
    ----------
    spec : RowsEngineSpec
        What: tile, formats, k_max.
    pe, encoding, pipeline
        How: see :func:`hw.tpe.element_choice.make_element`.
    adder : str
        How: carry propagation, once per column, or in every element ("mac").

    Members
    -------
    i_a : In(stream)
        :class:`ASlice`, k columns of the tile of A.
    i_b : In(stream)
        :class:`BSlice`, k rows of the tile of B; each moves together with one of ``i_a``.
    o_c : Out(stream)
        :class:`CRow`, the rows of the tile of C, row 0 first.
    """

    SPEC: ClassVar[type[RowsEngineSpec]]
    HOWS: ClassVar[dict[str, Parameter]] = ELEMENT_HOWS

    spec: RowsEngineSpec

    def __init__(self, spec: RowsEngineSpec, **hows: Any):
        if not isinstance(spec, self.SPEC):
            raise TypeError(f"spec must be a {self.SPEC.__name__}, not {spec!r}")
        hows = complete(self.HOWS, hows)
        self.element = make_element(
            MacSpec(
                k=spec.k,
                a_width=spec.a_width,
                b_width=spec.b_width,
                a_signed=spec.a_signed,
                b_signed=spec.b_signed,
                accumulator_width=spec.accumulator_width,
            ),
            **hows,
        )
        ports = {
            "i_a": In(stream.Signature(ASlice(spec))),
            "i_b": In(stream.Signature(BSlice(spec))),
            "o_c": Out(stream.Signature(CRow(spec))),
        }
        super().__init__(spec, self.make_column(spec, self.element, hows["adder"]), ports)

    def make_column(self, spec: RowsEngineSpec, element: Element, adder: str) -> RowsColumn:
        """Make the column; the array has n of them."""
        raise NotImplementedError

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition per product."""
        return 2 * self.spec.m * self.spec.n * self.spec.k

    def place_columns(
        self, m: Module, move: Value, a: list[Value], b: list[Value], clear: Value
    ) -> Value:
        """Place the columns side by side.

        Parameters
        ----------
        m, move : where, and the common clock enable.
        a, clear : for each row its operands and its clear bit, row i delayed by i cycles; with
            ``together``, operands are not delayed.
        b : for each column its codes, not skewed.

        Returns
        -------
        A row of C, as :meth:`RowsArray.build`.
        """
        raise NotImplementedError

    def build(self, m: Module, move: Value, feed: ArrayEntry, clear: Value) -> Value:
        """Encode the rows of A, each after its delay, and place the columns."""
        spec = self.spec
        a, b = self.i_a.payload.data, self.i_b.payload.data
        width = spec.k * spec.a_width
        # Undelayed rows are encoded while ``accept`` is still being decided, which is shorter.
        at_once = [a.word_select(row, width) for row in range(spec.m if spec.together else 1)]
        operands = [Mux(feed.accept, self.element.encode(m, codes), 0) for codes in at_once]
        if not spec.together:
            below = skew(m, move, "a", Mux(feed.accept, a, 0), spec.m, width)[1:]
            operands += [self.element.encode(m, codes) for codes in below]
        return self.place_columns(
            m,
            move,
            operands,
            [_column(b, number, spec) for number in range(spec.n)],
            clear,
        )


def _column(b: Value, number: int, spec: RowsEngineSpec) -> Value:
    """Extract the k codes of one column from k rows of n codes."""
    return Cat(b.word_select(k * spec.n + number, spec.b_width) for k in range(spec.k))

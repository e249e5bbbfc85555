"""Arrays of integer elements whose rows of C finish one cycle apart."""

from collections.abc import Mapping
from typing import Any, ClassVar

from amaranth import Cat, Module, Value
from amaranth.hdl import ValueLike
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, complete
from golden.tpe.rows import RowsEngineSpec
from hw.device import GENERIC, family
from hw.device.choice import TARGET_BUILD, check_target
from hw.lib.array_entry import ArrayEntry
from hw.lib.engine_ports import ASlice, BSlice, CRow
from hw.lib.shared_module import SharedModule
from hw.pe.element import Element
from hw.tpe.block_array import BlockArray
from hw.tpe.element_choice import ELEMENT_BUILD, make_element
from hw.tpe.row_exit import is_large
from hw.tpe.rows_array import RowsArray, skew
from hw.tpe.rows_column import RowsColumn
from hw.tpe.winograd_array import WinogradArray

__all__ = ["RowsEngine", "is_large_array"]


class RowsEngine(RowsArray):
    """Multiplies matrices tile by tile; each of m x n elements accumulates one element of C.

    Computes :func:`golden.engine.matmul`, exactly. A tile takes ceil(K / k) cycles; the next one
    follows at once if that is at least :attr:`RowsEngineSpec.drain`: rows finish one cycle apart,
    so each column completes one sum per cycle, which leaves by a bus, without a second set of
    accumulators.

    Latency, last operand beat of a tile to its row 0: :attr:`latency` cycles. Throughput: m n k
    multiply-accumulates per cycle. Stalls: a missing operand puts a bubble into the array; a row of
    C that is not taken stalls all of it: ``o_c.ready`` reaches every register's enable and
    ``i_a.ready``, ``i_b.ready`` combinationally, of a large array a cycle later, through a register
    (:class:`hw.tpe.row_exit.RowExit`). Overflow: none for K <= k_max.

    Parameters
    ----------
    spec : RowsEngineSpec
        What: tile, formats, k_max.
    target : str
        How: a device family, of whose blocks :class:`hw.tpe.block_array.BlockArray` is built, or
        "generic". Then no stall reaches the array, and there is a gap between tiles.
    packing : str
        How: products in a multiplier block of the device, of :data:`hw.device.PACKINGS`.
    dsps : int
        How: multiplier blocks that may be used; columns beyond are of logic.
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
    SYSTOLIC: ClassVar[bool] = False
    """A moves from column to column, one in a cycle."""

    BUILD: ClassVar[dict[str, Parameter]] = ELEMENT_BUILD

    spec: RowsEngineSpec

    def __init__(self, spec: RowsEngineSpec, **build: Any):
        if not isinstance(spec, self.SPEC):
            raise TypeError(f"spec must be a {self.SPEC.__name__}, not {spec!r}")
        whole = complete(self.BUILD, build)
        build = {**whole, **self.default_build(spec, whole), **build}
        check_target(build, self.BUILD)
        target, packing, dsps = (build.pop(name) for name in TARGET_BUILD)
        self.blocks: BlockArray | None = None
        column: Any
        if target == GENERIC:
            self.element = make_element(spec.element, **build)
            column = self.make_column(spec, self.element, build["adder"])
        else:
            kind = WinogradArray if packing == "winograd" else BlockArray
            self.blocks = kind(spec, family(target), packing, dsps, systolic=self.SYSTOLIC)
            column = self.blocks.column
        ports = {
            "i_a": In(stream.Signature(ASlice(spec))),
            "i_b": In(stream.Signature(BSlice(spec))),
            "o_c": Out(stream.Signature(CRow(spec))),
        }
        super().__init__(spec, column, ports)

    @classmethod
    def default_build(cls, spec: RowsEngineSpec, build: Mapping[str, Any]) -> dict[str, Any]:
        """Return defaults that depend on the size, of build parameters that are not given.

        Parameters
        ----------
        spec : RowsEngineSpec
        build : all build parameters, those not given as :attr:`BUILD` has them.
        """
        return {}

    def make_column(self, spec: RowsEngineSpec, element: Element, adder: str) -> RowsColumn:
        """Make the column; the array has n of them."""
        raise NotImplementedError

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The column; of blocks, also what is behind it."""
        return super().shared_modules if self.blocks is None else self.blocks.shared_modules

    @property
    def stops_late(self) -> bool:
        """Whether a row of C that is not taken stops the array a cycle later; it is large."""
        return self.blocks is None and is_large_array(self.spec)

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C."""
        if self.blocks is not None:
            return self.blocks.latency
        return super().latency + (self.spec.n - 1 if self.SYSTOLIC else 0)

    @property
    def gap(self) -> int | None:
        """Idle cycles between tiles, if it is built of blocks; else as the spec says."""
        return None if self.blocks is None else self.blocks.gap

    @property
    def rows_held(self) -> int | None:
        """Rows of C for which there is room behind an array of blocks, which never stops."""
        return None if self.blocks is None else self.blocks.store.depth

    def elaborate(self, platform):
        """Build an array of blocks, or of elements."""
        if self.blocks is None:
            return super().elaborate(platform)
        m = Module()
        self.blocks.build(m, self.i_a, self.i_b, self.o_c)
        return m

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition per product."""
        return 2 * self.spec.m * self.spec.n * self.spec.k

    def place_columns(
        self, m: Module, move: ValueLike, a: list[Value], b: list[Value], clear: Value
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

    def build(self, m: Module, move: ValueLike, feed: ArrayEntry, clear: Value) -> Value:
        """Encode the rows of A, each after its delay, and place the columns."""
        spec = self.spec
        a, b = self.i_a.payload.data, self.i_b.payload.data
        width = spec.k * spec.a_width
        # Undelayed rows are encoded while ``accept`` is still being decided, which is shorter.
        at_once = [a.word_select(row, width) for row in range(spec.m if spec.together else 1)]
        gated = self.element.gated
        operands = [gated(feed.accept, self.element.encode(m, codes)) for codes in at_once]
        if not spec.together:
            below = skew(m, move, "a", gated(feed.accept, a), spec.m, width)[1:]
            operands += [self.element.encode(m, codes) for codes in below]
        columns = [_column(b, number, spec) for number in range(spec.n)]
        return self.place_columns(
            m,
            move,
            operands,
            [self.element.beside(m, feed.accept, column) for column in columns],
            clear,
        )


def is_large_array(spec: RowsEngineSpec) -> bool:
    """Return whether the clock enable of an array of elements is a register."""
    return is_large(spec.m * spec.n, spec.accumulator_width + spec.b_codes * spec.b_code_width)


def _column(b: Value, number: int, spec: RowsEngineSpec) -> Value:
    """Extract the codes of one column from rows of n codes."""
    width = spec.b_code_width
    return Cat(b.word_select(row * spec.n + number, width) for row in range(spec.b_codes))

"""Weight-stationary systolic array."""

from functools import reduce
from operator import or_
from typing import Any, ClassVar

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, complete
from golden.pe.mac import MacSpec
from golden.tpe.systolic_ws import SystolicWsSpec
from hw.device import GENERIC, family
from hw.device.choice import TARGET_BUILD, check_target
from hw.lib.engine_ports import ASlice, BSlice, CRow
from hw.lib.evidence import ENGINE
from hw.lib.shared_module import SharedModule
from hw.tpe.element_choice import element_build, make_element
from hw.tpe.row_exit import RowExit, is_large, near
from hw.tpe.rows_array import RowCount, skew
from hw.tpe.stationary_blocks import StationaryBlocks
from hw.tpe.turns import Turns
from hw.tpe.weight_stationary import StationaryColumn

__all__ = ["SystolicWs"]


class SystolicWs(wiring.Component):
    """Multiplies matrices on k x n elements, each of which holds one code of B for a beat.

    Computes :func:`golden.tpe.systolic_ws.systolic_ws`, exactly. The rows of A enter one per cycle
    and move right, the partial sums move down, one element per cycle each. The first row of a beat
    brings the weights: it reaches one element of a column per cycle, so a bus of one code of B per
    column suffices, no element needs a shadow register for the next weight, and beats follow each
    other without a gap. The weight is the recoded operand: its digits stay while the codes of A
    pass.

    Latency, last operand beat of a tile to its row 0: :attr:`latency` cycles. Throughput: one beat
    per :attr:`SystolicWsSpec.turn` cycles, during which its sender holds it. Stalls: a missing
    operand costs a turn within a tile, only the waiting time between tiles; a row of C that is not
    taken stalls the whole array: ``o_c.ready`` reaches every register's enable and ``i_a.ready``,
    ``i_b.ready`` combinationally, of a large array a cycle later, through a register
    (:class:`hw.tpe.row_exit.RowExit`). Overflow: none for K <= k_max.

    Parameters
    ----------
    spec : SystolicWsSpec
        What: tile, formats, k_max.
    target : str
        How: a device family, of whose blocks :class:`hw.tpe.stationary_blocks.StationaryBlocks` is
        built, or "generic". Of blocks, no stall reaches the array.
    packing : str
        How: products in a multiplier block of the device; one, "auto" or "none".
    dsps : int
        How: multiplier blocks that may be used; columns beyond are of logic.
    pe, encoding, pipeline
        How: see :func:`hw.tpe.element_choice.make_element`; `encoding` is that of B.
    adder : str
        How: carry propagation, once per column ("opt1") or in every element ("mac").

    Members
    -------
    i_a : In(stream)
        :class:`ASlice`, k columns of the tile of A.
    i_b : In(stream)
        :class:`BSlice`, k rows of the tile of B; each moves together with one of ``i_a``.
    o_c : Out(stream)
        :class:`CRow`, the rows of the tile of C, row 0 first.

    Examples
    --------
    >>> array = SystolicWs(SystolicWsSpec(m=8, n=4, k=4))
    >>> array.i_b.payload.shape()  # a tile of B, which stays for 8 rows of A
    StructLayout({'data': 128})
    >>> array.latency, array.operations_per_cycle
    (2, 32)
    """

    SPEC = SystolicWsSpec
    SUMMARY = "weight-stationary systolic array of either PE, with recirculating partial sums"
    BENCH = "tb_engine"
    EVIDENCE = (*ENGINE, "formal proof of one accumulation step", "mutants")

    BUILD: ClassVar[dict[str, Parameter]] = TARGET_BUILD | element_build("opt1", "mac", pipeline=0)

    i_a: stream.Interface
    i_b: stream.Interface
    o_c: stream.Interface

    def __init__(self, spec: SystolicWsSpec, **build: Any):
        if not isinstance(spec, SystolicWsSpec):
            raise TypeError(f"spec must be a SystolicWsSpec, not {spec!r}")
        build = complete(self.BUILD, build)
        check_target(build, self.BUILD)
        target, packing, dsps = (build.pop(name) for name in TARGET_BUILD)
        self.spec = spec
        self.blocks: StationaryBlocks | None = None
        if target == GENERIC:
            self.element = make_element(
                MacSpec(
                    a_width=spec.b_width,
                    b_width=spec.a_width,
                    a_signed=spec.b_signed,
                    b_signed=spec.a_signed,
                    accumulator_width=spec.accumulator_width,
                ),
                **build,
            )
            self.column = StationaryColumn(spec, self.element, build["adder"])
        else:
            self.blocks = StationaryBlocks(spec, family(target), packing, dsps)
        super().__init__({
            "i_a": In(stream.Signature(ASlice(spec))),
            "i_b": In(stream.Signature(BSlice(spec))),
            "o_c": Out(stream.Signature(CRow(spec))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The column; of blocks, also what is behind it."""
        return (self.column,) if self.blocks is None else self.blocks.shared_modules

    @property
    def _delay(self) -> int:
        """Cycles from the first row of A of a beat to the row of C."""
        return self.column.latency + self.spec.n - 1

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C.

        A beat is accepted with its last cycle: with many rows, the first row of C is out before
        that, and this is negative.
        """
        if self.blocks is not None:
            return self.blocks.latency
        return self._delay - (self.spec.turn - 1)

    @property
    def rows_held(self) -> int | None:
        """Rows of C for which there is room behind an array of blocks, which never stops."""
        return None if self.blocks is None else self.blocks.store.depth

    @property
    def operations_per_cycle(self) -> int:
        """A multiplication and an addition per product."""
        return 2 * self.spec.n * min(self.spec.m, self.spec.k)

    def elaborate(self, platform):
        m = Module()
        if self.blocks is not None:
            self.blocks.build(m, self.i_a, self.i_b, self.o_c)
            return m
        spec = self.spec
        late = is_large(spec.k * spec.n, spec.accumulator_width + spec.b_width)
        leaving = RowExit(m, self.o_c, late=late)
        move = leaving.move
        m.submodules.turns = turns = Turns(spec)
        m.submodules.rows = rows = RowCount(spec, self._delay)
        m.d.comb += [
            turns.move.eq(move),
            turns.valid.eq(self.i_a.valid & self.i_b.valid),
            turns.last.eq(self.i_a.payload.last),
            self.i_a.ready.eq(turns.accept),
            self.i_b.ready.eq(turns.accept),
            rows.move.eq(move),
            rows.finish.eq(turns.finish),
            leaving.valid.eq(rows.valid),
            leaving.payload.last.eq(rows.last),
        ]
        a = _select(m, "a", self.i_a.payload.data, turns.row[: spec.m])
        b = _select(m, "b", self.i_b.payload.data, turns.row[: spec.k])
        weights = skew(m, move, "b", b, spec.n, spec.b_width)
        crossing: Value = Cat(skew(m, move, "a", a, spec.k, spec.a_width))
        swap: Value = turns.row[: spec.k]
        clear: Value = turns.clear
        early: Value = C(0, 0)
        for number in range(spec.n):
            m.submodules[f"column{number}"] = column = self.column.place()
            m.d.comb += [
                column.en.eq(near(move)),
                column.i_a.eq(crossing),
                column.i_swap.eq(swap),
                column.i_b.eq(self.element.encode(m, weights[number])),
                column.i_clear.eq(clear),
            ]
            crossing, swap, clear = column.o_a, column.o_swap, column.o_clear
            # The sums of earlier columns wait for the last one's.
            row = Cat(early, column.o)
            if number < spec.n - 1:
                early = Signal(len(row), name=f"c{number}", reset_less=True)
                with m.If(near(move)):
                    m.d.sync += early.eq(row)
        m.d.comb += leaving.payload.data.eq(row)
        return m


def _select(m: Module, name: str, codes: Value, row: Value) -> Value:
    """Select the row of codes whose bit is set; zeros if none is."""
    width = len(codes) // len(row)
    chosen = Signal(width, name=name)
    masked = [Mux(bit, codes.word_select(number, width), 0) for number, bit in enumerate(row)]
    m.d.comb += chosen.eq(reduce(or_, masked))
    return chosen

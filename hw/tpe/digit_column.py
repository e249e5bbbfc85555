"""Digit-serial columns: rows of A recoded once, for n elements that add one term per cycle."""

from typing import ClassVar

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter
from golden.tpe.digit_column import DigitColumnSpec
from hw.lib.engine_ports import ASlice, BSlice, CRow
from hw.lib.evidence import ENGINE
from hw.lib.shared_module import SharedModule
from hw.pe.digit_row import DigitControl, DigitRow
from hw.pe.opt3 import Opt3
from hw.pe.opt4c import Opt4c
from hw.pe.opt4e import Opt4e
from hw.tpe.digit_ahead import AheadControl, BeatSlice
from hw.tpe.row_exit import RowExit, is_large, near

__all__ = ["DigitColumn"]

_SLICE = 64
"""Bits of a beat of B that share what controls them."""

_TOGETHER = 8
"""Columns that share what selects the row that leaves."""

_SHARED = {"opt3": Opt3.SHARED, "opt4c": Opt4c.SHARED, "opt4e": Opt4e.SHARED}


class DigitColumn(wiring.Component):
    """Multiplies matrices tile by tile, skipping zero digits of A; each element keeps one sum.

    Computes :func:`golden.engine.matmul`, exactly. The digits of each row of A are selected once
    for n elements, each with its own column of B. All m rows use the same beat of B, and wait for
    the slowest row at its end. Accumulators resolve in place, without an adder, and leave before
    the next tile begins.

    Latency, last operand beat of a tile to its row 0: :attr:`latency` cycles. Throughput:
    :func:`golden.tpe.digit_column.cycles`: **it depends on the values of A** unless
    ``constant_time`` is set, which is a timing side channel. Stalls: beats of A are taken one
    ahead; a beat of B is held until its last digits have been used; ``o_c.ready`` and
    ``i_b.valid`` reach ``i_a.ready`` combinationally. A large array takes beats of B two ahead,
    and no stream reaches another combinationally. Overflow: none for K <= k_max.

    Parameters
    ----------
    spec : DigitColumnSpec
        What: tile, formats, k_max, element, digits.

    Members
    -------
    i_a : In(stream)
        :class:`ASlice`, k columns of the tile of A; with ``a_recoded``, in codes of
        :class:`golden.formats.recoded.RecodedFormat`, whose digits are issued as they are: no
        recoder is built, and any recoding of A is allowed.
    i_b : In(stream)
        :class:`BSlice`, k rows of the tile of B, for the same beat of ``i_a``.
    o_c : Out(stream)
        :class:`CRow`, the rows of the tile of C, row 0 first.

    Examples
    --------
    >>> column = DigitColumn(DigitColumnSpec(m=1, n=4))
    >>> column.latency, round(column.operations_per_cycle, 2)  # of normally distributed codes
    (11, 3.76)
    """

    SPEC = DigitColumnSpec
    SUMMARY = "digit-serial columns: digits of A selected once, zero digits skipped"
    BENCH = "tb_engine"
    EVIDENCE = (*ENGINE, "mutants")

    BUILD: ClassVar[dict[str, Parameter]] = {}

    i_a: stream.Interface
    i_b: stream.Interface
    o_c: stream.Interface

    def __init__(self, spec: DigitColumnSpec):
        if not isinstance(spec, DigitColumnSpec):
            raise TypeError(f"spec must be a DigitColumnSpec, not {spec!r}")
        self.spec = spec
        bits = spec.accumulator_width + spec.b_width
        self.large = is_large(spec.m * spec.n, bits)
        self.row = DigitRow(spec.element, spec.n, shared=_SHARED[spec.pe], stops=not self.large)
        super().__init__({
            "i_a": In(stream.Signature(ASlice(spec))),
            "i_b": In(stream.Signature(BSlice(spec))),
            "o_c": Out(stream.Signature(CRow(spec))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The row."""
        return (self.row,)

    @property
    def latency(self) -> int:
        """Cycles from the last operand beat of a tile to its first row of C."""
        return self.spec.element.drain

    @property
    def operations_per_cycle(self) -> float:
        """Sustained rate for normally distributed operands."""
        return self.spec.operations_per_cycle

    def elaborate(self, platform):
        m = Module()
        if self.large:
            self._build_large(m)
        else:
            self._build(m)
        return m

    def _build(self, m: Module) -> None:
        """Let all rows stop for a beat of B, and issue digits once the sums have left."""
        spec = self.spec
        m.submodules.control = control = DigitControl(spec.element, spec.m)
        rows = [self.row.place() for _ in range(spec.m)]
        m.d.comb += [
            control.a_valid.eq(self.i_a.valid),
            control.a_last.eq(self.i_a.payload.last),
            control.b_valid.eq(self.i_b.valid),
            control.o_ready.eq(self.o_c.ready),
            control.row_last.eq(Cat(row.last for row in rows).all()),
            self.i_a.ready.eq(control.a_ready),
            self.i_b.ready.eq(control.b_ready),
            self.o_c.valid.eq(control.o_valid),
            self.o_c.payload.last.eq(control.o_row[-1]),
        ]
        bus = C(0, len(self.o_c.payload.data))
        for number, row in enumerate(rows):
            m.submodules[f"row{number}"] = row
            m.d.comb += [
                row.en.eq(control.en),
                row.i_load.eq(control.load),
                row.i_go.eq(control.go),
                row.i_first.eq(control.first),
                row.i_a.eq(self.i_a.payload.data.word_select(number, len(row.i_a))),
                row.i_b.eq(self.i_b.payload.data),
            ]
            here = control.o_row[number] if spec.m > 1 else C(1, 1)
            bus = bus | (row.o & here.replicate(len(row.o)))
        m.d.comb += self.o_c.payload.data.eq(bus)

    def _build_large(self, m: Module) -> None:
        """Let each row have registers of its own that say what it does in a cycle."""
        spec = self.spec
        m.submodules.control = control = AheadControl(spec.element, spec.m)
        rows = [self.row.place() for _ in range(spec.m)]
        leaving = RowExit(m, self.o_c, late=True)
        b = self._beats(m, control)
        m.d.comb += [
            control.a_valid.eq(self.i_a.valid),
            control.a_last.eq(self.i_a.payload.last),
            control.row_last.eq(Cat(row.last for row in rows).all()),
            control.o_move.eq(leaving.move),
            control.o_moves.eq(leaving.moves),
            self.i_a.ready.eq(control.a_ready),
            leaving.valid.eq(control.o_valid),
            leaving.payload.last.eq(control.o_row[-1]),
        ]
        for number, row in enumerate(rows):
            m.submodules[f"row{number}"] = row
            m.d.comb += [
                row.i_load.eq(control.load[number]),
                row.i_go.eq(control.go[number]),
                row.i_first.eq(control.first),
                row.i_a.eq(self.i_a.payload.data.word_select(number, len(row.i_a))),
                row.i_b.eq(b),
            ]
        width = spec.accumulator_width
        for start in range(0, spec.n, _TOGETHER):
            here = Signal(spec.m, init=1, name=f"here{start}")
            with m.If(near(leaving.move) & control.o_valid):
                m.d.sync += here.eq(here.rotate_left(1))
            part = slice(start * width, min(start + _TOGETHER, spec.n) * width)
            bus: Value = C(0, part.stop - part.start)
            for bit, row in zip(here, rows, strict=True):
                bus = bus | (row.o[part] & bit.replicate(len(bus)))
            m.d.comb += leaving.payload.data[part].eq(bus)

    def _beats(self, m: Module, control: AheadControl) -> Value:
        """Hold two beats of B, in slices; return the one in use."""
        offered = self.i_b.payload.data
        size = max(_SLICE, -(-len(offered) // self.spec.m))
        held = []
        for number, start in enumerate(range(0, len(offered), size)):
            part = offered[start : start + size]
            m.submodules[f"beats{number}"] = beats = BeatSlice(len(part))
            ready = beats.ready & control.b_ready
            m.d.comb += [beats.i.eq(part), beats.done.eq(control.done[number])]
            m.d.comb += beats.take.eq(self.i_b.valid & ready)
            held.append(beats.o)
            if not number:
                m.d.comb += [
                    self.i_b.ready.eq(ready),
                    control.b_one.eq(beats.has_one),
                    control.b_two.eq(beats.has_two),
                ]
        return Cat(held)

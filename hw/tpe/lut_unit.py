"""LUT unit: LPRE and LMMA, as a stream of descriptors into a LUT core."""

from collections.abc import Iterator
from typing import Any, ClassVar

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, complete
from golden.tpe.lut_unit import LutUnitSpec
from hw.lib.shared_module import SharedModule
from hw.pe.mac import MacElement
from hw.pe.odd_sums import ODD, SUM, OddSums
from hw.tpe.lut_core import LutCore
from hw.tpe.table_store import TableStore

__all__ = ["LutUnit"]


class LutUnit(wiring.Component):
    """Executes LPRE and LMMA descriptors; :func:`golden.tpe.lut_unit.lut_unit` defines the streams.

    LPRE takes activations, makes the tables of each beat and stores them in a numbered register,
    with the sum of each row of activations (:class:`TableStore`). LMMA looks up its weights in
    stored tables, one bit plane after another, the most significant first. A plane is a tile of a
    core on the odd grid (:class:`LutCore`); its rows are accumulated by doubling and adding,
    corrected by the activations' sum if weights have a zero point there, halved, and added to the
    incoming C. Operations run in order; LPRE may begin while the last rows of an LMMA leave. The
    a, b and c registers of the descriptors are outside, in whatever feeds the streams. The first
    operation this unit does not support sets ``o_error`` and stops the unit until reset.

    Latency, last beat of weights to the first result: :attr:`latency` cycles. Throughput: one beat
    per cycle, of activations or of a plane of weights; a plane of fewer beats than rows takes as
    many cycles as rows. Stalls: a result that is not taken, or a missing input of C, stalls the
    core. Overflow: sums and results are modulo 2^32; int8 saturates.

    Parameters
    ----------
    spec : LutUnitSpec
        What: tile, tables, table registers.
    adder : str
        How: see :func:`hw.arith.adder.resolve`.

    Members
    -------
    i_op : In(stream)
        Descriptors of 64 bits, see :mod:`golden.lut.isa`.
    i_a : In(stream)
        Activations: a beat has k of each of m rows, row by row, the first lowest.
    i_b : In(stream)
        A plane of weights as bits of keys (:func:`golden.lut.table.fold`): a beat has k rows of n.
    i_c : In(stream)
        C to add, int32: rows of n.
    o_c : Out(stream)
        Results, int32, or int8 sign-extended: rows of n; ``last`` ends an operation.
    o_error : Out(1)
        An operation was refused: unknown opcode or format, too large, or tables that do not exist
        or have another number of rows.

    Examples
    --------
    >>> unit = LutUnit(LutUnitSpec(m=1, n=8, planes=2))
    >>> unit.i_b.payload.shape()  # a bit of 16 weights of each column
    StructLayout({'data': 128})
    >>> unit.latency, unit.operations_per_cycle
    (5, 128.0)
    """

    SPEC = LutUnitSpec
    SUMMARY = "LUT unit: LPRE and LMMA, as a stream of descriptors into a LUT core"
    BENCH = "tb_lut_unit"
    EVIDENCE = (
        "cocotb against numpy: programs of all formats and extremes, stalls, refusals, resets,"
        " exact cycle count",
        "mutants",
        "netlist simulation",
    )

    BUILD: ClassVar[dict[str, Parameter]] = {"adder": MacElement.BUILD["adder"]}

    i_op: stream.Interface
    i_a: stream.Interface
    i_b: stream.Interface
    i_c: stream.Interface
    o_c: stream.Interface
    o_error: Signal

    def __init__(self, spec: LutUnitSpec, **build: Any):
        if not isinstance(spec, LutUnitSpec):
            raise TypeError(f"spec must be a LutUnitSpec, not {spec!r}")
        self.spec = spec
        self.adder = complete(self.BUILD, build)["adder"]
        self.store = TableStore(spec, self.adder)
        self.core = LutCore(spec.core, adder=self.adder)
        self.column = OddSums(spec.m, spec.planes, spec.core.c_format.width, self.adder)
        row = data.StructLayout({"data": spec.n * SUM, "last": 1})
        super().__init__({
            "i_op": In(_stream(64)),
            "i_a": In(_stream(spec.m * spec.k * spec.a_width)),
            "i_b": In(_stream(spec.k * spec.n)),
            "i_c": In(_stream(spec.n * SUM)),
            "o_c": Out(stream.Signature(row)),
            "o_error": Out(1),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """Those of the core, the table, and the column of sums."""
        return (*self.core.shared_modules, *self.store.shared_modules, self.column)

    @property
    def latency(self) -> int:
        """Cycles from the last beat of weights to the first result."""
        return self.core.latency + 2

    @property
    def operations_per_cycle(self) -> float:
        """A multiplication and an addition per product, for the widest weights."""
        spec = self.spec
        return 2 * spec.m * spec.n * spec.k / spec.planes

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        m.submodules.core = self.core
        m.submodules.store = store = self.store
        word = Signal(64, reset_less=True)
        pre, mma = (
            {name: word[at : at + width] for name, (at, width) in spec.fields[kind].items()}
            for kind in ("lpre", "lmma")
        )
        wiring.connect(m, wiring.flipped(self.i_a), store.i_a)
        m.d.comb += [
            store.i_new.number.eq(pre["rd"]),
            store.i_new.rows.eq(pre["m"]),
            store.i_new.depth.eq(pre["depth"]),
            store.i_number.eq(mma["ra"]),
        ]

        looks, asks, looked, left = Signal(), Signal(), Signal(), Signal()
        with m.FSM(name="unit"):
            with m.State("next"):
                m.d.comb += self.i_op.ready.eq(1)
                m.d.sync += word.eq(self.i_op.payload.data)
                with m.If(self.i_op.valid):
                    m.next = "read"
            with m.State("read"):
                with m.If(self._makes(pre)):
                    m.next = "make"
                with m.Elif(~self._multiplies(mma)):
                    m.next = "refused"
                with m.Elif(left):
                    m.d.comb += asks.eq(1)
                    m.next = "look"
            with m.State("make"):
                m.d.comb += store.i_makes.eq(1)
                with m.If(store.o_made):
                    m.next = "next"
            with m.State("look"):
                m.d.comb += looks.eq(1)
                with m.If(looked):
                    m.next = "next"
            with m.State("refused"):
                m.d.comb += self.o_error.eq(1)

        self._look(m, asks, looks, looked, mma)
        self._add(m, asks, left, mma)
        return m

    def _makes(self, pre: dict[str, Value]) -> Value:
        """Return whether an operation is an LPRE that this unit supports."""
        spec = self.spec
        return (
            self._is("lpre", pre)
            & (pre["m"] < spec.m)
            & (pre["depth"] < spec.k_max)
            & (pre["rd"] < spec.registers)
        )

    def _multiplies(self, mma: dict[str, Value]) -> Value:
        """Return whether an operation is an LMMA that this unit supports, on existing tables."""
        spec = self.spec
        return (
            self._is("lmma", mma)
            & (mma["n"] < spec.n)
            & (mma["planes"] < spec.planes)
            & (mma["ra"] < spec.registers)
            & self.store.o_there
            & (mma["m"] == self.store.o_known.rows)
            & Cat(mma["result"] == result for result in spec.results.values()).any()
            # Trits have two planes.
            & ((mma["weights"] != spec.weights["t"]) | (mma["planes"] == 1))
        )

    def _is(self, kind: str, fields: dict[str, Value]) -> Value:
        """Return whether an operation is of this kind, for tables as this unit's."""
        demanded = self.spec.demanded[kind]
        return Cat(fields[name] == value for name, value in demanded.items()).all()

    def _look(
        self, m: Module, asks: Value, looks: Value, looked: Value, mma: dict[str, Value]
    ) -> None:
        """Send all tables into the core, once for each plane."""
        spec, core, store = self.spec, self.core, self.store
        beat, beats = (
            Signal(range(max(spec.beats, 2)), name=name, reset_less=True)
            for name in ("at", "until")
        )
        plane = Signal(range(max(spec.planes, 2)), reset_less=True)
        # A beat has been read; it is the last of its plane, or of all.
        have, ends, over, more = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            store.i_reads.eq(more & (~have | core.i_a.ready)),
            store.i_beat.eq(beat),
            core.i_a.valid.eq(have),
            core.i_a.payload.data.eq(store.o),
            core.i_a.payload.last.eq(ends),
            core.i_b.valid.eq(self.i_b.valid),
            core.i_b.payload.data.eq(self.i_b.payload.data),
            self.i_b.ready.eq(core.i_b.ready),
            looked.eq(looks & core.i_a.ready & over),
        ]
        with m.If(core.i_a.ready):
            m.d.sync += have.eq(0)
        with m.If(asks):
            m.d.sync += [beat.eq(0), beats.eq(store.o_known.beats)]
            m.d.sync += [plane.eq(mma["planes"]), more.eq(1)]
        with m.If(store.i_reads):
            m.d.sync += [have.eq(1), ends.eq(beat == beats)]
            m.d.sync += [over.eq((beat == beats) & (plane == 0)), beat.eq(beat + 1)]
            with m.If(beat == beats):
                m.d.sync += [beat.eq(0), plane.eq(plane - 1), more.eq(plane != 0)]

    def _add(self, m: Module, asks: Value, left: Value, mma: dict[str, Value]) -> None:
        """Accumulate planes and the incoming C; `left` means that no rows are outstanding."""
        spec, rows, known = self.spec, self.core.o_c, self.store.o_known
        row = Signal(range(max(spec.m, 2)))
        plane = Signal(range(max(spec.planes, 2)), reset_less=True)
        asked = self._operation(mma)
        busy, first = Signal(), Signal(reset_less=True)
        with m.If(asks):
            m.d.sync += [
                busy.eq(1),
                first.eq(1),
                plane.eq(mma["planes"]),
                asked.sums.eq(known.sums),
                asked.rows.eq(mma["m"]),
                asked.planes.eq(mma["planes"]),
                asked.weights.eq(mma["weights"]),
                asked.narrow.eq(mma["result"] == spec.results["int8"]),
            ]

        # A sum is complete, and becomes a result.
        there, take, last = Signal(), Signal(), Signal(reset_less=True)
        correction = Signal(ODD, reset_less=True)
        free = ~self.o_c.valid | self.o_c.ready
        add, wanted = Signal(), Signal()
        m.d.comb += [
            left.eq(~busy & ~there),
            rows.ready.eq(~there | take),
            add.eq(rows.valid & rows.ready),
            wanted.eq(add & (plane == 0) & (row <= asked.rows)),
            self.i_c.ready.eq(there & free),
            take.eq(there & free & self.i_c.valid),
        ]
        with m.If(add):
            m.d.sync += row.eq(row + 1)
            with m.If(rows.payload.last):
                m.d.sync += [row.eq(0), first.eq(0), plane.eq(plane - 1)]
                with m.If(plane == 0):
                    m.d.sync += busy.eq(0)
        with m.If(take):
            m.d.sync += [there.eq(0), self.o_c.payload.last.eq(last)]
        with m.If(wanted):
            m.d.sync += [
                there.eq(1),
                last.eq(row == asked.rows),
                correction.eq(self._correct(m, asked, row)),
            ]
        with m.If(free):
            m.d.sync += self.o_c.valid.eq(take)

        results = []
        for number, column in enumerate(self._columns(m, asked, row)):
            m.d.comb += [
                column.i_add.eq(add),
                column.i_first.eq(first),
                column.i_take.eq(take),
                column.i_correction.eq(correction),
                column.i_before.eq(self.i_c.payload.data.word_select(number, SUM)),
            ]
            results.append(column.o)
        m.d.comb += self.o_c.payload.data.eq(Cat(results))

    def _operation(self, mma: dict[str, Value]) -> Any:
        """Make the registers of what an operation says."""
        layout = data.StructLayout({
            "sums": len(self.store.o_known.sums),
            "rows": len(mma["m"]),
            "planes": range(max(self.spec.planes, 2)),
            "weights": len(mma["weights"]),
            "narrow": 1,
        })
        return Signal(layout, name="asked", reset_less=True)

    def _columns(self, m: Module, asked: Any, row: Value) -> Iterator[Any]:
        """Place the columns, which have the core's sums and what the operation says."""
        spec, width = self.spec, self.spec.core.c_format.width
        for number in range(spec.n):
            m.submodules[f"column{number}"] = column = self.column.place()
            m.d.comb += [
                column.i_row.eq(row),
                column.i_doubles.eq(asked.weights != spec.weights["t"]),
                column.i.eq(self.core.o_c.payload.data.word_select(number, width)),
                column.i_whole.eq(asked.weights == spec.weights["o"]),
                column.i_narrow.eq(asked.narrow),
            ]
            yield column

    def _correct(self, m: Module, asked: Any, row: Value) -> Value:
        """Compute minus the zero point on the odd grid times a row's sum of activations."""
        width = self.store.sum.width
        total = Signal(width)
        m.d.comb += total.eq(asked.sums.word_select(row, width))
        number = total.as_signed()
        correction = Signal(ODD)
        with m.Switch(asked.weights):
            with m.Case(self.spec.weights["s"]):
                m.d.comb += correction.eq(-number)
            with m.Case(self.spec.weights["u"]), m.Switch(asked.planes):
                for planes in range(self.spec.planes):
                    with m.Case(planes):
                        m.d.comb += correction.eq((number << planes + 1) - number)
        return correction


def _stream(width: int) -> stream.Signature:
    return stream.Signature(data.StructLayout({"data": width}))

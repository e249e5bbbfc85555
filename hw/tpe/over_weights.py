"""Engine with tables over weights, looked up by the bit planes of activations."""

from typing import ClassVar

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, check_fields
from golden.tpe.over_weights import OverWeightsEngineSpec
from hw.arith.adder import ADDER, resolve
from hw.lib.engine_ports import ASlice, BSlice, CRow
from hw.lib.evidence import ENGINE
from hw.lib.shared_module import UNINITIALISED, SharedModule
from hw.pe.weight_table import WeightLane, WeightTable
from hw.tpe.key_cache import KeyCache

__all__ = ["OverWeights"]


class OverWeights(wiring.Component):
    """Multiplies matrices by lookup in tables of weights.

    Computes :func:`golden.tpe.over_weights.over_weights`, exactly. For each beat, each column has a
    table in memory: the sums of all subsets of its weights, made one per cycle while the previous
    beat's tables are looked up. A key is one bit of each of a row's codes; it selects an entry in
    all columns. Recent entries are cached; a cache hit reads no memory.

    Latency, one beat of a tile to its row 0: :attr:`latency` cycles; behind another beat,
    :attr:`OverWeightsEngineSpec.beat_cycles` more than that. Throughput: one key per cycle. Stalls:
    a row of C that is not taken stalls all but the making of tables; ``o_c.ready`` reaches
    ``i_a.ready`` and ``i_b.ready`` combinationally. Overflow: none for K <= k_max.

    Parameters
    ----------
    spec : OverWeightsEngineSpec
        What: tile, formats, k_max, tables.
    adder : str
        How: see :func:`hw.arith.adder.resolve`.

    Members
    -------
    i_a : In(stream)
        :class:`ASlice`, k columns of the tile of A.
    i_b : In(stream)
        :class:`BSlice`, k rows of the tile of B; each moves together with one of ``i_a``.
    o_c : Out(stream)
        :class:`CRow`, the rows of the tile of C, row 0 first.
    o_reads : Out(32)
        Entries read since reset, modulo 2^32.

    Examples
    --------
    >>> engine = OverWeights(OverWeightsEngineSpec(m=2, n=4, group=4))
    >>> engine.latency, engine.operations_per_cycle
    (27, 4.0)
    """

    SPEC = OverWeightsEngineSpec
    SUMMARY = "tables over weights (SAIL): bit planes of activations look up sums of weights"
    BENCH = "tb_engine"
    EVIDENCE = (*ENGINE, "mutants")

    BUILD: ClassVar[dict[str, Parameter]] = {"adder": ADDER}

    i_a: stream.Interface
    i_b: stream.Interface
    o_c: stream.Interface
    o_reads: Signal

    def __init__(self, spec: OverWeightsEngineSpec, *, adder: str = "sklansky"):
        if not isinstance(spec, OverWeightsEngineSpec):
            raise TypeError(f"spec must be an OverWeightsEngineSpec, not {spec!r}")
        check_fields(self.BUILD, {"adder": adder})
        self.spec = spec
        self.adder = adder
        self.table = WeightTable(spec.tables, adder)
        self.lane = WeightLane(spec.tables, adder)
        super().__init__({
            "i_a": In(stream.Signature(ASlice(spec))),
            "i_b": In(stream.Signature(BSlice(spec))),
            "o_c": Out(stream.Signature(CRow(spec))),
            "o_reads": Out(32),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The generator of a column's table, and its lookup lane."""
        return (self.table, self.lane)

    @property
    def latency(self) -> int:
        """Cycles from the only beat of a tile to its row 0."""
        return (1 << self.spec.group) + self.spec.a_width + 3

    @property
    def operations_per_cycle(self) -> float:
        """A multiplication and an addition for each product."""
        spec = self.spec
        return 2 * spec.m * spec.n * spec.k / spec.beat_cycles

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        m.submodules.keys = keys = KeyCache(spec)
        move, take, free = Signal(), Signal(), Signal()
        held, full, bank = Signal(), Signal(), Signal()
        step = Signal(spec.group)
        last = Signal(reset_less=True)
        codes = Signal(len(self.i_a.payload.data), reset_less=True)
        m.d.comb += [
            move.eq(~self.o_c.valid | self.o_c.ready),
            # Lookups start as soon as the last entry of a table is written.
            keys.en.eq(move),
            keys.i_table.eq(held & (full | step.all())),
            keys.i_codes.eq(codes),
            keys.i_last.eq(last),
            free.eq(~held | (keys.i_table & keys.o_free)),
            take.eq(free & self.i_a.valid & self.i_b.valid),
            self.i_a.ready.eq(free & self.i_b.valid),
            self.i_b.ready.eq(free & self.i_a.valid),
        ]
        with m.If(free):
            m.d.sync += [held.eq(take), full.eq(0), step.eq(0), bank.eq(bank ^ held)]
        with m.Elif(~full):
            m.d.sync += [step.eq(step + 1), full.eq(step.all())]
        with m.If(take):
            m.d.sync += [codes.eq(self.i_a.payload.data), last.eq(self.i_a.payload.last)]
        with m.If(move & keys.o_read):
            m.d.sync += self.o_reads.eq(self.o_reads + 1)
        entries = self._tables(m, take, step)
        words = self._memory(m, held & ~full, Cat(step ^ (step >> 1), bank), entries, keys, bank)
        self._rows(m, move, keys, self._lanes(m, move, keys, words))
        return m

    def _tables(self, m: Module, load: Value, step: Value) -> Value:
        """Make the entry for the Gray code of `step`, in all columns."""
        spec = self.spec
        # It differs from the previous one at the lowest set bit of `step`.
        lines = [step[at] & ~step[:at].any() for at in range(spec.group)]
        above = Cat(step[1:], 0)
        minus = Cat(line & up for line, up in zip(lines, above, strict=True)).any()
        tables = []
        for number in range(spec.n):
            m.submodules[f"table{number}"] = table = self.table.place()
            m.d.comb += [
                table.i_load.eq(load),
                table.i_b.eq(
                    Cat(
                        self.i_b.payload.data.word_select(at * spec.n + number, spec.b_width)
                        for at in range(spec.k)
                    )
                ),
                table.i_empty.eq(~step.any()),
                table.i_toggle.eq(Cat(lines)),
                table.i_minus.eq(minus),
            ]
            tables.append(table.o)
        return Cat(tables)

    def _memory(
        self, m: Module, write: Value, address: Value, entries: Value, keys: KeyCache, bank: Value
    ) -> Value:
        """Double-buffer the tables of each column; read latency is one cycle."""
        memory: Memory[int, Value] = Memory(
            shape=len(entries), depth=2 << self.spec.group, init=[], attrs={UNINITIALISED: "1"}
        )
        m.submodules.entries = memory
        into, out = memory.write_port(), memory.read_port(transparent_for=())
        m.d.comb += [
            into.en.eq(write),
            into.addr.eq(address),
            into.data.eq(entries),
            out.en.eq(keys.en & keys.o_read),
            out.addr.eq(Cat(keys.o_key, ~bank)),
        ]
        return out.data

    def _lanes(self, m: Module, move: Value, keys: KeyCache, words: Value) -> list[Value]:
        """Look up the keys of rows, and accumulate the entries."""
        sums = []
        for number in range(self.spec.n):
            m.submodules[f"lane{number}"] = lane = self.lane.place()
            m.d.comb += [
                lane.en.eq(move),
                lane.i.eq(words.word_select(number, len(lane.i))),
                lane.i_look.eq(keys.o_look),
                lane.i_first.eq(keys.o_first),
                lane.i_minus.eq(keys.o_minus),
            ]
            if self.spec.reuse:
                m.d.comb += [lane.i_hit.eq(keys.o_hit), lane.i_line.eq(keys.o_line)]
            sums.append(lane.o)
        return sums

    def _rows(self, m: Module, move: Value, keys: KeyCache, sums: list[Value]) -> None:
        """Accumulate the sums of a row over beats; the last ones are a row of C."""
        spec, width = self.spec, self.spec.c_format.width
        rows: Memory[int, Value] = Memory(
            shape=spec.n * width, depth=max(spec.m, 2), init=[], attrs={UNINITIALISED: "1"}
        )
        m.submodules.rows = rows
        into, out = rows.write_port(), rows.read_port(domain="comb")
        totals = []
        for number, total in enumerate(sums):
            cleared = out.data.word_select(number, width) & ~keys.o_begin.replicate(width)
            more = Cat(total, total[-1].replicate(max(width - len(total), 0)))[:width]
            totals.append(
                resolve(m, [list(x) for x in zip(cleared, more, strict=True)], self.adder)
            )
        m.d.comb += [
            out.addr.eq(keys.o_row),
            into.addr.eq(keys.o_row),
            into.en.eq(move & keys.o_done),
            into.data.eq(Cat(totals)),
        ]
        with m.If(move):
            m.d.sync += self.o_c.valid.eq(keys.o_done & keys.o_end)
        with m.If(move & keys.o_done):
            m.d.sync += [
                self.o_c.payload.data.eq(Cat(totals)),
                self.o_c.payload.last.eq(keys.o_row == spec.m - 1),
            ]

"""Generator of tables over activations, for LUT cores with external tables."""

from typing import Any, ClassVar

from amaranth import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from golden.check import Parameter, complete
from golden.tpe.lut_tables import LutTablesSpec
from hw.lib.shared_module import SharedModule
from hw.pe.lut_table import LutTable
from hw.pe.mac import MacElement

__all__ = ["LutTables"]


class LutTables(wiring.Component):
    """Makes the tables of beats of activations.

    Computes :func:`golden.tpe.lut_tables.lut_tables`, exactly: the input ``i_a`` of a LUT core with
    external tables.

    Latency: :attr:`latency` cycle. Throughput: one beat per cycle. Stalls: ``o.ready`` reaches
    ``i.ready`` combinationally.

    Parameters
    ----------
    spec : LutTablesSpec
        What: groups and formats.
    adder : str
        How: see :func:`hw.arith.adder.resolve`.

    Members
    -------
    i : In(stream)
        Activations of a beat, row by row, the first lowest; ``last`` is passed on.
    o : Out(stream)
        Entries, row by row, table by table, all as wide as `code_format`; ``last``.

    Examples
    --------
    >>> tables = LutTables(LutTablesSpec(m=1, lookups=2, group=3))
    >>> tables.i.payload.shape(), tables.o.payload.shape()
    (StructLayout({'data': 48, 'last': 1}), StructLayout({'data': 140, 'last': 1}))
    """

    SPEC = LutTablesSpec
    SUMMARY = "table generator for LUT cores with external tables"
    BENCH = "tb_lut_tables"
    EVIDENCE = (
        "cocotb against numpy: all groups of activations of up to 16 bits, stalls, resets",
        "mutants",
        "netlist simulation",
    )

    BUILD: ClassVar[dict[str, Parameter]] = {"adder": MacElement.BUILD["adder"]}

    i: stream.Interface
    o: stream.Interface
    latency = 1

    def __init__(self, spec: LutTablesSpec, **build: Any):
        if not isinstance(spec, LutTablesSpec):
            raise TypeError(f"spec must be a LutTablesSpec, not {spec!r}")
        self.spec = spec
        self.table = LutTable(spec, spec.table, complete(self.BUILD, build)["adder"])
        entries = spec.m * spec.lookups * spec.table_entries * spec.code_format.width
        codes = spec.m * spec.k * spec.a_width
        super().__init__({
            "i": In(stream.Signature(data.StructLayout({"data": codes, "last": 1}))),
            "o": Out(stream.Signature(data.StructLayout({"data": entries, "last": 1}))),
        })

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The one table."""
        return (self.table,)

    @property
    def operations_per_cycle(self) -> int:
        """Additions."""
        return self.spec.m * self.spec.lookups * self.table.additions

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        move = Signal()
        m.d.comb += [move.eq(~self.o.valid | self.o.ready), self.i.ready.eq(move)]
        tables = []
        width = len(self.table.i)
        for number in range(spec.m * spec.lookups):
            m.submodules[f"table{number}"] = table = self.table.place()
            m.d.comb += table.i.eq(self.i.payload.data.word_select(number, width))
            tables.append(self.table.widen(table.o, spec.code_format.width))
        held = Signal(len(self.o.payload.as_value()), reset_less=True)
        m.d.comb += self.o.payload.as_value().eq(held)
        with m.If(move):
            m.d.sync += [self.o.valid.eq(self.i.valid), held.eq(Cat(*tables, self.i.payload.last))]
        return m

"""From rows of sums to rows of codes: requantised, or rounded to the result format."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Member, Out, connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.arith.product import encode
from hw.device.family import Family
from hw.lib.shared_module import SharedModule
from hw.npe.encoder import Encoder
from hw.npe.requantiser import Requantisation
from hw.npe.rounding.requantise_column import RequantiseColumn
from hw.soc.bus.burst import Beat
from hw.soc.path.encode_rows import encode_rows, encoder_spec
from hw.soc.path.requantiser_build import RequantiserBuild
from hw.soc.schedule.geometry import Geometry
from hw.soc.stores.code_table import CodeTable

__all__ = ["RequantiseRows"]

_RECORD = 64
"""Bits of the record of a column."""
_PLACES = {"multiplier": 0, "shift": 32, "zero_point": 48}
"""Where the fields of a record begin."""
_LIMITS = ("low", "high", "relu")


class RequantiseRows(wiring.Component):
    """Converts sums to codes, some columns per cycle.

    Latency: :attr:`latency` cycles, and those of a table. Stalls: ``i_room`` is ``i.ready``. With
    a table, unless the build is lean, it is ``o.ready``, which must not wait for ``o.valid``: sums
    stay where they are, also where there is no code; else, ``o.ready`` reaches it combinationally.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the requantiser, or the result format.
    build : RequantiserBuild
        How: the columns per cycle, and the requantiser's encoding and adder.
    blocks : Family
        How: unless the build is lean, the requantiser's products are in the multiplier blocks of a
        family that ``stops``.

    Members
    -------
    i_geometry : In
        The job.
    i_how, i_records : In, In
        :class:`hw.npe.requantiser.Requantisation`, if the spec has one, stable during a job. With
        ``per_column``: records of the columns of the offered sums, 64 bits each, whose scales take
        its place in jobs that say so.
    i : In(stream)
        Sums, as in the sum store.
    o : Out(stream)
        Codes, as in memory; if jobs choose their bytes, as they are where they have two.
    i_room : In(1)
        Where sums :attr:`flow <flows>`: there is a place for one more row's codes.
    i_random : In(stream)
        Where codes are rounded by random bits: those of each sum of a row, in the order of sums.
    i_ends, i_looks, i_table : In(1), In(1), In(stream)
        Where jobs have tables: sums are the last ones of their job; codes are looked up; beats of
        tables, see :class:`hw.soc.stores.code_table.CodeTable`.
    """

    i_geometry: data.View
    i_how: data.View
    i_records: Signal
    i: stream.Interface
    o: stream.Interface
    i_room: Signal
    i_random: stream.Interface
    i_ends: Signal
    i_looks: Signal
    i_table: stream.Interface

    def __init__(
        self,
        spec: CoprocessorSpec,
        build: RequantiserBuild,
        *,
        blocks: Family | None = None,
    ):
        self.spec = spec
        self.stops = not build.lean  # ``o.ready`` alone lets sums move
        inside, across, encoding = spec.inside, build.requantisers, build.requantiser_encoding
        self.unit = replace(spec.requantiser, n=across)
        self.code_bits = spec.code_bits * spec.code_bytes
        """Bits of a column that leave: of codes that may be of one byte those of two."""
        ports = {
            "i_geometry": In(Geometry(spec)),
            "i": In(stream.Signature(across * spec.number_width)),
            "o": Out(stream.Signature(across * self.code_bits)),
        }
        self.column: RequantiseColumn | None = None
        self.encoders: list[Encoder] = []
        if inside.result is None:
            self.column = RequantiseColumn(
                self.unit,
                encoding=encoding,
                adder=build.requantiser_adder,
                # A block, the way from it, its sums, and half of a shifter are a cycle each.
                pipeline=6 if encoding == "operator" else 2,
                travels=spec.requantises_columns,
                blocks=blocks if self.stops and encoding == "operator" else None,
            )
            ports |= self.scale_ports
        else:
            self.encoders = [Encoder(encoder_spec(spec)) for _ in range(across)]
        if spec.random_width:
            ports["i_random"] = In(stream.Signature(across * spec.random_width))
        self.table: CodeTable | None = None
        if spec.table:
            self.table = CodeTable(spec, across, self.code_bits, stops=self.stops)
            table = stream.Signature(Beat(spec.data_width))
            ports |= {"i_ends": In(1), "i_looks": In(1), "i_table": In(table)}
        self.flows = self.stops and self.column is not None and self.table is None
        """Nothing stops sums on their way; codes are taken when they come."""
        ports |= {"i_room": In(1)} if self.flows else {}
        super().__init__(ports)

    @property
    def scale_ports(self) -> dict[str, Member]:
        """What says how sums are requantised."""
        how = In(Requantisation(replace(self.unit, per_column=False)))
        records = {"i_records": In(_RECORD * self.unit.n)} if self.unit.per_column else {}
        return {"i_how": how, **records}

    @property
    def shared_modules(self) -> tuple[SharedModule, ...]:
        """The column of the requantiser, and the bank of tables."""
        columns = () if self.column is None else (self.column,)
        return columns if self.table is None else (*columns, *self.table.shared_modules)

    @property
    def latency(self) -> int:
        """Cycles from a row of sums to its codes."""
        if self.column is None:
            return self.encoders[0].latency
        return 1 + self.column.pipeline + self.spec.requantises_columns

    def elaborate(self, platform):
        m = Module()
        width = self.spec.number_width
        numbers = [self.i.payload[at : at + width] for at in range(0, len(self.i.payload), width)]
        if self.column is None:
            encode_rows(m, self, numbers)
        else:
            self._requantise(m, self.column, numbers)
        return m

    def _requantise(self, m: Module, cell: RequantiseColumn, numbers: list[Value]) -> None:
        """Place the columns; with scales per row, their multipliers are recoded first."""
        spec, unit, how = self.spec, self.unit, self.i_how
        valid, en = Signal(self.latency), Signal()
        out: Any = self.o if self.table is None else self._look_up(m, en, self.table)
        moves = out.ready if self.stops else ~out.valid | out.ready
        m.d.comb += [en.eq(1 if self.flows else moves), out.valid.eq(valid[-1])]
        m.d.comb += self.i.ready.eq(self.i_room if self.flows else en)
        with m.If(en):
            m.d.sync += valid.eq(Cat(self.i.valid & self.i.ready, valid))

        def held(name: str, value: Value) -> Value:
            if not unit.per_column:
                return value
            register = Signal(len(value), name=name, reset_less=True)
            with m.If(en):
                m.d.sync += register.eq(value)
            return register

        # They come from afar, and are used a cycle or more after the job, or the sum, has come.
        near = m.d.sync if self.stops else m.d.comb
        limits = {name: Signal(len(how[name]), name=name, reset_less=True) for name in _LIMITS}
        by_column = Signal(name="by_column", reset_less=True)
        near += [limits[name].eq(how[name]) for name in _LIMITS]
        near += by_column.eq(self.i_geometry.per_column)

        def part(number: int, name: str, recoded: Callable[[Value], Value] | None = None) -> Value:
            given = how[name]
            if not unit.per_column:
                return given if recoded is None else recoded(given)
            record = self.i_records.word_select(number, _RECORD)[_PLACES[name] :][: len(given)]
            # Block RAM is far from multipliers: a register between them, behind the choice.
            given = Mux(by_column, record, given)
            return held(f"{name}{number}", given if recoded is None else recoded(given))

        def coded(multiplier: Value) -> Value:
            return encode(m, multiplier, unit.multiplier_format, cell.encoding)

        recoded = None if cell.encoding == "operator" else coded
        for number, value in enumerate(numbers):
            m.submodules[f"column{number}"] = column = cell.place()
            wide = Signal(unit.width, name=f"sum{number}")
            total = value[: spec.inside.sum_width]
            m.d.comb += [
                wide.eq(total.as_signed() if spec.inside.signed else total),
                column.en.eq(en),
                column.i.eq(held(f"sum{number}_held", wide)),
                column.i_multiplier.eq(part(number, "multiplier", recoded)),
                column.i_shift.eq(part(number, "shift")),
                column.i_zero_point.eq(part(number, "zero_point")),
                *(getattr(column, f"i_{name}").eq(limits[name]) for name in _LIMITS),
                out.payload.word_select(number, self.code_bits).eq(column.o),
            ]

    def _look_up(self, m: Module, en: Value, table: CodeTable) -> Any:
        """Look codes up, in jobs that want that; return the stream of those as they are."""
        m.submodules.table = table
        connect(m, flipped(self.i_table), table.i_table)
        connect(m, table.o, flipped(self.o))
        ends = Signal(self.latency)
        with m.If(en):
            m.d.sync += ends.eq(Cat(self.i_ends, ends))
        m.d.comb += [table.i_looks.eq(self.i_looks), table.i_ends.eq(ends[-1])]
        return table.i

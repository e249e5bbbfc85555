"""Jobs on maps: sums, products and windows of rows of codes less zero points."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.depthwise import Depthwise
from hw.soc.path.map_lanes import MapBeat, MapFactors, sums_of
from hw.soc.path.map_operands import delayed, stored_factors
from hw.soc.path.map_pairs import MapPairs
from hw.soc.path.map_results import MapResults
from hw.soc.path.map_sums import stored_sums
from hw.soc.path.memory_streams import MemoryStreams
from hw.soc.path.word_columns import ColumnReads
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.geometry import Geometry

__all__ = ["MapRows"]

_STAGES = 5
"""Codes, and what is stored of B; differences; products; their sum; that of a code."""


class MapRows(wiring.Component):
    """Hands over sums or products of rows of B and of A, or of windows, to be requantised.

    Of a sum of two maps, codes of B less a zero point, times a factor, are stored as sums, to which
    the row of A is added; the multipliers of a lane have a digit of the factor each. Of a product B
    is stored as it is, and its codes are the factors of those of A. Of windows, multipliers have a
    tap each, whose weights are stored before, and take codes that came earlier; sums of a row of
    windows are stored until they are whole. Where several rows of windows are summed at once, there
    are multipliers and a memory of sums for each, which hands its sums to the next one when the map
    has moved on by a row of windows.

    Latency: 6 cycles from codes to sums. Throughput: codes of as many lanes per cycle. Stalls:
    ``o_sums.ready`` reaches ``memory.read.ready`` combinationally.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes, multipliers.

    Members
    -------
    i_geometry : In
        The job: M rows of N codes.
    i_multiplies, i_greater, i_windows : In(1)
        Products, the greater of two, or windows, not sums.
    i_factors : In(MapFactors)
        Zero points, and factors of sums.
    i_window : In
        :class:`~hw.soc.registers.window_layout.WindowLayout`; where jobs have windows, as are:
    i_bias, i_records : In
        Addresses, with ``i_start``.
    columns : Out(ColumnReads)
        Biases and records of a group of channels.
    i_a, i_b, i_c : In
        Addresses of the matrices, with ``i_start``.
    i_start : In(1)
        Begin; only while ``o_ready``.
    o_asked, o_ready : Out(1)
        All rows have been requested; those of C have been handed over.
    memory : Out(MemoryStreams)
        Rows of A and B; addresses of those of C, no words.
    o_sums : Out(stream)
        Sums, in two's complement, no earlier than the address of their row.
    o_end : Out(1)
        They are the last ones.
    """

    i_geometry: data.View
    i_multiplies: Signal
    i_greater: Signal
    i_windows: Signal
    i_factors: data.View
    i_window: data.View
    i_bias: Signal
    i_records: Signal
    columns: Any
    i_a: Signal
    i_b: Signal
    i_c: Signal
    i_start: Signal
    o_asked: Signal
    o_ready: Signal
    memory: Any
    o_sums: stream.Interface
    o_end: Signal

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec = spec
        self.lanes = spec.vector.lanes
        self.beats = spec.vector.beats
        windows = {
            "i_window": In(WindowLayout()),
            "i_bias": In(spec.address_width),
            "i_records": In(spec.address_width),
            "columns": Out(ColumnReads(spec)),
        }
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_multiplies": In(1),
            "i_greater": In(1),
            "i_windows": In(1),
            "i_factors": In(MapFactors),
            **(windows if spec.depthwise else {}),
            "i_a": In(spec.address_width),
            "i_b": In(spec.address_width),
            "i_c": In(spec.address_width),
            "i_start": In(1),
            "o_asked": Out(1),
            "o_ready": Out(1),
            "memory": Out(MemoryStreams(spec, self.lanes * spec.vector_out_bytes)),
            "o_sums": Out(sums_of(spec)),
            "o_end": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        move = Signal(name="move")
        self.windows = self.i_windows if self.spec.depthwise else C(0, 1)
        beat = data.View(MapBeat(self.spec), Signal(MapBeat(self.spec).size, name="beat"))
        taken, busy = self._beats(m, beat, move)
        valid = self._compute(m, (move, taken), beat)
        m.submodules.results = results = MapResults(self.spec)
        m.d.comb += [
            results.i_geometry.eq(self.i_geometry),
            results.i_windows.eq(self.windows),
            results.i_c.eq(self.i_c),
            results.i_start.eq(self.i_start),
            results.i_valid.eq(valid),
            results.i_ready.eq(self.o_sums.ready),
            self.o_sums.valid.eq(results.o_valid),
            self.o_end.eq(results.o_ends),
            move.eq(results.o_move),
            self.o_asked.eq(~busy),
            self.o_ready.eq(~busy & ~results.o_busy),
        ]
        if self.spec.depthwise:
            m.d.comb += results.i_across.eq(self.i_window.across)
            m.d.comb += self.columns.o_release.eq(results.o_ends & self.windows)
        connect(m, results.write_row, flipped(self.memory.write_row))
        return m

    def _beats(self, m: Module, beat: data.View, move: Value) -> tuple[Value, Value]:
        """Take beats of two maps, or of windows; return whether one comes, and more rows do."""
        pairs = m.submodules.pairs = MapPairs(self.spec)
        users: list[tuple[Value, Any]] = [(~self.windows, pairs)]
        m.d.comb += pairs.i_multiplies.eq(self.i_multiplies)
        if self.spec.depthwise:
            windows = m.submodules.depthwise = Depthwise(self.spec)
            users.append((self.windows, windows))
            self.row = Mux(self.windows, windows.o_row, 1)
            m.d.comb += [
                windows.i_window.eq(self.i_window),
                windows.i_bias.eq(self.i_bias),
                windows.i_records.eq(self.i_records),
            ]
        read, row = self.memory.read, self.memory.read_row
        m.d.comb += [row.payload.eq(pairs.read_row.payload), Value.cast(beat).eq(pairs.o.payload)]
        for here, user in users:
            m.d.comb += [
                user.i_geometry.eq(self.i_geometry),
                user.i_a.eq(self.i_a),
                user.i_b.eq(self.i_b),
                user.i_start.eq(self.i_start & here),
                user.read.payload.eq(read.payload),
                user.read.valid.eq(read.valid & here),
                user.read_row.ready.eq(row.ready & here),
                user.o.ready.eq(move),
            ]
            with m.If(here):
                m.d.comb += [
                    Value.cast(row.payload).eq(Value.cast(user.read_row.payload)),
                    Value.cast(beat).eq(Value.cast(user.o.payload)),
                ]
        m.d.comb += [
            row.valid.eq(Cat(here & user.read_row.valid for here, user in users).any()),
            read.ready.eq(Cat(here & user.read.ready for here, user in users).any()),
        ]
        valid = Cat(here & user.o.valid for here, user in users).any()
        return valid & move, Cat(user.o_busy for _, user in users).any()

    def _compute(self, m: Module, flow: tuple[Value, Value], beat: data.View) -> Value:
        """Multiply and add beats; return whether sums for C are in the last stage.

        Parameters
        ----------
        m : where.
        flow : clock enable; whether `beat` is taken.
        """
        job, spec, (move, taken) = self.i_factors, self.spec, flow
        layout = MapBeat(spec)
        valid = Signal(_STAGES)
        stages = [
            data.View(layout, Signal(layout.size, name=f"stage{number}", reset_less=True))
            for number in range(_STAGES)
        ]
        with m.If(move):
            m.d.sync += valid.eq(Cat(taken, valid))
            m.d.sync += [
                Value.cast(one).eq(Value.cast(other))
                for one, other in zip(stages, [beat, *stages[:-1]], strict=True)
            ]
        begins, last = stages[0], stages[-1]
        zero = Mux(begins.second, job.b_zero, job.a_zero)
        if spec.depthwise:
            zero = Mux(self.windows, self.i_window.fill.as_signed(), zero)
        codes = [
            Mux(begins.void, 0, begins.codes.word_select(lane, 8).as_signed() - zero.as_signed())
            for lane in range(self.lanes)
        ]
        before = delayed(m, self, (move, valid[0]), beat, begins, codes)
        codes_of = [[code, *earlier] for code, earlier in zip(codes, before, strict=True)]
        if spec.depthwise:
            m.d.comb += [
                self.columns.o_move.eq(move),
                self.columns.o_bias.eq(stages[2].group),
                self.columns.o_record.eq(stages[3].group),
            ]
        sums = list[Value]()
        for row in range(spec.tap_rows):
            factors = stored_factors(m, row, self, (move, taken), beat, begins)
            operands = codes_of, factors
            sums.append(stored_sums(m, row, self, (move, valid[4]), stages, operands, sums))
        whole: Value = sums[0]
        for row in range(1, spec.tap_rows):
            whole = Mux(self.row[row], sums[row], whole)
        m.d.comb += self.o_sums.payload.eq(whole)
        return valid[-1] & last.sends

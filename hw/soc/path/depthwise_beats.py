"""From words of weights and of rows of a map to beats of windows."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.burst import Beat
from hw.soc.path.line_walk import LineWalk
from hw.soc.path.map_lanes import MapBeat
from hw.soc.path.word_slices import slices_of, word_slices
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.geometry import Geometry
from hw.soc.schedule.map_line import MapLine

__all__ = ["DepthwiseBeats"]


class DepthwiseBeats(wiring.Component):
    """Takes weights, then rows of a map, pixel by pixel, each in groups of as many as lanes.

    A window is complete with the pixel of its last tap; before the map's first column, and behind
    its last one, pixels come of nothing. Rows that are shorter than :attr:`SPREAD` wait, as their
    sums are used with the next one. Where a row is read once for several rows of windows, weights
    of kernel rows that are a step of these apart are those of other multipliers, at the same place.
    Throughput: a beat per cycle, and a cycle for each row. Stalls: ``o.ready`` reaches
    ``read.ready`` combinationally.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes, multipliers.

    Members
    -------
    i_geometry : In
        The job: windows of N channels.
    i_window : In
        :class:`~hw.soc.registers.window_layout.WindowLayout`.
    i_at_once : In(1)
        Rows are read once; two cycles after ``i_start``.
    i_start : In(1)
        Begin; only while not ``o_busy``.
    o_row : Out
        Of which row of windows sums become complete: a bit for each that is summed at once.
    o_busy : Out(1)
        Weights, or a row of the map, are coming: its last columns may be of no window.
    i : In(stream)
        :class:`~hw.soc.schedule.map_line.MapLine`.
    read : In(stream)
        :class:`~hw.soc.bus.burst.Beat`: words of weights, and of the map's rows.
    o : Out(stream)
        :class:`~hw.soc.path.map_lanes.MapBeat`.
    """

    SPREAD = 4
    """Least cycles from a row of the map to the next one."""

    i_geometry: data.View
    i_window: data.View
    i_at_once: Signal
    i_start: Signal
    o_busy: Signal
    o_row: Signal
    i: Any
    read: Any
    o: Any

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec = spec
        self.beats = spec.vector.beats
        self.lanes = spec.vector.lanes
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_window": In(WindowLayout()),
            "i_at_once": In(1),
            "i_start": In(1),
            "o_busy": Out(1),
            "o_row": Out(spec.tap_rows),
            "i": In(stream.Signature(MapLine(spec))),
            "read": In(stream.Signature(Beat(8 * spec.vector_word_bytes))),
            "o": Out(stream.Signature(MapBeat(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        spec, out = self.spec, self.o.payload
        self.group, self.weight = (
            Signal(range(self.beats), name=name) for name in ("group", "weight")
        )
        self.ends = Signal(name="ends_pixel")
        # Rows of the kernel, of a step of rows of windows, from 1 on.
        self.phase = Signal(4, name="kernel_phase")
        self.taken, takes_word = Signal(name="taken"), Signal(name="takes_word")
        self.row_ends = Signal(name="row_ends")
        self.row, line = LineWalk.make(self.beats), MapLine(spec)
        self.line = data.View(line, Signal(line.size, name="line", reset_less=True))
        slice_ = Signal(range(slices_of(spec)))
        ((codes, final),) = word_slices(m, spec, self.read.payload.data, slice_)[:1]
        m.d.comb += [
            self.ends.eq(self.group == self.i_geometry.n >> exact_log2(self.lanes)),
            self.taken.eq(self.o.valid & self.o.ready),
            out.codes.eq(codes),
            out.group.eq(self.group),
            out.weight.eq(self.weight + self.group),
            self.read.ready.eq(self.taken & takes_word & (final | self.row_ends)),
        ]
        with m.If(self.taken & takes_word):
            m.d.sync += slice_.eq(Mux(final | self.row_ends, 0, slice_ + 1))
        with m.If(self.taken):
            m.d.sync += self.group.eq(Mux(self.ends, 0, self.group + 1))
        self._load(m, takes_word)
        return m

    def _load(self, m: Module, takes_word: Signal) -> None:
        """Follow the job: weights, then rows."""
        window, spec, out = self.i_window, self.spec, self.o.payload
        # Taps left in the kernel's row, rows left, less one each; the multiplier of the tap, whose
        # last one is the first of its part.
        taps, rows = Signal(8, name="taps_left"), Signal(8, name="rows_left")
        multiplier, begins = Signal(range(spec.taps), name="multiplier"), Signal(name="begins_part")
        since = Signal(range(self.SPREAD), init=self.SPREAD - 1)

        def part(left: Value) -> list[Any]:
            most = Mux(left < spec.taps, left, spec.taps - 1)
            return [taps.eq(left), multiplier.eq(most), begins.eq(1)]

        with m.If(self.o.ready & (since != self.SPREAD - 1)):
            m.d.sync += since.eq(since + 1)
        with m.FSM() as fsm:
            m.d.comb += self.o_busy.eq(~fsm.ongoing("NEXT"))
            with m.State("NEXT"):
                with m.If(self.i_start):
                    m.d.sync += [self.weight.eq(0), rows.eq(window.kh), *part(window.kw)]
                    m.d.sync += [self.o_row.eq(1), self.phase.eq(1)]
                    m.next = "LOAD"
                m.d.comb += self.i.ready.eq(since == self.SPREAD - 1)
                with m.If(self.i.valid & self.i.ready):
                    m.d.sync += since.eq(0)
                    self._begin(m)
                    m.next = "WALK"
            with m.State("LOAD"):
                chosen = Cat(multiplier == number for number in range(spec.taps))
                m.d.comb += [
                    self.o.valid.eq(self.read.valid),
                    takes_word.eq(1),
                    self.row_ends.eq(self.ends),
                    out.chosen.eq(chosen),
                    out.loads.eq(chosen | begins.replicate(spec.taps)),
                    out.row.eq(self.o_row),
                ]
                with m.If(self.taken & self.ends):
                    m.d.sync += [taps.eq(taps - 1), multiplier.eq(multiplier - 1), begins.eq(0)]
                    with m.If(multiplier == 0):
                        m.d.sync += self.weight.eq(out.weight + 1)
                        m.d.sync += part(taps - 1)
                        with m.If(taps == 0):
                            m.d.sync += [rows.eq(rows - 1), *part(window.kw)]
                            with m.If(rows == 0):
                                m.next = "NEXT"
                            with m.Elif(self.i_at_once):
                                self._next_row(m)
            with m.State("WALK"):
                self._walk(m, takes_word)

    def _next_row(self, m: Module) -> None:
        """Go on to the kernel's next row, which may be of other multipliers."""
        m.d.sync += self.phase.eq(self.phase + 1)
        with m.If(self.phase == self.i_window.sy):
            m.d.sync += [self.phase.eq(1), self.weight.eq(0), self.o_row.eq(self.o_row << 1)]

    def _begin(self, m: Module) -> None:
        """Begin a row of the map."""
        line, row, before = self.i.payload, self.row, self.i.payload.before
        m.d.sync += [
            self.line.eq(line),
            self.weight.eq(line.weight),
            row.column.eq(Mux(before < 0, before, 0)),
            row.here.eq(before >= 0),
            row.wait.eq(Mux(before < 0, 0, before)),
            row.windows.eq(line.windows),
            row.none.eq(0),
            row.at.eq(0),
            row.delay.eq(0),
            row.fresh.eq(1),
            row.phase.eq(1),
        ]

    def _walk(self, m: Module, takes_word: Signal) -> None:
        """Walk along a row of the map."""
        window, line, out, row = self.i_window, self.line, self.o.payload, self.row
        complete, whole, behind = (Signal(name=name) for name in ("complete", "whole", "behind"))
        m.d.comb += [
            complete.eq((row.wait == 0) & ~row.none),
            whole.eq(row.none | (complete & (row.windows == 0))),
            behind.eq(row.column >= window.width),
            self.o.valid.eq(~row.here | self.read.valid),
            takes_word.eq(row.here),
            self.row_ends.eq(self.ends & behind),
            out.void.eq(~row.here | line.void),
            out.walks.eq(1),
            out.fresh.eq(row.fresh),
            out.delay.eq(row.delay),
            out.at.eq(row.at),
            out.stores.eq(complete & (~line.last | self.i_at_once)),
            out.shifts.eq(line.shifts),
            out.sends.eq(complete & line.last),
            out.adds.eq(~line.first),
            out.biased.eq(line.first & self.i_geometry.biased),
        ]
        with m.If(self.taken):
            m.d.sync += [row.delay.eq(row.delay + 1), row.at.eq(row.at + complete)]
        with m.If(self.taken & self.ends):
            m.d.sync += [
                row.column.eq(row.column + 1),
                row.here.eq((row.column >= -1) & ~behind),
                row.none.eq(whole),
                row.phase.eq(row.phase + 1),
            ]
            with m.If(complete):
                m.d.sync += [row.windows.eq(row.windows - 1), row.wait.eq(window.sx - 1)]
            with m.Elif(row.wait != 0):
                m.d.sync += row.wait.eq(row.wait - 1)
            with m.If(row.phase == window.dx):
                m.d.sync += [row.delay.eq(0), row.phase.eq(1), row.fresh.eq(0)]
            with m.If(whole & behind):
                m.next = "NEXT"

"""Depthwise jobs: lines of a map, and the beats that come of them."""

from typing import Any

from amaranth import C, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.burst import Beat
from hw.soc.path.depthwise_beats import DepthwiseBeats
from hw.soc.path.map_lanes import MapBeat
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.depthwise_lines import DepthwiseLines
from hw.soc.schedule.geometry import Geometry
from hw.soc.schedule.row_request import RowRequest

__all__ = ["Depthwise"]


class Depthwise(wiring.Component):
    """Reads biases, records, weights and rows of a map, and makes beats of windows.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the bus, lanes, multipliers.

    Members
    -------
    i_geometry : In
        The job: M windows of N channels.
    i_window : In
        :class:`~hw.soc.registers.window_layout.WindowLayout`.
    i_a, i_b, i_bias, i_records : In
        Addresses, with ``i_start``.
    i_start : In(1)
        Begin.
    o_busy : Out(1)
        There are more rows to be requested, or to come.
    o_row : Out
        Of which row of windows sums become complete: a bit for each that is summed at once.
    read_row : Out(stream)
        :class:`~hw.soc.schedule.row_request.RowRequest`.
    read : In(stream)
        :class:`~hw.soc.bus.burst.Beat`: words of weights and of the map.
    o : Out(stream)
        :class:`~hw.soc.path.map_lanes.MapBeat`.
    """

    i_geometry: data.View
    i_window: data.View
    i_a: Signal
    i_b: Signal
    i_bias: Signal
    i_records: Signal
    i_start: Signal
    o_busy: Signal
    o_row: Signal
    read_row: Any
    read: Any
    o: Any

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_window": In(WindowLayout()),
            "i_a": In(spec.address_width),
            "i_b": In(spec.address_width),
            "i_bias": In(spec.address_width),
            "i_records": In(spec.address_width),
            "i_start": In(1),
            "o_busy": Out(1),
            "o_row": Out(spec.tap_rows),
            "read_row": Out(stream.Signature(RowRequest(spec))),
            "read": In(stream.Signature(Beat(8 * spec.vector_word_bytes))),
            "o": Out(stream.Signature(MapBeat(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.lines = lines = DepthwiseLines(self.spec)
        m.submodules.beats = beats = DepthwiseBeats(self.spec)
        at_once = self._at_once(m)
        for part in (lines, beats):
            m.d.comb += [
                part.i_at_once.eq(at_once),
                part.i_geometry.eq(self.i_geometry),
                part.i_window.eq(self.i_window),
                part.i_start.eq(self.i_start),
            ]
        m.d.comb += [
            lines.i_a.eq(self.i_a),
            lines.i_b.eq(self.i_b),
            lines.i_bias.eq(self.i_bias),
            lines.i_records.eq(self.i_records),
            self.o_busy.eq(lines.o_busy | beats.o_busy),
            self.o_row.eq(beats.o_row),
        ]
        connect(m, lines.o, beats.i)
        connect(m, lines.read_row, flipped(self.read_row))
        connect(m, flipped(self.read), beats.read)
        connect(m, beats.o, flipped(self.o))
        return m

    def _at_once(self, m: Module) -> Value:
        """Return whether rows of the map are read once: :func:`golden.soc.depthwise.at_once`."""
        rows, window = self.spec.tap_rows, self.i_window
        if rows == 1:
            return C(0, 1)
        at_once = Signal(name="at_once")
        m.d.sync += at_once.eq(
            (window.dy == 1) & (window.kh >= window.sy) & (window.kh < window.sy * rows)
        )
        return at_once

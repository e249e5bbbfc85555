"""The rows that a depthwise job reads: biases, records, weights, and rows of its map."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.lib.fifo import Fifo
from hw.soc.registers.window_layout import WindowLayout
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry
from hw.soc.schedule.map_line import MapLine
from hw.soc.schedule.row_request import RowRequest
from hw.soc.schedule.window_place import SIDE, Place, edge_of, moved

__all__ = ["DepthwiseLines"]

_AHEAD = 16
"""Rows of the map that are requested, and of which no code has been taken."""


class DepthwiseLines(wiring.Component):
    """Requests what a job reads, and says what is to be done with rows of the map.

    For each row of windows these are the rows of its kernel, as often as the kernel has parts of as
    many columns as there are multipliers. Those beyond the edges are left out; where all are, the
    map's first row is read in place of the last one. As in a walk over windows nothing is
    multiplied: a step is a move by one row at a time. Where a row is read once for all rows of
    windows that it is in, one comes after the other, from the first window's first one to the last
    window's last one; the map's first row stands for those beyond the edges.

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
    i_at_once : In(1)
        Rows are read once; two cycles after ``i_start``.
    i_a, i_b, i_bias, i_records : In
        Addresses, with ``i_start``.
    i_start : In(1)
        Begin.
    o_busy : Out(1)
        There are more rows to be requested.
    read_row : Out(stream)
        :class:`~hw.soc.schedule.row_request.RowRequest`.
    o : Out(stream)
        :class:`~hw.soc.schedule.map_line.MapLine`, of each row of the map.
    """

    i_geometry: data.View
    i_window: data.View
    i_at_once: Signal
    i_a: Signal
    i_b: Signal
    i_bias: Signal
    i_records: Signal
    i_start: Signal
    o_busy: Signal
    read_row: Any
    o: Any

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        self.spec = spec
        self.groups = exact_log2(spec.vector.lanes)
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_window": In(WindowLayout()),
            "i_at_once": In(1),
            **dict.fromkeys(("i_a", "i_b", "i_bias", "i_records"), In(spec.address_width)),
            "i_start": In(1),
            "o_busy": Out(1),
            "read_row": Out(stream.Signature(RowRequest(spec))),
            "o": Out(stream.Signature(MapLine(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        spec, job, window = self.spec, self.i_geometry, self.i_window
        m.submodules.queue = self.queue = Fifo(MapLine(spec), _AHEAD)
        connect(m, self.queue.o, flipped(self.o))
        # Addresses of what is read next beside the map; the map's.
        self.at = {
            name: Signal(spec.address_width, name=f"at_{name}", reset_less=True)
            for name in ("bias", "records", "weights", "map")
        }
        # Windows, and codes of weights, that are left, less one.
        self.left, self.codes = (
            Signal(spec.dimension_width, name=f"{name}_left") for name in ("windows", "codes")
        )
        pixel = Place(spec.address_width)
        self.line, self.here = (
            data.View(pixel, Signal(pixel.size, name=name, reset_less=True))
            for name in ("line", "here")
        )
        self.weight = Signal.like(self.queue.i.payload.weight, name="weight")
        self.end = Signal(8, name="end")  # the part's last column of the kernel
        self.first, self.kernel_rows = Signal(name="first_row"), Signal(8, name="kernel_rows")
        self.steps = Signal(4, name="steps")
        # Rows of a step of rows of windows, from 1 on.
        self.phase = Signal(4, name="phase")
        # A row down: of the window, or of the row of windows.
        down = Signal(name="down")
        old = data.View(pixel, Mux(down, self.line, self.here))
        new = moved(m, old, (C(0, 1), C(1, 1)), (C(0), job.lda[:BYTES_WIDTH]), old.at[-1])
        with m.FSM() as fsm:
            with m.State("IDLE"), m.If(self.i_start):
                bases = self.i_bias, self.i_records, self.i_b, self.i_a
                m.d.sync += [
                    *(at.eq(base) for at, base in zip(self.at.values(), bases, strict=True)),
                    self.line.eq(Cat(self.i_a[: spec.address_width], edge_of(window, C(1, 1)))),
                    self.left.eq(job.m),
                    self.codes.eq(job.k),
                ]
                m.next = "BIAS"
            self._columns(m)
            self._weights(m)
            self._walk(m, new, down)
        m.d.comb += self.o_busy.eq(~fsm.ongoing("IDLE"))
        return m

    def _columns(self, m: Module) -> None:
        """Request biases and records, where the job has any."""
        job, spec = self.i_geometry, self.spec
        for state, to, used, size, after in (
            ("BIAS", Destination.BIAS, job.biased, spec.sum_bytes, "RECORDS"),
            ("RECORDS", Destination.RECORD, job.per_column, spec.RECORD_BYTES, "WEIGHTS"),
        ):
            with m.State(state):
                self._ask(m, self.at[state.lower()], (job.n + 1) << exact_log2(size), to, used)
                with m.If(~used | self.read_row.ready):
                    m.next = after

    def _ask(self, m: Module, address: Value, size: Value, to: Destination, valid: Value) -> None:
        """Request a row."""
        row = self.read_row.payload
        m.d.comb += [
            self.read_row.valid.eq(valid),
            row.address.eq(address),
            row.bytes.eq(size),
            row.to.eq(to),
        ]

    def _weights(self, m: Module) -> None:
        """Request the weights of each tap."""
        job, at = self.i_geometry, self.at["weights"]
        with m.State("WEIGHTS"):
            self._ask(m, at, job.n + 1, Destination.VECTOR, C(1))
            with m.If(self.read_row.ready):
                m.d.sync += [at.eq(at + job.n + 1), self.codes.eq(self.codes - job.n - 1)]
                with m.If(self.codes == job.n):
                    m.next = "LINE"

    def _walk(self, m: Module, new: data.View, down: Signal) -> None:
        """Walk down the rows of windows, and through those of the map that each has."""
        window = self.i_window
        inside, ends, emits = (Signal(name=name) for name in ("inside", "ends", "emits"))
        final, below = Signal(name="final"), Signal(SIDE + 1, name="below")
        kernel_ends = self.kernel_rows == 0
        m.d.comb += [
            inside.eq(~self.here.at[-1] & (self.here.at[:-1] <= window.height)),
            below.eq(self.here.at[:-1] + window.dy),
            final.eq(self.left <= window.across),
        ]
        with m.State("LINE"):
            m.d.sync += [self.here.eq(self.line), self.first.eq(1), self.weight.eq(0)]
            m.d.sync += [self.kernel_rows.eq(window.kh), self.steps.eq(1), self.phase.eq(1)]
            m.next = "LOOK"
        with m.State("LOOK"):
            m.d.sync += [
                emits.eq(self.i_at_once | inside | (kernel_ends & self.first)),
                ends.eq(kernel_ends | (~self.i_at_once & inside & (below > window.height))),
                self.end.eq(Mux(window.kw < self.spec.taps, window.kw, self.spec.taps - 1)),
            ]
            m.next = "PART"
        with m.State("PART"):
            self._part(m, inside, ends, emits, final)
        with m.State("STEP"):
            m.d.sync += [self.here.eq(new), self.steps.eq(self.steps + 1)]
            with m.If(self.steps == window.dy):
                m.d.sync += [self.kernel_rows.eq(self.kernel_rows - 1), self.steps.eq(1)]
                m.next = "LOOK"
            with m.If(self.i_at_once):
                m.d.sync += self.phase.eq(self.phase + 1)
                with m.If(self.phase == window.sy):
                    m.d.sync += [self.phase.eq(1), self.first.eq(1), self.weight.eq(0)]
                with m.If(kernel_ends):  # windows are complete
                    m.d.sync += self.kernel_rows.eq(window.sy - 1)
                    m.d.sync += self.left.eq(self.left - window.across - 1)
        with m.State("DOWN"):
            m.d.comb += down.eq(1)
            m.d.sync += [self.line.eq(new), self.steps.eq(self.steps + 1)]
            with m.If(self.steps == window.sy):
                m.d.sync += self.left.eq(self.left - window.across - 1)
                m.next = "LINE"

    def _part(self, m: Module, inside: Value, ends: Value, emits: Value, final: Value) -> None:
        """Request a row of the map for some columns of the kernel, or leave it out."""
        spec, job, window = self.spec, self.i_geometry, self.i_window
        queue, row = self.queue.i, self.read_row.payload
        moves, whole = Signal(name="moves"), Signal(name="whole")
        # Columns that the last tap is after the first one.
        column = sum(
            (Mux(bit, self.end << weight, 0) for weight, bit in enumerate(window.dx)), C(0)
        )
        left = Cat(window.left, window.left.any()).as_signed()
        self._ask(
            m,
            Mux(inside, self.here.address, self.at["map"]),
            job.map_row + 1,
            Destination.VECTOR,
            emits & queue.ready,
        )
        m.d.comb += [
            moves.eq(~emits | (queue.ready & self.read_row.ready)),
            whole.eq(self.end == window.kw),
            row.last.eq(final & ends & whole),
            row.final.eq(final & ends & whole),
            queue.valid.eq(emits & self.read_row.ready),
            queue.payload.void.eq(~inside),
            queue.payload.first.eq(self.first),
            queue.payload.last.eq(ends & whole),
            queue.payload.shifts.eq(whole & (self.phase == window.sy)),
            queue.payload.weight.eq(self.weight),
            queue.payload.windows.eq(Mux(final, self.left, window.across)),
            queue.payload.before.eq(column + left),
        ]
        with m.If(moves):
            m.d.sync += [
                self.weight.eq(self.weight + (job.n >> self.groups) + 1),
                self.end.eq(Mux(window.kw - self.end < spec.taps, window.kw, self.end + spec.taps)),
                self.first.eq(self.first & ~emits),
            ]
            with m.If(whole):
                m.next = "STEP"
                with m.If(ends & ~self.i_at_once):
                    m.next = "DOWN"
                with m.If(ends & final):
                    m.next = "IDLE"

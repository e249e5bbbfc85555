"""Rows of A and of B by a list of places."""

from typing import Any, NamedTuple, Self

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.soc.path.list_reader import ListReader
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.geometry import BYTES_WIDTH, Geometry, block_widths
from hw.soc.schedule.row_request import RowRequest

__all__ = ["ListState", "ListedRows", "connect_lists", "rows_requested"]


class ListedRows(wiring.Component):
    """Reads what a list says in place of rows of A and of B: codes of A, and other rows of B.

    Of a job that chooses one of several B, all rows of B are that many bytes further on.

    A row of A becomes as many rows of a code, which are joined. Addresses of B go from row to row,
    a step in a cycle, and those of rows that are not in the list are passed by; so no list takes
    more cycles than all of B. An empty list stands for one place whose code of A is zero.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths, places of a list.

    Members
    -------
    i_geometry : In
        The job.
    i_none : In(1)
        Its list is empty.
    i_beyond : In
        Bytes from the first B to the one that is chosen, with ``i_begin``; where jobs choose.
    i_begin, i_next : In(1)
        It begins; the block of the rows that were taken has ended.
    i_codes, i_last : In
        Codes of the block; it is the last one along K.
    i, o : In(stream), Out(stream)
        :class:`RowRequest`: rows as of a block at the first place of K; those that are read.
    o_at, i_place : Out, In
        A number of a place, and in the next cycle the place.
    """

    i_geometry: data.View
    i_none: Signal
    i_beyond: Signal
    i_begin: Signal
    i_next: Signal
    i_codes: Signal
    i_last: Signal
    i: stream.Interface
    o: stream.Interface
    o_at: Signal
    i_place: Signal

    def __init__(self, spec: CoprocessorSpec):
        self.spec = spec
        places = range(max(spec.lists, 2))
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            **({"i_beyond": In(spec.address_width)} if spec.top_k else {}),
            **dict.fromkeys(("i_none", "i_begin", "i_next", "i_last"), In(1)),
            "i_codes": In(block_widths(spec)["codes"]),
            "i": In(stream.Signature(RowRequest(spec))),
            "o": Out(stream.Signature(RowRequest(spec))),
            "o_at": Out(places),
            "i_place": In(places),
        })

    def elaborate(self, platform):
        m = Module()
        job, row, out = self.i_geometry, self.i.payload, self.o.payload
        # The number of the place, that of the block's first one, and codes of a row, less one.
        at, offset = Signal.like(self.o_at, name="at"), Signal(len(self.o_at) + 1)
        left, moves = Signal(len(self.i_codes)), Signal()
        # A place of K, and where its row of B is.
        place, beyond = Signal(len(self.i_place) + 1), Signal(self.spec.address_width)
        of_a, of_b, hit = Signal(), Signal(), Signal()
        m.d.comb += [
            of_a.eq(self.i.valid & job.listed & (row.to == Destination.A)),
            of_b.eq(self.i.valid & job.listed & (row.to == Destination.B)),
            hit.eq(self.i_none | (place == self.i_place)),
            out.eq(row),
            moves.eq(self.o.valid & self.o.ready),
            self.o_at.eq(Mux(moves, at + 1, at)),
        ]
        m.d.sync += at.eq(self.o_at)
        with m.FSM():
            with m.State("PASS"):
                mine = of_a | of_b
                m.d.comb += [
                    self.o.valid.eq(self.i.valid & ~mine),
                    self.i.ready.eq(self.o.ready & ~mine),
                    self.o_at.eq(offset),
                ]
                m.d.sync += left.eq(self.i_codes - 1)
                if self.spec.top_k:
                    with m.If(job.chosen & (row.to == Destination.B)):
                        m.d.comb += out.address.eq(row.address + beyond)
                with m.If(of_a):
                    m.next = "CODES"
                with m.If(of_b):
                    m.next = "ROWS"
            self._read_codes(m, left, moves)
            with m.State("ROWS"):
                m.d.comb += [
                    self.o.valid.eq(self.i.valid & hit),
                    self.i.ready.eq(self.o.ready & hit),
                    out.address.eq(row.address + beyond),
                ]
                with m.If(self.i.valid & (moves | ~hit)):
                    m.d.sync += [place.eq(place + 1), beyond.eq(beyond + job.ldb[:BYTES_WIDTH])]
                with m.If(moves & row.last):
                    m.next = "PASS"
        with m.If(self.i_next):
            m.d.sync += offset.eq(Mux(self.i_last, 0, offset + job.codes))
        with m.If(self.i_begin):
            m.d.sync += offset.eq(0)
        with m.If(self.i_begin | (self.i_next & self.i_last)):
            m.d.sync += place.eq(0)
            if not self.spec.top_k:
                m.d.sync += beyond.eq(0)
        if self.spec.top_k:
            with m.If(self.i_begin):
                m.d.sync += beyond.eq(self.i_beyond)
            with m.Elif(self.i_next & self.i_last & ~job.chosen):
                m.d.sync += beyond.eq(0)
        return m

    def _read_codes(self, m: Module, left: Signal, moves: Value) -> None:
        """Read the codes of a row of A, one by one; of an empty list a zero."""
        row, out, size = self.i.payload, self.o.payload, exact_log2(self.spec.kinds[0].a_bits // 8)
        ends = Signal()
        m.d.comb += ends.eq(left == 0)
        with m.State("CODES"):
            m.d.comb += [
                self.o.valid.eq(1),
                self.i.ready.eq(self.o.ready & ends),
                out.address.eq(row.address + Cat(C(0, size), self.i_place)),
                out.bytes.eq(1 << size),
                out.joins.eq(~ends),
                out.fill.eq(self.i_none),
                out.last.eq(row.last & ends),
                out.final.eq(row.final & ends),
            ]
            with m.If(moves):
                m.d.sync += left.eq(left - 1)
                with m.If(ends):
                    m.next = "PASS"


class ListState(NamedTuple):
    """A job waits for its list; its list is none."""

    waits: Signal
    wrong: Signal

    @classmethod
    def make(cls) -> Self:
        """Make the signals."""
        return cls(*(Signal(name=f"list_{name}") for name in cls._fields))


def connect_lists(m: Module, path: Any, loader: Any, router: Any, others: Any) -> Any:
    """Have jobs that have a list load by it; return the stream of all rows.

    Parameters
    ----------
    path : :class:`~hw.soc.datapath.Datapath`, whose job it is, the one that is loaded.
    loader, router : what requests rows, and what hands out the data.
    others : rows that are requested of products.
    """
    if not path.spec.lists:
        return others
    job, starts, walk = path.i_load_geometry, path.result_writer.i_start, loader.walk
    m.submodules.list_reader = reader = ListReader(path.spec)
    m.submodules.listed_rows = rows = ListedRows(path.spec)
    every: Any = stream.Signature(RowRequest(path.spec)).create(path=("with_list",))
    waits: Value = reader.row.valid
    waits_for: Value = job.listed
    if path.spec.top_k:
        waits_for = job.listed | job.chosen
        m.d.comb += rows.i_beyond.eq(reader.o_beyond)
    connect(m, getattr(router, f"o{Destination.PLACES}"), reader.i)
    connect(m, others, rows.i)
    m.d.comb += [
        reader.i_geometry.eq(job),
        reader.i_base.eq(path.i_base),
        reader.i_start.eq(starts & waits_for),
        reader.i_at.eq(rows.o_at),
        rows.i_place.eq(reader.o_place),
        rows.i_geometry.eq(job),
        rows.i_none.eq(reader.o_none),
        rows.i_begin.eq(reader.o_begin),
        rows.i_next.eq(walk.i_next),
        rows.i_codes.eq(walk.o_codes),
        rows.i_last.eq(walk.o_last_code),
        path.lists.waits.eq(reader.o_waits),
        path.lists.wrong.eq(reader.o_wrong),
        path.o_final.eq(router.o_final),
        # Addresses of the next job are taken when this one has begun, and has its own.
        path.o_writes.eq(loader.o_writes | path.result_writer.o_writes | reader.o_waits),
        loader.i_start.eq(Mux(waits_for, reader.o_begin, starts)),
        every.valid.eq(waits | rows.o.valid),
        every.payload.eq(Mux(waits, reader.row.payload, rows.o.payload)),
        reader.row.ready.eq(every.ready),
        rows.o.ready.eq(every.ready & ~waits),
    ]
    # K is the count of places.
    with m.If(job.listed):
        m.d.comb += loader.i_geometry.k.eq(reader.o_above)
    return every


def rows_requested(path: Any, loader: Any) -> Value:
    """Return whether all rows of products have been requested, and unpacked."""
    requested: Value = loader.o_idle
    if path.spec.sparse:
        requested &= path.packed.idle
    if path.spec.lists:
        requested &= ~path.lists.waits
    for tables in path.table_rows.values():
        requested &= tables.o_ready
    return requested

"""The row of a table of a job, in front of all else that is read."""

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.destination import Destination, of_tables
from hw.soc.schedule.geometry import Geometry
from hw.soc.schedule.row_request import Bases, RowRequest

__all__ = ["TableRows", "connect_tables", "table_rows"]


class TableRows(wiring.Component):
    """Requests the table of each job that has one, before the rows that others request.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: widths.
    to : int
        What: of codes of C, behind the records of columns; or of codes of B.

    Members
    -------
    i_geometry : In
        The job.
    i_looks : In(1)
        It has a table.
    i_base : In
        :class:`hw.soc.schedule.row_request.Bases`: of records, or the table, before ``i_start``.
    i_start : In(1)
        It begins; only while ``o_ready``, and before ``i.valid``.
    o_ready : Out(1)
        The table has been requested.
    i, o : In(stream), Out(stream)
        :class:`RowRequest`: those of others, and all.
    """

    i_geometry: data.View
    i_looks: Signal
    i_base: data.View
    i_start: Signal
    o_ready: Signal
    i: stream.Interface
    o: stream.Interface

    def __init__(self, spec: CoprocessorSpec, to: int):
        self.spec = spec
        self.to = to
        self.of_c = to != Destination.CODEBOOK
        self.bytes = spec.TABLE_BYTES if self.of_c else spec.inside.expander.table_bytes
        super().__init__({
            "i_geometry": In(Geometry(spec)),
            "i_looks": In(1),
            "i_base": In(Bases(spec)),
            "i_start": In(1),
            "o_ready": Out(1),
            "i": In(stream.Signature(RowRequest(spec))),
            "o": Out(stream.Signature(RowRequest(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        job, width = self.i_geometry, self.spec.address_width
        waits, base, at = Signal(), Signal(width, reset_less=True), Signal(width, reset_less=True)
        row: Any = data.View(RowRequest(self.spec), Signal(RowRequest(self.spec).size, name="row"))
        of = Destination.RECORD if self.of_c else self.to
        with m.If(self.i_base.valid & (self.i_base.to == of)):
            m.d.sync += base.eq(self.i_base.address)
        with m.If(self.i_start):
            # Behind the records, if there are any.
            records = (job.n + 1) * self.spec.RECORD_BYTES
            behind = Mux(job.per_column, records, 0) if self.of_c else 0
            m.d.sync += [waits.eq(self.i_looks), at.eq(base + behind)]
        with m.Elif(self.o.ready):
            m.d.sync += waits.eq(0)
        m.d.comb += [
            row.address.eq(at),
            row.bytes.eq(self.bytes),
            row.to.eq(self.to),
            row.last.eq(1),
            self.o_ready.eq(~waits),
            self.o.valid.eq(waits | self.i.valid),
            self.o.payload.eq(Mux(waits, row, self.i.payload)),
            self.i.ready.eq(self.o.ready & ~waits),
        ]
        return m


def table_rows(spec: CoprocessorSpec) -> dict[int, TableRows]:
    """Make what requests the tables that jobs of a build have."""
    built = {of_tables(spec): spec.table, Destination.CODEBOOK: spec.inside.expander.table_bytes}
    return {to: TableRows(spec, to) for to, there in built.items() if there}


def connect_tables(m: Module, path: Any, rows: Any, router: Any) -> Any:
    """Have tables read before all else of their jobs.

    Parameters
    ----------
    path : :class:`~hw.soc.datapath.Datapath`, whose job it is.
    rows : what others request.
    router : what hands out the data.

    Returns
    -------
    The stream of all rows that are read.
    """
    load = path.i_load_job
    for to, tables in path.table_rows.items():
        m.submodules[f"{'table' if tables.of_c else 'codebook'}_rows"] = tables
        connect(m, rows, tables.i)
        rows, beats = tables.o, getattr(router, f"o{to}")
        m.d.comb += [
            tables.i_geometry.eq(path.i_load_geometry),
            tables.i_looks.eq(load.mode.table if tables.of_c else load.mode.vector == 0),
            tables.i_base.eq(path.i_base),
            tables.i_start.eq(path.i_start),
        ]
        if tables.of_c:
            connect(m, beats, path.result_writer.i_table)
            m.d.comb += path.result_writer.i_looks.eq(path.i_job.mode.table)
        else:
            _keep_codebooks(m, path, beats)
    return rows


def _keep_codebooks(m: Module, path: Any, beats: Any) -> None:
    """Connect the tables of the codes of B, which the feed of B takes with the words of a tile."""
    m.submodules.codebooks = books = path.codebooks
    feed = path.operands["b"]
    connect(m, beats, books.i)
    m.d.comb += [books.i_turn.eq(feed.o_turn), feed.i_table.eq(books.o)]

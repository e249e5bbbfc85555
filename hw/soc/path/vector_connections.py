"""How vector jobs reach memory: by the loader's way to the bus, and the result writer's."""

from typing import Any

from amaranth import Cat, Module, Mux, Value
from amaranth.lib import stream
from amaranth.lib.wiring import connect

from hw.soc.path.vector_rows import SCALE
from hw.soc.registers.rdl import numbered
from hw.soc.schedule.destination import Destination
from hw.soc.schedule.row_request import RowRequest

__all__ = ["connect_vector_rows"]


def connect_vector_rows(m: Module, path: Any, others: Any, router: Any) -> Any:
    """Let vector jobs use the loader's way to the bus, and the result writer's.

    Parameters
    ----------
    m : where.
    path : :class:`hw.soc.datapath.Datapath`.
    others : rows of products.
    router : what hands out the data.

    Returns
    -------
    The stream of all rows that are read.
    """
    rows, writer = path.vector_rows, path.result_writer
    m.submodules.vector_rows = rows
    here = path.of_rows
    joined: Any = stream.Signature(RowRequest(path.spec)).create(path=("rows",))
    m.d.comb += [
        rows.i_geometry.eq(path.i_geometry),
        rows.i_mode.operation.eq(numbered(path.spec.vector_jobs, path.i_job.mode)),
        rows.i_mode.wide.eq(path.i_job.mode.a_format),
        *(
            [rows.i_mode.requantise.eq(path.i_job.mode.requantise)]
            if rows.vector.builds(rows.vector.SHARES)
            else []
        ),
        rows.i_start.eq(path.i_start & path.i_load_job.mode.vector.any()),
        rows.i_base.eq(path.i_base),
        # A product is loaded when all rows of a vector job have been requested.
        joined.valid.eq(Mux(rows.o_asked, others.valid, rows.memory.read_row.valid)),
        joined.payload.eq(Mux(rows.o_asked, others.payload, rows.memory.read_row.payload)),
        rows.memory.read_row.ready.eq(~rows.o_asked & joined.ready),
        others.ready.eq(rows.o_asked & joined.ready),
        writer.i_of_rows.eq(here),
    ]
    if path.spec.lists:
        m.d.comb += rows.i_least.eq(path.i_job.low)
    if path.spec.top_k:
        m.d.comb += rows.i_count.eq(path.i_job.k)
    if path.spec.gather:
        m.d.comb += [rows.i_rows.eq(path.i_job.k), path.o_beyond.eq(rows.o_beyond)]
    if path.spec.taps:
        words = Cat(path.i_job.ldsa, path.i_job.ldsb)
        m.d.comb += Value.cast(rows.i_factors).eq(words)
        m.d.comb += writer.i_of_maps.eq(rows.of_maps)
        connect(m, rows.o_sums, writer.i_sums)
        if path.spec.table:
            m.d.comb += writer.i_sums_end.eq(rows.o_sums_end)
    if path.spec.depthwise:
        m.d.comb += Value.cast(rows.i_window).eq(Cat(path.i_job.a_scales, path.i_job.b_scales))
    if rows.scales:
        m.d.comb += [rows.i_scale[name].eq(path.i_job[name]) for name in SCALE]
    connect(m, getattr(router, f"o{Destination.VECTOR}"), rows.memory.read)
    connect(m, rows.memory.write_row, writer.i_rows)
    connect(m, rows.memory.write, writer.i_words)
    return joined

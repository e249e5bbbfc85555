"""Counts the jobs of a ring whose rows are read, sent and written."""

from typing import Any

from amaranth import Module, Mux, Signal, Value

from hw.soc.schedule.control import Control

__all__ = ["count_jobs"]


def count_jobs(
    m: Module, core: Any, masters: tuple[Any, Any], control: Control
) -> tuple[Value, Value]:
    """Count jobs; return whether a read failed, and whether it was of the oldest job.

    Rows with such data are not written. The read is of the oldest job if all jobs that have
    been read whole are complete.
    """
    (read, write), path = masters, core.datapath
    failed, holds = Signal(), Signal()
    counts = [Signal(3, name=f"jobs_{name}") for name in ("read", "sent", "done")]
    were_read, sent, done = counts
    rows = write.i.valid & write.i.ready & path.o_rows.payload.final
    comes = read.o_final + (path.o_final & ~failed) if core.spec.windows else read.o_final
    for count, event in zip(counts, (comes, rows, control.on), strict=True):
        m.d.sync += count.eq(Mux(control.clear, 0, count + event))
    # A cycle late, before a row can leave that is of what was read.
    m.d.sync += holds.eq(failed & ((sent == were_read) | rows))
    m.d.comb += [
        failed.eq(read.o_error & ~read.o_error_other),
        write.i.valid.eq(path.o_rows.valid & ~holds),
        write.i.payload.eq(path.o_rows.payload),
        path.o_rows.ready.eq(write.i.ready & ~holds),
    ]
    return failed, done == were_read

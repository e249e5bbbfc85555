"""Counts the jobs of a ring whose rows are read, sent and written."""

from typing import Any

from amaranth import Array, Module, Mux, Signal, Value

from golden.soc.spec import CoprocessorSpec
from hw.soc.schedule.control import Control
from hw.soc.schedule.row_request import joins_rows

__all__ = ["count_jobs", "wrong_reads"]


def count_jobs(
    m: Module, core: Any, masters: tuple[Any, Any], control: Control
) -> tuple[Value, Value]:
    """Count jobs; return whether a read failed, and whether it was of the oldest job.

    Rows with such data are not written. The read is of the oldest job if all jobs that have
    been read whole are complete.
    """
    (read, write), path = masters, core.datapath
    failed, holds, oldest = Signal(), Signal(), Signal(init=1)
    counts = [Signal(3, name=f"jobs_{name}") for name in ("read", "sent", "done")]
    were_read, sent, done = counts
    rows = write.i.valid & write.i.ready & path.o_rows.payload.final
    comes = read.o_final + (path.o_final & ~failed) if joins_rows(core.spec) else read.o_final
    for count, event in zip(counts, (comes, rows, control.on), strict=True):
        m.d.sync += count.eq(Mux(control.clear, 0, count + event))
    # Known a cycle before, as many registers wait for it.
    m.d.sync += oldest.eq(control.clear | _alike(were_read - done, comes, control.on))
    # A cycle late, before a row can leave that is of what was read.
    m.d.sync += holds.eq(failed & ((sent == were_read) | rows))
    m.d.comb += [
        failed.eq(read.o_error & ~read.o_error_other),
        write.i.valid.eq(path.o_rows.valid & ~holds),
        write.i.payload.eq(path.o_rows.payload),
        path.o_rows.ready.eq(write.i.ready & ~holds),
    ]
    if core.spec.sparse:
        # A packed B that is none is of the job that began last, all of whose rows may be read.
        begun = Signal(3, name="jobs_begun")
        m.d.sync += begun.eq(Mux(control.clear, 0, begun + path.i_start))
        m.d.sync += control.last.eq((done + 1)[:3] == begun)
    return failed, oldest


def _alike(between: Value, comes: Value, ends: Value) -> Value:
    """Return whether two counts of three bits are alike when both have counted.

    The difference is compared with all that it may change by, before that is known.
    """
    differences = between[:3]
    after = Array(
        Mux(ends, differences == (1 - count) % 8, differences == -count % 8) for count in range(3)
    )
    return after[comes]


def wrong_reads(
    spec: CoprocessorSpec, path: Any, control: Control, oldest: Value
) -> list[tuple[Value, str]]:
    """List what is wrong with what a job has read, once those before are done, with error codes.

    Parameters
    ----------
    path : :class:`~hw.soc.datapath.Datapath`.
    control, oldest : what ends a run; what is read is of the oldest job.
    """
    wrong = [(path.o_beyond & oldest, "bad_index")] if spec.gather else []
    wrong += [(path.lists.wrong & oldest, "bad_index")] if spec.lists else []
    return wrong + [(path.packed.wrong & control.last, "bad_offset")] * spec.sparse

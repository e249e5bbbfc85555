"""What each column of C has: a bias, and a requantisation."""

from typing import Any

from amaranth import Cat, Module

from hw.soc.schedule.destination import Destination
from hw.soc.stores.column_store import ColumnStore

__all__ = ["add_bias", "scale"]


def add_bias(m: Module, path: Any, store: ColumnStore) -> None:
    """Read the biases of a tile's columns."""
    spec, sums = path.spec, path.sum_store
    words = [
        store.o.word_select(column, 8 * spec.sum_bytes)[: spec.inside.sum_width]
        for column in range(spec.inside.n)
    ]
    m.d.comb += [
        store.en.eq(1),
        store.i_column.eq(sums.o_bias),
        store.i_release.eq(sums.o_bias_release),
        sums.i_bias.eq(Cat(Cat(word, 0) if spec.inside.flags else word for word in words)),
    ]


def scale(m: Module, path: Any) -> None:
    """Set the result writer's requantisation: the job's, and the records of columns; or its seed.

    Sums come later than their job by more than a cycle: unless the build is lean, its scale is in
    registers beside them.
    """
    writer, job = path.result_writer, path.i_job
    near = m.d.comb if path.lean else m.d.sync
    if path.spec.random_width:
        near += writer.i_seed.eq(job.multiplier)
    if path.spec.inside.result is not None:
        return
    near += [
        *(
            writer.i_how[name].eq(job[name][: len(writer.i_how[name])])
            for name in ("multiplier", "shift", "zero_point", "low", "high")
        ),
        writer.i_how.relu.eq(job.mode.relu),
    ]
    store = path.columns.get(Destination.RECORD)
    if store is not None:
        m.d.comb += [
            writer.i_records.eq(store.o),
            store.en.eq(writer.o_move),
            store.i_column.eq(writer.o_piece),
            store.i_release.eq(writer.o_last & path.i_geometry.per_column),
        ]

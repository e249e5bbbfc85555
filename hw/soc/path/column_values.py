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
    """Set the result writer's requantisation: the job's, or that of a column's record."""
    writer = path.result_writer
    how, unit = writer.i_how, writer.requantiser
    fields = {
        "multiplier": (0, unit.multiplier_width),
        "zero_point": (48, unit.out_width),
        "shift": (32, unit.shift_format.width),
    }
    store = path.columns.get(Destination.RECORD)
    for name, (low, width) in fields.items():
        given = path.i_job[name][:width]
        if store is None:
            m.d.comb += how[name].eq(given)
            continue
        records = [store.o.word_select(column, 64) for column in range(unit.n)]
        with m.If(path.i_geometry.per_column):
            m.d.comb += how[name].eq(Cat(record[low : low + width] for record in records))
        with m.Else():
            m.d.comb += how[name].eq(given.replicate(unit.n))
    m.d.comb += [
        how.low.eq(path.i_job.low),
        how.high.eq(path.i_job.high),
        how.relu.eq(path.i_job.mode.relu),
    ]
    if store is not None:
        m.d.comb += [
            store.en.eq(writer.o_move),
            store.i_column.eq(writer.o_piece),
            store.i_release.eq(writer.o_last & path.i_geometry.per_column),
        ]

"""The place of each block of B in its table, where it is packed."""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.utils import exact_log2

from golden.soc.spec import CoprocessorSpec
from hw.soc.bus.bitmap_group import ENTRY_BYTES
from hw.soc.schedule.block_walk import BlockWalk
from hw.soc.schedule.geometry import BYTES_WIDTH, block_widths

__all__ = ["PackedPlace", "packed_place"]


class PackedPlace(data.StructLayout):
    """A block's ``rows`` less one, and its ``entry``; that of the ``following`` one, if any."""

    def __init__(self, spec: CoprocessorSpec):
        entry = BYTES_WIDTH - exact_log2(ENTRY_BYTES)
        super().__init__({
            "rows": block_widths(spec)["codes"],
            "entry": entry,
            "following": entry,
            "more": 1,
        })


def packed_place(
    m: Module, place: data.View, walk: BlockWalk, by_columns: Value, moves: tuple[Value, Value]
) -> None:
    """Count the blocks of B: down K first, then across, and again for each row of blocks of C.

    If B is loaded once for a column of blocks of C, the following block is the next column's.

    Parameters
    ----------
    m : gets the logic.
    place : :class:`PackedPlace`, of the block.
    walk : the block.
    by_columns : columns of blocks of C are outermost.
    moves : the walk begins with its first block; it goes to the next one.
    """
    here: Any = place
    begins, goes = moves
    column, next_, after = (Signal.like(here.entry, name=name) for name in ("column", "nxt", "aft"))
    # The same column again, of which B may be there already; all columns again.
    stays, wraps, there = (Signal(name=name) for name in ("stays", "wraps", "there"))
    m.d.comb += [
        stays.eq(walk.o_last_code & by_columns & ~walk.o_last_row),
        wraps.eq(walk.o_last_code & ~by_columns & walk.o_last_column),
        there.eq(stays & walk.o_first_code),
        next_.eq(here.entry + 1),
        after.eq(Mux(wraps, 0, next_)),
        here.rows.eq(walk.o_codes - 1),
        here.following.eq(Mux(stays & ~there, column, after)),
        here.more.eq(Mux(there, ~walk.o_last_column, ~walk.o_last)),
    ]
    with m.If(goes):
        m.d.sync += here.entry.eq(Mux(stays, column, after))
        with m.If(walk.o_last_code & ~stays):
            m.d.sync += column.eq(after)
    with m.If(begins):
        m.d.sync += [here.entry.eq(0), column.eq(0)]

"""Memories behind an array that never stops, from which rows of C leave when they are complete."""

from collections.abc import Sequence
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value

from hw.device.row_store import RowStore
from hw.lib.shared_module import Placement

__all__ = ["collect", "has_room"]


def has_room(m: Module, ended: Value, o_c: Any, slots: int, late: int) -> Signal:
    """Return whether another tile may end, three cycles late: off the path of accepted beats.

    Parameters
    ----------
    m : where.
    ended : a tile ends.
    o_c : the stream that rows leave by.
    slots : tiles that may have ended before one of them has left.
    late : tiles that may end beyond these, since this is late.
    """
    counted, left = Signal(), Signal()
    tiles, room = Signal(range(slots + late + 1)), Signal(init=1)
    m.d.sync += [
        counted.eq(ended),
        left.eq(o_c.valid & o_c.ready & o_c.payload.last),
        tiles.eq(tiles + counted - left),
        room.eq(tiles < slots),
    ]
    return room


def collect(
    m: Module,
    store: RowStore,
    sums: Sequence[Value],
    write: Value,
    o_c: Any,
    *,
    rows: int,
    together: int,
) -> None:
    """Write the sums of each column, and read rows that are complete, three cycles later.

    Parameters
    ----------
    m : where.
    store : memory of a column.
    sums : of each column.
    write : column 0 has a sum.
    o_c : the stream that rows leave by.
    rows : of a tile.
    together : columns that have their sums in the same cycle, one later than those before.
    """
    stores, write = _write_columns(m, store, sums, write, together)
    level, is_empty = Signal(range(store.depth + 1)), Signal(init=1)
    start, row = Signal(range(store.depth)), Signal(range(rows))
    inside, inside_last, out_last = Signal(), Signal(), Signal()
    moves_out, moves, issue = Signal(), Signal(), Signal()
    # Two words wait: a register says so. The columns, which are all over a device, have copies of
    # what stops them; these have no reset, or synthesis would make one register of both.
    both, wait = Signal(), Signal()
    both_there, valid_there = Signal(reset_less=True), Signal(reset_less=True)
    m.d.comb += [
        wait.eq(Mux(moves_out, inside & ~is_empty, inside | ~is_empty)),
        moves_out.eq(~o_c.valid | o_c.ready),
        moves.eq(~both | o_c.ready),
        issue.eq(~is_empty & moves),
        o_c.payload.last.eq(out_last),
        o_c.payload.data.eq(Cat(placed.o for placed in stores)),
    ]
    m.d.sync += [both.eq(wait), both_there.eq(wait)]
    # `o_c.ready` comes late: it chooses, and nothing is counted after it.
    with m.If(write ^ issue):
        m.d.sync += level.eq(level + Mux(write, 1, -1))
    m.d.sync += is_empty.eq(~write & (is_empty | (moves & (level == 1))))
    with m.If(moves):
        m.d.sync += [inside.eq(~is_empty), inside_last.eq(row == rows - 1)]
    with m.If(moves_out):
        m.d.sync += [o_c.valid.eq(inside), valid_there.eq(inside), out_last.eq(inside_last)]
    with m.If(issue):
        m.d.sync += [start.eq(start + 1), row.eq(Mux(row == rows - 1, 0, row + 1))]
    enables = Cat(~both_there | o_c.ready, ~valid_there | o_c.ready)
    for placed in stores:
        m.d.comb += [placed.i_from.eq(start), placed.i_read.eq(enables)]


def _write_columns(
    m: Module, store: RowStore, sums: Sequence[Value], write: Value, together: int
) -> tuple[list[Placement], Value]:
    """Place the stores, and write sums; return also whether a row is complete."""
    address = Signal(range(store.depth))
    m.d.sync += address.eq(address + write)
    stores: list[Placement] = []
    before: Value | None = None
    for number, total in enumerate(sums):
        if number and number % together == 0:
            late_write, late_address = Signal(name=f"write{number}"), Signal.like(address)
            m.d.sync += [late_write.eq(write), late_address.eq(address)]
            before, write, address = write, late_write, late_address
        m.submodules[f"store{number}"] = placed = store.place()
        m.d.comb += [placed.i_write.eq(write), placed.i_address.eq(address), placed.i.eq(total)]
        stores.append(placed)

    if before is not None:
        # What counts rows has a copy, as it is far from the column that is written; the other way
        # around, or synthesis would make one register of both.
        quiet = Signal(init=1)
        m.d.sync += quiet.eq(~before)
        write = ~quiet
    return stores, write

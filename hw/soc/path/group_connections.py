"""Where the sums of groups of K leave the result writer's way: marks of blocks, and pieces."""

from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.wiring import connect, flipped

from hw.soc.path.result_words import joined
from hw.soc.schedule.destination import Destination
from hw.soc.stores.column_store import ColumnStore

__all__ = ["connect_groups", "mark_piece", "mark_rows", "powers_of", "scale_store", "send_groups"]


def scale_store(spec: Any, across: int) -> dict[Destination, ColumnStore]:
    """Return the store of scales of a build that has them, by its number; of so many columns."""
    if spec.group_scales == "none":
        return {}
    store = ColumnStore(spec, "scale_bank", 2, spec.PARTS, across)
    return {Destination.B_SCALES: store}


def mark_rows(
    m: Module, writer: Any, row: Any, begins: Value, following: Any
) -> tuple[list[Value], list[Value], list[Value]]:
    """Keep which group of K a block is.

    Parameters
    ----------
    m : where.
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    row : what moves.
    begins, following : the next block begins, that is it.

    Returns
    -------
    What must hold, too, of a block, and of its rows, so that their addresses go to memory; and for
    nothing to be under way. Without groups, nothing.
    """
    if writer.groups is None:
        return [], [], []
    now, names = Signal(2, name="group"), ("first_group", "last_group")
    with m.If(begins):
        m.d.sync += now.eq(Cat(following[name] for name in names))
    with m.If(row.move):
        m.d.sync += writer.group.eq(now)
    return [writer.i.payload.last_group], [now[1]], [writer.groups.o_idle]


def mark_piece(
    m: Module, writer: Any, leaves: Value, at_piece: Value, inside: Value, ends: list[Value]
) -> None:
    """Keep what is known of a piece of a row that leaves the store, beside it.

    Parameters
    ----------
    m : where.
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    leaves : the piece leaves its row.
    at_piece : a bit for each piece: it is that one.
    inside : a bit for each column of the row: it is one of C.
    ends : it ends its row of C; its block.
    """
    if writer.groups is None:
        return
    across = writer.across
    columns = [
        Cat(at & inside[piece * across + column] for piece, at in enumerate(at_piece)).any()
        for column in range(across)
    ]
    with m.If(leaves):
        m.d.sync += writer.marks.eq(Cat(*columns, *ends, writer.group))


def send_groups(m: Module, writer: Any, to: Any, numbers: list[Value], valid: Value) -> Any:
    """Have sums of groups go by what adds them up.

    Parameters
    ----------
    m : where.
    writer : :class:`~hw.soc.path.result_writer.ResultWriter`.
    to : what takes words.
    numbers, valid : the sums of a piece; there are some.

    Returns
    -------
    What takes words of other jobs; whether sums are of groups, and are taken.
    """
    unit, here = writer.groups, writer.i_geometry.grouped
    m.submodules.groups = unit
    sums: Any = stream.Signature(to.payload.shape()).create(path=("plain",))
    both = joined(m, "joined_groups", sums, unit.o, here)
    connect(m, flipped(writer.i_powers), unit.i_powers)
    m.d.comb += [
        to.valid.eq(both.valid),
        to.payload.eq(both.payload),
        both.ready.eq(to.ready),
        unit.i.valid.eq(valid & here),
        unit.i.payload.as_value().eq(Cat(*numbers, writer.marks)),
        unit.i_scales.eq(writer.i_scales),
        writer.o_taken.eq(unit.o_release),
    ]
    return sums, here, unit.i.ready


def powers_of(path: Any) -> dict[str, bool]:
    """Return whether a data path reads powers of rows, by the name of their destination."""
    return {Destination.A_SCALES.name: path.result_writer.groups is not None}


def connect_groups(m: Module, path: Any, loader: Any, router: Any) -> None:
    """Connect stores of scales and of powers to the result writer, if there are any.

    Parameters
    ----------
    m : where.
    path : :class:`~hw.soc.datapath.Datapath`.
    loader, router : what requests their rows, and what hands these out.
    """
    store, writer = path.columns.get(Destination.B_SCALES), path.result_writer
    if store is None:
        return
    connect(m, getattr(router, f"o{Destination.A_SCALES}"), writer.i_powers)
    m.d.comb += [
        writer.i_scales.eq(store.o),
        store.en.eq(writer.o_move),
        store.i_column.eq(writer.o_piece),
        store.i_release.eq(writer.o_last & path.i_geometry.grouped),
        *(
            loader.i_free[to].eq(writer.o_taken)
            for to in (Destination.A_SCALES, Destination.B_SCALES)
        ),
    ]

"""Sums of products on maps, which are stored until they are whole."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Value
from amaranth.lib import data

from hw.soc.path.map_lanes import map_lane, map_memory

__all__ = ["stored_sums"]


def stored_sums(
    m: Module,
    row: int,
    rows: Any,
    flow: tuple[Value, Value],
    stages: list[data.View],
    operands: tuple[list[list[Value]], list[list[Value]]],
    before: list[Value],
) -> Value:
    """Add products to what is stored, and store sums; return these, of all lanes.

    Parameters
    ----------
    m : where.
    row : of those of windows that are summed at once; other jobs have the first one's sums.
    rows : :class:`~hw.soc.path.map_rows.MapRows`.
    flow : clock enable; whether the last stage is valid.
    stages : :class:`~hw.soc.path.map_lanes.MapBeat`, of each.
    operands : codes and factors of each lane, for its multipliers.
    before : sums of the rows before, of which the last one is stored here when they shift.
    """
    width, name, (move, valid) = rows.spec.number_width, f"{row or ''}", flow
    memory = map_memory(m, f"sums{name}", rows.lanes * width, rows.beats)
    into, stored = memory.write_port(), memory.read_port()
    bases = [stored.data.word_select(lane, width) for lane in range(rows.lanes)]
    greater: Value = C(0, 1)
    if row == 0:
        greater = rows.i_greater & stages[3].sends
        bases = [Mux(stages[3].adds, base, 0) for base in bases]
        if rows.spec.depthwise:
            biases = (rows.columns.i_bias.word_select(lane, width) for lane in range(rows.lanes))
            pairs = zip(biases, bases, strict=True)
            bases = [Mux(stages[3].biased, bias, base) for bias, base in pairs]
    windows = C(1, 1) if row else rows.windows
    sums = Cat(
        map_lane(m, f"{lane}_{row}" if row else f"{lane}", move, *of_lane, greater, windows)
        for lane, of_lane in enumerate(zip(*operands, bases, strict=True))
    )
    m.d.comb += [
        stored.en.eq(move),
        stored.addr.eq(stages[2].at),
        into.en.eq(move & valid & stages[4].stores),
        into.addr.eq(stages[4].at),
        into.data.eq(Mux(stages[4].shifts, before[-1], sums) if row else sums),
    ]
    return sums

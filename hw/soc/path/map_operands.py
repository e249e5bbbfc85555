"""What the multipliers of lanes take: factors that are stored, and codes that came before."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data

from hw.soc.path.map_lanes import digits_of, map_memory

__all__ = ["delayed", "stored_factors"]


def delayed(
    m: Module,
    rows: Any,
    flow: tuple[Value, Value],
    beat: data.View,
    begins: data.View,
    codes: list[Value],
) -> list[list[Value]]:
    """Keep codes of windows; return for each lane those of the multipliers after the first one.

    Parameters
    ----------
    m : where.
    rows : :class:`~hw.soc.path.map_rows.MapRows`.
    flow : clock enable; whether `begins` is valid.
    beat, begins : :class:`~hw.soc.path.map_lanes.MapBeat`, as it comes, and a move later.
    codes : of `begins`, for each lane.
    """
    spec, (move, valid) = rows.spec, flow
    others, lanes, width = spec.taps - 1, len(codes), len(codes[0])
    if not spec.depthwise:
        return [[code] * others for code in codes]
    size = lanes * width
    memory = map_memory(m, "delay", others * size, rows.beats)
    into, out = memory.write_port(), memory.read_port()
    # Where all codes are of one place, it would be read while it is written.
    newest, single = Signal(others * size, reset_less=True), Signal(name="single")
    m.d.sync += single.eq((rows.i_window.dx == 1) & (rows.i_geometry.n < lanes))
    old = Mux(begins.fresh, 0, Mux(single, newest, out.data))
    new = Signal(others * size)
    m.d.comb += [
        out.en.eq(move & ~single),
        out.addr.eq(beat.delay),
        new.eq(Cat(*codes, old)),
        into.en.eq(move & valid & begins.walks),
        into.addr.eq(begins.delay),
        into.data.eq(new),
    ]
    with m.If(into.en):
        m.d.sync += newest.eq(new)

    def before(number: int, lane: int) -> Value:
        return old[number * size :][lane * width :][:width].as_signed()

    return [
        [Mux(rows.windows, before(number, lane), code) for number in range(others)]
        for lane, code in enumerate(codes)
    ]


def stored_factors(
    m: Module, row: int, rows: Any, flow: tuple[Value, Value], beat: data.View, begins: data.View
) -> list[list[Value]]:
    """Store factors that come; return for each lane those of its multipliers.

    Parameters
    ----------
    m : where.
    row : of those of windows that are summed at once; other jobs have the first one's multipliers.
    rows : :class:`~hw.soc.path.map_rows.MapRows`.
    flow : clock enable; whether `beat` is taken.
    beat, begins : :class:`~hw.soc.path.map_lanes.MapBeat`, as it comes, and a move later.
    """
    spec, job, (move, taken) = rows.spec, rows.i_factors, flow
    size = 8 * rows.lanes
    count = spec.taps if spec.depthwise else 1
    memory = map_memory(m, f"factors{row or ''}", count * size, rows.beats)
    write, read = memory.write_port(granularity=size), memory.read_port()
    m.d.comb += [
        write.en.eq(Mux(taken & beat.row[row] if spec.tap_rows > 1 else taken, beat.loads, 0)),
        write.addr.eq(beat.weight),
        write.data.eq(Cat(Mux(chosen, beat.codes, 0) for chosen in beat.chosen)),
        read.en.eq(move),
        read.addr.eq(beat.weight),
    ]
    if row:
        return [
            [part.word_select(lane, 8).as_signed() for part in _parts(read.data, size)]
            for lane in range(rows.lanes)
        ]
    digits = digits_of(Mux(begins.second, job.b, job.a))
    digits += [C(0, 1)] * (spec.taps - len(digits))
    lanes: list[list[Value]] = []
    for lane in range(rows.lanes):
        codes = [part.word_select(lane, 8).as_signed() for part in _parts(read.data, size)]
        factors: list[Value] = [
            Mux(rows.i_multiplies, codes[0] - job.b_zero if number == 0 else 0, digit)
            for number, digit in enumerate(digits)
        ]
        if spec.depthwise:
            pairs = zip(codes, factors, strict=True)
            factors = [Mux(rows.windows, code, factor) for code, factor in pairs]
        lanes.append(factors)
    return lanes


def _parts(word: Value, size: int) -> list[Value]:
    """Cut a word into those of each multiplier."""
    return [word[at : at + size] for at in range(0, len(word), size)]

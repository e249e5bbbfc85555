"""Blocks at the edge of an array of lanes: where they end, and the path of their scales."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.npe import NpeSpec
from hw.npe.array.ports import SCALE
from hw.tpe.rows_array import late

__all__ = ["BlockCount", "BlockScales"]


class BlockCount(wiring.Component):
    """Counts the words of blocks, and tracks each block's position in its tile.

    Parameters
    ----------
    spec : NpeSpec
        What: codes of a block, formats.

    Members
    -------
    accept, last : In(1)
        Words are accepted; they are the last ones of their tile.
    i_a, i_b : In
        Formats of the words; those of a tile's first words count.
    o_first, o_last : Out(1)
        These words are the first, the last ones of a block.
    o_opens, o_closes : Out(1)
        The block of the latest accepted words is its tile's first; the words were its tile's
        last.
    """

    accept: Signal
    last: Signal
    i_a: Signal
    i_b: Signal
    o_first: Signal
    o_last: Signal
    o_opens: Signal
    o_closes: Signal

    def __init__(self, spec: NpeSpec):
        self.spec = spec
        width = spec.element.format_width
        super().__init__({
            "accept": In(1),
            "last": In(1),
            "i_a": In(width),
            "i_b": In(width),
            "o_first": Out(1),
            "o_last": Out(1),
            "o_opens": Out(1),
            "o_closes": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        spec, width = self.spec, len(self.i_a)
        first, tile_first = Signal(init=1), Signal(init=1)

        # Words that may follow a block's first.
        words: dict[int, list[str]] = {}
        for x, y in spec.element.pairs:
            words.setdefault(spec.beats(x, y) - 1, []).append(f"{y:0{width}b}{x:0{width}b}")
        offered = Signal(range(max(words) + 1))
        with m.Switch(Cat(self.i_a, self.i_b)):
            for count, pairs in words.items():
                with m.Case(*pairs):
                    m.d.comb += offered.eq(count)
        beats, left = (
            Signal.like(offered, name=name, reset_less=True) for name in ("kept", "left")
        )
        more, now = Signal.like(offered), Signal.like(offered)
        opens, closes = (Signal(name=name, reset_less=True) for name in ("opens", "closes"))
        m.d.comb += [
            more.eq(Mux(tile_first, offered, beats)),
            now.eq(Mux(first, more, left)),
            self.o_first.eq(first),
            self.o_last.eq(self.last | (now == 0)),
            self.o_opens.eq(opens),
            self.o_closes.eq(closes),
        ]
        with m.If(self.accept):
            m.d.sync += [
                beats.eq(more),
                left.eq(now - 1),
                tile_first.eq(self.last),
                first.eq(self.o_last),
                closes.eq(self.last),
            ]
            with m.If(first):
                m.d.sync += opens.eq(tile_first)
        return m


class BlockScales(wiring.Component):
    """Delays the scales of a block to meet the sums of its rows at the ends of columns.

    Scales are registered with the first words of a block. When it has ended, row scales are issued
    one after the other, as the rows are, and move from column to column; column scales wait for
    their sums.

    Parameters
    ----------
    spec : NpeSpec
        What: the shape.
    delay : int
        How: cycles from a column's registered ``clear`` to its sum of row 0.

    Members
    -------
    move : In(1)
        Common clock enable.
    load : In(1)
        The first words of a block are accepted.
    clear : In
        One bit per column: a new sum starts; column i is i cycles late.
    i_a, i_b : In
        Codes of scales, with the words: of all rows, and of all columns.
    o_valid : Out
        For each column, a sum is at its output.
    o_row, o_next : Out
        For each column, the sum's row; the next cycle's row.
    o_a, o_b : Out
        For each column, the codes of the scales of the sum.
    """

    move: Signal
    load: Signal
    clear: Signal
    i_a: Signal
    i_b: Signal
    o_valid: Signal
    o_row: Signal
    o_next: Signal
    o_a: Signal
    o_b: Signal

    def __init__(self, spec: NpeSpec, delay: int):
        self.spec = spec
        self.delay = delay
        super().__init__({
            "move": In(1),
            "load": In(1),
            "clear": In(spec.n),
            "i_a": In(spec.m * SCALE),
            "i_b": In(spec.n * SCALE),
            "o_valid": Out(spec.n),
            "o_row": Out(spec.n * spec.row_width),
            "o_next": Out(spec.n * spec.row_width),
            "o_a": Out(spec.n * SCALE),
            "o_b": Out(spec.n * SCALE),
        })

    def elaborate(self, platform):
        m = Module()
        spec, move = self.spec, self.move
        ways = late(m, move, "row", self._rows(m), self.delay + spec.n)
        for number, scale in enumerate(self._columns(m)):
            here, before = (
                ways[self.delay + number - early][: 1 + spec.row_width] for early in (0, 1)
            )
            m.d.comb += [
                self.o_valid[number].eq(here[0]),
                self.o_row.word_select(number, spec.row_width).eq(here[1:]),
                self.o_next.word_select(number, spec.row_width).eq(before[1:]),
                self.o_a.word_select(number, SCALE).eq(
                    ways[self.delay + number][1 + spec.row_width :]
                ),
                self.o_b.word_select(number, SCALE).eq(scale),
            ]
        return m

    def connected(self, scaler: Any, number: int) -> list[Any]:
        """Connect the scaler of a column: statements."""
        width = self.spec.row_width
        return [
            scaler.i_valid.eq(self.o_valid[number]),
            scaler.i_row.eq(self.o_row.word_select(number, width)),
            scaler.i_next.eq(self.o_next.word_select(number, width)),
            scaler.i_a.eq(self.o_a.word_select(number, SCALE)),
            scaler.i_b.eq(self.o_b.word_select(number, SCALE)),
        ]

    def _rows(self, m: Module) -> Value:
        """Issue the rows of a block, one per cycle: valid, row number, scale."""
        spec = self.spec
        loaded, going = (
            Signal(len(self.i_a), name=f"{name}_a", reset_less=True) for name in ("kept", "going")
        )
        valid, gap = Signal(name="valid"), Signal(name="gap", reset_less=True)
        row = Signal(spec.row_width, name="row", reset_less=True)
        last = row == spec.m - 1
        # Between segments, the columns have an idle cycle.
        edge: Value = C(0, 1)
        if spec.m > spec.SEGMENT:
            edge = (row % spec.SEGMENT == spec.SEGMENT - 1) & ~last
        with m.If(self.move):
            with m.If(self.load):
                m.d.sync += loaded.eq(self.i_a)
            with m.If(self.clear[0]):
                m.d.sync += [going.eq(loaded), row.eq(0), valid.eq(1), gap.eq(0)]
            with m.Else():
                m.d.sync += [valid.eq(gap | (valid & ~last & ~edge)), gap.eq(valid & edge)]
                with m.If(valid):
                    m.d.sync += [going.eq(going >> SCALE), row.eq(row + 1)]
        return Cat(valid, row, going[:SCALE])

    def _columns(self, m: Module) -> list[Value]:
        """Delay the column scales as long as their sums."""
        spec = self.spec
        waiting: Value = Signal(len(self.i_b), name="kept_b", reset_less=True)
        started = Signal(spec.n, name="started", reset_less=True)
        with m.If(self.move):
            m.d.sync += started.eq(self.clear)
            with m.If(self.load):
                m.d.sync += waiting.eq(self.i_b)
        columns: list[Value] = []
        for number in range(spec.n):
            # Blocks end at least m cycles apart, so these may wait that long for later columns.
            if number % spec.m == 0:
                before = waiting
                waiting = Signal(len(before), name=f"waiting{number}", reset_less=True)
                with m.If(self.move & self.clear[number]):
                    m.d.sync += waiting.eq(before)
            column = Signal(SCALE, name=f"column{number}", reset_less=True)
            with m.If(self.move & started[number]):
                m.d.sync += column.eq(waiting.word_select(number, SCALE))
            columns.append(late(m, self.move, f"column{number}_", column, self.delay)[-1])
        return columns

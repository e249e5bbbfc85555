"""Keys of tables over weights (one bit of each of a row's codes), and a cache of entries."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from golden.tpe.over_weights import OverWeightsEngineSpec

__all__ = ["KeyCache"]


class KeyCache(wiring.Component):
    """Steps through the bit planes of a beat, row by row, the least significant plane first.

    Parameters
    ----------
    spec : OverWeightsEngineSpec
        What: rows, codes, tables.

    Members
    -------
    en : In(1)
        Clock enable.
    i_table : In(1)
        A table is ready; the keys of its beat follow from the next cycle on, once ``o_free``.
    i_codes, i_last : In
        The beat's rows of codes; it is the tile's last.
    o_free : Out(1)
        The table is taken, and keys follow.
    o_key, o_read : Out
        A key; its entry must be read.
    o_look, o_first, o_minus : Out(1)
        One cycle later: there was a key; its plane is a row's first, or is subtracted.
    o_hit, o_line : Out
        At the same time: cache hit; its line, one-hot, or the line to fill.
    o_done, o_begin, o_end : Out(1)
        Two cycles after a row's last key: the row is done; the beat is its tile's first, or last.
    o_row : Out
        At the same time: number of the row.
    """

    en: Signal
    i_table: Signal
    i_codes: Signal
    i_last: Signal
    o_free: Signal
    o_key: Signal
    o_read: Signal
    o_look: Signal
    o_first: Signal
    o_minus: Signal
    o_hit: Signal
    o_line: Signal
    o_done: Signal
    o_begin: Signal
    o_end: Signal
    o_row: Signal

    def __init__(self, spec: OverWeightsEngineSpec):
        self.spec = spec
        lines = ("o_free", "o_read", "o_look", "o_first", "o_minus", "o_hit", "o_done", "o_begin")
        ports: dict[str, Any] = dict.fromkeys((*lines, "o_end"), Out(1))
        super().__init__({
            "en": In(1),
            "i_table": In(1),
            "i_codes": In(spec.m * spec.k * spec.a_width),
            "i_last": In(1),
            **ports,
            "o_key": Out(spec.group),
            "o_line": Out(max(spec.reuse, 1)),
            "o_row": Out(range(max(spec.m, 2))),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        bits = Signal(len(self.i_codes), reset_less=True)
        going, fresh = Signal(), Signal(init=1)
        begin, end = Signal(reset_less=True), Signal(reset_less=True)
        row, plane = Signal(range(max(spec.m, 2))), Signal(range(spec.a_width))
        over, taken, look = Signal(), Signal(), Signal()
        m.d.comb += [
            over.eq(plane == spec.a_width - 1),
            self.o_free.eq(self.en & (~going | (over & (row == spec.m - 1)))),
            taken.eq(self.i_table & self.o_free),
            look.eq(self.en & going),
            self.o_key.eq(bits[: spec.group]),
        ]
        with m.If(look):
            m.d.sync += [
                bits.eq(bits[spec.group :]),
                plane.eq(Mux(over, 0, plane + 1)),
                row.eq(row + over),
            ]
        with m.If(self.o_free):
            m.d.sync += going.eq(self.i_table)
        with m.If(taken):
            m.d.sync += [
                bits.eq(self._keys()),
                row.eq(0),
                begin.eq(fresh),
                end.eq(self.i_last),
                fresh.eq(self.i_last),
            ]
        entry, hit = self._look_up(m, look, taken)
        m.d.comb += self.o_read.eq(going & ~hit)
        with m.If(self.en):
            m.d.sync += [
                self.o_look.eq(going),
                self.o_hit.eq(hit),
                self.o_line.eq(entry),
                self.o_first.eq(plane == 0),
                self.o_minus.eq(over if spec.a_signed else 0),
            ]
            ends: Value = Cat(going & over)
            side: Value = Cat(begin, end, row)
            for late in range(2):
                ended = Signal(name=f"done{late}")
                beside = Signal(len(side), name=f"side{late}", reset_less=True)
                m.d.sync += [ended.eq(ends), beside.eq(side)]
                ends, side = ended, beside
        m.d.comb += [
            self.o_done.eq(ends),
            Cat(self.o_begin, self.o_end, self.o_row).eq(side),
        ]
        return m

    def _keys(self) -> Value:
        """Reorder the bits of codes to keys: by rows, then planes, then codes."""
        spec = self.spec
        return Cat(
            self.i_codes[(row * spec.k + code) * spec.a_width + plane]
            for row in range(spec.m)
            for plane in range(spec.a_width)
            for code in range(spec.k)
        )

    def _look_up(self, m: Module, look: Value, taken: Value) -> tuple[Value, Value]:
        """Store the key of each cached entry; return its line, one-hot, and whether it hits."""
        spec = self.spec
        if not spec.reuse:
            return C(0, 1), C(0, 1)
        bits = exact_log2(spec.reuse)
        lines, hits = Signal(spec.reuse, name="lines"), Signal(spec.reuse, name="hits")
        for number in range(spec.reuse):
            valid = Signal(name=f"valid{number}")
            rest = Signal(spec.group - bits, name=f"rest{number}", reset_less=True)
            m.d.comb += [
                lines[number].eq(self.o_key[:bits] == number),
                hits[number].eq(lines[number] & valid & (rest == self.o_key[bits:])),
            ]
            with m.If(look & lines[number]):
                m.d.sync += [valid.eq(1), rest.eq(self.o_key[bits:])]
            with m.If(taken):
                m.d.sync += valid.eq(0)
        return lines, hits.any()

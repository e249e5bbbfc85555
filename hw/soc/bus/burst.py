"""Rows of bytes in memory, split into bus bursts."""

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from golden.soc.bus import BusSpec

__all__ = ["Beat", "Burst", "Extent", "Row", "Span", "Splitter", "extent"]

PAGE = 12
"""Bits of an address within 4 KiB, which no burst crosses."""


class Row(data.StructLayout):
    """Row of ``bytes``, 1 or more, from ``address`` on.

    ``final`` is the last one of its job that is read, or written; ``other`` is read for another
    purpose: a descriptor or, of a stream, neither of A nor of its scales.
    """

    def __init__(self, spec: BusSpec):
        super().__init__({
            "address": spec.address_width,
            "bytes": spec.length_width,
            "final": 1,
            "other": 1,
        })


class Span(data.StructLayout):
    """Alignment of a row in its beats: the first of ``bytes``, 1 or more, is byte ``offset``."""

    def __init__(self, beat_bytes: int, length_width: int = 32):
        super().__init__({"offset": range(beat_bytes), "bytes": length_width})


class Burst(data.StructLayout):
    """Burst of ``length`` + 1 beats from ``address`` on; ``last`` ends the row.

    ``final`` and ``other`` are the row's, see :class:`Row`.
    """

    def __init__(self, spec: BusSpec):
        super().__init__({
            "address": spec.address_width,
            "length": 8,
            "last": 1,
            "final": 1,
            "other": 1,
        })


class Beat(data.StructLayout):
    """Bits of a beat or a word; ``last`` ends the row."""

    def __init__(self, width: int):
        super().__init__({"data": width, "last": 1})


def _most(spec: BusSpec) -> int:
    """Return the most beats of a burst, less one."""
    return min(spec.burst, (1 << PAGE) // spec.bytes) - 1


class Extent(data.StructLayout):
    """Beats of a row less one; whether so many could be a burst's, by their bits; if so, crossing.

    That is whether the row crosses a 4 KiB boundary.
    """

    def __init__(self, spec: BusSpec):
        beats = spec.length_width + 1 - exact_log2(spec.bytes)
        super().__init__({"beats": beats, "alone": 1, "crosses": 1})


def extent(spec: BusSpec, row: data.View) -> Value:
    """Return the :class:`Extent` of a row."""
    size, width = exact_log2(spec.bytes), bits_for(_most(spec))
    last = (row.bytes + (row.address[:size] - 1))[size : spec.length_width + 1]
    # Its last byte is behind the boundary, if so few bytes are added.
    end = row.address[:PAGE] + row.bytes[: size + width + 1] - 1
    return Cat(last, last[width:] == 0, end[PAGE])


class Splitter(wiring.Component):
    """Splits rows into bursts: as few as the maximum length and 4 KiB boundaries allow.

    Latency, row to its first burst: 1 cycle. Throughput: one burst per cycle, across rows too.
    Stalls: ``o.ready`` reaches ``i.ready`` combinationally.

    Parameters
    ----------
    spec : BusSpec
        What: the bus.

    Members
    -------
    i_clear : In(1)
        Discards the row, also one accepted in this cycle.
    i : In(stream)
        :class:`Row`.
    i_extent : In
        Of the row: :func:`extent`.
    o : Out(stream)
        :class:`Burst`; addresses are aligned to beats.
    """

    i_clear: Signal
    i: stream.Interface
    i_extent: data.View
    o: stream.Interface

    def __init__(self, spec: BusSpec):
        self.spec = spec
        size = exact_log2(spec.bytes)
        self.most = _most(spec)
        width = bits_for(self.most)
        # The rest of the row: its address in beats, as page and offset, and its beats minus one; a
        # burst changes their lower bits, and decrements the upper ones at most once.
        self.offset = Signal(PAGE - size, reset_less=True)
        self.low = Signal(width, reset_less=True)
        self.high = Signal(max(spec.length_width + 1 - size - width, 0), reset_less=True)
        # That it is one burst is known a cycle before: nothing of it is above, it is no more than
        # the most, and does not cross the end of the page.
        self.alone, self.short, self.crosses = Signal(), Signal(), Signal()
        super().__init__({
            "i_clear": In(1),
            "i": In(stream.Signature(Row(spec))),
            "i_extent": In(Extent(spec)),
            "o": Out(stream.Signature(Burst(spec))),
        })

    def elaborate(self, platform):
        m = Module()
        spec, most, size, width = self.spec, self.most, exact_log2(self.spec.bytes), len(self.low)
        valid, page = Signal(), Signal(spec.address_width - PAGE, reset_less=True)
        offset, low, high = self.offset, self.low, self.high
        alone, short, crosses = self.alone, self.short, self.crosses
        marks = Signal(2, reset_less=True)
        limited, final = Signal(), Signal()
        room = Signal(width)
        over, end = Signal(width + 1), Signal(len(offset) + 1)

        def few(beats: Value) -> Value:
            # What all bits can hold needs no comparison.
            return beats <= most if most + 1 < 1 << width else C(1)

        m.d.comb += [
            limited.eq(~offset > most),
            room.eq(Mux(limited, most, ~offset)),
            # low - room - 1, and no borrow: of both rooms, so that no carry waits for a comparison.
            over.eq(Mux(limited, low + ((1 << width) - 1 - most), low + offset[:width])),
            end.eq(offset + low),
            final.eq(alone & short & ~crosses),
            self.o.valid.eq(valid),
            self.o.payload.address.eq(Cat(C(0, size), offset, page)),
            self.o.payload.length.eq(Mux(final, low, room)),
            self.o.payload.last.eq(final),
            Cat(self.o.payload.final, self.o.payload.other).eq(marks),
            self.i.ready.eq(~valid | (self.o.ready & final)),
        ]
        with m.If(self.o.ready):
            m.d.sync += [
                # As many beats as the burst, or to the end of the page.
                offset.eq(Mux(limited, offset + (most + 1), 0)),
                low.eq(over),
                high.eq(Mux(over[width], high, high - 1)),
                alone.eq(Mux(over[width], alone, high == 1)),
                short.eq(few(over[:width])),
                # Behind a burst that ends with its page, the rest begins with a page; behind any
                # other the rest ends where it did, or 2^width further, if that is from above.
                crosses.eq(limited & (end[-1] | (~over[width] & end[width:-1].all()))),
            ]
        with m.If(self.o.ready & ~limited):
            m.d.sync += page.eq(page + 1)
        with m.If(self.i.ready):
            row, beats = self.i.payload, self.i_extent.beats
            m.d.sync += [
                valid.eq(self.i.valid),
                Cat(offset, page).eq(row.address[size:]),
                Cat(low, high).eq(beats),
                alone.eq(self.i_extent.alone),
                short.eq(few(beats[:width])),
                crosses.eq(self.i_extent.crosses),
                marks.eq(Cat(row.final, row.other)),
            ]
        with m.If(self.i_clear):
            m.d.sync += valid.eq(0)
        return m

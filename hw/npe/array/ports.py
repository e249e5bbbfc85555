"""Ports of an array of lanes: payloads and operand decoders."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from golden.npe.npe import NpeSpec
from hw.lib.shared_module import SharedModule
from hw.npe.lane.lane8 import Lane8

__all__ = ["SCALE", "SIGNS", "AWords", "BWords", "CNumbers", "EdgeDecoder", "Scale"]

SCALE = 8
"""Bits of a block scale's code, and of a zero point."""

SIGNS = 2
"""Bits of a word of differences beside those of a word: a sign of each of two codes."""


class AWords(data.StructLayout):
    """A word of each row of A, row 0 lowest; ``last`` ends the tile's K.

    ``format`` is an index of :attr:`golden.npe.lane.LaneSpec.names`; that of a tile's first beat
    counts. ``scale``, if there are scales, has the code of each row's scale, row 0 lowest; those of
    a block's first beat count. The sign of "e4m3" scales is ignored.
    """

    def __init__(self, spec: NpeSpec):
        lane = spec.element
        scale = {} if spec.scale == "none" else {"scale": spec.m * SCALE}
        super().__init__({
            "data": spec.m * lane.word_width,
            **scale,
            "format": lane.format_width,
            "last": 1,
        })


class BWords(data.StructLayout):
    """A word of each column of B, column 0 lowest; ``scale`` and ``format`` as those of A.

    ``zero``, if there are zero points, has a byte for each column, as ``scale``.
    """

    def __init__(self, spec: NpeSpec):
        lane = spec.element
        scale = {} if spec.scale == "none" else {"scale": spec.n * SCALE}
        zero = {"zero": spec.n * SCALE} if spec.zeros else {}
        super().__init__({
            "data": spec.n * lane.word_width,
            **scale,
            **zero,
            "format": lane.format_width,
        })


class CNumbers(data.StructLayout):
    """Row of C: n numbers, the first lowest; ``last`` ends the tile.

    ``invalid``, one bit per number: its row of A or column of B has a NaN code or scale.
    ``overflow``, the same for all rows of a tile: it had more words than the accumulators can take.
    """

    def __init__(self, spec: NpeSpec):
        width = spec.n * spec.result_width
        super().__init__({"data": width, "invalid": spec.n, "overflow": 1, "last": 1})


class EdgeDecoder(SharedModule):
    """Decodes the words of a row or a column, with a sticky flag for NaN codes.

    Parameters
    ----------
    element : Lane8
        The lane that takes the operands.
    side : str
        "a" or "b".
    zeros : bool
        Whether words of B are differences: see :func:`hw.npe.array.zero_points.differences`.

    Members
    -------
    en : In(1)
        Common clock enable.
    i_data : In
        A word, the first code lowest.
    i_format : In
        Index of its format.
    i_mode : In
        Mode of its tile's formats, see :meth:`Lane8.mode`.
    i_valid : In(1)
        The word is valid.
    i_clear : In(1)
        A new sum starts in this cycle.
    o : Out
        The decoded operand; zero if no word is valid.
    o_invalid : Out(1)
        A code of this sum, before this cycle, was NaN.
    """

    en: Signal
    i_data: Signal
    i_format: Signal
    i_mode: Signal
    i_valid: Signal
    i_clear: Signal
    o: Signal
    o_invalid: Signal

    def __init__(self, element: Lane8, side: str, zeros: bool = False):
        self.module = f"edge_{side}"
        self.encode = element.encode_a if side == "a" else element.encode_b
        super().__init__({
            "en": In(1),
            "i_data": In(element.spec.word_width + SIGNS * (zeros and side == "b")),
            "i_format": In(element.spec.format_width),
            "i_mode": In(element.mode_width),
            "i_valid": In(1),
            "i_clear": In(1),
            "o": Out(len(element.i_a if side == "a" else element.i_b)),
            "o_invalid": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        coded, invalid = self.encode(m, self.i_data, self.i_format, self.i_mode)
        sticky = Signal(reset_less=True)
        with m.If(self.en):
            m.d.sync += sticky.eq((sticky & ~self.i_clear) | (invalid & self.i_valid))
        m.d.comb += [self.o.eq(Mux(self.i_valid, coded, 0)), self.o_invalid.eq(sticky)]
        return m


class Scale(wiring.Component):
    """Holds the exponent of a tile's sums, for encoded results.

    Parameters
    ----------
    spec : NpeSpec
        What: formats.

    Members
    -------
    accept : In(1)
        A beat enters the array.
    i_a, i_b : In
        Formats of its tile.
    o : Out
        Exponent of the sums' last bit minus the smallest possible one, after the beat.
    """

    accept: Signal
    i_a: Signal
    i_b: Signal
    o: Signal

    def __init__(self, spec: NpeSpec):
        self.spec = spec
        width = spec.element.format_width
        super().__init__({
            "accept": In(1),
            "i_a": In(width),
            "i_b": In(width),
            "o": Out(spec.scale_width),
        })

    def elaborate(self, platform):
        m = Module()
        lane = self.spec.element
        width = len(self.i_a)
        formats: dict[int, list[str]] = {}
        for x, y in lane.pairs:
            above = lane.lsb(x, y) - self.spec.least_lsb
            formats.setdefault(above, []).append(f"{y:0{width}b}{x:0{width}b}")
        scale = Signal(len(self.o))
        with m.Switch(Cat(self.i_a, self.i_b)):
            for value, pairs in formats.items():
                with m.Case(*pairs):
                    m.d.comb += scale.eq(value)
        held = Signal(len(self.o), reset_less=True)
        with m.If(self.accept):
            m.d.sync += held.eq(scale)
        m.d.comb += self.o.eq(held)
        return m

"""By how many octaves each block of a row of shares is below what the row's sum needs."""

from amaranth import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from golden.npe.vector import VectorUnitSpec

__all__ = ["LATENCY", "RowOctaves"]

LATENCY = 3
"""Cycles from a row's last beat to when its octaves are known."""
_MOST = 127
"""Greatest number of octaves."""


class RowOctaves(wiring.Component):
    """Sums the shares of a row, beat by beat, and turns exponents of its blocks to octaves.

    Computes :func:`golden.soc.shares.octaves`. The sum is relative to the greatest exponent so far.
    Throughput: a beat per cycle. Latency, last beat to octaves: :data:`LATENCY` cycles, in which no
    beat may come.

    Parameters
    ----------
    spec : VectorUnitSpec
        What: lanes, bits of shares, length.

    Members
    -------
    i, i_codes, take, ends : In
        The exponent of a beat's block; its codes, as of the unit; it is there; it is the last one.
    valid : Out(1)
        Octaves are those of the row that has ended; until its next beat.
    i_word, o : In, Out
        An exponent for each lane, and its octaves.
    """

    i: Signal
    i_codes: Signal
    take: Signal
    ends: Signal
    valid: Signal
    i_word: Signal
    o: Signal

    def __init__(self, spec: VectorUnitSpec):
        self.spec = spec
        super().__init__({
            "i": In(8),
            "i_codes": In(spec.lanes * spec.out_width),
            **dict.fromkeys(("take", "ends"), In(1)),
            "valid": Out(1),
            "i_word": In(8 * spec.lanes),
            "o": Out(8 * spec.lanes),
        })

    def elaborate(self, platform):
        m = Module()
        spec, bits = self.spec, self.spec.share_width
        guard = max((spec.beats - 1).bit_length() + 1 - bits, 0)
        # Stage a: the beat's sum; by how much its exponent is above the greatest before it.
        first, top = Signal(init=1), Signal(signed(8))
        a_sum = Signal(bits + (spec.lanes - 1).bit_length() + guard)
        a_above, a_valid, a_first, a_ends = Signal(signed(9)), Signal(), Signal(), Signal()
        exponent = self.i.as_signed()
        codes = [
            self.i_codes.word_select(lane, spec.out_width)[:bits] for lane in range(spec.lanes)
        ]
        m.d.sync += [a_valid.eq(self.take), a_ends.eq(self.take & self.ends)]
        with m.If(self.take):
            m.d.sync += [
                first.eq(self.ends),
                top.eq(Mux(first | (exponent > top), exponent, top)),
                a_first.eq(first),
                a_sum.eq(sum(codes, C(0, 1)) << guard),
                a_above.eq(Mux(first, 0, exponent - top)),
            ]
        # Stage b: the row's sum.
        total = Signal(bits + (spec.length - 1).bit_length() + guard + 1)
        b_ends, rises = Signal(), Signal()
        before, more = Signal.like(total), Signal.like(a_sum)
        m.d.comb += [
            rises.eq(a_above > 0),
            before.eq(_right(Mux(a_first, 0, total), Mux(rises, a_above, 0))),
            more.eq(_right(a_sum, Mux(rises, 0, -a_above))),
        ]
        m.d.sync += b_ends.eq(a_ends)
        with m.If(a_valid):
            m.d.sync += total.eq(before + more)
        # Stage c: the exponent that none of the row's octaves is above.
        reference = Signal(signed(10))
        carried = Signal(range(len(total)))
        for place in range(bits + guard, len(total)):
            with m.If(total[place]):
                m.d.comb += carried.eq(place - bits - guard + 1)
        m.d.sync += reference.eq(top + carried)
        with m.If(self.take):
            m.d.sync += self.valid.eq(0)
        with m.Elif(b_ends):
            m.d.sync += self.valid.eq(1)
        for lane in range(spec.lanes):
            below = Signal(signed(11), name=f"below{lane}")
            m.d.comb += below.eq(reference - self.i_word.word_select(lane, 8).as_signed())
            m.d.comb += self.o.word_select(lane, 8).eq(
                Mux(below < 0, 0, Mux(below > _MOST, _MOST, below))
            )
        return m


def _right(value: Value, places: Value) -> Value:
    """Shift to the right by any number of places, 0 or more; bits that leave are cut off."""
    steps = (len(value) - 1).bit_length()
    far = places[steps:].any()
    for step in range(steps):
        shifted = Cat(value[1 << step :], C(0, min(1 << step, len(value))))
        value = Mux(places[step], shifted, value)[: len(value)]
    return Mux(far, 0, value)

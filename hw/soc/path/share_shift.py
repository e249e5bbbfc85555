"""Shifts rows of sums of shares by the octaves of their block, on their way to the sum store."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect

from golden.engine import EngineSpec
from golden.soc.spec import CoprocessorSpec
from hw.soc.stores.sum_rows import StoredRow

__all__ = ["ShareShift", "share_shift"]

_LAST = 63
"""Octaves from which on nothing is left but a sign."""


class ShareShift(wiring.Component):
    """Shifts rows of sums of one block along K, by a number for each; of other jobs, passes them.

    Computes what :func:`golden.soc.shares.shifted_sums` adds: a sum is in units of 2^-f, and is
    shifted right, towards minus infinity; f is what the row's sum has room for.
    Latency: 1 cycle. Throughput: one row per cycle. Stalls: ``o.ready`` reaches ``i.ready``
    combinationally; a tile's rows wait for its octaves.

    Parameters
    ----------
    spec : CoprocessorSpec
        What: the engine, the vector unit.

    Members
    -------
    i_shifted : In(1)
        The job has octaves; stable while there are rows.
    i_octaves : In(stream)
        Those of the next tile, a byte for each row; only of jobs that have them.
    i, o : In(stream), Out(stream)
        :class:`hw.soc.stores.sum_rows.StoredRow`.
    """

    i_shifted: Signal
    i_octaves: stream.Interface
    i: stream.Interface
    o: stream.Interface

    def __init__(self, spec: CoprocessorSpec):
        inside, engine, unit = spec.inside, spec.inside.spec, spec.vector
        assert unit is not None
        assert isinstance(engine, EngineSpec)
        self.spec = spec
        of_b = engine.b_format
        self.fraction = inside.sum_width - 2 - unit.share_width - (of_b.width - of_b.signed)
        """Bits of a unit below the last one of a code times a value."""
        row = StoredRow(spec)
        super().__init__({
            "i_shifted": In(1),
            "i_octaves": In(stream.Signature(8 * inside.m)),
            "i": In(stream.Signature(row)),
            "o": Out(stream.Signature(row)),
        })

    def elaborate(self, platform):
        m = Module()
        size, row = self.spec.inside.sum_width, self.i.payload
        line, octaves = Signal(range(self.spec.inside.m)), Signal(8)
        places, shifts = Signal(range(_LAST + 1)), Signal(8)
        moves, takes = Signal(), Signal()
        m.d.comb += [
            moves.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(moves & (self.i_octaves.valid | ~self.i_shifted)),
            takes.eq(self.i.valid & self.i.ready),
            self.i_octaves.ready.eq(takes & row.last & self.i_shifted),
            octaves.eq(self.i_octaves.payload.word_select(line, 8)),
            # Of other jobs sums stay where they are, in units of one.
            shifts.eq(Mux(self.i_shifted, octaves, self.fraction)),
            places.eq(Mux(shifts > _LAST, _LAST, shifts)),
        ]
        with m.If(takes):
            m.d.sync += line.eq(Mux(row.last, 0, line + 1))
        numbers = []
        for number in range(self.spec.inside.n):
            value = row.data.word_select(number, size)
            numbers.append(self._shift(m, value, places, f"number{number}"))
        with m.If(moves):
            m.d.sync += [
                self.o.valid.eq(takes),
                self.o.payload.data.eq(Cat(numbers)),
                self.o.payload.last.eq(row.last),
            ]
        return m

    def _shift(self, m: Module, value: Value, places: Value, name: str) -> Value:
        """Shift in steps, the largest first: each leaves no more bits than the rest can reach."""
        left: Value = Cat(C(0, self.fraction), value)
        for step in reversed(range(len(places))):
            # Bits of the result, and those that are shifted into it later.
            reach = self.spec.inside.sum_width + (1 << step) - 1
            sign = left[-1].replicate(max(reach + (1 << step) - len(left), 0))
            grown, after = Cat(left, sign), Signal(reach, name=f"{name}_shift{step}")
            m.d.comb += after.eq(Mux(places[step], grown[1 << step :], grown))
            left = after
        return left


def share_shift(m: Module, path: Any) -> Any:
    """Place what shifts rows of sums of a data path, if anything does; return what takes them."""
    rows = path.sum_store.i_rows
    if not path.spec.shares:
        return rows
    m.submodules.share_shift = shift = ShareShift(path.spec)
    octaves = path.operands["a_scales"].o
    m.d.comb += [
        shift.i_shifted.eq(path.i_geometry.shifted),
        shift.i_octaves.valid.eq(octaves.valid),
        shift.i_octaves.payload.eq(octaves.payload.data),
        octaves.ready.eq(shift.i_octaves.ready),
    ]
    connect(m, shift.o, rows)
    return shift.i

"""The greatest value of a row, computed while its beats are written."""

from amaranth import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from golden.npe.vector import VectorUnitSpec

__all__ = ["greatest"]

_Bounded = tuple[Value, Value]
"""A value, and whether it is beyond the row's end."""


def greatest(
    m: Module, spec: VectorUnitSpec, beat: data.View, write: Value, first: Value, *more: Value
) -> list[Value]:
    """Find the greatest value of a row so far, in the cycle after a beat of it is written.

    Groups of four lanes are compared before a register, the rest after it. Until the next beat
    comes, the same is found again.

    Parameters
    ----------
    m : where the gates go.
    spec : lanes and widths.
    beat : :class:`~hw.npe.activations.row_beats.ValueBeat`.
    write, first : it is written; it is the first of its row.
    more : it is the first of a block, of some kind.

    Returns
    -------
    The greatest of the row, and of the blocks.
    """
    # A value after one beyond the row's end is beyond it, too.
    values: list[_Bounded] = [
        (
            beat.data.word_select(lane, spec.width).as_signed(),
            beat.last & (lane > beat.count) if lane else C(0, 1),
        )
        for lane in range(spec.lanes)
    ]
    for depth in range(2):
        values = _level(m, f"most{depth}_", values)
    held: list[_Bounded] = []
    for number, (value, beyond) in enumerate(values):
        most = Signal(signed(spec.width), name=f"beat_most{number}", reset_less=True)
        none = Signal(name=f"beat_beyond{number}", reset_less=True)
        with m.If(write):
            m.d.sync += [most.eq(value), none.eq(beyond)]
        held.append((most, none))
    for depth in range(2, max((spec.lanes - 1).bit_length(), 2)):
        held = _level(m, f"most{depth}_", held)
    (beat_most, _), *_ = held
    return [
        _since(m, f"most{kind}", beat_most, write, begin)
        for kind, begin in zip(("", "_block")[: 1 + len(more)], (first, *more), strict=True)
    ]


def _since(m: Module, name: str, beat: Value, write: Value, first: Value) -> Value:
    """Find the greatest value since a first beat, from the greatest of each."""
    top, begins = Signal(signed(len(beat)), reset_less=True), Signal(reset_less=True)
    with m.If(write):
        m.d.sync += begins.eq(first)
    result: Value = Mux(begins, beat, _level(m, name, [(top, C(0, 1)), (beat, C(0, 1))])[0][0])
    m.d.sync += top.eq(result)
    return result


def _level(m: Module, name: str, values: list[_Bounded]) -> list[_Bounded]:
    """Compare values in pairs."""
    pairs: list[_Bounded] = []
    for number, ((a, none), (b, beyond)) in enumerate(zip(values[::2], values[1::2], strict=False)):
        # With their signs exchanged, values compare without signs.
        less = Cat(a[:-1], b[-1]) < Cat(b[:-1], a[-1])
        most = Signal(signed(len(a)), name=f"{name}{number}")
        m.d.comb += most.eq(Mux(less & ~beyond, b, a))
        pairs.append((most, none))
    return pairs + values[len(pairs) * 2 :]

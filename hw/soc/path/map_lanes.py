"""Lanes of jobs on maps: products of codes, and their sum; the memories beside them."""

from amaranth import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import NO_COLLISION

__all__ = ["MapBeat", "MapFactors", "digits_of", "map_lane", "map_memory", "sums_of"]

MapFactors = data.StructLayout({
    "a": signed(24),
    "a_zero": signed(8),
    "b": signed(24),
    "b_zero": signed(8),
})
"""Factor and zero point of either map, as in registers LDSA and LDSB."""

_DIGIT = 8
"""Bits of a factor that one multiplier takes."""
_DIGITS = 3
"""Digits of a factor."""


class MapBeat(data.StructLayout):
    """Codes of a beat, and what becomes of their sums.

    Members
    -------
    codes : one for each lane.
    second : they are of the second map.
    loads, chosen : they are factors: a bit for each multiplier whose factors are written, and for
        the one whose factors they are; the others' become 0.
    row : of which row of windows at once their multipliers are: a bit for each, if there are more.
    weight : place of the factors, to be read or written.
    at : place of the sums.
    group : of channels, whose bias and records are taken.
    stores, sends : sums are stored; they are sent.
    shifts : sums are stored for the row of windows after theirs.
    adds, biased : to what is stored, or to biases.
    void : codes are those of zero points.
    walks, fresh, delay : of windows: codes are kept at a place, for those that follow; nothing is
        there yet.
    """

    def __init__(self, spec: CoprocessorSpec):
        assert spec.vector is not None
        beat, more = range(spec.vector.beats), spec.tap_rows > 1
        flags = ("second", "stores", "sends", "adds", "biased", "void", "walks", "fresh")
        super().__init__({
            "codes": 8 * spec.vector.lanes,
            "loads": spec.taps,
            "chosen": spec.taps,
            "row": spec.tap_rows * more,
            **dict.fromkeys(("weight", "at", "group", "delay"), beat),
            **dict.fromkeys(flags, 1),
            "shifts": int(more),
        })


def sums_of(spec: CoprocessorSpec) -> stream.Signature:
    """Return the stream of sums, one for each lane."""
    assert spec.vector is not None
    return stream.Signature(spec.vector.lanes * spec.number_width)


def map_memory(m: Module, name: str, width: int, depth: int) -> "Memory[int, Value]":
    """Make a memory of words of all lanes, of which none is read while it is written."""
    memory: Memory[int, Value] = Memory(
        shape=width, depth=max(depth, 2), init=[], attrs={NO_COLLISION: "1"}
    )
    m.submodules[name] = memory
    return memory


def digits_of(factor: Value) -> list[Value]:
    """Cut a factor for the multipliers of a lane: digits without a sign, but for the highest."""
    count = len(factor) // _DIGIT
    digits = [factor.word_select(digit, _DIGIT) for digit in range(count)]
    signs = [C(0, 1)] * (count - 1) + [factor[-1]]
    return [Cat(*pair).as_signed() for pair in zip(digits, signs, strict=True)]


def map_lane(
    m: Module,
    lane: str,
    move: Value,
    codes: list[Value],
    factors: list[Value],
    base: Value,
    greater: Value,
    windows: Value,
) -> Signal:
    """Multiply codes; return the sum with `base`, or the greater one, 4 moves later.

    Parameters
    ----------
    m : where.
    lane : for names.
    move : clock enable.
    codes, factors : of one beat, for each multiplier; digits of one factor but in windows.
    base, greater : of the beat that came three moves before.
    windows : products are added as they are.
    """

    def held(name: str, value: Value) -> Signal:
        register = Signal(value.shape(), name=f"{name}{lane}", reset_less=True)
        with m.If(move):
            m.d.sync += register.eq(value)
        return register

    terms: list[Value] = []
    for number, (code, factor) in enumerate(zip(codes, factors, strict=True)):
        product: Value = held(
            f"product{number}_",
            held(f"difference{number}_", code) * held(f"factor{number}_", factor),
        )
        if 0 < number < _DIGITS:
            product = Mux(windows, product, product << _DIGIT * number)
        terms.append(product)
    value = Signal(signed(len(base)), name=f"value{lane}")
    total = Signal(len(base), name=f"total{lane}", reset_less=True)
    m.d.comb += value.eq(held("scaled", _sum(terms)))
    stays = greater & (base.as_signed() > value)
    with m.If(move):
        m.d.sync += total.eq(Mux(stays, base, value + Mux(greater, 0, base)))
    return total


def _sum(terms: list[Value]) -> Value:
    """Add pairs of terms, pairs of these sums, and so on."""
    while len(terms) > 1:
        pairs = [terms[at : at + 2] for at in range(0, len(terms), 2)]
        terms = [pair[0] + pair[1] if len(pair) > 1 else pair[0] for pair in pairs]
    return terms[0]

"""Lanes of jobs on maps: products of a code, a digit apart, and their sum; their memories."""

from amaranth import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream
from amaranth.lib.memory import Memory

from golden.soc.spec import CoprocessorSpec
from hw.lib.shared_module import NO_COLLISION

__all__ = ["MapFactors", "digits_of", "map_lane", "map_memory", "sums_of"]

MapFactors = data.StructLayout({
    "a": signed(24),
    "a_zero": signed(8),
    "b": signed(24),
    "b_zero": signed(8),
})
"""Factor and zero point of either map, as in registers LDSA and LDSB."""

_DIGIT = 8
"""Bits of a factor that one multiplier takes."""


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
    digits = [factor.word_select(place, _DIGIT) for place in range(count)]
    signs = [C(0, 1)] * (count - 1) + [factor[-1]]
    return [Cat(*pair).as_signed() for pair in zip(digits, signs, strict=True)]


def map_lane(
    m: Module, lane: int, move: Value, x: Value, factors: list[Value], base: Value, greater: Value
) -> Signal:
    """Multiply a difference by digits; return the sum with `base`, or the greater, 4 moves later.

    Parameters
    ----------
    m : where.
    lane : its number, for names.
    move : clock enable.
    x, factors : of one beat.
    base, greater : of the beat that came three moves before.
    """

    def held(name: str, value: Value) -> Signal:
        register = Signal(value.shape(), name=f"{name}{lane}", reset_less=True)
        with m.If(move):
            m.d.sync += register.eq(value)
        return register

    difference = held("difference", x)
    products = [
        held(f"product{number}_", difference * held(f"factor{number}_", factor))
        for number, factor in enumerate(factors)
    ]
    added: Value = products[0]
    for number, product in enumerate(products[1:], 1):
        added = added + (product << _DIGIT * number)
    value = Signal(signed(len(base)), name=f"value{lane}")
    total = Signal(len(base), name=f"total{lane}", reset_less=True)
    m.d.comb += value.eq(held("scaled", added))
    stays = greater & (base.as_signed() > value)
    with m.If(move):
        m.d.sync += total.eq(Mux(stays, base, value + Mux(greater, 0, base)))
    return total

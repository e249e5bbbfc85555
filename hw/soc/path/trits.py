"""Weights out of a byte."""

from amaranth import Cat, Module, Mux, Signal, Value

__all__ = ["unpack_trits"]


def unpack_trits(m: Module, byte: Value, name: str) -> Value:
    """Return the codes of five weights, two's complement, two bits each, the first lowest.

    As :func:`golden.lut.trits.unpack_trits`, which says what the bits mean; -2 is never a code.
    Some 15 LUTs of six inputs, two or three deep.

    Parameters
    ----------
    m : gets the logic.
    byte : 8 bits.
    name : of the signal.
    """
    other, one, first = byte[:3], byte[3:6], byte[6:8]
    zeros, both = Signal(name=f"{name}_zeros"), Signal(name=f"{name}_both")
    m.d.comb += [
        zeros.eq(first == 2),
        both.eq(zeros & (one[:2] == 2)),
    ]
    alone = Cat(other[0], other[0] & other[1])
    pairs = (
        (Mux(zeros, other, one), (zeros & ~one[2]) | both),
        (other, (zeros & one[2]) | both),
    )
    codes = [Mux(both, alone, Mux(zeros, one[:2], first))]
    for pair, none in pairs:
        # Which of both are not 0, and the second's sign.
        has_first, has_second = ~none & (pair[1] | ~pair[0]), ~none & (pair[1] | pair[0])
        negative = Mux(pair[1], pair[0], pair[2])
        codes += [Cat(has_first, has_first & pair[2]), Cat(has_second, has_second & negative)]
    unpacked = Signal(2 * len(codes), name=name)
    m.d.comb += unpacked.eq(Cat(codes))
    return unpacked

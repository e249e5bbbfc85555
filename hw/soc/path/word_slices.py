"""Words of rows, as many codes at a time as the vector unit has lanes."""

from amaranth import C, Module, Mux, Signal, Value

from golden.soc.spec import CoprocessorSpec

__all__ = ["either", "slices_of", "word_slices"]


def slices_of(spec: CoprocessorSpec, size: int = 1) -> int:
    """Return the beats of the unit, a code of some bytes per lane, that are in a word."""
    assert spec.vector is not None
    return spec.vector_word_bytes // (spec.vector.lanes * size)


def word_slices(
    m: Module, spec: CoprocessorSpec, word: Value, slice_: Value
) -> list[tuple[Signal, Value]]:
    """Cut the codes of a beat out of a word; return them, and whether they are its last ones.

    Parameters
    ----------
    m : where signals are driven.
    spec : the build.
    word : codes, from bit 0 on.
    slice_ : the beat.

    Returns
    -------
    One of each for codes of one byte, and of two, if the unit takes any.
    """
    assert spec.vector is not None
    slices: list[tuple[Signal, Value]] = []
    for size in range(1, spec.vector_in_bytes + 1):
        count = slices_of(spec, size)
        codes = Signal(8 * spec.vector.lanes * size, name=f"codes{size}")
        number = slice_[: (count - 1).bit_length()]
        m.d.comb += codes.eq(word.word_select(number, len(codes)) if count > 1 else word)
        slices.append((codes, number == count - 1 if count > 1 else C(1, 1)))
    return slices


def either(wide: Value, values: list[Value]) -> Value:
    """Choose between what is for codes of one byte, and of two, if there are any."""
    return values[0] if len(values) == 1 else Mux(wide, values[1], values[0])

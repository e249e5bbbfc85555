"""Words of rows that the vector unit has made: codes, and exponents behind them."""

from typing import Any

from amaranth import Cat, Module, Mux, Value

from golden.soc.spec import CoprocessorSpec

__all__ = ["exponent_words", "fitted", "row_words"]


def row_words(
    m: Module,
    spec: CoprocessorSpec,
    to: Value,
    codes: Any,
    at: tuple[Value, Value, Value],
    of: tuple[Value, Value],
) -> None:
    """Make a word of a beat of codes; that of a softmax may have its row's exponent.

    Parameters
    ----------
    m, to : where the word goes.
    spec : the build.
    codes : :class:`~hw.npe.activations.row_beats.CodeBeat`.
    at : codes that are left, less one; the row ends; its exponent has a word of its own.
    of : the job is a softmax; codes have a byte of two.
    """
    unit, size = spec.vector, 8 * spec.vector_out_bytes
    assert unit is not None
    (left, ends, alone), (softmax, narrowed) = at, of
    words, bytes_ = [], []
    exponent: Value = codes.exponent
    narrows, less = spec.sizes and size > 8, unit.out_width - 8
    if narrows:
        exponent = Mux(narrowed, exponent - less, exponent)
    for lane in range(unit.lanes):
        code = codes.data.word_select(lane, unit.out_width)
        extended = Cat(code, (code[-1] & ~softmax).replicate(size - unit.out_width))
        is_exponent = Mux(alone, lane == 0, ends & (left == lane - 1) if lane else 0)
        puts_exponent, is_code = softmax & is_exponent, ~alone
        words.append(Mux(puts_exponent, exponent, extended & is_code.replicate(size))[:size])
        if narrows:
            # A probability, rounded: at most the greatest.
            high = 8 - unit.signed
            rounded = code[less - 1 :] + 1 >> 1
            share = rounded[:high] | rounded[high].replicate(high)
            byte = Mux(softmax, share, code[:8]) & is_code.replicate(8)
            bytes_.append(Mux(puts_exponent, exponent, byte)[:8])
    m.d.comb += to.eq(Cat(words))
    if narrows:
        with m.If(narrowed):
            m.d.comb += to.eq(Cat(bytes_))


def exponent_words(spec: CoprocessorSpec, exponents: Value, narrowed: Value) -> Value:
    """Make a word of exponents of blocks, a byte each, as large as codes."""
    size = spec.vector_out_bytes
    if size == 1:
        return exponents
    bytes_ = [exponents.word_select(lane, 8) for lane in range(len(exponents) // 8)]
    wide = Cat(Cat(byte, byte[-1].replicate(8 * size - 8)) for byte in bytes_)
    return Mux(narrowed, exponents, wide)


def fitted(code: Value, width: int) -> Value:
    """Return a code in two's complement of some bits."""
    return Cat(code[:width], code[-1].replicate(max(width - len(code), 0)))

"""Decoders of an operand's word, in any of several formats."""

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.posit import PositFormat
from hw.arith.adder import resolve
from hw.npe.lane.decode_byte import ByteDecoder, Choices, any_of, constant, join
from hw.npe.lane.decoded_operand import DecodedOperand, WideOperand
from hw.npe.lane.widths import BYTE, NIBBLE, LaneWidths

__all__ = ["decode", "decode_doubled", "decode_wide"]

_Second = tuple[Value, Value, Value]
"""Sign and magnitude of a second code of 8 bits, and whether there is one."""


def decode(
    m: Module,
    layout: DecodedOperand,
    word: Value,
    index: Value,
    dual: Value,
    second: _Second | None = None,
) -> tuple[Value, Value]:
    """Decode a word to an operand.

    Logic common to several formats is built once: negation of two's complement codes, regime,
    exponent field. Logic that no format needs is left out.

    Parameters
    ----------
    m : where the gates go.
    layout : of the operand, with its formats.
    word : codes, the first lowest; signs behind them, where codes are differences.
    index : of the format.
    dual : the pair of formats has two codes per word.
    second : a second code of 8 bits, of operands that can have one.

    Returns
    -------
    The decoded operand, and whether a code of the word is NaN; such a code counts as zero.
    """
    plan = layout.plan
    # Conditions that are the same for all pairs of formats are constants.
    dual = dual if plan.mixed else C(plan.dual, 1)
    is_format = chosen_formats(m, plan, index)
    decoder = ByteDecoder(m, plan, word, is_format, dual)
    signs, bits, exponents = decoder.fields()
    magnitude, invalid = Signal(BYTE, name="magnitude"), Signal()
    m.d.comb += [magnitude.eq(Cat(bits)), invalid.eq(Cat(decoder.invalid).any())]
    nibbles = magnitude[:NIBBLE], magnitude[NIBBLE:]
    wide = ~Cat(is_format[name] for name in layout.exact).any() if layout.exact else None
    if second is None:
        return layout.pack(nibbles, signs, exponents, dual, wide), invalid
    sign, size, doubled = second
    signs[1] = signs[1] | sign
    # Its upper nibble is multiplied where the lower one of a single code is: for an upper nibble of
    # b, the product of which then has the weight of a second product.
    more = (
        Mux(doubled, size[NIBBLE:], nibbles[0]),
        Mux(doubled, size[:NIBBLE], nibbles[1]),
        doubled,
    )
    return Cat(layout.pack(nibbles, signs, exponents, dual, wide), *more), invalid


def decode_doubled(
    m: Module, layout: DecodedOperand, word: Value, index: Value, mode: Value
) -> tuple[Value, Value]:
    """Decode a word of 16 bits, two slots of 8, to an operand, as :func:`decode`.

    Parameters
    ----------
    m, layout, word, index : as for :func:`decode`.
    mode : both formats have 4 bits; A has int8, and B int4.
    """
    dual, doubled = mode[0], mode[1]
    of_a = bool(layout["doubled"].width)
    short = dual if of_a else dual | doubled
    byte = Signal(BYTE, name="byte")
    nibbles = Cat(word[:NIBBLE], word[BYTE : BYTE + NIBBLE])
    m.d.comb += byte.eq(Mux(short, nibbles, word[:BYTE]))
    if not of_a:
        return decode(m, layout, byte, index, short)
    code = word[BYTE:]
    sign, size = Signal(name="second_negative"), Signal(BYTE, name="second_magnitude")
    m.d.comb += [sign.eq(code[-1] & doubled), size.eq((code ^ sign.replicate(BYTE)) + sign)]
    return decode(m, layout, byte, index, short, (sign, size, doubled))


def chosen_formats(m: Module, plan: LaneWidths, index: Value) -> dict[str, Value]:
    """Decode a format's index: for each name, whether it is this format."""
    chosen: dict[str, Value] = {}
    for number, fmt in enumerate(plan.formats):
        chosen[fmt.name] = Signal(name=f"is_{fmt.name}")
        only = len(plan.formats) == 1
        m.d.comb += chosen[fmt.name].eq(C(1, 1) if only else index == number)
    return chosen


def decode_wide(
    m: Module, layout: WideOperand, word: Value, index: Value, mode: tuple[Value, Value, Value]
) -> tuple[Value, Value]:
    """Decode a word of 16 bits to an operand, as :func:`decode`.

    Parameters
    ----------
    m, layout, word, index : as for :func:`decode`.
    mode : the pair of formats has two codes in 8 bits; it has one in 16; halves of different
        weight are multiplied, so that those of one operand are swapped.
    """
    low, high = layout.plans
    # Conditions that are the same for all pairs of formats are constants.
    dual = mode[0] if low.mixed else C(low.dual, 1)
    wide = mode[1] if low.wide and low.narrow else C(bool(low.wide), 1)
    is_format = chosen_formats(m, low, index)
    is_wide = any_of(is_format, *low.wide) if low.wide else C(0, 1)
    more, shown = Signal(name="more"), Signal(BYTE, name="shown_half")
    # A single code of 8 bits has no second code.
    m.d.comb += [more.eq(~wide | is_wide), shown.eq(word[BYTE:] & more.replicate(BYTE))]
    decoders = [ByteDecoder(m, low, word[:BYTE], is_format, dual, top=word[-1])]
    fields = [decoders[0].fields()]
    carry = decoders[0].carry
    decoders.append(ByteDecoder(m, high, shown, is_format, dual, top=word[-1], carry=carry))
    fields.append(decoders[1].fields())
    invalid = [one for decoder in decoders for one in decoder.invalid]
    bits = Signal(2 * BYTE, name="code")
    m.d.comb += bits.eq(Cat(*fields[0][1], *fields[1][1]))
    magnitude, exponent = bits, fields[0][2][0]
    for fmt in low.wide:
        if isinstance(fmt, PositFormat):
            magnitude, sign, nar = _posit(m, fmt, bits, is_format[fmt.name])
            invalid.append(nar)
            chosen = is_format[fmt.name]
            exponent = join([(C(1, 1), exponent), (chosen, sign)], len(sign))
    if layout.crossed:
        crossed = Signal(2 * BYTE, name="crossed")
        m.d.comb += crossed.eq(Mux(mode[2], magnitude.rotate_left(BYTE), magnitude))
        magnitude = crossed
        columns = [[bit] for bit in exponent] + [[C(0, 1)]] * (BYTE - len(exponent))
        columns[3].append(mode[2])
        exponent = list(resolve(m, columns, "ripple"))
    any_invalid = Signal(name="invalid")
    m.d.comb += any_invalid.eq(Cat(invalid).any())
    halves = (
        (magnitude[:BYTE], fields[0][0], (exponent, fields[0][2][1])),
        (magnitude[BYTE:], fields[1][0], fields[1][2]),
    )
    return layout.pack(halves, (dual, wide, mode[2])), any_invalid


def _posit(
    m: Module, fmt: PositFormat, code: Value, chosen: Value
) -> tuple[Signal, list[Value], Value]:
    """Remove regime and exponent from the magnitude of a posit with one exponent bit.

    Returns
    -------
    The right-aligned magnitude, or `code` if it has another format; its exponent; and whether it is
    NaR.
    """
    size = fmt.width - 1
    first = code[size - 1]
    # runs[i]: the first i bits are equal.
    runs: list[Value] = [C(1, 1), chosen]
    for at in reversed(range(size - 1)):
        more = Signal(name=f"run{size - at}")
        m.d.comb += more.eq(runs[-1] & (code[at] == first))
        runs.append(more)
    ends = [runs[run] & ~runs[run + 1] for run in range(1, size)] + [runs[size]]
    lines = Signal(size, name="run_is")
    m.d.comb += lines.eq(Cat(ends))
    line = dict(enumerate(lines, start=1))
    last = size - 2
    # After a run follow the bit that ends it, the exponent, the fraction.
    odd, magnitude = Signal(name="odd"), Signal(len(code), name="posit")
    m.d.comb += odd.eq(Cat(line[run] & code[last - run] for run in range(1, last + 1)).any())
    bits: list[Value] = [
        (code[at] & ~runs[last - at]) | (line[last - at] if at else runs[last])
        for at in range(last)
    ]
    # All zeros have no leading one.
    bits[0] = bits[0] & ~(runs[size] & ~first)
    bits += [code[at] & ~chosen for at in range(last, len(code))]
    m.d.comb += magnitude.eq(Cat(bits))
    choices: Choices = []
    for run, here in line.items():
        length = max(last - run, 0)
        for ones in (0, 1):
            scale = 2 * (run - 1 if ones else -run)
            if ones or run < size:
                exponent = constant(scale - length - fmt.lsb, 6)
                choices.append((here & (first if ones else ~first), exponent))
    base = join(choices, 6)
    total = resolve(m, [[base[0], odd], *([bit] for bit in base[1:])], "ripple")
    return magnitude, list(total), chosen & code[size]

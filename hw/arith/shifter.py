"""Shifters: barrel shifters and normalisation."""

from amaranth import C, Cat, Module, Mux, Signal, Value

__all__ = ["normalise", "normalise_part", "shift_left", "shift_right"]


def shift_left(m: Module, bits: Value, amount: Value, width: int, name: str = "left") -> Value:
    """Shift left by a barrel shifter, one multiplexer level per bit of the amount.

    Parameters
    ----------
    m, name : where the gates go, and what their names begin with.
    bits : what is shifted, unsigned.
    amount : places, unsigned.
    width : bits of the result; bits shifted beyond are lost.
    """
    for level, chosen in enumerate(amount):
        step = 1 << level
        reach = min(len(bits) + step, width)
        shifted = Signal(reach, name=f"{name}{level}")
        m.d.comb += shifted.eq(Mux(chosen, Cat(C(0, min(step, reach)), bits)[:reach], bits))
        bits = shifted
    return Cat(bits, C(0, max(width - len(bits), 0)))[:width]


def shift_right(
    m: Module, bits: Value, amount: Value, name: str = "right", fill: Value | None = None
) -> tuple[Value, Value]:
    """Shift right by a barrel shifter, one multiplexer level per bit of the amount.

    Parameters
    ----------
    m, name : where the gates go, and what their names begin with.
    bits : what is shifted, unsigned.
    amount : places, unsigned.
    fill : the bit shifted in; zero by default.

    Returns
    -------
    As many bits as went in, and whether a one was shifted out (sticky bit).
    """
    fill = C(0, 1) if fill is None else fill
    lost: Value = C(0, 1)
    for level, chosen in enumerate(amount):
        step = 1 << level
        sticky = Signal(name=f"{name}_lost{level}")
        shifted = Signal(len(bits), name=f"{name}{level}")
        # Bits shifted in may be shifted out again.
        beyond = fill if step > len(bits) else C(0, 1)
        m.d.comb += [
            sticky.eq(lost | (chosen & (bits[:step].any() | beyond))),
            shifted.eq(Mux(chosen, Cat(bits[step:], fill.replicate(min(step, len(bits)))), bits)),
        ]
        bits, lost = shifted, sticky
    return bits, lost


def normalise(m: Module, bits: Value, name: str = "normal") -> tuple[Value, Value]:
    """Shift the leading one up to the top.

    Parameters
    ----------
    m, name : where the gates go, and what their names begin with.
    bits : what is shifted, unsigned, two bits or more.

    Returns
    -------
    As many bits as went in, and the shift: the number of leading zeros or, if all bits are zeros,
    2^w - 1 with w the width of that number.
    """
    levels = range((len(bits) - 1).bit_length())
    shifted, count, _ = normalise_part(m, bits, len(bits), levels, C(0, 1), name)
    return shifted, count


def normalise_part(
    m: Module, bits: Value, keep: int, levels: range, sign: Value, name: str = "normal"
) -> tuple[Value, Value, Value]:
    """Shift the first bit that differs from `sign` towards the top; zeros are shifted in.

    Parameters
    ----------
    m, name : where the gates go, and what their names begin with.
    bits : what is shifted: a magnitude, or a two's complement number without its sign.
    keep : bits of the result; the bits below only feed the sticky bit.
    levels : available shifts are 2^level each, and their sums; all levels in one call, or split
        over several calls in sequence, the highest first.
    sign : 0, or the number's sign.

    Returns
    -------
    The first `keep` bits; the shifts made, a bit for each level; the sticky bit of those below.
    """
    # Bits that no level can bring into the result are cut off; short numbers end in zeros.
    reach = keep + sum(1 << level for level in levels)
    lost: Value = bits[: len(bits) - reach].any() if len(bits) > reach else C(0, 1)
    bits = Cat(C(0, max(reach - len(bits), 0)), bits)[-reach:]
    made: list[Value] = []
    for level in reversed(levels):
        step = 1 << level
        same = Signal(name=f"{name}_same{level}")
        shifted = Signal(len(bits) - step, name=f"{name}{level}")
        sticky = Signal(name=f"{name}_lost{level}")
        m.d.comb += [
            same.eq(~(bits[-step:] ^ sign.replicate(step)).any()),
            shifted.eq(Mux(same, bits[:-step], bits[step:])),
            sticky.eq(lost | (~same & bits[:step].any())),
        ]
        bits, lost = shifted, sticky
        made.insert(0, same)
    return bits, Cat(made), lost

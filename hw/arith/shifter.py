"""Shifters: by an amount known at run time, and up to the leading one."""

from amaranth import C, Cat, Module, Mux, Signal, Value

__all__ = ["normalise", "shift_left", "shift_right"]


def shift_left(m: Module, bits: Value, amount: Value, width: int, name: str = "left") -> Value:
    """Shift left in levels of a multiplexer each; zeros come in.

    Parameters
    ----------
    m, name : where the gates go, and what their names begin with.
    bits : what is shifted, unsigned.
    amount : places, unsigned.
    width : bits of the result; what is shifted beyond is lost.
    """
    for level, chosen in enumerate(amount):
        step = 1 << level
        reach = min(len(bits) + step, width)
        shifted = Signal(reach, name=f"{name}{level}")
        m.d.comb += shifted.eq(Mux(chosen, Cat(C(0, min(step, reach)), bits)[:reach], bits))
        bits = shifted
    return Cat(bits, C(0, max(width - len(bits), 0)))[:width]


def shift_right(m: Module, bits: Value, amount: Value, name: str = "right") -> tuple[Value, Value]:
    """Shift right in levels of a multiplexer each; zeros come in.

    Parameters
    ----------
    m, name : where the gates go, and what their names begin with.
    bits : what is shifted, unsigned.
    amount : places, unsigned.

    Returns
    -------
    As many bits as went in, and whether any one was lost.
    """
    lost: Value = C(0, 1)
    for level, chosen in enumerate(amount):
        step = 1 << level
        sticky = Signal(name=f"{name}_lost{level}")
        shifted = Signal(len(bits), name=f"{name}{level}")
        m.d.comb += [
            sticky.eq(lost | (chosen & bits[:step].any())),
            shifted.eq(Mux(chosen, bits[step:], bits)),
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
    As many bits as went in, and by how many places they were shifted: the number of leading
    zeros, or, if all bits are zeros, 2^w - 1 with w the width of that number.
    """
    levels = range((len(bits) - 1).bit_length())
    count: list[Value] = []
    for level in reversed(levels):
        step = 1 << level
        empty = Signal(name=f"{name}_zeros{level}")
        shifted = Signal(len(bits), name=f"{name}{level}")
        m.d.comb += [
            empty.eq(~bits[max(len(bits) - step, 0) :].any()),
            shifted.eq(Mux(empty, Cat(C(0, step), bits)[: len(bits)], bits)),
        ]
        bits = shifted
        count.insert(0, empty)
    return bits, Cat(count)

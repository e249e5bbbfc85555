"""Terms of a digit-serial product: a digit times an operand, shifted to the digit's place."""

from collections.abc import Sequence

from amaranth import C, Cat, Module, Signal, Value

__all__ = ["fills", "multiple", "placed", "reaches"]


def multiple(
    m: Module, b: Value, width: int, *, signed: bool, digit: Sequence[Value], name: str
) -> Value:
    """Multiply by a digit -2 .. 2; negative multiples lack one, which must be added later.

    Parameters
    ----------
    m, name : where the gates go, and the name of the result.
    b : multiplicand.
    width : bits of the result, two's complement: one more than those of `b`, two if unsigned.
    signed : `b` is two's complement.
    digit : (one, two, negative), see :mod:`hw.arith.recode`; zero is not negative.
    """
    one, two, negative = digit
    sign = b[-1] if signed else C(0, 1)
    extended = [*b, *[sign] * (width - len(b))]
    result = Signal(width, name=name)
    m.d.comb += result.eq(
        Cat(
            ((one & bit) | (two & below)) ^ negative
            for bit, below in zip(extended, [C(0, 1), *extended], strict=False)
        )
    )
    return result


def reaches(position: Value) -> list[Value]:
    """Return for each position whether it, or one below it, is the selected one."""
    return [position[: last + 1].any() for last in range(len(position))]


def fills(position: Value, negative: Value) -> list[Value]:
    """Return for each place but the last whether it is below that of a negative digit."""
    return [negative & position[first:].any() for first in range(1, len(position))]


def placed(
    m: Module,
    digit: Value,
    one_hot: Sequence[Value],
    reach: Sequence[Value],
    fill: Sequence[Value],
    name: str,
) -> list[Value]:
    """Shift a multiple left by two bits per place; the low bits are ones if it is negative.

    Parameters
    ----------
    m, name : where the gates go, and what their names begin with.
    digit : result of :func:`multiple`.
    one_hot : selects the place; all zeros make a zero term.
    reach, fill : :func:`reaches` and :func:`fills` of `one_hot`, shared by all terms.

    Returns
    -------
    Bits of the term; the last is its sign.
    """
    top = len(digit) - 1
    bits: list[Value] = []
    for position in range(len(digit) + 2 * (len(one_hot) - 1)):
        sources = [
            line & digit[position - 2 * number]
            for number, line in enumerate(one_hot)
            if 0 <= position - 2 * number < top
        ]
        if position >= top:
            sources.append(reach[(position - top) // 2] & digit[top])
        if position // 2 < len(fill):
            sources.append(fill[position // 2])
        bit = Signal(name=f"{name}_{position}")
        m.d.comb += bit.eq(Cat(sources).any())
        bits.append(bit)
    return bits

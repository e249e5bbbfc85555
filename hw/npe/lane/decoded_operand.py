"""Decoded operands: the lane's view of a word, in as few bits as its formats need."""

from collections.abc import Iterable, Sequence

from amaranth import C, Cat, Value
from amaranth.lib import data

from hw.npe.lane.widths import NIBBLE, LaneWidths

__all__ = ["DecodedOperand", "Half", "WideOperand", "quiet"]

Half = tuple[Value, list[Value], tuple[list[Value], list[Value]]]
"""Magnitude, signs and exponents of 8 bits."""


class DecodedOperand(data.StructLayout):
    """A word after decoding, with the two nibbles of its magnitude.

    A word of one code has its magnitude in both nibbles, its sign and exponent in the first fields;
    a word of two has a nibble, a sign and an exponent for each. Unused fields have no bits.

    Parameters
    ----------
    plan : formats.
    has_kind : whether it carries the number of codes per word; one of the two operands does.
    crossed : whether its exponents are greater by 8 in every second cycle.
    exact : formats of integers, if it says whether it is of another one.

    Members
    -------
    low, high : nibbles, unsigned.
    negative : signs, the first code's lowest.
    exponent, exponent1 : of the first and second code; bits of the weights that occur.
    dual : the word has two codes.
    wide : its format is not one of integers.
    second_low, second_high : nibbles that the upper nibble of b is multiplied by, where words of
        two codes can have bytes for one operand and nibbles for the other: those of the second
        code, the upper one first, or `low` and `high`.
    doubled : the word has two bytes, for two nibbles of b.
    """

    def __init__(
        self,
        plan: LaneWidths,
        *,
        has_kind: bool,
        crossed: bool = False,
        exact: Sequence[str] = (),
    ):
        self.plan = plan
        self.exact = exact
        self.crossed = crossed
        super().__init__({
            "low": plan.low_width,
            "high": plan.high_width,
            "negative": plan.signs,
            "exponent": len(plan.places(False, crossed)),
            "exponent1": len(plan.places(True)),
            "dual": int(has_kind and plan.needs_kind),
            "wide": int(0 < len(exact) < len(plan.formats)),
            "second_low": NIBBLE * (has_kind and plan.doubled),
            "second_high": NIBBLE * (has_kind and plan.doubled),
            "doubled": int(has_kind and plan.doubled),
        })

    def exponent_of(self, operand: data.View, second: bool) -> list[Value]:
        """Bits of an exponent, one per weight."""
        places = self.plan.places(second, self.crossed)
        held = operand.exponent1 if second else operand.exponent
        bits = dict(zip(places, held, strict=True))
        return [bits.get(at, C(0, 1)) for at in range(max(places, default=-1) + 1)]

    def pack(
        self,
        nibbles: tuple[Value, Value],
        negative: Iterable[Value],
        exponents: tuple[list[Value], list[Value]],
        dual: Value,
        wide: Value | None = None,
    ) -> Value:
        """Bit pattern of an operand; drops bits that have no field."""
        plan = self.plan
        signs = list(negative)[: plan.signs]
        held = [
            Cat(bits[at] for at in plan.places(second, self.crossed))
            for second, bits in zip((False, True), exponents, strict=True)
        ]
        low, high = nibbles
        kinds = [dual[: self["dual"].width]]
        if wide is not None:
            kinds.append(wide[: self["wide"].width])
        return Cat(low[: plan.low_width], high[: plan.high_width], *signs, *held, *kinds)


class WideOperand(data.StructLayout):
    """A word of 16 bits after decoding: an operand for each half.

    A code of 16 bits has its magnitude in both, its sign and exponent in the first.

    Parameters
    ----------
    plans : of both halves.
    has_kind : whether it carries the number of codes per word, and which halves are multiplied.

    Members
    -------
    first, second : of the lower and the upper half.
    wide : the word has one code of 16 bits.
    cross : halves of different weight are multiplied.
    """

    def __init__(self, plans: tuple[LaneWidths, LaneWidths], *, has_kind: bool):
        self.plans = plans
        low, high = plans
        self.crossed = low.crossed and not has_kind
        """Halves are swapped when those of different weight are multiplied."""
        super().__init__({
            "first": DecodedOperand(low, has_kind=has_kind, crossed=self.crossed),
            "second": DecodedOperand(high, has_kind=False),
            "wide": int(has_kind and bool(low.wide) and bool(low.narrow)),
            "cross": int(has_kind and low.crossed),
        })

    def pack(self, halves: Sequence[Half], mode: tuple[Value, Value, Value]) -> Value:
        """Bit pattern of an operand.

        Parameters
        ----------
        halves : magnitude, signs and exponents of each half.
        mode : two codes in 8 bits; one in 16; halves of different weight are multiplied.
        """
        dual, wide, cross = mode
        packed = [
            self[name].shape.pack((bits[:NIBBLE], bits[NIBBLE:]), signs, exponents, dual)
            for name, (bits, signs, exponents) in zip(("first", "second"), halves, strict=True)
        ]
        return Cat(*packed, wide[: self["wide"].width], cross[: self["cross"].width])


def quiet(layout: data.StructLayout, operand: Value, valid: Value) -> Value:
    """Return an operand that belongs to a zero, unless it is valid: no sign, no part of a sum.

    The negative of zero is zero; but simulators make every bit of it x if the sign is x.
    """
    parts = []
    for name, field in layout:
        bits = operand[field.offset : field.offset + field.width]
        if isinstance(field.shape, data.StructLayout):
            bits = quiet(field.shape, bits, valid)
        elif name in ("negative", "wide"):
            bits = bits & valid.replicate(field.width)
        parts.append(bits)
    return Cat(*parts)

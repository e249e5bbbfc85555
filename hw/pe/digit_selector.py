"""Selector: recodes operands and issues their non-zero digits, one per cycle and lane."""

from collections.abc import Callable

from amaranth import C, Cat, Module, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from golden.formats.integer import IntFormat
from golden.pe.opt3 import Opt3Spec
from hw.arith.recode import Digit, booth_digits, ent_digits, ent_direct_digits, naf_digits
from hw.lib.shared_module import SharedModule

__all__ = ["Lines", "DigitSelector"]

_RECODERS: dict[str, Callable[[Module, Value, IntFormat], list[Digit]]] = {
    "naf": naf_digits,
    "booth": booth_digits,
    "ent": ent_digits,
    "ent_direct": ent_direct_digits,
}


class Lines(data.StructLayout):
    """One digit of one lane: its value, its place, and the lane's code it belongs to.

    All lines are 0 if there is none.
    """

    def __init__(self, spec: Opt3Spec, lane: int):
        codes = len(range(lane, spec.k, spec.lanes))
        super().__init__({"one": 1, "two": 1, "negative": 1, "place": spec.digits, "code": codes})


class DigitSelector(SharedModule):
    """Holds the digits of a beat of operands a and issues them, lowest place first.

    Within a place, digits are issued code by code; zero digits, and places without digits, are
    skipped unless `constant_time` is set.

    Parameters
    ----------
    spec : Opt3Spec
        What: operands, their encoding, lanes; with ``a_recoded``, no recoder is built.

    Members
    -------
    i_load : In(1)
        Take the digits of `i_a`.
    i_go : In(1)
        Issue digits on `o`; else it is all 0.
    i_step : In(1)
        The digits on `o` are taken.
    i_a : In
        k operands, the first lowest, ``spec.a_code_width`` bits each.
    last : Out(1)
        The digits on `o`, or next on `o`, are the last of the beat.
    o : Out
        :class:`Lines` of each lane.
    """

    module = "selector"

    i_load: Signal
    i_go: Signal
    i_step: Signal
    i_a: Signal
    last: Signal
    o: data.View

    def __init__(self, spec: Opt3Spec):
        self.spec = spec
        self.recode = _digits if spec.a_recoded else _RECODERS[spec.encoding]
        lanes = {str(lane): Lines(spec, lane) for lane in range(spec.lanes)}
        super().__init__({
            "i_load": In(1),
            "i_go": In(1),
            "i_step": In(1),
            "i_a": In(spec.k * spec.a_code_width),
            "last": Out(1),
            "o": Out(data.StructLayout(lanes)),
        })

    def elaborate(self, platform):
        m = Module()
        spec = self.spec
        lasts = []
        for lane in range(spec.lanes):
            codes = range(lane, spec.k, spec.lanes)
            ones, twos, negatives, pending, picked = (
                Signal(len(codes) * spec.digits, name=f"{name}{lane}", reset_less=True)
                for name in ("one", "two", "negative", "pending", "picked")
            )
            ends = Signal(name=f"last{lane}", reset_less=True)
            # Digits of one place are adjacent.
            digits_of = [
                self.recode(m, self.i_a.word_select(code, spec.a_code_width), spec.a_format)
                for code in codes
            ]
            digits = [digit for column in zip(*digits_of, strict=True) for digit in column]
            nonzero = Cat(one | two for one, two, _ in digits)
            minus = Cat(C(0, 1) if sign is None else sign for _, _, sign in digits)
            issued = C(~0, len(digits)) if spec.constant_time else nonzero
            with m.If(self.i_load):
                m.d.sync += [
                    ones.eq(Cat(one for one, _, _ in digits)),
                    twos.eq(Cat(two for _, two, _ in digits)),
                    negatives.eq(minus & nonzero),
                    pending.eq(issued),
                    ends.eq(~_reached(issued, 2)[1]),
                ]
            with m.Elif(self.i_step):
                m.d.sync += [pending.eq(pending & ~picked), ends.eq(~_reached(pending, 3)[2])]
            first = Cat(bit & ~pending[:position].any() for position, bit in enumerate(pending))
            m.d.comb += picked.eq(first & self.i_go.replicate(len(first)))
            lasts.append(ends)
            line = self.o[str(lane)]
            m.d.comb += [
                line.one.eq((picked & ones).any()),
                line.two.eq((picked & twos).any()),
                line.negative.eq((picked & negatives).any()),
                line.place.eq(
                    Cat(picked.word_select(p, len(codes)).any() for p in range(spec.digits))
                ),
                line.code.eq(Cat(picked[code :: len(codes)].any() for code in range(len(codes)))),
            ]
        m.d.comb += self.last.eq(Cat(lasts).all())
        return m


def _digits(m: Module, code: Value, a_format: IntFormat) -> list[Digit]:
    """Split a recoded operand into its digits, three bits each."""
    return list(zip(code[0::3], code[1::3], code[2::3], strict=True))


def _reached(bits: Value, most: int) -> list[Value]:
    """Return whether at least 1, 2, ... `most` bits are set: a saturating count, as a tree."""
    if len(bits) == 1:
        return [bits, *[C(0, 1)] * (most - 1)]
    half = len(bits) // 2
    low, high = _reached(bits[:half], most), _reached(bits[half:], most)
    return [
        low[least] | high[least] | Cat(low[n] & high[least - n - 1] for n in range(least)).any()
        for least in range(most)
    ]

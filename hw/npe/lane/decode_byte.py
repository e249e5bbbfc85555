"""Decoder of 8 bits in any of several formats, with shared logic."""

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value

from golden.formats.element import ElementFormat
from golden.formats.integer import IntFormat
from golden.formats.minifloat import MinifloatFormat
from golden.formats.posit import PositFormat
from hw.arith.adder import resolve
from hw.npe.lane.widths import BYTE, NIBBLE, LaneWidths

__all__ = ["ByteDecoder", "Choices", "any_of", "constant", "join"]

_EXPONENT = 4

Choices = list[tuple[Value, list[Value]]]
"""Bits of a field, with their enable condition; a field is the OR of these."""


def join(choices: Choices, width: int) -> list[Value]:
    """OR of all enabled bits."""
    return [
        Cat(chosen & bits[at] for chosen, bits in choices if at < len(bits)).any()
        for at in range(width)
    ]


def any_of(is_format: dict[str, Value], *formats: ElementFormat) -> Value:
    """Return whether the format is one of these; a constant where it always is."""
    if len(formats) == len(is_format):
        return C(1, 1)
    return Cat(is_format[fmt.name] for fmt in formats).any()


class ByteDecoder:
    """Fields of an 8-bit word, or of half a 16-bit word, merged format by format.

    The magnitude of a 16-bit code is that of the two's complement number in both halves.

    Parameters
    ----------
    m : where the gates go.
    plan : formats.
    word : 8 bits; or 10, with the signs of both codes, of integers with a bit more than a code.
    is_format : which format it is, by name.
    dual : the pair has two codes in 8 bits.
    top : of half a word: the sign of 16-bit codes.
    carry : for the upper half: carry out of the lower half's negation.
    """

    def __init__(
        self,
        m: Module,
        plan: LaneWidths,
        word: Value,
        is_format: dict[str, Value],
        dual: Value,
        top: Value | None = None,
        carry: Value | None = None,
    ) -> None:
        self.m = m
        self.plan = plan
        self.word, self.negative = word[:BYTE], word[BYTE:]
        self.is_format = is_format
        self.dual = dual
        self.top: Value = C(0, 1) if top is None else top
        self.carry = carry
        self.exponents: tuple[Choices, Choices] = ([], [])
        self.invalid: list[Value] = []

    def fields(self) -> tuple[list[Value], list[Value], tuple[list[Value], list[Value]]]:
        """Decode: signs, magnitude and exponents of both codes."""
        signs = self._signs()
        bits = self._named("absolute", self._absolute(signs))
        bits = self._named("straight", self._regime(bits))
        bits = self._named("integer", self._e2m1(bits))
        bits = self._named("significand", self._minifloats(bits))
        if self.plan.mixed:
            # A single code of 4 bits has no second code.
            shown = self.dual | ~self._any(*self.plan.short)
            bits = [*bits[:NIBBLE], *(bit & shown for bit in bits[NIBBLE:])]
        bits = self._posit4e1(self._named("shown", bits))
        first, second = (join(choices, _EXPONENT) for choices in self.exponents)
        return signs, bits, (first, second)

    def _any(self, *formats: ElementFormat) -> Value:
        """Return whether the format is one of these; a constant where it always is."""
        return any_of(self.is_format, *formats)

    def _named(self, name: str, bits: list[Value]) -> list[Value]:
        """Put bits in signals, so that logic used twice is built once."""
        signal = Signal(len(bits), name=name)
        self.m.d.comb += signal.eq(Cat(bits))
        return list(signal)

    def _having(self, kind: type[ElementFormat], *, short: bool) -> list[Any]:
        """List the formats of a kind, of 4 bits or of more."""
        return [
            fmt
            for fmt in self.plan.narrow
            if isinstance(fmt, kind) and (fmt in self.plan.short) == short
        ]

    def _signs(self) -> list[Value]:
        """Signs of the codes in both slots."""
        signs = [Signal(name=f"negative{slot}") for slot in range(2)]
        if len(self.negative):
            self.m.d.comb += Cat(signs).eq(self.negative & Cat(1, self.dual))
            return list(signs)
        widths = sorted({fmt.width for fmt in self.plan.narrow})
        terms = [
            self._any(*(fmt for fmt in self.plan.narrow if fmt.width == width))
            & self.word[width - 1]
            for width in widths
        ]
        if self.plan.wide:
            terms.append(self._any(*self.plan.wide) & self.top)
        self.m.d.comb += [signs[0].eq(Cat(terms).any()), signs[1].eq(self.word[-1] & self.dual)]
        return list(signs)

    def _absolute(self, signs: list[Value]) -> list[Value]:
        """Negate negative two's complement codes, of a word or of each of its nibbles."""
        m, word = self.m, self.word
        formats = [f for f in self.plan.formats if isinstance(f, (IntFormat, PositFormat))]
        if not formats:
            return list(word)
        long = [fmt for fmt in formats if fmt.width > NIBBLE]
        chosen = self._any(*formats)
        is_wide = self._any(*self.plan.wide) if self.plan.wide else C(0, 1)
        flips = [Signal(name=f"flip{slot}") for slot in range(2)]
        last = self.negative[-1] if len(self.negative) else word[-1]
        above = Mux(is_wide, self.top, last) if self.plan.wide else last
        m.d.comb += [flips[0].eq(signs[0] & chosen), flips[1].eq(above & chosen)]
        low = [[bit ^ flips[0]] for bit in word[:NIBBLE]]
        high = [[bit ^ flips[1]] for bit in word[NIBBLE:]]
        low[0].append(flips[0] if self.carry is None else Mux(is_wide, self.carry, flips[0]))
        total = resolve(m, [*low, [C(0, 1)]], "ripple")
        # Two codes of 4 bits are negated separately.
        apart = ~self._any(*long) if long else C(1, 1)
        high[0].append(Mux(apart, flips[1], total[NIBBLE]))
        upper = resolve(m, [*high, [C(0, 1)]], "ripple")
        self.carry = upper[NIBBLE]
        return [*total[:NIBBLE], *upper[:NIBBLE]]

    def _regime(self, code: list[Value]) -> list[Value]:
        """Remove the regime from a posit's magnitude, right-aligned.

        A regime of zeros needs nothing: the code is a multiple of the smallest number. In a regime
        of ones, each moves the fraction by two places, and the bit after it becomes the hidden one.
        """
        for fmt in self._having(PositFormat, short=False):
            is_posit, size = self._any(fmt), fmt.width - 1
            self.invalid.append(is_posit & code[size])
            ones: list[Value] = [is_posit]
            for at in reversed(range(size)):
                more = Signal(name=f"regime{size - at}")
                self.m.d.comb += more.eq(ones[-1] & code[at])
                ones.append(more)
            exact = [0, *(2 * run - 1 for run in range(1, size)), 2 * (size - 1)]
            runs = [ones[run] & ~ones[run + 1] for run in range(1, size)] + [ones[size]]
            for run, chosen in enumerate(runs, start=1):
                self.exponents[0].append((chosen, constant(exact[run])))
            code = [
                code[0] | ones[size - 1],
                *(code[at] ^ ones[size - 1 - at] for at in range(1, size - 1)),
                *(bit & ~is_posit for bit in code[size - 1 :]),
            ]
        return code

    def _e2m1(self, code: list[Value]) -> list[Value]:
        """Convert two-bit significands to integers, shifted by 0 .. 2."""
        for fmt in self._having(MinifloatFormat, short=True):
            chosen = self._any(fmt)
            for start in range(0, len(code), NIBBLE):
                mantissa, odd, great, top = code[start : start + NIBBLE]
                code = [
                    *code[:start],
                    mantissa & ~(chosen & great),
                    Mux(chosen & great, mantissa & ~odd, odd),
                    great & ~(chosen & odd & ~mantissa),
                    Mux(chosen, great & odd, top),
                    *code[start + NIBBLE :],
                ]
        return code

    def _minifloats(self, code: list[Value]) -> list[Value]:
        """Prepend hidden bits to mantissas; formats share one exponent field."""
        formats = self._having(MinifloatFormat, short=False)
        if not formats:
            return code
        field = []
        for at in range(max(fmt.exponent_bits for fmt in formats)):
            bit = Signal(name=f"biased{at}")
            places = [(f, f.mantissa_bits + at) for f in formats if at < f.exponent_bits]
            terms = [
                self._any(*(f for f, position in places if position == exponent_bit))
                & self.word[exponent_bit]
                for exponent_bit in sorted({position for _, position in places})
            ]
            self.m.d.comb += bit.eq(Cat(terms).any())
            field.append(bit)
        normal, nan = Signal(name="normal"), Signal(name="nan")
        nans = [
            self._any(fmt) & self.word[: fmt.width - 1].all()
            for fmt in formats
            if fmt.nan_code is not None
        ]
        self.m.d.comb += [normal.eq(Cat(field).any()), nan.eq(Cat(nans).any())]
        self.invalid.append(nan)
        # Minus one, except for subnormals, whose exponent is that of the smallest normal number.
        less = [bit ^ (normal & ~Cat(field[:at]).any()) for at, bit in enumerate(field)]
        self.exponents[0].append((C(1, 1), less))
        for size in sorted({fmt.mantissa_bits for fmt in formats}):
            chosen = self._any(*(fmt for fmt in formats if fmt.mantissa_bits == size))
            code = [
                *code[:size],
                Mux(chosen, normal, code[size]),
                *(bit & ~chosen for bit in code[size + 1 :]),
            ]
        return [*(bit & ~nan for bit in code[:NIBBLE]), *code[NIBBLE:]] if nans else code

    def _posit4e1(self, code: list[Value]) -> list[Value]:
        """Split logarithms of powers of two: 2 bits for the nibble, the rest is the exponent."""
        scales = {1: 0, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 8}
        for fmt in self._having(PositFormat, short=True):
            is_posit = self._any(fmt)
            powers: list[Value] = []
            for slot in range(2):
                nibble = code[slot * NIBBLE : (slot + 1) * NIBBLE]
                self.invalid.append(is_posit & nibble[-1])
                lines = self._named(
                    f"power{slot}_", [Cat(nibble[:-1]) == number for number in scales]
                )
                here = dict(zip(scales.values(), lines, strict=True))
                for scale, equal in here.items():
                    chosen = is_posit & equal
                    self.exponents[slot].append((chosen, constant(scale // 4 * 4)))
                powers += [
                    Cat(equal for scale, equal in here.items() if scale % 4 == at).any()
                    for at in range(NIBBLE)
                ]
            code = [Mux(is_posit, power, bit) for power, bit in zip(powers, code, strict=True)]
        return code


def constant(number: int, width: int = _EXPONENT) -> list[Value]:
    """Bits of an exponent."""
    return [C(number >> at & 1, 1) for at in range(width)]

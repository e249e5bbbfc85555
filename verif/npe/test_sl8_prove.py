"""Proofs of the lane: what decoders make of every word, and the step of the sum."""

from typing import Any

import numpy as np
import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from golden.npe.lane import LaneSpec
from golden.npe.sl8 import Sl8Spec
from hw.npe.lane.decode_word import decode
from hw.npe.lane.decoded_operand import DecodedOperand
from hw.npe.lane.gated_sum import exact
from hw.npe.lane.lane8 import Lane8
from hw.npe.lane.widths import LaneWidths
from verif.pe.test_pe_step import columns_worth, worth
from verif.support.cases import long
from verif.support.formal import holds

ALL = Sl8Spec().formats
SETS = [
    *ALL.split(","),
    ALL,
    "int8,int4,e2m1",
    "int4,e2m1,posit4e1",
    "e2m1,posit4e1,posit8e0",
    "int8,e3m2,e4m3",
    "posit4e1,e2m3",
    "int4,e3m2,posit8e0",
]
FEW = ("int4", "posit8e0", "e2m1,posit4e1,posit8e0")

_FIXED = 24


def table(m: Module, choice: Value, values: np.ndarray, name: str, width: int = _FIXED) -> Signal:
    """Look an integer up; `choice` beyond the table gives 0."""
    found = Signal(signed(width), name=name)
    with m.Switch(choice):
        for at, value in enumerate(values.tolist()):
            if value:
                with m.Case(at):
                    m.d.comb += found.eq(value)
    return found


def golden(spec: LaneSpec, index: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Significands, exponents above the last bit's, values and NaNs of all bit patterns."""
    fmt = spec.elements[index]
    exact = fmt.decode(fmt.wrap(np.arange(1 << fmt.width)))
    exponents = np.where(exact.significand == 0, 0, exact.exponent - fmt.lsb)
    return exact.significand, exponents, exact.fixed(fmt.lsb), exact.nan


def decodes(formats: str, *, has_kind: bool, slip: int = 0) -> bool:
    """Prove sign, magnitude and exponent of every word to be golden's value, or two of them."""
    spec = Sl8Spec(formats=formats)
    plan = LaneWidths(spec)
    layout = DecodedOperand(plan, has_kind=has_kind)

    def claim(m: Module, word: Signal, dual: Signal) -> Value:
        kinds = []
        for number in range(len(spec.names)):
            # With one index after the other, each proof is a short one.
            index = C(number, spec.format_width)
            pattern, invalid = decode(m, layout, word, index, dual)
            coded = data.View(layout, pattern)
            assert len(pattern) == layout.size
            short = spec.container(number) == 4
            *_, values, nan = golden(spec, number)
            own = word[: spec.elements[number].width]
            first = table(m, own, values, f"first{number}") + slip
            nans: Value = table(m, own, nan.astype(int), f"nan{number}", 2)[0]
            magnitude: Value = Cat(coded.low, coded.high)
            right: Value = C(1, 1)
            if short:
                second = table(m, word[4:], values, f"second{number}")
                nans = nans | dual & table(m, word[4:], nan.astype(int), f"nan2{number}", 2)[0]
                other = fixed(coded.high, coded.negative[1], layout.exponent_of(coded, True))
                right = ~dual | (other == second)
                magnitude = Mux(dual, coded.low, magnitude)
            found = fixed(magnitude, coded.negative[0], layout.exponent_of(coded, False))
            if layout["dual"].width:
                right = right & (coded.dual == dual)
            right = right & (found == first) & (invalid == nans)
            # Words of two codes are of short formats, and if there are no others, all are.
            legal = (dual if not plan.single else C(1, 1)) if short else ~dual
            kinds.append(~legal | right)
        return Cat(kinds).all()

    return holds(claim, spec.WORD, 1)


def fixed(magnitude: Value, negative: Value, exponent: list[Value]) -> Value:
    """Value of sign, magnitude and exponent."""
    shifted = magnitude << Cat(exponent)
    return Mux(negative, -shifted, shifted)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("formats", "has_kind"),
    [
        *((formats, True) for formats in SETS),
        *((formats, False) for formats in FEW),
        *long([(formats, False) for formats in SETS if formats not in FEW]),
    ],
)
def test_decoder_makes_golden_values(formats: str, has_kind: bool) -> None:
    assert decodes(formats, has_kind=has_kind)


@pytest.mark.prove
@pytest.mark.parametrize("formats", [*long([ALL]), "e2m1,posit4e1,posit8e0", "int4"])
def test_decoder_proof_can_fail(formats: str) -> None:
    assert not decodes(formats, has_kind=True, slip=1)


def step_holds(formats: str, width: int, *, slip: int = 0, **build: Any) -> bool:
    """Prove sum' = (done ? 0 : sum) + products of a and b from any state, for words of any code.

    A gated sum is of one pair of formats: no shifted product follows one of integers that borrows.
    """
    spec = Sl8Spec(formats=formats, accumulator_width=width)

    def claim(
        m: Module, a: Signal, b: Signal, a_format: Signal, b_format: Signal, clear: Signal
    ) -> Value:
        m.submodules.lane = lane = Lane8(spec, **build)
        dual = lane.dual(a_format, b_format)
        m.d.comb += [
            lane.i_a.eq(lane.encode_a(m, a, a_format, dual)[0]),
            lane.i_b.eq(lane.encode_b(m, b, b_format, dual)[0]),
            lane.i_clear.eq(clear),
            lane.en.eq(1),
        ]
        product: Value = Signal(width, name="product")
        for x, y in spec.pairs:
            with m.If((a_format == x) & (b_format == y)):
                m.d.comb += product.eq(reference(m, spec, (x, y), (a, b)) + slip)
        for stage in range(lane.pipeline):
            late = Signal(width, name=f"late{stage}")
            m.d.sync += late.eq(product)
            product = late
        total, expected = Signal(width), Signal(width)
        m.d.comb += total.eq(worth(lane.layout, lane.o))
        m.d.sync += expected.eq(Mux(lane.o_done, 0, total) + product)
        count = len(spec.names)
        legal = (a_format < count) & (b_format < count)
        wide = ~(is_exact(spec, a_format) & is_exact(spec, b_format))
        legal, wide = (
            delayed(m, bit, lane.pipeline, name) for bit, name in ((legal, "legal"), (wide, "wide"))
        )
        if lane.gated is not None:
            legal = legal & (lane.o_done | ~(wide & lane.o.carry[-1]))
        return ~delayed(m, legal, 1, "added") | (total == expected)

    bits = spec.format_width
    return holds(claim, 8, 8, bits, bits, 1, cycles=1 + build.get("pipeline", 0))


def is_exact(spec: Sl8Spec, index: Value) -> Value:
    """Return whether a format is one of integers."""
    return Cat(index == spec.names.index(name) for name in exact(spec)).any()


def delayed(m: Module, bit: Value, cycles: int, name: str) -> Value:
    """Return a bit so many cycles later."""
    for stage in range(cycles):
        held = Signal(name=f"{name}{stage}")
        m.d.sync += held.eq(bit)
        bit = held
    return bit


def reference(m: Module, spec: Sl8Spec, pair: tuple[int, int], words: tuple[Value, Value]) -> Value:
    """Sum of the products of two words: golden's significands, shifted by golden's exponents."""
    total: Value = C(0, 1)
    pitch = spec.pitch(*pair)
    for slot in range(spec.codes(*pair)):
        sign: Value = C(0, 1)
        product: Value = C(1, 1)
        exponent: Value = C(0, 1)
        for side, (index, word) in enumerate(zip(pair, words, strict=True)):
            code = word[slot * pitch :][: spec.elements[index].width]
            significands, exponents, *_ = golden(spec, index)
            name = f"_{'ab'[side]}{slot}_{pair[0]}_{pair[1]}"
            size = np.abs(significands)
            sign = sign ^ table(m, code, (significands < 0).astype(int), f"sign{name}", 2)[0]
            product = product * unsigned(m, code, size, f"size{name}")
            exponent = exponent + unsigned(m, code, exponents, f"exponent{name}")
        shifted = product << exponent
        total = total + Mux(sign, -shifted, shifted)
    return total


def unsigned(m: Module, choice: Value, values: np.ndarray, name: str) -> Value:
    """Look a number up that is not negative."""
    width = int(values.max()).bit_length()
    return table(m, choice, values, name, width + 1)[:width]


def products_hold(formats: str, width: int, *, slip: int = 0, **build: Any) -> bool:
    """Prove what a sum of zero becomes, for all words of all pairs of formats."""
    spec = Sl8Spec(formats=formats, accumulator_width=width)
    lane = Lane8(spec, **build)

    def claim(m: Module, a: Signal, b: Signal, a_format: Signal, b_format: Signal) -> Value:
        dual = lane.dual(a_format, b_format)
        x, y = Signal(len(lane.i_a)), Signal(len(lane.i_b))
        m.d.comb += [
            x.eq(lane.encode_a(m, a, a_format, dual)[0]),
            y.eq(lane.encode_b(m, b, b_format, dual)[0]),
        ]
        columns = lane.layout.columns(lane.layout.register("zero"))
        zeros: list[list[Value]] = [[C(0, 1)] * len(column) for column in columns]
        total = Signal(width, name="total")
        m.d.comb += total.eq(columns_worth(lane.layout, lane.step(m, C(1, 1), x, y, zeros)))
        right: Value = C(1, 1)
        for pair in spec.pairs:
            expected = Signal(width, name="expected")
            m.d.comb += expected.eq(reference(m, spec, pair, (a, b)) + slip)
            other = (a_format != pair[0]) | (b_format != pair[1])
            right = right & (other | (total == expected))
        return right

    return holds(claim, 8, 8, spec.format_width, spec.format_width)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("formats", "width"), [("int4", 9), ("e2m1", 10), ("e2m3", 14)])
def test_lane_makes_every_product(formats: str, width: int) -> None:
    assert products_hold(formats, width)


def test_gated_lane_makes_every_product() -> None:
    assert products_hold("int4,e2m3", 16, accumulation="gated")


@pytest.mark.sample(1)
@pytest.mark.parametrize("accumulation", ["carry_save", "resolved"])
@pytest.mark.parametrize("pipeline", range(5))
def test_lane_step(accumulation: str, pipeline: int) -> None:
    assert step_holds("e2m3", 14, accumulation=accumulation, pipeline=pipeline)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("formats", "width", "pipeline"),
    long(
        [("int4,e2m3", 16, 2), ("int4", 12, 0), ("int4,e2m3", 16, 0), ("e2m1,posit4e1", 20, 0)], 0
    ),
)
def test_gated_lane_step(formats: str, width: int, pipeline: int) -> None:
    assert step_holds(formats, width, accumulation="gated", adder="ripple", pipeline=pipeline)


@pytest.mark.prove
@pytest.mark.parametrize(
    ("formats", "width"), [("posit4e1", 20), ("e3m2", 20), ("e4m3", 38), ("int4,e2m3", 14)]
)
def test_lane_step_of_more_formats(formats: str, width: int) -> None:
    assert step_holds(formats, width)


def test_lane_proofs_can_fail() -> None:
    assert not products_hold("int4", 9, slip=1)
    assert not step_holds("e2m3", 14, slip=1)
    assert not step_holds("int4,e2m3", 16, slip=1, accumulation="gated")

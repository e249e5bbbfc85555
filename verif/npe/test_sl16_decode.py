"""Decoders of words of 16 bits: proven for codes of up to 8, simulated for all codes of 16."""

from typing import Any

import numpy as np
import pytest
from amaranth import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.sim import Simulator

from golden.npe.sl16 import Sl16Spec
from hw.npe.lane.decode_word import decode_wide
from hw.npe.lane.decoded_operand import WideOperand
from hw.npe.lane.widths import BYTE, LaneWidths
from verif.npe.test_sl8_prove import fixed, golden, table
from verif.support.cases import long
from verif.support.formal import holds

EIGHT = "int8,int4,e2m1,posit4e1,e2m3,e3m2,e4m3,posit8e0"
ALL = f"{EIGHT},int16,posit16e1"
DUAL, WIDE, CROSS = 1, 2, 4


def operand(formats: str, passes: int, *, has_kind: bool) -> tuple[Sl16Spec, WideOperand]:
    """Layout of an operand of words in some formats."""
    spec = Sl16Spec(formats=formats, accumulator_width=128, passes=passes)
    return spec, WideOperand((LaneWidths(spec), LaneWidths(spec, 1)), has_kind=has_kind)


def halves_hold(formats: str, *, has_kind: bool, slip: int = 0) -> bool:
    """Prove the operands of both halves, of words of codes of up to 8 bits."""
    spec, layout = operand(formats, 2, has_kind=has_kind)

    def claim(m: Module, word: Signal, dual: Signal, wide: Signal) -> Value:
        kinds: list[Value] = []
        for number in range(len(spec.names)):
            size = spec.container(number)
            if size > BYTE:
                continue
            index = C(number, spec.format_width)
            pattern, invalid = decode_wide(m, layout, word, index, (dual, wide, C(0, 1)))
            assert len(pattern) == layout.size
            coded = data.View(layout, pattern)
            *_, values, nan = golden(spec, number)
            right: Value = C(1, 1)
            nans: Value = C(0, 1)
            for at, half in enumerate((coded.first, coded.second)):
                # Behind one code in 16 bits there is none.
                own = word[8 * at :][:8] & (~(wide if at else C(0, 1))).replicate(8)
                shape = half.shape()
                code = own[: spec.elements[number].width]
                name = f"{number}_{at}"
                first = table(m, code, values, f"first{name}") + slip
                nans = nans | table(m, code, nan.astype(int), f"nan{name}", 2)[0]
                magnitude: Value = Cat(half.low, half.high)
                if size == 4:
                    other = fixed(half.high, half.negative[1], shape.exponent_of(half, True))
                    second = table(m, own[4:], values, f"second{name}")
                    wrong = table(m, own[4:], nan.astype(int), f"nan2{name}", 2)[0]
                    right = right & (~dual | (other == second))
                    nans = nans | dual & wrong
                    magnitude = Mux(dual, half.low, magnitude)
                found = fixed(magnitude, half.negative[0], shape.exponent_of(half, False))
                right = right & (found == first)
            if layout["wide"].width:
                right = right & (coded.wide == wide)
            plan = layout.plans[0]
            # Not both at once, and only where there are such pairs of formats.
            legal = ~(dual & wide) & (C(bool(plan.wide), 1) | ~wide)
            legal = legal & (C(plan.single, 1) | dual if size == 4 else ~dual)
            kinds.append(~legal | (right & (invalid == nans)))
        return Cat(kinds).all()

    return holds(claim, spec.WORD, 1, 1)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("formats", "has_kind"),
    long(
        [
            (EIGHT, True),
            ("int4,e2m1,int16", False),
            ("int8,posit8e0,posit16e1", True),
            ("posit4e1,e4m3,int16", True),
        ],
        0,
    ),
)
def test_decoder_of_halves(formats: str, has_kind: bool) -> None:
    assert halves_hold(formats, has_kind=has_kind)


def test_decoder_proof_of_halves_can_fail() -> None:
    assert not halves_hold("int4,e2m1", has_kind=True, slip=1)


def decoded(
    formats: str, name: str, passes: int, mode: int, words: np.ndarray, *, has_kind: bool
) -> dict[str, np.ndarray]:
    """Decode words, in simulation."""
    spec, layout = operand(formats, passes, has_kind=has_kind)
    m = Module()
    word, pattern, invalid = Signal(spec.WORD), Signal(layout.size), Signal()
    flags = C(mode & 1, 1), C(mode >> 1 & 1, 1), C(mode >> 2 & 1, 1)
    index = C(spec.index(name), spec.format_width)
    found, wrong = decode_wide(m, layout, word, index, flags)
    m.d.comb += [pattern.eq(found), invalid.eq(wrong)]
    coded = data.View(layout, pattern)
    low, high = (Cat(half.low, half.high) for half in (coded.first, coded.second))
    exponent = Cat(coded.first.shape().exponent_of(coded.first, False))
    outputs = {
        "low": low,
        "high": high,
        "sign": coded.first.negative[0],
        "exponent": exponent,
        "invalid": invalid,
    }
    rows: list[list[int]] = []

    async def bench(ctx: Any) -> None:
        for value in words.tolist():
            ctx.set(word, value)
            rows.append([ctx.get(output) for output in outputs.values()])

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    columns = np.array(rows, dtype=np.int64).T
    return dict(zip(outputs, columns, strict=True))


def check(
    formats: str, name: str, passes: int, words: np.ndarray, mode: int, *, has_kind: bool
) -> None:
    """Compare magnitude, sign and exponent of words of one code with golden's values."""
    spec, _ = operand(formats, passes, has_kind=has_kind)
    fmt = spec.elements[spec.index(name)]
    found = decoded(formats, name, passes, mode, words, has_kind=has_kind)
    exact = fmt.decode(fmt.wrap(words & (1 << fmt.width) - 1))
    change = bool(mode & CROSS) and not has_kind
    low, high = (found["high"], found["low"]) if change else (found["low"], found["high"])
    magnitude = low | high << 8
    exponent = found["exponent"] - (8 if change else 0)
    used = magnitude != 0
    values = np.where(found["sign"] == 1, -magnitude, magnitude)
    assert np.array_equal(values != 0, exact.significand != 0)
    shifted = values[used] << exponent[used]
    assert np.array_equal(shifted, exact.fixed(fmt.lsb)[used])
    assert np.array_equal(found["invalid"] == 1, exact.nan)


@pytest.mark.parametrize("step", [61, pytest.param(1, marks=pytest.mark.prove)])
def test_decoder_of_posits_of_16_bits(step: int) -> None:
    """Every code, or some; the bench of the lane has them all."""
    check("posit16e1", "posit16e1", 1, np.arange(0, 1 << 16, step), WIDE, has_kind=True)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "has_kind"),
    [
        *((name, True) for name in ALL.split(",")),
        ("int16", False),
        *long([(name, False) for name in ALL.split(",") if name != "int16"]),
    ],
)
def test_decoder_of_the_second_pass(name: str, has_kind: bool) -> None:
    """Halves of b change places, and its exponent is greater; of codes of up to 8 bits too."""
    words = np.random.default_rng(16).integers(0, 1 << 16, 300)
    check(ALL, name, 2, words, WIDE | CROSS, has_kind=has_kind)


@pytest.mark.sample(3)
@pytest.mark.parametrize("formats", ["int16", "posit16e1", "int16,posit16e1"])
@pytest.mark.parametrize("passes", [1, 2])
def test_decoder_of_16_bits_only(formats: str, passes: int) -> None:
    words = np.random.default_rng(17).integers(0, 1 << 16, 300)
    for name in formats.split(","):
        check(formats, name, passes, words, WIDE, has_kind=True)

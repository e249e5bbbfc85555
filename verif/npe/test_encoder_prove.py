"""Encoders against tables of the sums at which golden's codes change, for all sums."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from amaranth import C, Cat, Const, Module, Mux, Signal, Value

from golden.npe.encoder import EncoderSpec
from hw.npe.rounding.encode import encode
from hw.npe.rounding.rounding import Rounding
from verif.npe.benches.encodings import segments
from verif.support.formal import holds


def look_up(index: Value, values: list[int], width: int) -> Value:
    """Pick one of 2^len(index) constants by multiplexers."""
    if len(values) == 1:
        return C(values[0], width)
    half = len(values) // 2
    low, high = (look_up(index[:-1], part, width) for part in (values[:half], values[half:]))
    return Mux(index[-1], high, low)


def equals_table(
    spec: EncoderSpec, exponent: int | None = None, slip: int = 0, random: int | None = None
) -> bool:
    """Prove that every sum lies where golden has its code, and that invalid ones are NaN.

    With an `exponent`, that is a run-time exponent of an encoder for all of them; `random` are the
    random bits of a stochastic one.
    """
    fmt = spec.code_format
    table = segments(spec, exponent or 0, random)
    half = 1 << (spec.width - 1)
    # Of a code that no sum has, the range is empty.
    start, end = [0] * (1 << fmt.width), [0] * (1 << fmt.width)
    for (low, code), (high, _) in pairwise([*table, (half, 0)]):
        assert not end[code]
        start[code], end[code] = low + half + slip, high + half

    def claim(m: Module, number: Signal, invalid: Signal) -> Value:
        low, high = (bound - spec.fraction_width for bound in spec.exponent_bounds)
        lsb: int | Value = -spec.fraction_width
        if exponent is not None:
            lsb = Const(exponent - spec.fraction_width, range(low, high + 1))
        code = encode(
            m,
            number,
            lsb,
            fmt,
            bounds=(low, high),
            how=Rounding(
                mode=spec.rounding,
                saturate=spec.saturate,
                random=None if random is None else C(random, spec.random_width),
            ),
            invalid=invalid,
        )
        # Ascending without a sign.
        place = Cat(number[:-1], ~number[-1])
        inside = (look_up(code, start, spec.width + 1) <= place) & (
            place < look_up(code, end, spec.width + 1)
        )
        return Mux(invalid, code == (getattr(fmt, "nan_code", None) or 0), inside)

    return holds(claim, spec.width, 1)


def spec_of(name: str, width: int, fraction_width: int, **more: Any) -> EncoderSpec:
    return EncoderSpec(format=name, width=width, fraction_width=fraction_width, **more)


# Sums as exact accumulators hold them, or a few bits at the lower end of the format.
TABLES = [
    spec_of("posit8e0", 40, 12),
    spec_of("posit4e1", 32, 8),
    spec_of("posit8e2", 20, 24),
    spec_of("e4m3", 48, 18),
    spec_of("e4m3", 26, 12, saturate=False),
    spec_of("e4m3fnuz", 20, 13, saturate=False),
    spec_of("e5m2", 20, 18, rounding="rtz", saturate=False),
    spec_of("e3m2", 32, 8),
    spec_of("e2m3", 32, 6),
    spec_of("e2m1", 128, 20),
    spec_of("int8", 24, 6),
    spec_of("uint4", 16, 3, rounding="rtz"),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize("spec", TABLES, ids=lambda spec: f"{spec.format}-{spec.width}")
def test_encoder_equals_table(spec: EncoderSpec) -> None:
    assert equals_table(spec)


# Formats of every kind and shape, also those that reach farther than a short sum.
SMALL = [
    "posit3e0", "posit3e3", "posit4e0", "posit6e2", "posit8e0", "posit8e3", "e2m1", "e1m2", "e3m0",
    "e2m3", "e3m2", "e4m3", "e5m2", "e3m4", "e4m3fnuz", "e4m3ieee", "int4", "int8f6", "uint4",
]  # fmt: skip


@pytest.mark.prove
@pytest.mark.parametrize("fraction_width", [0, 5, 12, 20])
@pytest.mark.parametrize(("rounding", "saturate"), [("rne", True), ("rtz", True), ("rne", False)])
@pytest.mark.parametrize("name", SMALL)
def test_encoder_equals_table_of_short_sums(
    name: str, rounding: str, saturate: bool, fraction_width: int
) -> None:
    if not saturate and ("int" in name or "fnuz" in name):
        pytest.skip("codes that wrap, or one NaN at both ends, have no order")
    assert equals_table(spec_of(name, 12, fraction_width, rounding=rounding, saturate=saturate))


@pytest.mark.parametrize(
    ("name", "exponent"), [("e4m3", -3), ("posit8e0", 2), ("posit4e1", -8), ("int8", 7)]
)
def test_encoder_equals_table_at_a_run_time_exponent(name: str, exponent: int) -> None:
    assert equals_table(spec_of(name, 16, 9, exponent_width=4), exponent)


def random_bits(name: str, width: int, random: int) -> bool:
    """Prove an encoder of short sums with these random bits, at either end of the format."""
    more = {"rounding": "stochastic", "random_width": width}
    return all(equals_table(spec_of(name, 12, at, **more), random=random) for at in (5, 12))


@pytest.mark.sample(2)
@pytest.mark.parametrize("random", [1, 6])
@pytest.mark.parametrize("name", ["e2m1", "e4m3", "posit6e2", "int4"])
def test_encoder_by_random_bits_equals_table(name: str, random: int) -> None:
    assert random_bits(name, 4, random)


@pytest.mark.prove
@pytest.mark.parametrize("name", SMALL)
def test_encoder_by_more_random_bits_equals_table(name: str) -> None:
    assert all(random_bits(name, 4, random) for random in (0, 5, 8, 15))
    assert all(random_bits(name, 11, random) for random in (1, 1023, 2047))


@pytest.mark.prove
@pytest.mark.parametrize("random", [0, 1, 100, 128, 255])
def test_encoder_by_random_bits_equals_table_at_a_run_time_exponent(random: int) -> None:
    more = {"rounding": "stochastic", "exponent_width": 4}
    for name in ("e4m3", "e2m1", "posit4e1", "int8"):
        assert equals_table(spec_of(name, 16, 9, **more), -3, random=random)


def test_encoder_proof_can_fail() -> None:
    stochastic = spec_of("e2m3", 12, 6, rounding="stochastic", random_width=4)
    assert segments(stochastic, random=5) != segments(stochastic, random=10)
    assert not equals_table(spec_of("e2m3", 12, 6), slip=1)
    wrong = replace(spec_of("e2m3", 12, 6), rounding="rtz")
    assert segments(wrong) != segments(spec_of("e2m3", 12, 6))

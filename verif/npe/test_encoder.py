"""Encoders of wide sums at every kind of tie, of several formats at once, and what they refuse."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth import C, Module, Mux, Signal, Value, signed
from amaranth.sim import Simulator

from golden.formats.element import ElementFormat
from golden.formats.minifloat import MinifloatFormat
from golden.npe.encoder import EncoderSpec, encoder
from hw.arith.shifter import normalise
from hw.npe.encoder import Encoder
from hw.npe.rounding.encode import encode, encode_each
from hw.npe.rounding.normalised import Normal, Reach, normal
from hw.npe.rounding.round_minifloat import round_minifloat
from hw.npe.rounding.round_posit import round_posit
from hw.npe.rounding.rounding import Rounding
from verif.golden.formats.reference import element
from verif.npe.benches.encodings import all_turns, any_length
from verif.support.formal import holds


def simulate(
    m: Module, inputs: Sequence[tuple[Signal, np.ndarray]], outputs: Sequence[Value]
) -> np.ndarray:
    """Return the outputs, one row for each set of inputs."""
    found: list[list[int]] = []

    async def bench(ctx: Any) -> None:
        for values in zip(*(values for _, values in inputs), strict=True):
            for (port, _), value in zip(inputs, values, strict=True):
                ctx.set(port, int(value))
            found.append([ctx.get(output) for output in outputs])

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()
    return np.array(found)


def spec_of(name: str, width: int, fraction_width: int, **more: Any) -> EncoderSpec:
    return EncoderSpec(format=name, width=width, fraction_width=fraction_width, **more)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "spec",
    [
        spec_of("posit16e1", 128, 56),
        spec_of("posit16e1", 48, 30, rounding="rtz"),
        spec_of("posit32e2", 160, 80),
        spec_of("fp16", 128, 48, saturate=False),
        spec_of("fp16", 48, 26, rounding="rtz", saturate=False),
        spec_of("bf16", 48, 18),
        spec_of("bf16", 160, 139),
        spec_of("fp32", 48, 18),
        spec_of("fp32", 128, 140),
        spec_of("int16", 128, 56),
        spec_of("int32", 48, 4, saturate=False),
    ],
    ids=lambda spec: f"{spec.format}-{spec.width}",
)
def test_encoder_of_wide_sums(spec: EncoderSpec) -> None:
    rng = np.random.default_rng(1)
    sums = np.concatenate([rng.choice(all_turns(rng, spec), 250), any_length(rng, spec, 100)])
    m = Module()
    number = Signal(signed(spec.width))
    fmt = spec.code_format
    code = encode(
        m,
        number,
        -spec.fraction_width,
        fmt,
        how=Rounding(mode=spec.rounding, saturate=spec.saturate),
    )
    codes = simulate(m, [(number, sums)], [code])[:, 0]
    assert np.array_equal(codes, encoder(spec, sums) % (1 << fmt.width))


@pytest.mark.parametrize(
    ("name", "width", "fraction_width"),
    [("e2m1", 128, 56), ("bf16", 48, 18), ("posit16e1", 48, 30), ("int16", 48, 20)],
)
def test_encoder_of_wide_sums_by_random_bits(name: str, width: int, fraction_width: int) -> None:
    spec = spec_of(name, width, fraction_width, rounding="stochastic", random_width=11)
    rng = np.random.default_rng(3)
    sums = np.concatenate([rng.choice(all_turns(rng, spec), 100), any_length(rng, spec, 60)])
    bits = rng.integers(0, 1 << 11, sums.shape)
    m = Module()
    number, random = Signal(signed(width)), Signal(11)
    how = Rounding(mode="stochastic", random=random)
    code = encode(m, number, -fraction_width, spec.code_format, how=how)
    codes = simulate(m, [(number, sums), (random, bits)], [code])[:, 0]
    expected = encoder(spec, sums, random=bits) % (1 << spec.code_format.width)
    assert np.array_equal(codes, expected)


@pytest.mark.parametrize("run_time", [False, True])
def test_encoder_of_several_formats_shares_a_normaliser(run_time: bool) -> None:
    names = ["posit8e0", "e4m3", "posit4e1", "e2m3", "fp16", "int8", "bf16"]
    rng = np.random.default_rng(2)
    exponents = rng.integers(-8, 7, 250, endpoint=True) if run_time else np.zeros(250, int)
    spec = spec_of("e4m3", 32, 16, exponent_width=4)
    sums = any_length(rng, spec, 250)
    m = Module()
    number, exponent = Signal(signed(32)), Signal(signed(4))
    lsb: int | Value = exponent - 16 if run_time else -16
    codes = encode_each(m, number, lsb, [element(name) for name in names], bounds=(-24, -9))
    found = simulate(m, [(number, sums), (exponent, exponents)], codes)
    for column, name in enumerate(names):
        own = replace(spec, format=name)
        expected = encoder(own, sums, exponents=exponents) % (1 << own.code_format.width)
        assert np.array_equal(found[:, column], expected), name


def signs_and_magnitudes(fmt: ElementFormat, saturate: bool) -> bool:
    """Prove that a magnitude with a sign is rounded as the two's complement of the same value."""

    def claim(m: Module, magnitude: Signal, sign: Signal, infinite: Signal) -> Value:
        shifted, zeros = normalise(m, magnitude)
        number = Normal(
            sign=sign, significand=shifted, sticky=C(0, 1), scale=-zeros, offset=3, low=-12, high=3
        )
        assert isinstance(fmt, MinifloatFormat)
        found = round_minifloat(m, fmt, number, how=Rounding(saturate=saturate), infinite=infinite)
        two = Signal(signed(len(magnitude) + 1))
        m.d.comb += two.eq(Mux(sign, -magnitude, magnitude))
        plain = encode(m, two, 4 - len(magnitude), fmt, how=Rounding(saturate=saturate))
        # -0, which no integer is.
        zero = magnitude == 0
        expected = Mux(zero, Mux(fmt.specials == "fnuz", 0, sign << (fmt.width - 1)), plain)
        beyond = fmt.nan_code if fmt.infinity_code is None else fmt.infinity_code
        most = fmt.max_code if saturate or beyond is None else beyond
        endless = most | sign << (fmt.width - 1)
        return found == Mux(infinite, endless, expected)

    return holds(claim, 12, 1, 1)


@pytest.mark.sample(5)
@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1", "e3m0", "e4m3fnuz", "bf16"])
def test_round_minifloat_of_signs_and_magnitudes(name: str, saturate: bool) -> None:
    assert signs_and_magnitudes(element(name), saturate)


def test_encoder_latency() -> None:
    assert [Encoder(EncoderSpec(), pipeline=p).latency for p in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("error", "message", "fields"),
    [
        (TypeError, "format must be a format such as", {"format": 8}),
        (ValueError, "format must be a format such as", {"format": "posit"}),
        (ValueError, "format must be a format such as", {"format": "mx_e4m3"}),
        (ValueError, "format must be a format such as", {"format": "e4m3nan"}),
        (ValueError, "width must be 2..160 bits, not 161", {"width": 161}),
        (TypeError, "width must be 2..160 bits, not True", {"width": True}),
        (ValueError, "rounding must be one of rne, rtz, stochastic", {"rounding": "up"}),
        (TypeError, "saturate must be true or false", {"saturate": 1}),
        (ValueError, "exponent_width must be 0..9 bits", {"exponent_width": 10}),
    ],
)
def test_encoder_spec_refuses(error: type[Exception], message: str, fields: dict[str, Any]) -> None:
    with pytest.raises(error, match=message):
        EncoderSpec(**fields)


def test_encoder_refuses() -> None:
    with pytest.raises(TypeError, match="spec must be an EncoderSpec, not 8"):
        Encoder(8)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"pipeline must be 0\.\.3"):
        Encoder(EncoderSpec(), pipeline=4)
    number, reach = Signal(8), Reach(keep=4, low=-3, high=3)
    with pytest.raises(ValueError, match="bounds must be those of the exponent, not None"):
        normal(Module(), number, Signal(signed(3)), reach)
    plain = Normal(
        sign=number[0], significand=number, sticky=C(0, 1), scale=number, low=0, high=255
    )
    with pytest.raises(ValueError, match="number must be two's complement"):
        round_posit(Module(), element("posit8e0"), plain)  # type: ignore[arg-type]


def test_encoder_takes_another_name_of_a_format_as_its_own() -> None:
    kind = EncoderSpec.__dataclass_fields__["format"].metadata["parameter"]
    assert kind.parse("format", "e4m3nan") == "e4m3"
    with pytest.raises(ValueError, match="format must be"):
        kind.parse("format", "e4m3x")

"""The golden encoder against exact fractions, ml_dtypes, numpy, SoftPosit and Universal."""

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from golden.npe.encoder import EncoderSpec, encoder
from verif.golden.formats.reference import element, rounded
from verif.npe.benches.encodings import all_turns, any_length


def spec_of(name: str, width: int, fraction_width: int, **more: Any) -> EncoderSpec:
    return EncoderSpec(format=name, width=width, fraction_width=fraction_width, **more)


@pytest.mark.sample(4)
@pytest.mark.parametrize("count", [200, pytest.param(600, marks=pytest.mark.prove)])
@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("rounding", ["rne", "rtz"])
@pytest.mark.parametrize(
    ("name", "width", "fraction_width"),
    [
        ("posit8e0", 40, 12),
        ("posit4e1", 32, 8),
        ("posit8e2", 128, 60),
        ("posit16e1", 128, 56),
        ("e2m1", 32, 2),
        ("e2m3", 32, 6),
        ("e3m2", 160, 30),
        ("e4m3", 48, 18),
        ("e5m2", 80, 34),
        ("fp16", 100, 50),
        ("bf16", 48, 18),
        ("int8", 24, 6),
        ("uint4", 24, 6),
    ],
)
def test_encoder_rounds_fractions(
    name: str, width: int, fraction_width: int, rounding: str, saturate: bool, count: int
) -> None:
    """Two thirds of the sums are where a result turns to the next one."""
    spec = spec_of(name, width, fraction_width, rounding=rounding, saturate=saturate)
    if name.startswith(("int", "uint")) and not saturate:
        pytest.skip("integers that wrap have no order")
    rng = np.random.default_rng(1)
    third = count // 3
    turns = rng.choice(all_turns(rng, spec), 2 * third)
    sums = np.concatenate([turns, any_length(rng, spec, third)])
    expected = [
        rounded(element(name), Fraction(value, 1 << fraction_width), rounding == "rne", saturate)
        for value in sums.tolist()
    ]
    assert encoder(spec, sums).tolist() == expected


def floats(sums: np.ndarray, fraction_width: int) -> np.ndarray:
    """Return sums as doubles, which hold them exactly."""
    assert abs(sums).max() < 1 << 53
    return np.ldexp(sums.astype(np.float64), -fraction_width)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        ("fp32", np.float32, np.uint32),
        ("fp16", np.float16, np.uint16),
        ("bf16", ml_dtypes.bfloat16, np.uint16),
        ("e4m3", ml_dtypes.float8_e4m3fn, np.uint8),
        ("e5m2", ml_dtypes.float8_e5m2, np.uint8),
        ("e3m2", ml_dtypes.float6_e3m2fn, np.uint8),
        ("e2m3", ml_dtypes.float6_e2m3fn, np.uint8),
        ("e2m1", ml_dtypes.float4_e2m1fn, np.uint8),
    ],
)
def test_encoder_rounds_as_ml_dtypes_and_numpy_do(name: str, kind: Any, code: type) -> None:
    # To ml_dtypes' formats, doubles go by way of float32: as many bits as that holds.
    width, fraction_width = (48, 24) if name in ("fp32", "fp16") else (25, 12)
    spec = spec_of(name, width, fraction_width, saturate=False)
    rng = np.random.default_rng(2)
    sums = np.concatenate([all_turns(rng, spec), any_length(rng, spec, 4000)]).astype(np.int64)
    with np.errstate(over="ignore"):
        theirs = floats(sums, fraction_width).astype(kind)
    codes = encoder(spec, sums)
    nan = np.isnan(theirs.astype(np.float64))
    # NaN of either sign is NaN.
    assert np.array_equal(np.isnan(element(name).to_float(codes)), nan)
    assert np.array_equal(codes[~nan], theirs.view(code).astype(np.int64)[~nan])


@pytest.mark.parametrize(("name", "kind"), [("posit8e0", "posit8"), ("posit16e1", "posit16")])
def test_encoder_rounds_as_softposit_does(name: str, kind: str) -> None:
    softposit = pytest.importorskip("softposit")
    spec = spec_of(name, 52, 30)
    rng = np.random.default_rng(3)
    turns = all_turns(rng, spec)
    sums = np.concatenate([turns[:: max(len(turns) // 8000, 1)], any_length(rng, spec, 2000)])
    make = getattr(softposit, kind)
    theirs = [make(value).v.v for value in floats(sums, 30).tolist()]
    assert encoder(spec, sums).tolist() == theirs


@pytest.mark.parametrize("name", ["posit8e0", "posit8e1", "posit16e1", "posit32e2"])
def test_encoder_rounds_as_universal_does(name: str) -> None:
    universal = pytest.importorskip("universal_dtypes")
    spec = spec_of(name, 52, 30)
    rng = np.random.default_rng(4)
    sums = np.concatenate([all_turns(rng, spec), any_length(rng, spec, 4000)])
    width = spec.code_format.width
    kind = getattr(universal, name.removesuffix("e2"))
    with np.errstate(over="ignore"):  # as it calls saturation
        theirs = floats(sums, 30).astype(kind).view(f"u{width // 8}").astype(np.int64)
    assert np.array_equal(encoder(spec, sums), theirs)


def test_encoder_codes_of_what_is_invalid() -> None:
    sums, invalid = np.array([5, -1, 0]), np.array([True, False, True])
    found = {
        name: encoder(spec_of(name, 16, 0), sums, invalid).tolist()
        for name in ("posit8e0", "e4m3", "e2m1", "int8")
    }
    assert found == {
        "posit8e0": [0x80, 0xC0, 0x80],
        "e4m3": [0x7F, 0xB8, 0x7F],
        "e2m1": [0, 0xA, 0],
        "int8": [0, -1, 0],
    }


def test_encoder_exponents_scale() -> None:
    spec = spec_of("e4m3", 16, 4, exponent_width=4)
    sums = np.array([3, -3, 100, 0])
    for exponent in range(-8, 8):
        ours = encoder(spec, sums, exponents=np.full(4, exponent))
        assert np.array_equal(ours, spec.code_format.encode(np.ldexp(sums / 16, exponent)))


def test_encoder_refuses_sums() -> None:
    spec = spec_of("e4m3", 16, 4, exponent_width=3)
    with pytest.raises(ValueError, match=r"sums must be -32768\.\.32767, not 32768"):
        encoder(spec, np.array([32768]))
    with pytest.raises(TypeError, match="sums must be integers, not float64"):
        encoder(spec, np.array([1.0]))
    with pytest.raises(ValueError, match=r"exponents must be -4\.\.3, not 4"):
        encoder(spec, np.array([1]), exponents=np.array([4]))

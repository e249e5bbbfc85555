"""Rounding by random bits: against gfloat, all half-precision numbers; strings; fractions."""

from fractions import Fraction

import gfloat.formats  # type: ignore[import-untyped]
import numpy as np
import pytest
from gfloat import RoundMode, round_ndarray

from golden.formats.names import minifloat, parse
from golden.formats.posit import PositFormat
from golden.formats.random_bits import RandomBits
from golden.npe.encoder import EncoderSpec, encoder
from verif.golden.formats.reference import element

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
THEIRS = {
    "e2m1": gfloat.formats.format_info_ocp_e2m1,
    "e3m2": gfloat.formats.format_info_ocp_e3m2,
    "e4m3": gfloat.formats.format_info_ocp_e4m3,
    "e5m2": gfloat.formats.format_info_ocp_e5m2,
}


@pytest.mark.parametrize("width", [4, 8, 11, 16])
@pytest.mark.parametrize("name", list(THEIRS))
def test_random_rounding_of_all_halves_is_that_of_gfloat(name: str, width: int) -> None:
    fmt = minifloat(name)
    values = HALVES[np.isfinite(HALVES)]
    # Every number in turn, where there are few.
    draws = range(16) if width == 4 else [-1]
    for draw in draws:
        some = np.random.default_rng(width).integers(0, 1 << width, values.size)
        bits = some if draw < 0 else np.full(values.size, draw)
        for saturate in (True, False):
            if not saturate and fmt.nan_code is None:
                continue
            mode = RoundMode.StochasticFastest
            theirs = round_ndarray(THEIRS[name], values, mode, saturate, bits, width)
            codes = fmt.encode(
                values, rounding="stochastic", saturate=saturate, random=RandomBits(bits, width)
            )
            ours = fmt.to_float(codes)
            assert np.array_equal(ours, theirs, equal_nan=True)
            number = ~np.isnan(theirs)
            assert np.array_equal(np.signbit(ours[number]), np.signbit(theirs[number]))


@pytest.mark.parametrize("name", ["posit8e0", "posit6e2", "posit5e1"])
def test_random_rounding_of_posits_is_that_of_their_strings(name: str) -> None:
    fmt = element(name)
    assert isinstance(fmt, PositFormat)
    wide = PositFormat(width=fmt.width + 4, exponent_bits=fmt.exponent_bits)
    strings = np.arange(1, wide.max_code + 1)
    values = wide.to_float(strings)
    for bits in range(16):
        expected = np.clip((strings + bits) >> 4, 1, fmt.max_code)
        random = RandomBits(np.full(strings.size, bits), 4)
        up = fmt.encode(values, rounding="stochastic", random=random)
        down = fmt.encode(-values, rounding="stochastic", random=random)
        assert np.array_equal(up, expected)
        assert np.array_equal(down, (1 << fmt.width) - expected)


@pytest.mark.parametrize("name", ["int4", "int8f6", "uint4"])
def test_random_rounding_of_integers_is_that_of_fractions(name: str) -> None:
    fmt = element(name)
    rng = np.random.default_rng(3)
    for width in (4, 16):
        sums = np.concatenate([np.arange(-300, 300), rng.integers(-(1 << 20), 1 << 20, 300)])
        values = sums / 1024.0
        bits = rng.integers(0, 1 << width, sums.size)
        codes = fmt.encode(values, rounding="stochastic", random=RandomBits(bits, width))
        for total, number, code in zip(sums.tolist(), bits.tolist(), codes.tolist(), strict=True):
            parts = abs(Fraction(total, 1024)) / Fraction(2) ** fmt.lsb * (1 << width)
            magnitude = (parts.__floor__() + number) >> width
            assert code == min(max(-magnitude if total < 0 else magnitude, fmt.low), fmt.high)


def test_random_rounding_is_right_in_the_mean() -> None:
    fmt = minifloat("e2m1")
    values = np.linspace(-6, 6, 193)
    bits = np.arange(256)
    shape = (values.size, bits.size)
    random = RandomBits(np.broadcast_to(bits, shape), 8)
    codes = fmt.encode(
        np.broadcast_to(values[:, None], shape), rounding="stochastic", random=random
    )
    # No fraction of these numbers is dropped; the greatest step is 2.
    assert np.abs(fmt.to_float(codes).mean(axis=1) - values).max() == 0


def test_random_rounding_takes_a_number_for_each_value() -> None:
    spec = EncoderSpec(format="e4m3", width=20, rounding="stochastic", random_width=4)
    rng = np.random.default_rng(4)
    # More than are encoded at a time.
    sums = rng.integers(-(1 << 19), 1 << 19, (3, 5000))
    bits = rng.integers(0, 16, sums.shape)
    codes = encoder(spec, sums, random=bits)
    each = [encoder(spec, s, random=b) for s, b in zip(sums.T, bits.T, strict=True)]
    assert np.array_equal(codes, np.array(each).T)


def test_random_rounding_refuses() -> None:
    values = np.zeros(3)
    fmt = parse("e2m1")
    with pytest.raises(TypeError, match="random must be RandomBits, not None"):
        fmt.encode(values, rounding="stochastic")  # type: ignore[union-attr]
    with pytest.raises(TypeError, match="random must be None with rounding rne, not Random"):
        element("int8").encode(values, random=RandomBits(np.zeros(3, int), 8))
    with pytest.raises(ValueError, match=r"random must be 0\.\.15, not 16"):
        RandomBits(np.array([3, 16]), 4)
    with pytest.raises(TypeError, match="random must be integers, not float64"):
        RandomBits(values, 4)
    with pytest.raises(ValueError, match=r"random_width must be 4\.\.16 bits, not 3"):
        RandomBits(np.array([1]), 3)
    with pytest.raises(ValueError, match=r"random_width must be 4\.\.16 bits, not 17"):
        EncoderSpec(random_width=17)

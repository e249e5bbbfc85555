"""Blocks with scales: against gfloat, ml_dtypes and the rules' own words."""

import math

import gfloat  # type: ignore[import-untyped]
import gfloat.formats  # type: ignore[import-untyped]
import ml_dtypes
import numpy as np
import pytest

from golden.formats.block import BlockFormat, Blocks
from golden.formats.mx import MxFormat
from golden.formats.names import parse
from golden.formats.nvfp4 import NvFormat
from golden.formats.random_bits import RandomBits
from verif.golden.formats.reference import element

GFLOAT = {
    "mx_e4m3": gfloat.formats.format_info_mxfp8_e4m3,
    "mx_e5m2": gfloat.formats.format_info_mxfp8_e5m2,
    "mx_e2m3": gfloat.formats.format_info_mxfp6_e2m3,
    "mx_e3m2": gfloat.formats.format_info_mxfp6_e3m2,
    "mx_e2m1": gfloat.formats.format_info_mxfp4_e2m1,
    "mx_int8f6": gfloat.formats.format_info_mxint8,
}


def blocks(name: str) -> BlockFormat:
    fmt = parse(name)
    assert isinstance(fmt, BlockFormat)
    return fmt


def wild(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    """Draw normal values of very different size from row to row."""
    rng = np.random.default_rng(seed)
    scale = 2.0 ** rng.integers(-140, 130, (shape[0], *[1] * (len(shape) - 1)))
    return rng.normal(size=shape) * scale


@pytest.mark.parametrize("name", GFLOAT)
def test_mx_is_gfloats(name: str) -> None:
    fmt, info = blocks(name), GFLOAT[name]
    values = wild(1, (40, 32))
    values[0] = 0
    values[1, 1:] = 0
    values[2] = 2.0 ** np.arange(-32, 0)
    if name == "mx_int8f6":
        # Its integers reach -2, which here they do not.
        top = np.frexp(np.abs(values).max(axis=1, keepdims=True))[1] - 1
        values = np.maximum(values, -127 / 64 * 2.0**top)
    expected = np.array([
        gfloat.quantize_block(info, row, gfloat.compute_scale_amax) for row in values
    ])
    quantised = fmt.quantise(values)
    assert np.array_equal(fmt.to_float(quantised), expected)
    across = fmt.quantise(values.T, axis=0)
    assert np.array_equal(across.codes, quantised.codes.T)
    assert np.array_equal(across.scales, quantised.scales.T)
    assert np.array_equal(fmt.to_float(across, axis=0), expected.T)


def test_scales_are_those_of_ml_dtypes() -> None:
    codes = np.arange(256)
    theirs = codes.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    fmt = MxFormat(block=1)
    one = np.full(256, fmt.element.encode(np.array([1.0]))[0])
    ours = fmt.to_float(Blocks(codes=one, scales=codes))
    assert np.array_equal(ours, theirs, equal_nan=True)
    assert ours[0] == 2.0**-127
    assert np.isnan(ours[fmt.scale_nan_code])


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1", "e3m0", "int8f6", "posit8e0"])
@pytest.mark.parametrize("rule", ["floor", "ceil", "rceil", "even"])
def test_scale_rules_are_what_they_say(name: str, rule: str) -> None:
    inner = element(name)
    fmt = MxFormat(element=inner, block=4, scale_rule=rule)
    greatest = inner.bounds[1] * 2.0**inner.lsb
    bits = inner.significand_width
    marks = np.array([1, 1.25, 1.5, 1.75, 1.875, 1.9375, 2 - 2.0**-bits, greatest, greatest / 3])
    marks = np.concatenate([marks, np.nextafter(marks, 9e9), np.nextafter(marks, 0)])
    for size in np.concatenate([marks, marks / 1024]).tolist():
        found = int(fmt.quantise(np.array([0.0, -size, size / 2, 0.0])).scales[0]) - 127
        exponent, top = (math.frexp(x)[1] - 1 for x in (size, greatest))
        if rule == "floor":
            assert found == exponent - top
        elif rule == "ceil":
            assert found == exponent - top + (size != 2.0**exponent)
        elif rule == "rceil":
            assert greatest * 2.0**found >= size > greatest * 2.0 ** (found - 1)
        else:
            # To so many bits, ties to even, in double precision's own rounding.
            whole = 2.0 ** (bits - 1 - exponent)
            nearest = float(np.rint(size * whole)) / whole
            if bits == 1 and size * whole == 1.5:
                nearest = 2.0 / whole
            assert found == math.frexp(nearest)[1] - 1 - top


def test_mx_scales_stay_in_range() -> None:
    fmt = MxFormat()
    values = np.array([[0.0] * 32, [1e-45] * 32, [1e300] * 32, [-np.inf] + [1.0] * 31])
    values = np.concatenate([values, np.where(np.arange(32) == 7, np.nan, 1.0)[None]])
    quantised = fmt.quantise(values)
    assert quantised.scales[:, 0].tolist() == [0, 0, 254, 255, 255]
    decoded = fmt.to_float(quantised)
    assert (decoded[0] == 0).all()
    assert (decoded[2] == 448 * 2.0**127).all()
    assert np.isnan(decoded[3:]).all()


def test_last_block_may_be_shorter() -> None:
    for fmt in (MxFormat(), NvFormat()):
        values = wild(2, (3, 75))
        whole = fmt.quantise(np.pad(values, [(0, 0), (0, 21)]))
        part = fmt.quantise(values)
        assert part.scales.shape == (3, -(-75 // fmt.block))
        assert np.array_equal(part.scales, whole.scales[:, : part.scales.shape[1]])
        assert np.array_equal(part.codes, whole.codes[:, :75])
        assert fmt.to_float(fmt.quantise(np.zeros((3, 0)))).shape == (3, 0)


def test_block_floating_point_is_mx_of_integers() -> None:
    """Exponent E = floor(log2 max |x|), mantissas round(x / 2^(E - b + 2)) of b bits."""
    fmt = blocks("mx_int4f2_k64")
    values = np.random.default_rng(3).normal(size=(5, 64))
    quantised = fmt.quantise(values)
    exponent = np.floor(np.log2(np.abs(values).max(axis=1, keepdims=True)))
    mantissas = np.clip(np.rint(values / 2.0 ** (exponent - 2)), -7, 7)
    assert np.array_equal(quantised.codes, mantissas)
    assert np.array_equal(fmt.to_float(quantised), mantissas * 2.0 ** (exponent - 2))


def test_integers_of_blocks_are_symmetric() -> None:
    quantised = blocks("mx_int8f6").quantise(np.array([-1.999, 1.999, 0.5]))
    assert quantised.codes.tolist() == [-127, 127, 32]
    assert quantised.scales.tolist() == [127]


def test_nvfp4_scales() -> None:
    fmt = NvFormat()
    values = np.random.default_rng(4).normal(size=(8, 64)) * 2.0 ** -np.arange(8)[:, None]
    values[5, :16] = 0
    quantised = fmt.quantise(values)
    tensor = np.float32(np.abs(values).max() / 2688)
    assert quantised.tensor_scale == tensor
    split = values.reshape(8, 4, 16)
    wanted = np.clip(np.abs(split).max(axis=-1) / 6 / float(tensor), 2.0**-6, 448)
    scales = wanted.astype(ml_dtypes.float8_e4m3fn)
    assert np.array_equal(quantised.scales, scales.view(np.uint8))
    steps = scales.astype(np.float64)[..., None] * float(tensor)
    elements = (split / steps).astype(ml_dtypes.float4_e2m1fn)
    assert np.array_equal(quantised.codes, elements.view(np.uint8).reshape(8, 64))
    expected = (elements.astype(np.float64) * steps).reshape(8, 64)
    assert np.array_equal(fmt.to_float(quantised), expected)


def test_nvfp4_least_scales() -> None:
    values = np.ones((2, 16))
    values[1] = 1e-9
    for rule, expected in (("normal", 2.0**-6), ("subnormal", 2.0**-9), ("zero", 0.0)):
        fmt = NvFormat(least_scale=rule)
        scales = fmt.scale_format.to_float(fmt.quantise(values).scales)
        assert scales.tolist() == [[448.0], [expected]]
    zeros = NvFormat().quantise(np.zeros((1, 16)))
    assert zeros.tensor_scale == 1
    assert (NvFormat().to_float(zeros) == 0).all()
    values[0, 3] = np.nan
    decoded = NvFormat().to_float(NvFormat().quantise(values))
    assert np.isnan(decoded[0]).all()
    assert not np.isnan(decoded[1]).any()


@pytest.mark.parametrize(
    ("greatest", "tensor", "decoded"),
    [
        (9.14e41, 3.4003e38, 9.14e41),
        # fp32 has no greater scale, and elements saturate.
        (9.2e41, 2.0**128 - 2.0**104, 2688 * (2.0**128 - 2.0**104)),
        (1.7e308, 2.0**128 - 2.0**104, 2688 * (2.0**128 - 2.0**104)),
        # Nor a smaller one: blocks' scales then are less than 448.
        (3.8e-42, 2.0**-149, 3.8e-42),
        (1.8e-42, 2.0**-149, 1.8e-42),
        (6 * 2.0**-155, 2.0**-149, 6 * 2.0**-155),
        (0.2 * 2.0**-155, 2.0**-149, 0.0),
        (5e-324, 2.0**-149, 0.0),
    ],
)
def test_nvfp4_tensor_scales_are_clipped_to_those_of_fp32(
    greatest: float, tensor: float, decoded: float
) -> None:
    values = np.zeros((2, 16))
    values[:, :2] = greatest, -greatest / 2
    found = NvFormat().quantise(values)
    assert found.tensor_scale == pytest.approx(tensor, rel=1e-3)
    assert NvFormat().to_float(found)[:, 0] == pytest.approx(decoded, rel=0.07)
    if greatest < 9.15e41:
        half = pytest.approx(-greatest / 2, rel=0.13, abs=2.0**-155)
        assert NvFormat().to_float(found)[:, 1] == half


def test_blocks_reject() -> None:
    with pytest.raises(TypeError, match="element must be an ElementFormat, not 'e4m3'"):
        MxFormat(element="e4m3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scale_rule must be one of floor, ceil, rceil, even, not"):
        MxFormat(scale_rule="round")
    with pytest.raises(ValueError, match=r"block must be 1\.\.65536, not 0"):
        NvFormat(block=0)
    fmt = MxFormat()
    codes = np.zeros((2, 64), dtype=int)
    with pytest.raises(ValueError, match=r"scales must be of shape \(2, 2\), one for each block"):
        fmt.decode(Blocks(codes=codes, scales=np.zeros((2, 1), dtype=int)))
    with pytest.raises(ValueError, match=r"scales must be 0\.\.255 \(uint8\), not 256"):
        fmt.decode(Blocks(codes=codes, scales=np.full((2, 2), 256)))
    with pytest.raises(ValueError, match=r"scales must be 0\.\.127 \(e4m3 without sign\), not 128"):
        NvFormat().decode(Blocks(codes=codes, scales=np.full((2, 4), 128)))


@pytest.mark.parametrize("name", ["mx_e4m3", "mx_int8f6", "mx_e2m1", "nvfp4"])
@pytest.mark.parametrize("axis", [0, 1])
def test_elements_are_rounded_by_random_bits(name: str, axis: int) -> None:
    """Scales are those of rounding to nearest; the mean of many is the value that is rounded."""
    fmt = parse(name)
    assert isinstance(fmt, BlockFormat)
    rng = np.random.default_rng(7)
    values = rng.normal(size=(40, 40))
    nearest, down = (fmt.quantise(values, axis=axis, rounding=how) for how in ("rne", "rtz"))
    total = np.zeros(values.shape)
    for number in range(256):
        random = RandomBits(np.full(values.shape, number), 8)
        made = fmt.quantise(values, axis=axis, rounding="stochastic", random=random)
        assert np.array_equal(made.scales, nearest.scales)
        assert made.tensor_scale == nearest.tensor_scale
        if number == 0:
            assert np.array_equal(made.codes, down.codes)
        total += fmt.to_float(made, axis=axis)
    _, scales = fmt.parts(nearest, axis=axis)
    places = np.take(scales.to_odd(), np.arange(40) // fmt.block, axis=axis)
    units = places * nearest.tensor_scale
    inside = np.abs(values) <= units * fmt.element.bounds[1] * 2.0**fmt.element.lsb
    error = (total / 256 - values) / (units * 2.0 ** max(fmt.element.exponents))
    error = error[inside]
    assert np.abs(error).max() <= 2.0**-8
    with pytest.raises(TypeError, match="random must be RandomBits, not None"):
        fmt.quantise(values, rounding="stochastic")
    with pytest.raises(TypeError, match="random must be None with rounding rne"):
        fmt.quantise(values, random=RandomBits(np.zeros(values.shape, int), 8))

"""Beats of groups against the scaling of whole matrices."""

from typing import Any

import numpy as np
import pytest

from golden.formats.names import minifloat
from golden.lut.align import aligned_format
from golden.lut.quantise import QuantiseSpec, quantise
from golden.lut.scale import activation_sums, group_sums, scale_groups
from golden.lut.weights import GroupedWeights
from golden.npe.aligner import AlignerSpec, aligner
from golden.npe.group_scale import Groups, GroupScaleSpec, group_scale

FP32 = minifloat("fp32")
SHAPE = (3, 96, 5)  # M, K, N
GROUP = 32


def weights_of(**how: Any) -> GroupedWeights:
    _, depth, columns = SHAPE
    values = np.random.default_rng(1).normal(size=(depth, columns)) + 0.3
    return quantise(QuantiseSpec(group=GROUP, **how), values)


def beats(spec: GroupScaleSpec, **members: np.ndarray) -> np.ndarray:
    """Scale, with arrays groups x M x N, to values M x N."""
    groups = len(members["sums"])
    shape = members["sums"].shape
    flat = {
        name: np.broadcast_to(array, shape).transpose(1, 2, 0).reshape(-1)
        for name, array in members.items()
    }
    last = np.tile(np.arange(groups) == groups - 1, shape[1] * shape[2])
    invalid = np.zeros(last.shape, dtype=bool)
    codes = group_scale(spec, Groups(**flat, invalid=invalid, last=last))
    return FP32.to_float(codes).reshape(shape[1:])


@pytest.mark.parametrize("scale_format", ["fp16", "bf16", "fp32", "e8m0", "int8"])
@pytest.mark.parametrize("zeros", ["integer", "odd"])
def test_sums_of_codes_lose_their_zero_points(scale_format: str, zeros: str) -> None:
    weights = weights_of(scheme="asymmetric", scale_format=scale_format)
    a = np.random.default_rng(2).integers(-128, 128, SHAPE[:2])
    activations = activation_sums(a, GROUP)[:, :, None]
    codes = weights.codes if zeros == "integer" else 2 * weights.codes - 15
    assert weights.zeros is not None
    found = weights.zeros if zeros == "integer" else weights.odd_zeros
    more = {}
    if weights.column_scales is not None:
        more["columns"] = weights.column_scales
    got = beats(
        GroupScaleSpec(scale=scale_format, zeros=zeros, zero_width=6),
        sums=group_sums(a, codes, GROUP),
        zeros=found[:, None],
        activations=activations,
        scales=weights.scales[:, None],
        **more,
    )
    wanted = scale_groups(weights, group_sums(a, weights.integers, GROUP))
    assert np.array_equal(got, wanted)
    assert np.abs(wanted).max() > 1


def test_planes_of_bcq_are_beats_of_their_own() -> None:
    weights = weights_of(scheme="bcq", bits=2)
    a = np.random.default_rng(3).integers(-128, 128, SHAPE[:2])
    ones = activation_sums(a, GROUP)
    planes = np.stack([
        group_sums(a, 2 * (weights.codes >> plane & 1) - 1, GROUP) for plane in range(2)
    ])
    assert weights.offsets is not None
    sums = np.concatenate([planes, np.broadcast_to(ones[None, :, :, None], (1, *planes.shape[1:]))])
    scales = np.concatenate([weights.scales.transpose(2, 0, 1), weights.offsets[None]])
    shape = (-1, *planes.shape[2:])
    got = beats(
        GroupScaleSpec(),
        sums=sums.transpose(1, 0, 2, 3).reshape(shape),
        scales=scales.transpose(1, 0, 2).reshape(-1, 1, SHAPE[2]),
    )
    assert np.array_equal(got, scale_groups(weights, planes, ones))


def test_aligned_activations_keep_their_scales() -> None:
    fmt = minifloat("bf16")
    rng = np.random.default_rng(4)
    values = rng.normal(size=SHAPE[:2]) * 2.0 ** rng.integers(-6, 7, SHAPE[:2])
    spec = AlignerSpec(format="bf16", width=13, block=GROUP)
    blocks = aligner(spec, fmt.encode(values))
    weights = weights_of()
    sums = group_sums(blocks.codes, weights.integers, GROUP)
    powers = (blocks.scales - aligned_format(13, GROUP).scale_bias - 11).T
    got = beats(
        GroupScaleSpec(aligned=True, fraction_width=11),
        sums=sums,
        scales=weights.scales[:, None],
        powers=blocks.scales.T[:, :, None],
    )
    assert np.array_equal(got, scale_groups(weights, sums, exponents=powers))


def test_what_is_no_number() -> None:
    """NaN of scales; infinities, which keep their sign, but are NaN times 0 or added together."""
    ones = np.array([1, 0, 1, -2, 1, 1, 5])
    scales = np.array([0x7E00, 0x7C00, 0xFC00, 0xFC00, 0x7C00, 0xFC00, 0x3C00])
    last = np.array([True, True, True, True, False, True, True])
    invalid = np.arange(7) == 6
    codes = group_scale(
        GroupScaleSpec(), Groups(sums=ones, scales=scales, last=last, invalid=invalid)
    )
    assert codes.tolist() == [
        0x7FC00000,
        0x7FC00000,
        0xFF800000,
        0x7F800000,
        0x7FC00000,
        0x7FC00000,
    ]


def test_odd_rest_is_refused() -> None:
    one = np.ones(1, dtype=np.int64)
    groups = Groups(
        sums=one, scales=one, invalid=one > 1, last=one > 0, zeros=one, activations=2 * one
    )
    with pytest.raises(ValueError, match="sums on the odd grid must be even"):
        group_scale(GroupScaleSpec(zeros="odd"), groups)

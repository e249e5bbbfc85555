"""Quantised weights, zero points, scales of groups: against fractions and fp32 of numpy."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from carrysave.data.digits import load
from golden.formats.names import minifloat
from golden.lut.align import align, aligned_format
from golden.lut.lookup import LookupSpec, lookup_matmul
from golden.lut.quantise import QuantiseSpec, bcq_of, quantise
from golden.lut.scale import activation_sums, group_sums, scale_groups, without_zeros
from golden.lut.ternary import table_matmul
from golden.lut.weights import GroupedWeights, decode_scales, encode_scales

SCHEMES = [
    *[("symmetric", bits) for bits in (2, 3, 4, 8)],
    *[("asymmetric", bits) for bits in (1, 2, 4, 8)],
    *[("odd", bits) for bits in (1, 2, 4, 8)],
    ("ternary", 2),
]
FORMATS = ("fp16", "bf16", "fp32", "e8m0", "int8")
DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}


def layer(seed: int = 1, shape: tuple[int, int] = (70, 9)) -> np.ndarray:
    """Draw weights with a group of zeros and an outlier."""
    values = np.random.default_rng(seed).normal(0, 0.04, shape)
    values[:32, 0] = 0
    values[40, 1] = 1.5
    return values


@pytest.mark.parametrize("bits", range(1, 9))
def test_reinterpretation_is_exact_for_every_code_and_zero_point(bits: int) -> None:
    """Twice q - z is q' - z', both odd; zero points beyond the codes included."""
    codes = np.repeat(np.arange(1 << bits)[:, None], (1 << bits) + 3, axis=1)
    zeros = np.arange(-1, (1 << bits) + 2)[None]
    rows = codes.shape[0]
    weights = GroupedWeights(
        codes=codes, bits=bits, group=rows, scales=np.full(zeros.shape, 0x3C00), zeros=zeros
    )
    odd = 2 * codes - ((1 << bits) - 1)
    assert np.array_equal(weights.odd_zeros, 2 * zeros + 1 - (1 << bits))
    assert np.array_equal(odd - weights.odd_zeros, 2 * (codes - zeros))
    assert np.array_equal(weights.values(), codes - zeros)


def test_symmetric_weights_have_zero_point_one_on_the_odd_grid() -> None:
    for bits in range(2, 9):
        weights = quantise(QuantiseSpec(bits=bits, group=32), layer())
        assert (weights.odd_zeros == 1).all()


@pytest.mark.parametrize("scale_format", FORMATS)
@pytest.mark.parametrize(("scheme", "bits"), SCHEMES)
def test_weights_are_the_nearest_of_their_group(scheme: str, bits: int, scale_format: str) -> None:
    values = layer()
    spec = QuantiseSpec(scheme=scheme, bits=bits, group=32, scale_format=scale_format)
    weights = quantise(spec, values)
    assert weights.scales.shape == (3, 9)
    grid = weights.values()
    assert not grid[:32, 0].any() or scheme == "odd"
    scales = decode_scales(scale_format, weights.scales).to_odd()
    if weights.column_scales is not None:
        scales = scales * minifloat("fp32").to_float(weights.column_scales)
    low, high = {"odd": (1 - (1 << bits), (1 << bits) - 1), "ternary": (-1, 1)}.get(
        scheme, (0, (1 << bits) - 1)
    )
    step = 2 if scheme == "odd" else 1
    for k in range(70):
        for n in range(9):
            scale = scales[k // 32, n]
            zero = 0 if weights.zeros is None else int(weights.zeros[k // 32, n])
            legal = (np.arange(low, high + 1, step) - zero) * scale
            assert grid[k, n] in legal
            if scale:
                error = abs(grid[k, n] - values[k, n])
                assert error <= np.abs(legal - values[k, n]).min() + 1e-12


def test_asymmetric_groups_reach_both_ends() -> None:
    values = layer() + 0.05
    weights = quantise(QuantiseSpec(scheme="asymmetric", group=70, scale_format="fp32"), values)
    assert weights.zeros is not None
    assert len(set(weights.zeros.reshape(-1).tolist())) > 1
    assert (weights.codes.max(axis=0)[2:] == 15).all()
    assert (weights.codes.min(axis=0)[2:] == 0).all()
    # Zero is in the range of every group, so that it has a code.
    for sign, zero in ((1, 0), (-1, 15)):
        far = quantise(QuantiseSpec(scheme="asymmetric"), sign * (1 + np.abs(layer())))
        assert far.zeros is not None
        assert set(far.zeros.reshape(-1).tolist()) == {zero}
        assert np.abs(far.values() / (sign * (1 + np.abs(layer()))) - 1).max() < 0.1


def test_one_scale_per_tensor_or_column() -> None:
    values = layer()
    for scheme in ("symmetric", "ternary", "asymmetric", "odd"):
        spec = QuantiseSpec(scheme=scheme, bits=2, group=0, per_tensor=True)
        whole = quantise(spec, values)
        assert whole.scales.shape == (1, 1)
        assert whole.values().shape == values.shape
    mean = np.float16(np.abs(values).mean())
    ternary = quantise(QuantiseSpec(scheme="ternary", bits=2, group=0, per_tensor=True), values)
    assert ternary.scale_values().to_odd().tolist() == [[float(mean)]]
    assert np.array_equal(ternary.codes - 1, np.clip(np.rint(values / float(mean)), -1, 1))
    column = quantise(QuantiseSpec(group=0, scale_format="int8"), values)
    assert column.scales.shape == (1, 9)
    # The greatest scale of a column is 255 of its units, but of zeros alone.
    assert set(column.scales.reshape(-1).tolist()) <= {0, 255}


def test_scale_zero_makes_every_weight_zero() -> None:
    for scheme, bits in SCHEMES:
        weights = quantise(QuantiseSpec(scheme=scheme, bits=bits, group=8), np.zeros((10, 2)))
        assert not weights.values().any()
        a = np.full((1, 10), -128)
        sums = group_sums(a, weights.integers, 8)
        assert not scale_groups(weights, sums).any()


@pytest.mark.parametrize("name", ["fp16", "bf16", "fp32"])
def test_scales_are_rounded_as_by_ml_dtypes(name: str) -> None:
    wanted = np.abs(np.random.default_rng(3).normal(size=200)) * 2.0 ** -np.arange(200) * 8
    got = encode_scales(name, wanted)
    with np.errstate(under="ignore"):
        expected = wanted.astype(DTYPES[name])
    assert np.array_equal(decode_scales(name, got).to_odd(), expected.astype(np.float64))


def test_scales_of_powers_of_two_are_those_of_ml_dtypes() -> None:
    codes = np.arange(256)
    decoded = codes.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    found = decode_scales("e8m0", codes)
    assert np.array_equal(found.to_odd(), decoded, equal_nan=True)
    assert np.array_equal(encode_scales("e8m0", decoded[:255]), codes[:255])
    # Rounded up, so that no weight is beyond the codes.
    assert encode_scales("e8m0", np.array([1.0, 1.01, 2.0, 0.0, 1e300])).tolist() == [
        127,
        128,
        128,
        0,
        254,
    ]


def test_bcq_planes_are_greedy_and_better_with_more() -> None:
    values = layer()
    errors = []
    for bits in range(1, 5):
        spec = QuantiseSpec(scheme="bcq", bits=bits, group=32, scale_format="fp32")
        weights = quantise(spec, values)
        assert weights.scales.shape == (3, 9, bits)
        errors.append(float(((weights.values() - values) ** 2).sum()))
        part = values[32:64, 3]
        offset = np.float64(np.float32(part.mean()))
        left = part - offset
        total = np.full(32, offset)
        for _ in range(bits):
            scale = np.float64(np.float32(np.abs(left).mean()))
            total += np.where(left >= 0, scale, -scale)
            left = left - np.where(left >= 0, scale, -scale)
        assert np.allclose(weights.values()[32:64, 3], total, rtol=0, atol=1e-15)
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_uniform_weights_are_bcq_exactly(bits: int) -> None:
    weights = quantise(QuantiseSpec(scheme="asymmetric", bits=bits, group=32), layer())
    wide = weights.replaced(
        scale_format="fp32",
        scales=encode_scales("fp32", decode_scales("fp16", weights.scales).to_odd()),
    )
    assert np.array_equal(bcq_of(wide).values(), weights.values())
    tiny = weights.replaced(scales=np.full(weights.scales.shape, 1))
    with pytest.raises(ValueError, match="scales must have planes and offsets of fp16"):
        bcq_of(tiny)


def exact_terms(weights: GroupedWeights, a: np.ndarray) -> list[list[list[Fraction]]]:
    """Products of each group, scaled, without rounding."""
    scales = decode_scales(weights.scale_format, weights.scales).to_odd()
    found: list[list[list[Fraction]]] = []
    for m in range(a.shape[0]):
        found.append([])
        for n in range(weights.codes.shape[1]):
            terms = []
            for number, start in enumerate(range(0, a.shape[1], weights.group)):
                part = slice(start, start + weights.group)
                zero = 0 if weights.zeros is None else int(weights.zeros[number, n])
                total = sum(
                    int(x) * (int(q) - zero)
                    for x, q in zip(a[m, part], weights.codes[part, n], strict=True)
                )
                terms.append(Fraction(float(scales[number, n])) * total)
            found[-1].append(terms)
    return found


@pytest.mark.parametrize("scale_format", ["fp16", "bf16", "fp32", "e8m0"])
@pytest.mark.parametrize("group", [32, 64, 128])
def test_groups_are_scaled_after_their_sums(group: int, scale_format: str) -> None:
    """Lookup of a W4 layer, its groups back to back, against fractions rounded as documented."""
    values = layer(group, (200, 3)) + 0.02
    spec = QuantiseSpec(scheme="asymmetric", group=group, scale_format=scale_format)
    weights = quantise(spec, values)
    a = np.random.default_rng(group).integers(-128, 128, (2, 200))
    lookups = LookupSpec(planes=4, group=3, lookups=2)
    sums = np.stack([
        lookup_matmul(lookups, a[:, x : x + group], weights.codes[x : x + group])
        for x in range(0, 200, group)
    ])
    whole = without_zeros(sums, weights.odd_zeros, activation_sums(a, group))
    assert np.array_equal(whole, group_sums(a, weights.integers, group))
    got = scale_groups(weights, whole)
    for m, row in enumerate(exact_terms(weights, a)):
        for n, terms in enumerate(row):
            total = np.float32(0)
            for term in terms:
                assert Fraction(float(term)) == term  # a double is exact: one rounding to fp32
                total = total + np.float32(float(term))
            assert got[m, n] == total


def test_integer_scales_are_added_up_exactly() -> None:
    values = layer(5, (96, 4))
    weights = quantise(QuantiseSpec(group=32, scale_format="int8"), values)
    assert weights.column_scales is not None
    a = np.random.default_rng(6).integers(-128, 128, (3, 96))
    got = scale_groups(weights, group_sums(a, weights.integers, 32))
    units = weights.column_scales.astype(np.uint32).view(np.float32)
    for m in range(3):
        for n in range(4):
            total = sum(
                int(weights.scales[g, n])
                * int(a[m, 32 * g : 32 * g + 32] @ (weights.codes[32 * g : 32 * g + 32, n] - 8))
                for g in range(3)
            )
            assert got[m, n] == np.float32(float(total) * float(units[n]))


def test_bcq_groups_have_a_scale_for_each_plane() -> None:
    values = layer(7, (64, 3)) + 0.01
    spec = QuantiseSpec(scheme="bcq", bits=2, group=32, scale_format="fp16")
    weights = quantise(spec, values)
    a = np.random.default_rng(8).integers(-128, 128, (2, 64))
    planes = np.stack([
        group_sums(a, 2 * (weights.codes >> plane & 1) - 1, 32) for plane in range(2)
    ])
    got = scale_groups(weights, planes, activation_sums(a, 32))
    scales = weights.scales.astype(np.uint16).view(np.float16).astype(np.float64)
    assert weights.offsets is not None
    offsets = weights.offsets.astype(np.uint16).view(np.float16).astype(np.float64)
    for m in range(2):
        for n in range(3):
            total = np.float32(0)
            for g in range(2):
                for plane in range(2):
                    total = total + np.float32(scales[g, n, plane] * planes[plane, g, m, n])
                total = total + np.float32(offsets[g, n] * a[m, 32 * g : 32 * g + 32].sum())
            assert got[m, n] == total
    assert np.allclose(got, a @ weights.values(), rtol=1e-5)


def test_scales_that_are_no_number_and_rows_that_are_none() -> None:
    weights = quantise(QuantiseSpec(group=32, scale_format="e8m0"), layer())
    broken = weights.scales.copy()
    broken[1, 4] = 255
    a = np.ones((2, 70), dtype=int)
    sums = group_sums(a, weights.integers, 32)
    got = scale_groups(weights.replaced(scales=broken), sums, invalid=np.array([False, True]))
    assert np.isnan(got).tolist() == [[n == 4 for n in range(9)], [True] * 9]


def test_aligned_activations_have_exponents_of_their_own() -> None:
    rng = np.random.default_rng(9)
    fmt = minifloat("bf16")
    values = rng.normal(size=(3, 64)) * 2.0 ** rng.integers(-6, 7, (3, 64))
    blocks = align(fmt, fmt.encode(values), width=13, block=32)
    weights = quantise(QuantiseSpec(group=32), layer(2, (64, 5)))
    powers = (blocks.scales - aligned_format(13, 32).scale_bias - 11).T
    sums = group_sums(blocks.codes, weights.integers, 32)
    got = scale_groups(weights, sums, exponents=powers)
    scales = weights.scale_values().to_odd()
    total = np.zeros((3, 5), dtype=np.float32)
    for g in range(2):
        total = total + (sums[g] * scales[g] * 2.0 ** powers[g][:, None]).astype(np.float32)
    assert np.array_equal(got, total)
    assert np.allclose(got, fmt.to_float(fmt.encode(values)) @ weights.values(), atol=0.05)


def test_a_real_layer_keeps_its_meaning() -> None:
    """The hidden layer of the digits' network: W1.58, W2 and W4 against its 8-bit weights."""
    network, images, _ = load()
    hidden = network.layers[0].weights
    images = images[:200].astype(np.int64)
    reference = images @ hidden.astype(np.int64)
    scale = np.abs(reference).max()
    errors = {}
    for scheme, bits in (("ternary", 2), ("symmetric", 2), ("symmetric", 4), ("symmetric", 8)):
        spec = QuantiseSpec(scheme=scheme, bits=bits, group=32, scale_format="fp16")
        weights = quantise(spec, hidden.astype(np.float64))
        parts = [slice(start, start + 32) for start in range(0, 64, 32)]
        if scheme == "ternary":
            sums = [table_matmul(images[:, x], weights.integers[x], 3) for x in parts]
        else:
            lookups = LookupSpec(planes=bits)
            raw = [lookup_matmul(lookups, images[:, x], weights.codes[x]) for x in parts]
            activations = activation_sums(images, 32)
            sums = list(without_zeros(np.stack(raw), weights.odd_zeros, activations))
        exact = group_sums(images, weights.integers, 32)
        assert np.array_equal(np.stack(sums), exact)
        got = scale_groups(weights, np.stack(sums))
        errors[scheme, bits] = float(np.abs(got - reference).mean() / scale)
    limits = {
        ("symmetric", 8): 0.002,
        ("symmetric", 4): 0.03,
        ("symmetric", 2): 0.15,
        ("ternary", 2): 0.15,
    }
    assert all(errors[key] < limit for key, limit in limits.items()), errors
    assert errors["symmetric", 8] < errors["symmetric", 4] < errors["ternary", 2]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"bits": 9}, "bits must be 1..8 bits, not 9"),
        ({"zeros": None}, "zeros must be given where levels are uniform"),
        ({"scales": np.zeros((2, 3), int)}, r"scales must be of shape \(3, 9\), not \(2, 3\)"),
        ({"scale_format": "int8"}, "column_scales must be given"),
        ({"levels": "odd"}, "zeros must be None where levels are odd"),
        ({"rows": np.zeros(70, int)}, r"rows must be a permutation of 0\.\.69"),
        ({"codes": np.full((70, 9), 16)}, r"codes must be 0..15 \(uint4\), not 16"),
    ],
)
def test_grouped_weights_reject(changes: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        quantise(QuantiseSpec(group=32), layer()).replaced(**changes)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"bits": 1}, "bits must be 2..8 where scheme is symmetric, not 1"),
        ({"scheme": "ternary"}, "bits must be 2 where scheme is ternary, not 4"),
        ({"per_tensor": True}, "group must be 0 with one scale per tensor, not 128"),
        ({"scheme": "nf4"}, "scheme must be one of symmetric"),
    ],
)
def test_quantise_rejects(parameters: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        QuantiseSpec(**parameters)  # type: ignore[arg-type]


def test_quantise_rejects_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="weights must be finite"):
        quantise(QuantiseSpec(), np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="scale_format must be one of fp16, bf16, fp32"):
        quantise(QuantiseSpec(scheme="bcq", scale_format="e8m0"), layer())

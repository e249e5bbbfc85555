"""Weights in memory: every bit where it is said to be, and back again."""

import copy
import functools
from itertools import product

import numpy as np
import pytest

from golden.lut.bits import pack_fields, unpack_fields
from golden.lut.image import ALIGNMENT, Image, pack_image, sealed, unpack_image
from golden.lut.layout import LayoutSpec, pack_codes, unpack_codes
from golden.lut.lookup import constants
from golden.lut.quantise import QuantiseSpec, quantise
from golden.lut.ternary import look_up, table_key
from golden.lut.trits import pack_trits, unpack_trits
from golden.lut.weights import GroupedWeights
from golden.tpe.lut_core import LutCoreSpec

SHAPES = [(64, 8), (70, 9), (5, 3), (33, 17)]


def bit(data: bytes, place: int) -> int:
    return data[place // 8] >> place % 8 & 1


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 11, 16, 32])
@pytest.mark.parametrize("signed", [False, True])
def test_fields_are_side_by_side_from_the_lowest_bit(width: int, signed: bool) -> None:
    rng = np.random.default_rng(width)
    low = -(1 << width - 1) if signed else 0
    numbers = rng.integers(low, low + (1 << width), 21)
    data = pack_fields(numbers, width)
    assert len(data) == -(-21 * width // 8)
    whole = sum((int(x) % (1 << width)) << width * at for at, x in enumerate(numbers))
    assert int.from_bytes(data, "little") == whole
    assert np.array_equal(unpack_fields(data, width, 21, signed=signed), numbers)
    with pytest.raises(ValueError, match="data must be"):
        unpack_fields(data[:-1], width, 21)


def test_trits_of_every_pattern_have_a_byte() -> None:
    patterns = np.array(list(product((-1, 0, 1), repeat=5))).T
    packed = pack_trits(patterns)
    assert packed.shape == (1, 243)
    assert sorted(packed[0]) == sorted(set(packed[0]) & set(range(256)))
    assert np.array_equal(unpack_trits(packed), patterns)
    # Some bytes by hand: pairs without a pair of zeros, the first such pair, the last one, both.
    written = {
        (-1, 1, 0, 0, -1): 0b11_000_101,
        (1, -1, 1, -1, -1): 0b01_110_111,
        (1, 0, 0, 1, 1): 0b10_001_010,
        (-1, 0, 1, 0, 0): 0b10_111_001,
        (-1, 0, 0, 0, 0): 0b10_010_011,
        (0, 0, 0, 0, 0): 0b10_010_000,
    }
    for weights, byte in written.items():
        assert pack_trits(np.array([weights]).T).tolist() == [[byte]]


def test_trits_are_filled_up_with_rows_of_zeros() -> None:
    weights = np.array([[1, 0], [-1, 0], [1, 1]])
    assert np.array_equal(unpack_trits(pack_trits(weights))[:3], weights)
    assert not unpack_trits(pack_trits(weights))[3:].any()


def test_keys_of_eight_bits_without_an_entry_are_zero() -> None:
    groups = np.array([[[1, 10, 100, 1000, 10000]]])
    for sign in (0, 128):
        for index in range(121, 128):
            assert look_up(groups, np.array([[index | sign]]), 5).tolist() == [[0]]
    spec = LayoutSpec(layout="keys", bits=2, fold=5, k=5, n=1, group=5)
    for key in (*range(121, 128), *range(249, 256)):
        assert unpack_codes(spec, bytes([key]), (5, 1)).tolist() == [[1]] * 5


def expected_bits(spec: LayoutSpec, codes: np.ndarray) -> list[int]:
    """Bits of a block in the order that is documented, one at a time."""
    depth = codes.shape[0]
    found = []
    for start in range(0, depth, spec.group):
        part = codes[start : min(start + spec.group, depth)]
        part = np.pad(part, ((0, -len(part) % spec.k), (0, spec.n - part.shape[1])))
        beats = range(0, len(part), spec.k)
        if spec.layout == "beats":
            order = [
                (b + k, n, w)
                for b in beats
                for k in range(spec.k)
                for n in range(spec.n)
                for w in range(spec.bits)
            ]
        elif spec.layout == "planes_inner":
            order = [
                (b + k, n, w)
                for b in beats
                for w in range(spec.bits)
                for n in range(spec.n)
                for k in range(spec.k)
            ]
        else:
            order = [
                (b + k, n, w)
                for w in reversed(range(spec.bits))
                for b in beats
                for n in range(spec.n)
                for k in range(spec.k)
            ]
        for k, n, w in order:
            here = int(part[k, n])
            if spec.fold and k % spec.fold != spec.fold - 1:
                here ^= int(part[k // spec.fold * spec.fold + spec.fold - 1, n])
            found.append(here >> w & 1)
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", ["beats", "planes_inner", "planes_outer"])
@pytest.mark.parametrize(("fold", "k"), [(0, 7), (2, 8), (3, 6), (4, 16), (5, 5)])
def test_codes_stand_where_they_should(
    layout: str, shape: tuple[int, int], fold: int, k: int
) -> None:
    for bits in (1, 3, 8):
        codes = np.random.default_rng(bits).integers(0, 1 << bits, shape)
        spec = LayoutSpec(layout=layout, bits=bits, k=k, n=8, group=32, fold=fold)
        data = pack_codes(spec, codes)
        size = spec.block_bytes(shape[0])
        assert len(data) == size * -(-shape[1] // 8)
        for number in range(0, shape[1], 8):
            block = data[number // 8 * size :][:size]
            wanted = expected_bits(spec, codes[:, number : number + 8])
            assert [bit(block, at) for at in range(len(wanted))] == wanted
            assert not any(bit(block, at) for at in range(len(wanted), 8 * size))
        assert np.array_equal(unpack_codes(spec, data, shape), codes)


def test_beats_are_the_stream_of_the_engine() -> None:
    """What an engine's B takes of a column block is what memory holds, beat by beat."""
    core = LutCoreSpec(
        n=8, b_width=3, b_signed=False, weights="odd", table="half", group=3, lookups=4
    )
    codes = np.random.default_rng(1).integers(0, 8, (40, 8))
    spec = LayoutSpec(layout="beats", bits=3, k=core.k, n=8, group=40, fold=3)
    assert pack_codes(spec, codes) == pack_fields(core.b_patterns(codes), 3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("layout", "fold", "k"), [("trits5", 0, 15), ("keys", 2, 8), ("keys", 5, 15)]
)
def test_ternary_layouts_come_back(layout: str, fold: int, k: int, shape: tuple[int, int]) -> None:
    codes = np.random.default_rng(2).integers(0, 3, shape)
    spec = LayoutSpec(layout=layout, bits=2, k=k, n=8, group=32, fold=fold)
    data = pack_codes(spec, codes)
    assert np.array_equal(unpack_codes(spec, data, shape), codes)
    rows = [
        np.pad(codes[x : x + 32] - 1, ((0, -len(codes[x : x + 32]) % k), (0, 0)))
        for x in range(0, shape[0], 32)
    ]
    first = np.concatenate(rows)[:, :8]
    first = np.pad(first, ((0, 0), (0, 8 - first.shape[1])))
    if layout == "keys":
        width = {2: 4, 5: 8}[fold]
        found = unpack_fields(data, width, first.size // fold)
        assert np.array_equal(found.reshape(-1, 8), table_key(first, fold))
    else:
        found = unpack_fields(data, 8, first.size // 5)
        assert np.array_equal(unpack_trits(found.reshape(-1, 8)), first)


def image_of(
    scheme: str, bits: int, scale_format: str, **layout: object
) -> tuple[GroupedWeights, Image]:
    values = np.random.default_rng(bits).normal(size=(70, 19)) + 0.2
    spec = QuantiseSpec(scheme=scheme, bits=bits, group=32, scale_format=scale_format)
    weights = quantise(spec, values)
    chosen: dict[str, object] = {"bits": bits, "n": 8, "group": 32, "k": 12, "fold": 4, **layout}
    return weights, pack_image(weights, LayoutSpec(**chosen))  # type: ignore[arg-type]


def same(a: GroupedWeights, b: GroupedWeights) -> bool:
    """Compare all members, bit by bit."""
    for name in ("codes", "scales", "zeros", "offsets", "column_scales", "rows"):
        x, y = getattr(a, name), getattr(b, name)
        if (x is None) != (y is None) or (x is not None and not np.array_equal(x, y)):
            return False
    keys = ("bits", "levels", "group", "scale_format")
    return all(getattr(a, key) == getattr(b, key) for key in keys)


@pytest.mark.parametrize("scale_format", ["fp16", "bf16", "fp32", "e8m0", "int8"])
@pytest.mark.parametrize(
    ("scheme", "bits"),
    [
        ("symmetric", 4),
        ("asymmetric", 8),
        ("asymmetric", 1),
        ("odd", 3),
        ("ternary", 2),
        ("bcq", 3),
    ],
)
def test_images_come_back(scheme: str, bits: int, scale_format: str) -> None:
    if scheme == "bcq" and scale_format in ("e8m0", "int8"):
        with pytest.raises(ValueError, match="scale_format must be one of fp16, bf16, fp32"):
            image_of(scheme, bits, scale_format)
        return
    for layout in ("beats", "planes_inner", "planes_outer"):
        weights, image = image_of(scheme, bits, scale_format, layout=layout)
        assert same(unpack_image(image), weights)


def test_images_of_one_scale_and_of_permuted_rows_come_back() -> None:
    values = np.random.default_rng(1).normal(size=(20, 5))
    for scheme in ("ternary", "asymmetric", "bcq"):
        spec = QuantiseSpec(scheme=scheme, bits=2, group=0, per_tensor=True)
        weights = quantise(spec, values)
        weights = weights.replaced(rows=np.random.default_rng(2).permutation(20))
        layout = LayoutSpec(bits=2, k=4, n=4, group=20, fold=2)
        assert same(unpack_image(pack_image(weights, layout)), weights)
        original = weights.original(weights.codes)
        assert np.array_equal(original[weights.rows], weights.codes)


def test_sections_are_where_the_manifest_says() -> None:
    weights, image = image_of("asymmetric", 3, "fp16", fold=3, k=6)
    sections = image.manifest["sections"]
    assert list(sections) == ["codes", "scales", "zeros", "constants"]
    for section in sections.values():
        assert section["offset"] % ALIGNMENT == 0
    assert image.manifest["bytes"] == len(image.data)
    assert image.manifest["group_beats"] == [6, 6, 1]

    def numbers(name: str, dtype: str) -> np.ndarray:
        at = sections[name]["offset"]
        found = np.frombuffer(image.data[at : at + sections[name]["bytes"]], dtype=dtype)
        # Blocks of 8 columns, in each the groups.
        blocks = found.reshape(3, 3, 8)
        assert not blocks[2, :, 3:].any()
        return blocks.transpose(1, 0, 2).reshape(3, 24)[:, :19]

    assert np.array_equal(numbers("scales", "<u2"), weights.scales)
    assert np.array_equal(numbers("zeros", "i1"), weights.odd_zeros)
    expected = [constants(weights.codes[x : x + 32], 3) for x in range(0, 70, 32)]
    assert np.array_equal(numbers("constants", "<i2"), np.stack(expected))


def test_images_that_are_not_their_manifests_are_refused() -> None:
    weights, image = image_of("symmetric", 4, "fp16")
    other = bytearray(image.data)
    other[0] ^= 1
    with pytest.raises(ValueError, match="image must be the one of the manifest"):
        unpack_image(Image(data=bytes(other), manifest=image.manifest))
    for version, says in ((1, ", which has no digest of its fields: pack again"), (3, "$")):
        with pytest.raises(ValueError, match=f"version must be 2, not {version}{says}"):
            unpack_image(Image(data=image.data, manifest={**image.manifest, "version": version}))
    edits: dict[str, object] = {
        "k": 69, "n": 18, "levels": "odd", "scale_format": "fp32", "one_scale": True, "groups": 2,
        "block_bytes": 1, "group_beats": [3], "bytes": 7, "sections": {"codes": {}},
        **{f"layout.{key}": value for key, value in (
            ("bits", 3), ("k", 8), ("n", 9), ("group", 31), ("fold", 2), ("layout", "beats"))},
        **{f"sections.scales.{key}": value for key, value in (
            ("offset", 0), ("bytes", 1), ("field_bits", 8), ("signed", True), ("sha256", ""))},
        **{f"sections.{key}": None for key in ("codes", "scales", "zeros", "constants")},
        "sections.codes.offset": 1,
    }  # fmt: skip
    for path, value in edits.items():
        manifest = copy.deepcopy(image.manifest)
        *places, last = path.split(".")
        functools.reduce(dict.__getitem__, places, manifest)[last] = value
        with pytest.raises(ValueError, match="fields must be those that were packed"):
            unpack_image(Image(data=image.data, manifest=manifest))
        # Anybody can make a digest: what is wrong is found without it, too.
        with pytest.raises(ValueError, match=" must "):
            unpack_image(Image(data=image.data, manifest=sealed(manifest)))
    for name in image.manifest.keys() - {"fields_sha256"}:
        for value in (None, "", [], {}, -1, 1.5, 1e400, float("nan"), True, 1 << 80, [None]):
            if image.manifest[name] != value:
                edited = sealed({**image.manifest, name: value})
                with pytest.raises(ValueError, match=" must "):
                    unpack_image(Image(data=image.data, manifest=edited))
    with pytest.raises(ValueError, match="group and bits of the layout must be 32 and 4"):
        pack_image(weights, LayoutSpec(bits=4, group=64))
    with pytest.raises(ValueError, match="layout must be one of beats, planes_inner"):
        image_of("symmetric", 2, "fp16", layout="trits5", fold=0, k=15)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"layout": "rows"}, "layout must be one of beats, planes_inner"),
        ({"layout": "trits5"}, "bits must be 2 where layout is trits5, not 4"),
        ({"layout": "trits5", "bits": 2, "fold": 4}, "fold must be 0 where layout is trits5"),
        ({"layout": "trits5", "bits": 2}, "k must be a multiple of 5 where layout is trits5"),
        ({"layout": "keys", "bits": 2}, r"fold must be 2\.\.5 where layout is keys, not 0"),
        ({"fold": 3}, "k must be a multiple of fold, 3, not 16"),
        ({"fold": 1}, r"fold must be 0 or 2\.\.5"),
    ],
)
def test_layout_rejects(parameters: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        LayoutSpec(**parameters)  # type: ignore[arg-type]

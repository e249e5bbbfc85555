"""Masks and kept codes against what they say, spelled out, and groups that are pruned."""

from itertools import combinations

import numpy as np
import pytest

from golden.formats.sparse import SPARSITY, SparseFormat
from golden.pe.sparse_mac import SparseMacSpec
from golden.tpe.adder_tree import AdderTreeSpec, adder_tree
from golden.tpe.cube import CubeSpec
from golden.tpe.matrix_2d import Matrix2dSpec

KINDS = SPARSITY.options[1:]


def every(kind: str) -> tuple[SparseFormat, np.ndarray]:
    """Return a format and all its masks."""
    sparse = SparseFormat.parse(kind)
    assert sparse.name == kind
    return sparse, np.arange(1 << sparse.group)


@pytest.mark.parametrize(
    ("kind", "mask", "places"),
    [
        ("2:4", 0b0101, [0, 2]),
        ("2:4", 0b1100, [2, 3]),
        ("2:4", 0b1111, [0, 1]),
        ("2:4", 0b1110, [1, 2]),
        ("2:4", 0b0010, [1, 3]),
        ("2:4", 0b1000, [2, 3]),
        ("2:4", 0b0000, [2, 3]),
        ("1:4", 0b0110, [1]),
        ("1:4", 0b0000, [3]),
        ("4:8", 0b10110010, [1, 4, 5, 7]),
        ("4:8", 0b00000001, [0, 5, 6, 7]),
    ],
)
def test_places_of_masks(kind: str, mask: int, places: list[int]) -> None:
    assert SparseFormat.parse(kind).places(np.array(mask)).tolist() == places


@pytest.mark.parametrize("kind", KINDS)
def test_every_mask_has_a_place_for_each_code(kind: str) -> None:
    sparse, masks = every(kind)
    places = sparse.places(masks)
    assert places.shape == (len(masks), sparse.count)
    assert (np.diff(places, axis=1) > 0).all()
    far = places - np.arange(sparse.count)
    assert far.min() == 0
    assert far.max() == sparse.reach


@pytest.mark.parametrize("kind", KINDS)
def test_masks_of_as_many_bits_as_codes_say_where_they_are(kind: str) -> None:
    """By the definition of popcounts that hardware of others has: code of rank j at its bit."""
    sparse, _ = every(kind)
    for ones in combinations(range(sparse.group), sparse.count):
        mask = sum(1 << place for place in ones)
        codes = 10 + np.arange(sparse.count)
        dense = sparse.expand(np.array([[mask]]), codes[:, None])[:, 0].tolist()
        for place in range(sparse.group):
            rank = (mask & (1 << place) - 1).bit_count()
            assert dense[place] == (10 + rank if mask >> place & 1 else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_pack_and_expand_are_inverse_where_zeros_are_enough(kind: str) -> None:
    sparse, masks = every(kind)
    rng = np.random.default_rng(1)
    few = masks[[int(mask).bit_count() <= sparse.count for mask in masks]]
    bits = (few[:, None] >> np.arange(sparse.group) & 1).reshape(-1, 1)
    dense = bits * rng.choice([-128, -1, 3, 127], (len(bits), 5))
    found, codes = sparse.pack(dense)
    assert (found == few[:, None]).all()
    assert len(codes) == len(few) * sparse.count
    assert np.array_equal(sparse.expand(found, codes), dense)
    assert np.array_equal(sparse.read(dense[:-1]), dense[:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_too_many_codes_leave_the_first(kind: str) -> None:
    sparse, _ = every(kind)
    rng = np.random.default_rng(2)
    dense: np.ndarray = rng.integers(-2, 3, (sparse.group * 50 + 3, 4))
    read = sparse.read(dense)
    for at in range(0, len(dense), sparse.group):
        for column in range(4):
            group, left = dense[at : at + sparse.group, column], sparse.count
            for place, code in enumerate(group):
                due = code if code and left else 0
                left -= bool(due)
                assert read[at + place, column] == due


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_prune_leaves_the_greatest(kind: str, dtype: type) -> None:
    sparse, _ = every(kind)
    rng = np.random.default_rng(3)
    dense: np.ndarray = rng.integers(-128, 128, (sparse.group * 20 + 1, 3)).astype(dtype)
    dense[0, 0] = -128
    pruned = sparse.prune(dense)
    assert pruned.dtype == dense.dtype
    assert pruned[0, 0] == -128
    for at in range(0, len(dense), sparse.group):
        group = slice(at, at + sparse.group)
        for old, new in zip(dense[group].T.astype(float), pruned[group].T, strict=True):
            stays = new != 0
            assert stays.sum() <= sparse.count
            assert (new[stays] == old[stays]).all()
            if stays.sum() == sparse.count < len(old):
                assert abs(old[stays]).min() >= abs(old[~stays]).max()
    assert np.array_equal(sparse.read(pruned), pruned)


def test_prune_of_equals_leaves_the_first() -> None:
    ones = np.ones((4, 1), int)
    assert SparseFormat.parse("2:4").prune(ones)[:, 0].tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_say_what_numbers_are_multiplied(kind: str) -> None:
    """Patterns taken apart by hand, with masks that have too many bits among them."""
    spec = AdderTreeSpec(k=16, b_width=5, k_max=64, sparsity=kind)
    sparse = SparseFormat.parse(kind)
    rng = np.random.default_rng(4)
    dense = rng.integers(-16, 16, (48, 6)) * (rng.random((48, 6)) < 0.6)
    patterns = spec.b_patterns(dense)
    assert patterns.shape == (48 * sparse.count // sparse.group, 6)
    assert patterns.max() < 1 << spec.b_code_width
    shares = (patterns >> 5).reshape(-1, sparse.count, 6)
    places = sparse.share * np.arange(sparse.count)[:, None]
    masks = (shares << places).sum(axis=1)
    numbers = sparse.expand(masks, spec.b_format.wrap(patterns))
    assert np.array_equal(numbers, spec.b_numbers(dense))
    a = rng.integers(-128, 128, (3, 48))
    assert np.array_equal(adder_tree(spec, a, dense), a @ numbers)


def test_sums_are_as_narrow_as_kept_products_allow() -> None:
    assert AdderTreeSpec().accumulator_width - AdderTreeSpec(sparsity="2:4").accumulator_width == 1
    assert CubeSpec().accumulator_width - CubeSpec(sparsity="1:4").accumulator_width == 2
    spec = AdderTreeSpec(sparsity="4:8", k=8, k_max=24)
    full = np.full((24, 1), -128)
    assert adder_tree(spec, full.T, full)[0, 0] == 12 << 14
    assert spec.c_format.high >= 12 << 14


def test_elements_choose_from_all_codes_of_a() -> None:
    element = CubeSpec(k=8, sparsity="1:4").element
    assert isinstance(element, SparseMacSpec)
    assert (element.k, element.a_codes) == (2, 8)
    assert (Matrix2dSpec().k, Matrix2dSpec(sparsity="4:8").k) == (1, 8)
    assert type(CubeSpec().element) is not SparseMacSpec


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"k": 6}, "k must be a multiple of 4 where sparsity is 2:4, not 6"),
        ({"k_max": 30}, "k_max must be a multiple of 4 where sparsity is 2:4, not 30"),
        ({"sparsity": "3:4"}, "sparsity must be one of none, 1:4, 2:4, 4:8, not '3:4'"),
    ],
)
def test_groups_are_whole(parameters: dict, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        AdderTreeSpec(**{"sparsity": "2:4", "k": 8, **parameters})

"""Bit-serial, shift-add and ternary products, and tables over weights: against plain products."""

from itertools import product

import numpy as np
import pytest

from golden.formats.integer import IntFormat
from golden.formats.names import minifloat
from golden.lut.over_weights import OverWeightsSpec, over_weights, weight_table
from golden.lut.table import TableSpec
from golden.lut.ternary import (
    direct,
    direct_constants,
    entry_count,
    key_width,
    look_up,
    pair_key,
    pair_matmul,
    read_code,
    table_key,
    table_matmul,
    ternary_table,
    two_plane_matmul,
    two_planes,
)
from golden.soc.mode import inside
from golden.tpe import bitserial_core, shift_add_core, ternary_core
from golden.tpe.bitserial_core import BitserialCoreSpec
from golden.tpe.shift_add_core import ShiftAddCoreSpec
from golden.tpe.ternary_core import TernaryCoreSpec
from verif.golden.lut.serial import serial_matmul
from verif.golden.lut.shift_add import FloatShiftAddSpec, float_shift_add, shift_add


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", range(1, 9))
def test_serial_and_shift_add_equal_the_product(width: int, signed: bool) -> None:
    fmt = IntFormat(width=width, signed=signed)
    rng = np.random.default_rng(width)
    a = rng.integers(-128, 128, (3, 37))
    a[0] = -128
    codes = rng.integers(fmt.low, fmt.high + 1, (37, 6))
    codes[:, 0], codes[:, 1] = fmt.low, fmt.high
    exact = a @ codes
    for k, form in product((1, 4, 16), ("and", "xor")):
        assert np.array_equal(serial_matmul(a, codes, fmt, k=k, form=form), exact)
    assert np.array_equal(shift_add(a, codes, fmt), exact)
    serial = BitserialCoreSpec(b_width=width, b_signed=signed)
    assert np.array_equal(bitserial_core.bitserial_core(serial, a, codes), exact)
    parallel = ShiftAddCoreSpec(b_width=width, b_signed=signed)
    assert np.array_equal(shift_add_core.shift_add_core(parallel, a, codes), exact)


def test_shift_add_of_every_pair_of_eight_and_four_bits() -> None:
    a = np.arange(-128, 128)[:, None]
    for signed in (True, False):
        fmt = IntFormat(width=4, signed=signed)
        codes = np.arange(fmt.low, fmt.high + 1)[None]
        assert np.array_equal(shift_add(a, codes, fmt), a * codes)


@pytest.mark.parametrize(("name", "dtype"), [("fp16", np.float16), ("bf16", None)])
def test_float_shift_add_rounds_sums_alone(name: str, dtype: type | None) -> None:
    fmt = minifloat(name)
    rng = np.random.default_rng(3)
    values = rng.normal(size=(4, 25)) * 2.0 ** rng.integers(-12, 8, (4, 25))
    a = fmt.encode(values)
    if dtype is not None:
        assert np.array_equal(a, values.astype(dtype).view(np.uint16))
    weights = rng.integers(-8, 8, (25, 5))
    codes = float_shift_add(FloatShiftAddSpec(a_format=name), a, weights)
    total = np.zeros((4, 5), dtype=np.float32)
    for k in range(25):
        # Products of 11 by 4 bits are exact in fp32.
        total += fmt.to_float(a)[:, k, None].astype(np.float32) * weights[k].astype(np.float32)
    assert np.array_equal(codes, total.view(np.uint32))


def test_float_shift_add_of_weight_zero_is_gated() -> None:
    a = np.array([[0x7E00, 0x7C00, 0x8000]])  # NaN, infinity, -0
    zeros = np.zeros((3, 1), dtype=int)
    assert float_shift_add(FloatShiftAddSpec(), a, zeros).tolist() == [[0]]
    weights = np.array([[0, 1], [-1, 0], [1, 1]])
    found = float_shift_add(FloatShiftAddSpec(), a, weights)
    assert found.tolist() == [[0xFF800000, 0x7FC00000]]


@pytest.mark.parametrize("group", range(2, 8))
def test_ternary_keys_of_every_pattern(group: int) -> None:
    patterns = np.array(list(product((-1, 0, 1), repeat=group))).T
    row = np.array([[3, -50, 127, -128, 77, -1, 64]])[:, :group]
    assert np.array_equal(table_matmul(row, patterns, group), row @ patterns)
    key = table_key(patterns, group)
    assert np.unique(key).size == 3**group
    assert key.max() < 1 << key_width(group)
    assert ternary_table(row).shape == (1, entry_count(group))
    # A key without an entry reads 0, with either sign.
    unused = np.arange(entry_count(group), 1 << key_width(group) - 1)
    both = np.concatenate([unused, unused | 1 << key_width(group) - 1])
    assert not look_up(row[:, None], both[None], group).any()


def test_ternary_tables_have_the_published_sizes() -> None:
    assert [entry_count(mu) for mu in range(2, 8)] == [4, 13, 40, 121, 364, 1093]
    assert [key_width(mu) for mu in range(2, 8)] == [4, 5, 7, 8, 10, 12]


def test_ternary_forms_equal_the_product() -> None:
    rng = np.random.default_rng(5)
    for depth in (1, 2, 7, 64, 65):
        a = rng.integers(-128, 128, (3, depth))
        a[0] = -128
        weights = rng.integers(-1, 2, (depth, 6))
        weights[:, 0], weights[:, 1], weights[:, 2] = 1, -1, 0
        exact = a @ weights
        assert np.array_equal(direct(a, weights) + direct_constants(weights), exact)
        assert np.array_equal(pair_matmul(a, weights), exact)
        for group in (2, 3, 4, 5):
            assert np.array_equal(table_matmul(a, weights, group), exact)
            assert np.array_equal(two_plane_matmul(TableSpec(group=group), a, weights), exact)
        core = TernaryCoreSpec(k_max=max(depth, 1))
        assert np.array_equal(ternary_core.ternary_core(core, a, weights), exact)
        core.c_format.check("c", exact)


def test_two_planes_have_the_published_codes() -> None:
    high, low = two_planes(np.array([1, 0, -1]))
    assert (high.tolist(), low.tolist()) == ([1, 0, 0], [1, 1, 0])


def test_pair_keys_are_gate_sign_and_index() -> None:
    entries = {0: (1, 0), 1: (-1, 1), 2: (0, 1), 3: (1, 1)}
    for x, y in product((-1, 0, 1), repeat=2):
        key = int(pair_key(np.array([[x], [y]]))[0, 0])
        sign = -1 if key & 4 else 1
        expected = tuple(sign * w for w in entries[key & 3]) if key & 8 else (0, 0)
        assert (x, y) == expected


def test_ternary_codes_are_twos_complement_and_negative_nothing_is_zero() -> None:
    assert read_code(np.array([0b00, 0b01, 0b10, 0b11])).tolist() == [0, 1, 0, -1]
    spec = TernaryCoreSpec()
    a = np.arange(8).reshape(2, 4)
    b = np.array([[-2], [1], [0], [-1]])
    found = ternary_core.ternary_core(spec, a, b)
    assert found.tolist() == [[1 - 3], [5 - 7]]


@pytest.mark.parametrize(("mode", "group"), [("pair", 2), ("table", 3), ("table", 5), ("table", 7)])
def test_ternary_core_takes_keys_in_the_place_of_codes(mode: str, group: int) -> None:
    spec = TernaryCoreSpec(mode=mode, group=group, k=4 * group, keys=True)
    rng = np.random.default_rng(group)
    b = rng.integers(-1, 2, (4 * group + 1, 6))
    patterns = spec.b_patterns(b)
    assert patterns.shape == (8 * group, 6)
    padded = np.pad(b, ((0, 4 * group - 1), (0, 0)))
    for place in range(8):
        key = sum(patterns[place * group + j] << 2 * j for j in range(group))
        part = padded[place * group : (place + 1) * group]
        wanted = pair_key(part) if mode == "pair" else table_key(part, group)
        assert np.array_equal(key, wanted[0])
    assert np.array_equal(TernaryCoreSpec().b_patterns(b)[: len(b)], b & 3)


def test_cores_count_their_cycles() -> None:
    tile = (np.zeros((2, 40), int), np.zeros((40, 64), int))
    for module, spec, planes in (
        (bitserial_core, BitserialCoreSpec(b_width=4), 4),
        (ternary_core, TernaryCoreSpec(mode="two_plane"), 2),
        (ternary_core, TernaryCoreSpec(), 1),
        (shift_add_core, ShiftAddCoreSpec(), 1),
    ):
        both = module.cycles(spec, [tile, tile], 5)
        one = module.cycles(spec, [tile], 5)
        assert both - one == 3 * planes


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"group": 3}, "group must be 2 where mode is direct, not 3"),
        ({"mode": "table", "group": 3}, "k must be a multiple of group, 3, not 16"),
        ({"keys": True}, "keys must be false where mode is direct, not True"),
        ({"b_signed": False}, "b_signed must be true, not False"),
        ({"b_width": 3}, r"b_width must be 2\.\.2 bits, not 3"),
    ],
)
def test_ternary_core_rejects(parameters: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        TernaryCoreSpec(**parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("a_signed", [True, False])
@pytest.mark.parametrize("reuse", [0, 1, 4, 16])
def test_tables_over_weights_equal_the_product(a_signed: bool, reuse: int) -> None:
    for a_width, b_width in ((4, 4), (8, 2), (1, 8), (8, 8)):
        spec = OverWeightsSpec(a_width=a_width, b_width=b_width, a_signed=a_signed, reuse=reuse)
        rng = np.random.default_rng(a_width)
        fmt = spec.a_format
        a = rng.integers(fmt.low, fmt.high + 1, (5, 22))
        a[0] = fmt.low
        weights = rng.integers(spec.b_format.low, spec.b_format.high + 1, (22, 7))
        weights[:, 0], weights[:, 1] = spec.b_format.low, spec.b_format.high
        sums, reads = over_weights(spec, a, weights)
        assert np.array_equal(sums, a @ weights)
        assert reads == simulated_reads(a, spec)


def simulated_reads(a: np.ndarray, spec: OverWeightsSpec) -> int:
    """Count the reads of a direct-mapped cache, a key at a time."""
    reads = 0
    for start in range(0, a.shape[1], spec.group):
        cache: dict[int, int] = {}
        for row in a.tolist():
            for plane in range(spec.a_width):
                part = row[start : start + spec.group]
                key = sum((value >> plane & 1) << place for place, value in enumerate(part))
                if not spec.reuse or cache.get(key % spec.reuse) != key:
                    reads += 1
                    if spec.reuse:
                        cache[key % spec.reuse] = key
    return reads


def test_tables_over_weights_hold_subset_sums() -> None:
    spec = OverWeightsSpec(group=3, b_width=8)
    assert weight_table(spec, np.array([[1], [10], [100]]))[0, :, 0].tolist() == [
        0,
        1,
        10,
        11,
        100,
        101,
        110,
        111,
    ]
    worst = weight_table(spec, np.full((3, 1), -128))
    assert worst.min() == -384
    assert spec.entry_format.width == 10


def test_reuse_saves_reads_of_activations_that_repeat() -> None:
    spec = OverWeightsSpec(a_width=4, reuse=16)
    a = np.tile(np.array([[1, 2, 3, 4]]), (8, 1))
    _, reads = over_weights(spec, a, np.ones((4, 1), dtype=int))
    _, all_reads = over_weights(OverWeightsSpec(a_width=4), a, np.ones((4, 1), dtype=int))
    assert (reads, all_reads) == (4, 32)
    with pytest.raises(ValueError, match="reuse must be 0 or a power of two up to 16, not 3"):
        OverWeightsSpec(reuse=3)


def test_ternary_core_reads_codes_of_memory_as_weights() -> None:
    """As the co-processor has them: 2 bits, of which -2 counts as 0; keys it cannot have."""
    spec = TernaryCoreSpec(m=1, n=4)
    a, b = np.array([[5, -7]]), np.array([[-2, -1, 0, 1], [1, -2, -1, 1]])
    assert inside(spec).multiply(a, b, (0, 0))[0].tolist() == [[-7, -5, 7, -2]]
    assert inside(spec).sums(a & 255, b & 3, 2, (0, 0))[0].tolist() == [[-7, -5, 7, -2]]
    with pytest.raises(ValueError, match="engine must take codes as they are, not as keys"):
        inside(TernaryCoreSpec(mode="pair", keys=True))

"""GPTQ and AWQ tensors: words written out field by field as these tools define them."""

import numpy as np
import pytest

from golden.lut.checkpoint import from_awq, from_gptq, to_awq, to_gptq
from golden.lut.weights import GroupedWeights

# Where a code of 3 bits starts in 32 of them: words of which two codes cross the ends.
STARTS = (range(0, 31, 3), range(1, 32, 3), range(2, 30, 3))
THREE = [(word, shift) for word, shifts in enumerate(STARTS) for shift in shifts]


def signed(words: np.ndarray) -> np.ndarray:
    return words.astype(np.uint32).view(np.int32)


def gptq_words(codes: np.ndarray, bits: int) -> np.ndarray:
    """Pack rows of K codes of each column, as the published loops do."""
    depth, columns = codes.shape
    words = np.zeros((depth * bits // 32, columns), dtype=np.uint64)
    for k in range(depth):
        if bits == 3:
            word, shift = THREE[k % 32]
            word += k // 32 * 3
        else:
            word, shift = divmod(k * bits, 32)
        wide = codes[k].astype(np.uint64) << np.uint64(shift)
        words[word] |= wide & np.uint64(0xFFFFFFFF)
        if shift + bits > 32:
            words[word + 1] |= wide >> np.uint64(32)
    return signed(words)


def gptq_layer(bits: int, v2: bool, seed: int = 1) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Make a layer of 96 x 64, groups of 32, and its weights."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 1 << bits, (96, 64))
    zeros = rng.integers(0, 1 << bits, (3, 64)) + (not v2)
    scales = rng.random((3, 64)).astype(np.float16)
    tensors = {
        "qweight": gptq_words(codes, bits),
        "qzeros": gptq_words((zeros - (not v2)).T, bits).T.copy(),
        "scales": scales.view(np.uint16),
    }
    spread = np.arange(96) // 32
    return tensors, scales.astype(np.float64)[spread] * (codes - zeros[spread])


@pytest.mark.parametrize("v2", [False, True])
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_gptq_layers_come_back_bit_by_bit(bits: int, v2: bool) -> None:
    tensors, values = gptq_layer(bits, v2)
    weights = from_gptq(tensors, "fp16", v2=v2)
    assert (weights.bits, weights.group) == (bits, 32)
    assert np.array_equal(weights.values(), values)
    back = to_gptq(weights, v2=v2)
    assert list(back) == ["qweight", "qzeros", "scales"]
    for name, array in tensors.items():
        assert np.array_equal(back[name], array), name


def test_gptq_stores_zero_points_less_one() -> None:
    """Symmetric four bits: zero point 8 is stored as sevens, in format v2 as eights."""
    codes = np.full((8, 8), 8)
    for v2, word in ((False, 0x77777777), (True, 0x88888888)):
        tensors = {
            "qweight": gptq_words(codes, 4),
            "qzeros": signed(np.array([[word]])),
            "scales": np.full((1, 8), 0x3C00),
        }
        assert not from_gptq(tensors, "fp16", v2=v2).values().any()
        assert (from_gptq(tensors, "fp16", v2=not v2).values() == (-1 if v2 else 1)).all()


@pytest.mark.parametrize("bits", [3, 4])
def test_gptq_rows_in_the_order_of_activations(bits: int) -> None:
    tensors, values = gptq_layer(bits, False)
    rng = np.random.default_rng(3)
    order = rng.permutation(96)
    codes = from_gptq(tensors, "fp16").codes
    shuffled = {
        **tensors,
        "qweight": gptq_words(codes[order], bits),
        "g_idx": (np.arange(96) // 32)[order].astype(np.int32),
    }
    weights = from_gptq(shuffled, "fp16")
    assert weights.rows is not None
    assert (np.diff(weights.rows.reshape(3, 32), axis=1) > 0).all()
    assert np.array_equal(weights.original(weights.values()), values[order])
    back = to_gptq(weights)
    assert all(np.array_equal(back[name], array) for name, array in shuffled.items())
    ascending = {**tensors, "g_idx": (np.arange(96) // 32).astype(np.int32)}
    assert from_gptq(ascending, "fp16").rows is None
    assert np.array_equal(
        to_gptq(from_gptq(ascending, "fp16"), g_idx=True)["g_idx"], ascending["g_idx"]
    )


def test_awq_layers_come_back_bit_by_bit() -> None:
    rng = np.random.default_rng(4)
    codes, zeros = rng.integers(0, 16, (64, 16)), rng.integers(0, 16, (2, 16))
    scales = rng.random((2, 16)).astype(np.float16)

    def words(array: np.ndarray) -> np.ndarray:
        found = np.zeros((array.shape[0], 2), dtype=np.uint64)
        for row in range(array.shape[0]):
            for word in range(2):
                for nibble, column in enumerate((0, 2, 4, 6, 1, 3, 5, 7)):
                    code = int(array[row, 8 * word + column])
                    found[row, word] |= np.uint64(code << 4 * nibble)
        return signed(found)

    tensors = {"qweight": words(codes), "qzeros": words(zeros), "scales": scales.view(np.uint16)}
    weights = from_awq(tensors, "fp16")
    assert weights.group == 32
    assert np.array_equal(weights.codes, codes)
    spread = np.arange(64) // 32
    expected = scales.astype(np.float64)[spread] * (codes - zeros[spread])
    assert np.array_equal(weights.values(), expected)
    back = to_awq(weights)
    assert all(np.array_equal(back[name], array) for name, array in tensors.items())


def test_a_word_of_awq_is_interleaved() -> None:
    tensors = {
        "qweight": signed(np.array([[0x76543210]])),
        "qzeros": np.zeros((1, 1), np.int32),
        "scales": np.full((1, 8), 0x3C00),
    }
    assert from_awq(tensors, "fp16").codes.tolist() == [[0, 4, 1, 5, 2, 6, 3, 7]]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"qweight": np.zeros((12, 64))}, "qweight must be a matrix of int32, not float64"),
        ({"qzeros": np.zeros((3, 7), np.int32)}, "qzeros must be 3 x 64"),
        ({"qweight": np.zeros((12, 63), np.int32)}, "qweight must be K"),
        ({"scales": np.zeros((5, 64), int)}, "qzeros must be 5 x 64"),
        ({"g_idx": np.zeros(96, np.int32)}, "g_idx must put 32 of 96 rows into each of 3"),
    ],
)
def test_gptq_rejects(changes: dict[str, np.ndarray], says: str) -> None:
    tensors, _ = gptq_layer(4, False)
    with pytest.raises(ValueError, match=says):
        from_gptq({**tensors, **changes}, "fp16")


def test_writers_refuse_what_their_formats_cannot_hold() -> None:
    tensors, _ = gptq_layer(4, True)
    weights = from_gptq(tensors, "fp16", v2=True)
    assert weights.zeros is not None
    assert (weights.zeros == 0).any()
    with pytest.raises(ValueError, match=r"zero points as stored must be 0\.\.15, not -1"):
        to_gptq(weights)
    with pytest.raises(ValueError, match="weights must be uniform, of 4 bits"):
        to_awq(weights.replaced(scale_format="e8m0", scales=np.zeros((3, 64), int)))
    with pytest.raises(ValueError, match="scales must be of fp16, bf16, fp32, not e5m2"):
        from_gptq(tensors, "e5m2")
    with pytest.raises(ValueError, match="rows must be in their order for AWQ"):
        to_awq(weights.replaced(rows=np.arange(96)))
    odd = GroupedWeights(
        codes=np.zeros((30, 8), int),
        bits=3,
        group=30,
        scales=np.zeros((1, 8), int),
        zeros=np.ones((1, 8), int),
    )
    with pytest.raises(ValueError, match=r"K \* bits must be a multiple of 32, not 30 \* 3"):
        to_gptq(odd)

"""Words of B with masks: what they stand for, bit by bit, and in the feed."""

from typing import Any

import numpy as np
import pytest

from golden.formats.sparse import SparseFormat
from golden.lut.expander import MASKS, masked, pack_masked
from golden.soc.expander import expand_masked
from golden.soc.spec import CoprocessorSpec
from golden.tpe.adder_tree import AdderTreeSpec


def bits_of(word: int, spec: Any) -> list[int]:
    """Read a word as the guide says: a mask, and behind it the codes that have a bit."""
    size = spec.width
    codes = [word >> at & (1 << size) - 1 for at in range(64 - spec.present * size, 64, size)]
    numbers = [0] * spec.deep
    for group in range(spec.deep // 4):
        taken = codes[group * spec.count : (group + 1) * spec.count]
        places = [at for at in range(4) if word >> 4 * group + at & 1]
        # Codes of few bits are at their own end: the last ones, if their places are the last.
        ends = [4 - spec.count + number for number in range(spec.count)]
        for number, code in enumerate(taken):
            place = min(places[number], ends[number]) if number < len(places) else ends[number]
            numbers[4 * group + place] = code
    return numbers


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("width", [2, 3, 4, 8])
def test_words_come_back(name: str, width: int) -> None:
    """Packed and expanded; and each bit is where the guide says, whatever the mask is."""
    rng = np.random.default_rng(width)
    spec, sparse = masked(name, width), SparseFormat(*MASKS[name])
    fmt = AdderTreeSpec(m=1, n=1, k=4, b_width=width).b_format
    numbers = sparse.prune(rng.integers(fmt.low, fmt.high + 1, (3 * spec.deep - 5, 4)))
    words = pack_masked(numbers, spec)
    assert words.shape == (3, 4)
    assert np.array_equal(expand_masked(words, spec, fmt)[: len(numbers)], numbers)
    words = rng.integers(0, 1 << 64, (5, 3), np.uint64)
    due = [[bits_of(int(word), spec) for word in row] for row in words]
    assert np.array_equal(
        expand_masked(words, spec, fmt), fmt.wrap(np.array(due)).swapaxes(1, 2).reshape(-1, 3)
    )


def test_more_than_a_mask_has_room_for_is_refused() -> None:
    spec = masked("masks_2_4", 8)
    b = np.zeros((16, 3), int)
    b[[4, 5, 7], 1] = 1
    with pytest.raises(ValueError, match=r"2 of each 4 .* not 3 in column 1 from row 4 on"):
        pack_masked(b, spec)


def test_masks_take_less_memory() -> None:
    """A word of 64 bits for 12 codes along K, or 20, and as many beats as that."""
    for sparsity, deep in (("2:4", 12), ("1:4", 20)):
        spec = CoprocessorSpec(engine=AdderTreeSpec(m=2, n=4, k=deep, sparsity=sparsity))
        assert spec.b_deep == deep
        assert spec.kinds[0].b_bits == 64

"""The count of keys that repeat: of activations whose keys are known."""

import numpy as np
import pytest

from carrysave.papers.patterns import counted

SIGN = 1 << 7


def test_first_use_of_a_key_is_read() -> None:
    """One activation of 1, and zeros: key 1 in plane 0, key 0 in seven others."""
    codes = [np.array([[1, 0, 0, 0]])]
    row = counted(codes, group=4, tokens=1, cache=16)
    assert row["keys"] == 8
    assert row["repeated"] == 1 - 2 / 8
    # Planes 6 down to 1 have the key of the one above; plane 0 has another.
    assert row["of signs"] == 6 / 8
    # 11 sums to make: all subsets of 4 weights but the empty one and single weights.
    assert row["cycles saved"] == pytest.approx(1 - (2 + 11) / (8 + 11))


def test_cache_of_one_key_has_the_last_alone() -> None:
    """Planes of 5 are 1, 0, 1, then 0: four reads of eight without more room, two with it."""
    codes = [np.array([[5, 0, 0, 0]])]
    assert counted(codes, group=4, tokens=1, cache=1)["repeated"] == 1 - 4 / 8
    assert counted(codes, group=4, tokens=1, cache=16)["repeated"] == 1 - 2 / 8


def test_tables_of_a_batch_are_shared_and_new_for_each_group() -> None:
    """Two equal rows: the second reads nothing; alone it reads as much as the first."""
    codes = [np.tile([3, -1, 0, 7, 9, 9, -9, 2], (2, 1))]
    alone = counted(codes, group=4, tokens=1, cache=16)
    both = counted(codes, group=4, tokens=2, cache=16)
    assert alone["keys"] == both["keys"] == 2 * 2 * 8
    assert 1 - both["repeated"] == (1 - alone["repeated"]) / 2
    # Half as many tables are made.
    for row, making in ((alone, 44), (both, 22)):
        reads = (1 - row["repeated"]) * 32
        assert row["cycles saved"] == pytest.approx(1 - (reads + making) / (32 + making))


def test_large_activations_repeat_no_signs() -> None:
    codes = [np.array([[64, 0, 0, 0], [-SIGN, 0, 0, 0]])]
    # 64: plane 7 and 6 differ, 5 to 0 do not follow on; -128: plane 6 differs from 7.
    assert counted(codes, group=4, tokens=1, cache=16)["of signs"] == 0

"""Products of an engine, against Python's integers, where floats come to their end."""

import numpy as np
import pytest

from golden.engine import EngineSpec, matmul


@pytest.mark.parametrize("depth", [1, 1023, 1024, 1025, 2049])
@pytest.mark.parametrize(
    "bits", [(8, 8, True, True), (8, 8, False, True), (4, 16, True, False), (16, 16, True, True)]
)
def test_sums_are_exact_at_the_ends_of_their_range(
    bits: tuple[int, int, bool, bool], depth: int
) -> None:
    """The greatest sums, and those next to them, of more products than a float32 holds."""
    a_width, b_width, a_signed, b_signed = bits
    spec = EngineSpec(a_width=a_width, b_width=b_width, a_signed=a_signed, b_signed=b_signed)
    a_ends, b_ends = ((one.low, one.high) for one in (spec.a_format, spec.b_format))
    rows = [np.full(depth, end) for end in a_ends] + [np.resize(a_ends, depth)]
    columns = [np.full(depth, end) for end in b_ends] + [np.resize(b_ends, depth)]
    for odd in (0, depth - 1):
        rows.append(np.full(depth, a_ends[1]))
        rows[-1][odd] -= 1
    a, b = np.array(rows), np.array(columns).T
    expected = a.astype(object) @ b.astype(object)
    kinds = [
        np.dtype(f"{'iu'[one.low >= 0]}{max(one.width // 8, 1)}")
        for one in (spec.a_format, spec.b_format)
    ]
    for left, right in ((a, b), (a.astype(kinds[0]), b.astype(kinds[1]))):
        found = matmul(spec, left, right)
        assert found.dtype == np.int64
        assert (found.astype(object) == expected).all()


def test_no_products_make_zeros() -> None:
    """K may be 0."""
    none = np.zeros((3, 0), np.int8)
    assert matmul(EngineSpec(), none, none.T).tolist() == [[0] * 3] * 3

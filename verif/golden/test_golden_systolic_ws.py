"""Golden weight-stationary array: its cycles against a schedule by hand, and what it refuses."""

import numpy as np
import pytest

from golden.tpe.systolic_ws import SystolicWsSpec, cycles, systolic_ws


def tile(spec: SystolicWsSpec, k: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((spec.m, k), np.int64), np.zeros((k, spec.n), np.int64)


def by_hand(spec: SystolicWsSpec, lengths: list[int], latency: int) -> int:
    """Play the array: one row of A a cycle, and a beat as long as the longer of its slices."""
    moved, rows = [], []
    cycle = 0
    for length in lengths:
        for _ in range(0, length, spec.k):
            cycle += 1  # row 0 of A, row 0 of B
            for row in range(1, max(spec.m, spec.k)):
                assert row < spec.m or row < spec.k
                cycle += 1
            moved.append(cycle)
        rows += [moved[-1] + latency + row for row in range(spec.m)]
    assert len(set(rows)) == len(rows), "two rows of C in one cycle"
    return rows[-1] - moved[0] + 1


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (8, 8, 8), (3, 2, 7), (9, 4, 2)])
@pytest.mark.parametrize("lengths", [[1], [1, 1, 1], [7, 20, 3], [64, 1]])
def test_cycles_are_those_of_the_schedule(m: int, n: int, k: int, lengths: list[int]) -> None:
    spec = SystolicWsSpec(m=m, n=n, k=k)
    tiles = [tile(spec, length) for length in lengths]
    for latency in (-3, 0, 12):
        assert cycles(spec, tiles, latency) == by_hand(spec, lengths, latency)


def test_systolic_ws_matches_integers() -> None:
    spec = SystolicWsSpec(m=2, n=3, k=4, k_max=9)
    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, (2, 9)), rng.integers(-128, 128, (9, 3))
    expected = [
        [sum(int(a[i, x]) * int(b[x, j]) for x in range(9)) for j in range(3)] for i in range(2)
    ]
    assert systolic_ws(spec, a, b).tolist() == expected


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"k": 0}, ValueError, r"k must be 1\.\.256 codes, not 0"),
        ({"m": 257}, ValueError, r"m must be 1\.\.256 rows, not 257"),
        ({"k": True}, TypeError, r"k must be 1\.\.256 codes, not True"),
        (
            {"m": 64, "n": 64, "k": 64},
            ValueError,
            r"k \* \(m \* a_width \+ n \* b_width\) must be 1\.\.65472 bits, not 65536",
        ),
    ],
)
def test_spec_rejects(fields: dict[str, int], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        SystolicWsSpec(**fields)  # type: ignore[arg-type]


def test_spec_takes_the_widest_beats() -> None:
    assert SystolicWsSpec(m=256, n=256, k=15).turn == 256
    assert SystolicWsSpec(m=1, n=1, k=256, a_width=16, b_width=16).turn == 256

"""Places of codes in C: block by block, in either order, of jobs one after the other."""

from typing import Any

import numpy as np
import pytest

from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from hw.soc.path.place_walk import PlaceWalk
from verif.soc.bus.partners import Part, Pin, Sink, Source, run

PARAMETERS: dict[str, Any] = {
    "engine": "npe(m=2,n=6,formats=e4m3,result=e4m3)",
    "data_width": 64,
    "sums": 240,
    "random_width": 8,
}
TILE = 6


def blocks(m: int, n: int, rows: int, columns: int, by_columns: bool) -> list[tuple[int, int]]:
    """Return the first row and column of each block, in order."""
    every = [(down, right) for down in range(0, m, rows) for right in range(0, n, columns)]
    return sorted(every, key=lambda at: at[::-1]) if by_columns else every


@pytest.mark.parametrize("across", [1, 2, 3, 6])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("rate", [1.0, 0.6])
def test_places_are_those_of_codes(across: int, by_columns: bool, rate: float) -> None:
    spec: CoprocessorSpec = Design("coprocessor", PARAMETERS).component().spec
    dut, rng = PlaceWalk(spec, across), np.random.default_rng(across)
    layout, place = dut.i.payload.shape(), dut.o.payload.shape()
    given, wanted = [], []
    for m, n, rows, tiles in ((7, 17, 2, 1), (1, 1, 4, 2), (5, 13, 5, 3), (9, 30, 4, 2)):
        columns = tiles * TILE
        for down, right in blocks(m, n, rows, columns, by_columns):
            high, wide = min(rows, m - down), min(columns, n - right)
            fields = {
                "rows": high,
                "columns": wide,
                "last_row": down + rows >= m,
                "last_column": right + columns >= n,
            }
            given.append(layout.const(fields).as_bits())
            wanted += [
                (99, down + row, right + column)
                for row in range(high)
                for column in range(0, wide, across)
            ]
    order, seed = dut.i_geometry.by_columns, dut.i_seed
    parts: list[Part] = [Pin(order, lambda: int(by_columns)), Pin(seed, lambda: 99)]
    source, sink = Source(dut.i, given, rng, rate), Sink(dut.o, rng, rate)
    run(dut, [*parts, source, sink], lambda: len(sink.items) == len(wanted), deadline=4000)
    found = [place.from_bits(item) for item in sink.items]
    assert [(one.seed, one.row, one.column) for one in found] == wanted
    if rate == 1.0:
        assert sink.cycles == list(range(len(wanted))), "one a cycle, across blocks too"

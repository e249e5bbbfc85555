"""Random bits by places in Amaranth's simulator, for any columns at a time, against golden."""

import numpy as np
import pytest

from golden.formats.placed_bits import placed_bits
from hw.npe.rounding.placed_bits import PlacedBits
from verif.soc.bus.partners import Sink, Source, run

COUNT = 16


@pytest.mark.parametrize(("width", "across"), [(8, 1), (5, 6), (8, 8)])
def test_placed_bits_matches_golden(width: int, across: int) -> None:
    rng = np.random.default_rng(width + across)
    dut = PlacedBits(width, across, int(rng.integers(12, 25)))
    most = (1 << dut.column_width) // across - 1
    places, wanted = [], []
    for number in range(COUNT):
        seed, row = int(rng.integers(1 << 31)), int(rng.integers(1 << 24))
        column = int(rng.integers(most if number % 2 else 5)) * across
        places.append(
            dut.i.payload.shape().const({"seed": seed, "row": row, "column": column}).as_bits()
        )
        due = placed_bits(seed, np.array(row), column + np.arange(across), width).numbers
        wanted.append(sum(int(one) << width * at for at, one in enumerate(due)))
    source, sink = Source(dut.i, places, rng, 0.8), Sink(dut.o, rng, 0.7)
    run(dut, [source, sink], lambda: len(sink.items) == COUNT, deadline=500)
    assert sink.items == wanted


def test_placed_bits_come_three_cycles_later_one_a_cycle() -> None:
    dut, rng = PlacedBits(8, 4), np.random.default_rng(1)
    source, sink = Source(dut.i, range(COUNT), rng), Sink(dut.o, rng)
    run(dut, [source, sink], lambda: len(sink.items) == COUNT, deadline=60)
    assert sink.cycles == list(range(3, COUNT + 3))
    assert source.cycles == list(range(COUNT))

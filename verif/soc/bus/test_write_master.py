"""Write master into a memory: every byte and no other, under stalls, stops and errors."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pytest

from golden.soc.bus import BusSpec
from hw.soc.bus.write_master import WriteMaster
from verif.soc.bus.master_bench import BASE, WriteBench, bus, rows_apart
from verif.soc.bus.partners import Watch, run


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "rates", [(1.0,) * 5, (0.2, 0.9, 0.5, 0.9, 0.9), (0.9, 0.5, 0.5, 0.5, 0.9), (1, 1, 0.1, 1, 0.5)]
)
@pytest.mark.parametrize(
    ("spec", "most"),
    [(bus(32, 4, 2), 90), (bus(64, 1, 1), 40), (bus(128, 7, 5), 900), (bus(512, 256, 16), 9000)],
    ids=["32x4", "64x1", "128x7", "512x256"],
)
def test_write_brings_every_byte(spec: BusSpec, most: int, rates: tuple[float, ...]) -> None:
    rows = rows_apart(np.random.default_rng(spec.data_width), most)[:60]
    bench = WriteBench(spec, rows, 1, rates, latency=4)
    bench.run(deadline=20000, more=20)
    bench.check()


def test_write_takes_one_beat_per_cycle_across_rows() -> None:
    bench = WriteBench(
        bus(128, 16, 8), rows_apart(np.random.default_rng(1), 1500, 700), 1, latency=50
    )
    bench.run(deadline=3000)
    bench.check()
    beats = bench.writer.beats
    assert beats[-1] - beats[0] == len(beats) - 1
    first = bench.writer.bursts[0][2]
    assert (first - bench.source.cycles[0], beats[0] - first) == (bench.dut.latency, 4)


def test_write_takes_one_short_row_per_cycle() -> None:
    rows = [(BASE + 16 * row + 5, 9) for row in range(300)]
    bench = WriteBench(bus(128, 16, 64), rows, 1, latency=50)
    bench.run(deadline=2000)
    bench.check()
    for cycles in (bench.source.cycles, [at for *_, at in bench.writer.bursts], bench.writer.beats):
        assert cycles[-1] - cycles[0] == len(rows) - 1


@pytest.mark.parametrize("first", ["address", "data"])
def test_write_waits_for_no_other_channel(first: str) -> None:
    """Addresses come before any data, and beats before the address is taken."""
    bench = WriteBench(bus(32, 4, 2), [(BASE, 32), (BASE + 32, 32)], 1)
    if first == "address":
        bench.data.rate = 0.0
        run(bench.dut, bench.parts, lambda: len(bench.writer.bursts) == 2, deadline=30, more=30)
        assert not bench.writer.beats
    else:
        bench.memory.rates = (0.0, 1.0, 1.0)
        run(bench.dut, bench.parts, lambda: len(bench.writer.beats) == 4, deadline=30, more=30)
        assert not bench.writer.bursts


def test_write_counts_beats_and_tells_when_it_is_idle() -> None:
    rows = rows_apart(np.random.default_rng(6), 60)[:30]
    bench = WriteBench(bus(), rows, 5, (0.5, 0.7, 0.3, 0.1, 0.8), latency=5)
    counted: list[int] = []
    due = [0, *accumulate(len(bench.beats(row)) for row in rows)]
    answered = [0]

    def see(cycle: int, values: Sequence[int]) -> None:
        counted.append(values[0])
        assert sum(counted) == len(bench.writer.beats)
        taken = sum(at < cycle for at in bench.source.cycles)
        bursts = sum(at < cycle for *_, at in bench.writer.bursts)
        idle = due[taken] == sum(counted[:-1]) and answered[-1] == bursts
        assert values[1] == idle
        answered.append(bench.writer.answered)

    bench.parts.append(Watch([bench.dut.o_beats, bench.dut.o_idle], see))
    bench.run(deadline=5000, more=5)
    bench.check()


@pytest.mark.parametrize("response", [2, 3])
@pytest.mark.parametrize("where", [0, 2, 4])
def test_write_keeps_the_first_error(where: int, response: int) -> None:
    """On the first, a middle and the last burst of a row of 19 beats in bursts of 4."""
    rows = [(BASE + 0x101, 40), (BASE + 0x202, 74), (BASE + 0x400, 40)]
    failing = BASE + 0x200 + 16 * where
    errors = {BASE + 0x110: 1, failing: response, failing + 16: 5 - response, BASE + 0x400: 2}
    bench = WriteBench(bus(), rows, 3, (0.5, 0.8, 0.8, 0.7, 0.9), latency=6, errors=errors)
    dut = bench.dut
    seen: list[list[int]] = []
    counts = [0]

    def see(cycle: int, values: Sequence[int]) -> None:
        assert values[0] == (counts[-1] > 3 + where)
        counts.append(bench.writer.answered)
        seen.append(list(values))

    bench.parts.append(Watch([dut.o_error, dut.o_response, dut.o_address], see))
    bench.run(deadline=2000, more=3)
    bench.check()
    assert seen[-1] == [1, response, failing]


def test_write_refuses() -> None:
    with pytest.raises(TypeError, match="spec must be a BusSpec, not 32"):
        WriteMaster(32)  # type: ignore[arg-type]

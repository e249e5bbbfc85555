"""The bus masters stopped at any moment: what is begun is ended, and nothing is left."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest

from verif.soc.bus.master_bench import (
    BASE,
    ReadBench,
    WriteBench,
    bus,
    random_rows,
    rows_apart,
)
from verif.soc.bus.partners import Part, Pin, Watch, run


class ReadStop(Part):
    """Stops the master now and then, until it is idle or for a cycle, and sees what it does."""

    def __init__(self, bench: ReadBench, rng: np.random.Generator, rate: float, pulse: bool):
        self.bench, self.rng, self.rate, self.pulse = bench, rng, rate, pulse
        dut = bench.dut
        self.ports = [dut.o_idle, dut.i.ready, dut.o.valid, dut.axi.rready, dut.o_error]
        self.stopped = self.high = False
        self.since = 0
        self.stops = 0
        self.marks: list[tuple[int, int]] = []
        """At the end of each stop: rows and beats taken so far."""

    def drive(self, ctx: Any) -> None:
        if not self.stopped and self.rng.random() < self.rate:
            self.stopped = self.high = True
            self.since = len(self.bench.reader.bursts)
            self.bench.sink.waits = None
            self.stops += 1
        ctx.set(self.bench.dut.i_stop, self.high)

    def see(self, cycle: int, values: Any) -> None:
        idle, takes, valid, ready, error = values
        if not self.stopped:
            return
        assert (takes, valid, ready) == (0, 0, 1) or (not self.high and idle)
        if self.pulse:
            self.high = False
        # One address may have been on offer.
        assert len(self.bench.reader.bursts) <= self.since + 1
        if idle:
            assert self.bench.reader.under_way == 0
            assert not error or self.high
            self.stopped = self.high = False
            taken = sum(at < cycle for at in self.bench.source.cycles)
            self.marks.append((taken, len(self.bench.sink.items)))


@pytest.mark.parametrize("pulse", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_read_stops_at_any_moment(seed: int, pulse: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 200, 150)
    bench = ReadBench(bus(), rows, seed, (0.5, 0.8, 0.8, 0.8), latency=4)
    stop = ReadStop(bench, rng, 0.03, pulse)
    bench.parts.append(stop)
    run(bench.dut, bench.parts, lambda: bench.source.done, deadline=20000, more=100)
    assert stop.stops > 20
    # Between stops come the beats of the rows taken there, from the first on.
    marks = [(0, 0), *stop.marks, (len(rows), len(bench.sink.items))]
    whole = 0
    for (row, item), (next_row, next_item) in pairwise(marks):
        expected = [beat for taken in rows[row:next_row] for beat in bench.beats(taken)]
        found = bench.sink.items[item:next_item]
        assert found == expected[: len(found)]
        whole += found == expected
    assert 0 < whole < len(marks)


class WriteStop(Part):
    """Stops the master now and then, until it is idle or for a cycle, and sees what it does."""

    def __init__(self, bench: WriteBench, rng: np.random.Generator, rate: float, pulse: bool):
        self.bench, self.rng, self.rate, self.pulse = bench, rng, rate, pulse
        dut = bench.dut
        self.ports = [dut.o_idle, dut.i.ready, dut.i_data.ready]
        self.stopped = self.high = False
        self.bursts = 0
        self.marks: list[tuple[int, int]] = []
        """At the end of each stop: rows begun, and beats taken, so far."""
        self.ends = [0, *accumulate(len(bench.beats(row)) for row in bench.rows)]

    def drive(self, ctx: Any) -> None:
        if not self.stopped and self.rng.random() < self.rate:
            self.stopped = self.high = True
            self.bursts = len(self.bench.writer.bursts)
        ctx.set(self.bench.dut.i_stop, self.high)

    def see(self, cycle: int, values: Sequence[int]) -> None:
        idle, takes, takes_data = values
        if not self.stopped:
            return
        bench = self.bench
        assert (takes, takes_data) == (0, 0) or (not self.high and idle)
        if self.pulse:
            self.high = False
        # One address may have been on offer.
        assert len(bench.writer.bursts) <= self.bursts + 1
        if idle:
            assert bench.writer.answered == bench.writer.written == len(bench.writer.bursts)
            assert not bench.writer.here
            self.stopped = self.high = False
            # Data goes on with the first row that was not taken.
            rows = sum(at < cycle for at in bench.source.cycles)
            beats = len(bench.data.cycles)
            self.marks.append((rows, beats))
            bench.data.items = [
                *bench.data.items[:beats],
                *(beat for row in bench.rows[rows:] for beat in bench.beats(row)),
            ]


@pytest.mark.sample(1)
@pytest.mark.parametrize("pulse", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_write_stops_at_any_moment(seed: int, pulse: bool) -> None:
    """What is written is the data that was taken, all else in memory is as before."""
    rng = np.random.default_rng(seed)
    rows = rows_apart(rng, 60)[:200]
    bench = WriteBench(bus(), rows, seed, (0.4, 0.6, 0.5, 0.8, 0.8), latency=4)
    stop = WriteStop(bench, rng, 0.03, pulse)
    bench.parts.append(stop)
    run(bench.dut, bench.parts, lambda: bench.source.done and bench.done(), deadline=20000)
    assert len(stop.marks) > 20
    expected = bench.before.copy()
    whole = 0
    for (row, beat), (next_row, next_beat) in pairwise([(0, 0), *stop.marks, (len(rows), 1 << 30)]):
        left = next_beat - beat
        for address, count in rows[row:next_row]:
            number = min(left, len(bench.beats((address, count))))
            left -= number
            first, end = address - BASE, address - BASE + count
            end = min(end, first // 4 * 4 + number * 4)
            expected[first:end] = bench.octets[first:end]
            whole += number > 0
    assert np.array_equal(bench.memory.octets, expected)
    assert 20 < whole < len(rows)


def test_read_stop_clears_the_error() -> None:
    # Some rows wait in the master when the stop comes, and go with it; the last one does not.
    rows = [(BASE + 64 * row, 64) for row in range(6)]
    bench = ReadBench(bus(), rows, 3, errors={BASE: 2, BASE + 60: 3})
    errors, stops = [0], [False]

    def see(cycle: int, values: Sequence[int]) -> None:
        errors.append(values[0])
        stops.append(bool(values[0]) or (stops[-1] and not values[1]))

    bench.parts.append(Watch([bench.dut.o_error, bench.dut.o_idle], see))
    bench.parts.append(Pin(bench.dut.i_stop, lambda: stops[-1]))
    run(bench.dut, bench.parts, lambda: bench.source.done, deadline=200, more=60)
    # The cycle in which it is first seen, and that in which the stop comes.
    assert sum(errors) == 2
    assert bench.sink.items[-16:] == bench.beats(bench.rows[-1])


def test_write_stop_clears_the_error() -> None:
    bench = WriteBench(bus(), [(BASE, 64), (BASE + 64, 64)], 3, errors={BASE: 2, BASE + 16: 3})
    errors, stops = [0], [False]

    def see(cycle: int, values: Sequence[int]) -> None:
        errors.append(values[0])
        stops.append(bool(values[0]) or (stops[-1] and not values[1]))

    bench.parts.append(Watch([bench.dut.o_error, bench.dut.o_idle], see))
    bench.parts.append(Pin(bench.dut.i_stop, lambda: stops[-1]))
    run(bench.dut, bench.parts, lambda: sum(stops) > 3 and not stops[-1], deadline=100, more=60)
    # The cycle in which it is first seen, and that in which the stop comes.
    assert sum(errors) == 2

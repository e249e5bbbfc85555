"""Read master against a memory: every byte, under stalls, stops and errors, and its speed."""

from collections.abc import Sequence

import numpy as np
import pytest

from golden.soc.bus import BusSpec
from hw.soc.bus.read_master import ReadMaster
from verif.soc.bus.master_bench import BASE, ReadBench, Rows, bus, random_rows
from verif.soc.bus.partners import Pin, Source, Watch, run


@pytest.mark.sample(3)
@pytest.mark.parametrize("rates", [(1.0, 1.0, 1.0, 1.0), (0.3, 0.8, 0.9, 0.8), (0.9, 0.4, 1, 0.7)])
@pytest.mark.parametrize(
    ("spec", "most"),
    [
        (bus(32, 4, 2), 600),
        (bus(32, 256, 3), 4096),
        (bus(64, 1, 1), 400),
        (bus(128, 7, 5), 4096),
        (bus(512, 64, 16), 8192),
    ],
    ids=["32x4", "32x256", "64x1", "128x7", "512x64"],
)
def test_read_brings_every_byte(spec: BusSpec, most: int, rates: tuple[float, ...]) -> None:
    rng = np.random.default_rng(spec.data_width)
    bench = ReadBench(spec, random_rows(rng, 25, most), 1, rates, latency=7)
    bench.run(deadline=40000, more=20)
    bench.check()
    assert sum(length + 1 for _, length, _ in bench.reader.bursts) == len(bench.sink.items)


def bursts(spec: BusSpec, rows: Rows) -> list[tuple[int, int]]:
    """Fewest bursts of rows: address and beats less one."""
    found = []
    for address, count in rows:
        at, end = address // spec.bytes, -(-(address + count) // spec.bytes)
        while at < end:
            border = (at * spec.bytes // 4096 + 1) * 4096 // spec.bytes
            beats = min(end, border, at + spec.burst) - at
            found.append((at * spec.bytes, beats - 1))
            at += beats
    return found


def test_read_bursts_are_the_fewest() -> None:
    for spec in (bus(32, 6, 2), bus(128, 256, 2), bus(256, 128, 2)):
        bench = ReadBench(spec, random_rows(np.random.default_rng(3), 15, 5000), 2)
        bench.run(deadline=20000)
        assert [burst[:2] for burst in bench.reader.bursts] == bursts(spec, bench.rows)


def test_read_takes_one_beat_per_cycle_across_rows() -> None:
    spec = bus(128, 16, 8)
    rows = [(BASE + 0x300 + 7 * row, 1000) for row in range(12)]
    bench = ReadBench(spec, rows, 1, latency=50)
    bench.run(deadline=2000)
    bench.check()
    cycles = bench.sink.cycles
    assert cycles[-1] - cycles[0] == len(cycles) - 1


def test_read_takes_one_short_row_per_cycle() -> None:
    spec = bus(128, 16, 64)
    rows = [(BASE + 16 * row + 5, 9) for row in range(300)]
    bench = ReadBench(spec, rows, 1, latency=50)
    bench.run(deadline=2000)
    bench.check()
    for cycles in (bench.source.cycles, [at for *_, at in bench.reader.bursts], bench.sink.cycles):
        assert cycles[-1] - cycles[0] == len(rows) - 1
    assert bench.reader.bursts[0][2] - bench.source.cycles[0] == bench.dut.latency


def test_read_counts_beats_and_tells_when_it_is_idle() -> None:
    rng = np.random.default_rng(5)
    bench = ReadBench(bus(), random_rows(rng, 20, 300), 5, (0.5, 0.7, 0.2, 0.8), latency=5)
    counted: list[int] = []

    def see(cycle: int, values: Sequence[int]) -> None:
        counted.append(values[0])
        assert sum(counted) == len(bench.reader.beats)
        # Beats before this cycle, of the rows taken before it.
        rows = bench.rows[: sum(at < cycle for at in bench.source.cycles)]
        due = sum(len(bench.beats(row)) for row in rows)
        assert values[1] == (due == sum(counted[:-1]))

    bench.parts.append(Watch([bench.dut.o_beats, bench.dut.o_idle], see))
    bench.run(deadline=5000, more=5)
    bench.check()


@pytest.mark.parametrize("rates", [(1.0, 1.0, 1.0, 1.0), (0.4, 0.9, 0.9, 0.8), (0.9, 0.9, 0.3, 1)])
def test_urgent_rows_wait_for_those_in_the_queue(rates: tuple[float, ...]) -> None:
    """And for no others: each has its place among the rows by when it was offered."""
    spec = bus()
    rows = [(BASE + 16 * row, 4 + 4 * (row % 5)) for row in range(120)]
    bench = ReadBench(spec, rows, 7, rates, urgent=True, latency=4)
    urgent = [(BASE + 0x2000 + 16 * row, 8) for row in range(40)]
    items = [address | count << spec.address_width for address, count in urgent]
    port = bench.dut.i_urgent
    source = Source(port, items, bench.rng, 0.3)
    offered: list[int] = []
    waits = False

    def see(cycle: int, values: Sequence[int]) -> None:
        nonlocal waits
        if values[0] and not waits:
            offered.append(cycle)
        waits = bool(values[0] and not values[1])

    bench.parts += [source, Watch([port.valid, port.ready], see)]
    bench.rows = rows + urgent
    bench.run(deadline=5000)
    assert len(offered) == len(urgent)
    # A row that comes with an urgent one is behind it.
    when = [*((at, 1) for at in bench.source.cycles), *((at, 0) for at in offered)]
    wanted = [row for _, row in sorted(zip(when, rows + urgent, strict=True))]
    assert [burst[:2] for burst in bench.reader.bursts] == bursts(spec, wanted)
    assert wanted not in (rows + urgent, urgent + rows)


@pytest.mark.parametrize("stops", range(8, 40, 3))
def test_urgent_rows_outlive_a_stop(stops: int) -> None:
    """Rows that wait before one are dropped with a stop, and it comes behind it, if it waits."""
    spec = bus(outstanding=1)
    bench = ReadBench(spec, [(BASE + 16 * row, 16) for row in range(4)], 3, urgent=True, latency=9)
    dut, last = bench.dut, BASE + 0x2000
    urgent = Source(dut.i_urgent, [last | 4 << spec.address_width], bench.rng, 0.0)
    stop = iter([0] * stops + [1] * 3 + [0] * 400)

    def see(cycle: int, values: Sequence[int]) -> None:
        taken, ready, drop = values
        assert not (taken and ready and drop), cycle
        urgent.rate = float(cycle > 5)  # when the queue is full

    port = dut.i_urgent
    bench.parts += [urgent, Pin(dut.i_stop, lambda: next(stop))]
    bench.parts.append(Watch([port.valid, port.ready, dut.requests.o_drop], see))
    run(dut, bench.parts, lambda: urgent.done and bench.source.done, deadline=300, more=30)
    if urgent.cycles[0] > stops:
        assert bench.reader.bursts[-1][0] == last


@pytest.mark.parametrize("response", [2, 3])
@pytest.mark.parametrize("where", [0, 9, 18])
def test_read_keeps_the_first_error(where: int, response: int) -> None:
    """On the first, a middle and the last beat of a row of 19 beats in bursts of 4."""
    spec = bus()
    rows = [(BASE + 0x101, 40), (BASE + 0x202, 74), (BASE + 0x400, 40)]
    failing = BASE + 0x200 + 4 * where
    errors = {BASE + 0x104: 1, failing: response, failing + 4: 5 - response, BASE + 0x400: 2}
    bench = ReadBench(spec, rows, 3, (0.5, 0.8, 0.8, 0.7), latency=6, errors=errors)
    dut = bench.dut
    seen: list[list[int]] = []
    ports = [dut.o_error, dut.o_response, dut.o_address]
    bench.parts.append(Watch(ports, lambda _, values: seen.append(list(values))))
    bench.run(deadline=2000, more=3)
    bench.check()
    first = bench.reader.beats[11 + where]
    assert [values[0] for values in seen] == [cycle > first for cycle in range(len(seen))]
    wanted = [1, response, BASE + 0x200 + where // 4 * 16]
    assert all(values == wanted for values in seen[first + 1 :])
    assert seen[-1] == wanted


def test_read_refuses() -> None:
    with pytest.raises(TypeError, match="spec must be a BusSpec, not 32"):
        ReadMaster(32)  # type: ignore[arg-type]

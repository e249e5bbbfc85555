"""Bytes of a host on memory that falls silent: given up, and no late answer is of another one."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from golden.soc.bus import BusSpec
from hw.soc.stores.byte_access import UNSTARTED
from hw.soc.stores.byte_manager import ByteManager
from verif.soc.bus.byte_host import Host, channels
from verif.soc.bus.partners import Part, Pin, Sink, Source, Watch, run
from verif.soc.bus.subordinates import Contents, Reader, Writer
from verif.soc.test_byte_manager import stable

SIZE, HALF = 1024, 512
PATIENCE = 40
SILENT = 1
"""Error of a byte that memory does not answer."""


@pytest.mark.sample(3)
@pytest.mark.parametrize("burst", [False, True])
@pytest.mark.parametrize("channel", ["r", "aw", "b", "ar", "w"])
def test_bytes_are_given_up(channel: str, burst: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first in time, those after it at once; all is right again when memory answers.

    With a burst that is outstanding, too, which comes to its end, late.
    """
    monkeypatch.setattr("golden.soc.bus._LEAST", PATIENCE)
    spec = BusSpec(data_width=32, address_width=16, burst=8, outstanding=2, watchdog=PATIENCE)
    rng = np.random.default_rng(len(channel) + burst)
    dut = ByteManager(spec, SIZE)
    axi, octets = channels(dut), rng.integers(0, 256, SIZE, np.uint8)
    memory = Contents(spec, octets.copy(), rng, latency=3)
    reader, writer = Reader(dut.m_axi, memory), Writer(dut.m_axi, memory)
    # Reads below, writes above, each at an address of its own.
    asked: list[tuple[int, int | None]] = [
        (number, None) if number % 2 else (HALF + number, int(rng.integers(256)))
        for number in range(60)
    ]
    host = Pausing(dut, asked, 1)
    waits = Waits(dut)

    def mood(cycle: int, _: Sequence[int]) -> None:
        memory.silent = {channel} if 7 <= len(host.found) < 30 else set()

    fixed = [
        (getattr(dut.axi, f"a{way}{name}"), value)
        for way in "rw"
        for name, value in (("size", 2), ("burst", 1), ("cache", 3), ("prot", 0))
    ]
    ends = Sink(axi.r, rng), Sink(axi.b, rng)
    late = Late(host, 7 * burst)
    parts = [
        Watch([], mood),
        reader,
        writer,
        *stable(dut.m_axi),
        *(Pin(port, partial(int, value)) for port, value in fixed),
        late.of(Source(axi.ar, [0x40 | 3 << 16] * burst, rng)),
        late.of(Source(axi.aw, [0x80 | 1 << 16] * burst, rng)),
        late.of(Source(axi.w, [0xF << 32, 0x1F << 32] * burst, rng)),
        *ends,
        host,
        waits,
    ]
    run(dut, parts, lambda: len(host.found) == len(asked), deadline=5000, more=60)
    check(host, octets, memory.octets, waits.taken, burst)
    assert reader.under_way == len(writer.bursts) - writer.answered == 0
    if burst:
        assert len(ends[0].items) == 4
        assert ends[1].items == [0]
        assert not memory.octets[0x80:0x88].any()


def check(host: Host, before: np.ndarray, after: np.ndarray, taken: list[int], burst: bool) -> None:
    """Check which bytes were given up, how soon, and that all others are right."""
    given_up = [number for number, (_, error) in enumerate(host.found) if error]
    assert {error for _, error in host.found} == {0, SILENT}
    assert set(given_up) <= set(range(7, 31))
    assert len(given_up) > 10
    first, *others = (taken[number] for number in given_up)
    # With a burst, memory has owed something before.
    assert 2 < first < PATIENCE + 40
    assert burst or first > PATIENCE
    assert sum(wait > 2 for wait in others) < 3
    for number, ((address, byte), (value, _)) in enumerate(
        zip(host.asked, host.found, strict=True)
    ):
        found = value if byte is None else after[address]
        wanted = before[address] if byte is None else byte
        assert number in given_up or found == wanted, number


class Waits(Part):
    """Counts the cycles of each access of a host."""

    def __init__(self, dut: ByteManager) -> None:
        self.ports = [dut.host.request, dut.host.done]
        self.taken: list[int] = []
        self.now = 0

    def see(self, cycle: int, values: Sequence[int]) -> None:
        request, done = values
        self.now += request
        if done:
            self.taken.append(self.now)
            self.now = 0


class Pausing(Host):
    """Waits before the access after the seventh, while a burst gets under way."""

    pause = 30

    def drive(self, ctx: Any) -> None:
        if len(self.found) == 7 and self.pause:
            self.pause -= 1
            ctx.set(self.host.request, 0)
        else:
            super().drive(ctx)


class Late(Part):
    """Has sources wait until a host has had some accesses."""

    def __init__(self, host: Host, after: int) -> None:
        self.host, self.after = host, after

    def of(self, source: Source) -> Source:
        """Return the source, which waits."""
        drive = source.drive

        def later(ctx: Any) -> None:
            if len(self.host.found) >= self.after:
                drive(ctx)

        source.drive = later  # type: ignore[method-assign]
        return source


class Starts(Part):
    """Has memory start once the co-processor and the host were refused, and not before."""

    def __init__(self, dut: ByteManager, over: Callable[[], bool]) -> None:
        self.dut, self.over, self.started = dut, over, False
        self.ports = [getattr(dut.m_axi, f"{channel}valid") for channel in ("ar", "aw", "w")]

    def drive(self, ctx: Any) -> None:
        self.started = self.started or self.over()
        ctx.set(self.dut.i_started, self.started)

    def see(self, cycle: int, values: Sequence[int]) -> None:
        assert self.started or not any(values)


def test_nothing_is_asked_before_memory_has_started() -> None:
    """Bytes and bursts are refused; afterwards all are right."""
    spec = BusSpec(data_width=32, address_width=16, burst=8, outstanding=2)
    rng = np.random.default_rng(5)
    dut = ByteManager(spec, SIZE)
    axi, octets = channels(dut), rng.integers(0, 256, SIZE, np.uint8)
    memory = Contents(spec, octets.copy(), rng, latency=3)
    asked: list[tuple[int, int | None]] = [
        (n, None if n % 2 else int(rng.integers(256))) for n in range(20)
    ]
    host = Host(dut, asked, 1)
    ends = Sink(axi.r, rng), Sink(axi.b, rng)
    parts = [
        Reader(dut.m_axi, memory),
        Writer(dut.m_axi, memory),
        Source(axi.ar, [0x40 | 3 << 16], rng),
        Source(axi.aw, [0x80 | 1 << 16], rng),
        Source(axi.w, [0xF << 32, 0x1F << 32], rng),
        *ends,
        host,
        Starts(dut, lambda: len(host.found) >= 10 and len(ends[0].items) == 4),
    ]
    run(dut, parts, lambda: len(host.found) == len(asked), deadline=1000)
    assert [item >> 33 for item in ends[0].items] == [3] * 4
    assert ends[1].items == [3]
    early = sum(error == UNSTARTED for _, error in host.found)
    assert 10 <= early < 15
    for number, ((address, byte), (value, error)) in enumerate(zip(asked, host.found, strict=True)):
        assert error == (UNSTARTED if number < early else 0)
        if error or byte is None:
            assert memory.octets[address] == octets[address]
            assert error or value == octets[address]
        else:
            assert memory.octets[address] == byte

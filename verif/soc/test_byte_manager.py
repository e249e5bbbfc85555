"""Bytes of a host between bursts, on one port: all bytes right, and none beyond the memory."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from golden.soc.bus import BusSpec
from hw.soc.stores.byte_manager import ByteManager
from verif.soc.bus.byte_host import Host, channels
from verif.soc.bus.partners import Pin, Sink, Source, Stable, run
from verif.soc.bus.subordinates import Contents, Reader, Writer

SIZE, BYTES = 1024, 4
HALF = SIZE // 2
"""Bursts write below, the host writes from here on."""
SPEC = BusSpec(data_width=8 * BYTES, address_width=16, burst=8, outstanding=2)


def bursts(rng: np.random.Generator, count: int, end: int) -> list[tuple[int, int]]:
    """Draw addresses and beats, each fourth one beyond the memory."""
    beats = rng.integers(1, SPEC.burst + 1, count)
    places = [int(rng.integers(0, end // BYTES - n + 1)) * BYTES for n in beats.tolist()]
    beyond = [SIZE << int(rng.integers(0, 6)) if number % 4 == 3 else 0 for number in range(count)]
    return [(at | far, n) for at, far, n in zip(places, beyond, beats.tolist(), strict=True)]


Asked = list[tuple[int, int | None]]
Expected = list[tuple[int | None, bool]]


def accesses(rng: np.random.Generator, wanted: np.ndarray) -> tuple[Asked, Expected]:
    """Draw a host's accesses, and what it gets; what it writes is in `wanted` from then on."""
    asked: Asked = []
    expected: Expected = []
    for turn in range(60):
        address = int(rng.integers(HALF, SIZE)) | (SIZE << turn % 7 if turn % 5 == 4 else 0)
        byte: int | None = int(rng.integers(256)) if turn % 2 else None
        asked.append((address, byte))
        if address < SIZE and byte is not None:
            wanted[address] = byte
        reading = byte is None and address < SIZE
        expected.append((int(wanted[address]) if reading else None, address >= SIZE))
    return asked, expected


def stable(axi: Any) -> list[Stable]:
    """Watch what the memory is asked for: nothing changes or goes until it is taken."""
    payloads = {
        "ar": (axi.araddr, axi.arlen),
        "aw": (axi.awaddr, axi.awlen),
        "w": (axi.wdata, axi.wstrb, axi.wlast),
    }
    return [
        Stable(getattr(axi, f"{name}valid"), getattr(axi, f"{name}ready"), payload)
        for name, payload in payloads.items()
    ]


@pytest.mark.sample(1)
@pytest.mark.parametrize("rates", [(1.0, 1.0, 1.0), (0.4, 0.6, 0.5)])
@pytest.mark.parametrize("latency", [1, 9])
def test_bytes_between_bursts(rates: tuple[float, float, float], latency: int) -> None:
    rng = np.random.default_rng(latency)
    dut = ByteManager(SPEC, SIZE)
    axi = channels(dut)
    octets = rng.integers(0, 256, SIZE, np.uint8)
    wanted = octets.copy()
    contents = Contents(SPEC, octets, rng, rates=rates, latency=latency)
    reader, writer = Reader(dut.m_axi, contents), Writer(dut.m_axi, contents)

    writes, beats = bursts(rng, 40, HALF // 2), []
    for address, count in writes:
        for beat in range(count):
            data, strobes = int(rng.integers(1 << 32)), int(rng.integers(16))
            beats.append(data | strobes << 32 | (beat == count - 1) << 36)
            for lane in range(BYTES):
                if strobes >> lane & 1 and address < SIZE:
                    wanted[address + beat * BYTES + lane] = data >> 8 * lane & 255
    # What is read is not written meanwhile.
    reads = [(address + HALF // 2, count) for address, count in bursts(rng, 40, HALF // 2)]
    asked, expected = accesses(rng, wanted)

    fixed = [
        (getattr(dut.axi, f"a{way}{name}"), value)
        for way in "rw"
        for name, value in (("size", 2), ("burst", 1), ("cache", 3), ("prot", 0))
    ]
    parts = [
        reader,
        writer,
        *stable(dut.m_axi),
        *(Pin(port, partial(int, value)) for port, value in fixed),
        Source(axi.aw, [address | count - 1 << 16 for address, count in writes], rng, rates[0]),
        Source(axi.w, beats, rng, rates[1]),
        Source(axi.ar, [address | count - 1 << 16 for address, count in reads], rng, rates[0]),
        taken := Sink(axi.r, rng, rates[2]),
        answers := Sink(axi.b, rng),
        host := Host(dut, asked, latency),
    ]
    total = sum(count for _, count in reads)

    def done() -> bool:
        ends = len(answers.items) == len(writes) and len(taken.items) == total
        return ends and len(host.found) == len(asked)

    run(dut, parts, done, deadline=20_000)
    assert np.array_equal(octets, wanted)
    assert answers.items == [3 * (address >= SIZE) for address, _ in writes]
    at = 0
    for address, count in reads:
        for beat in range(count):
            item = taken.items[at]
            at += 1
            assert item >> 32 & 1 == (beat == count - 1)
            assert item >> 33 == 3 * (address >= SIZE)
            if address < SIZE:
                place = address + beat * BYTES
                assert (item & 0xFFFFFFFF).to_bytes(4, "little") == wanted[place:][:4].tobytes()
    for (value, error), (wanted_byte, wrong) in zip(host.found, expected, strict=True):
        assert error == 3 * wrong
        assert wanted_byte is None or value == wanted_byte

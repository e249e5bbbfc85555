"""The bus masters with their memories and rows on their way."""

from typing import Any

import numpy as np

from golden.soc.bus import BusSpec
from hw.soc.bus.read_master import ReadMaster
from hw.soc.bus.write_master import WriteMaster
from verif.soc.bus.partners import Part, Sink, Source, Stable, run, words
from verif.soc.bus.subordinates import Contents, Reader, Writer

__all__ = ["BASE", "ReadBench", "Rows", "WriteBench", "bus", "random_rows", "rows_apart"]

BASE = 0xFFFF_E000
"""Bytes of the memory lie on both sides of 4 GiB."""
SIZE = 0x6000

Rows = list[tuple[int, int]]


def bus(data_width: int = 32, burst: int = 4, outstanding: int = 2) -> BusSpec:
    return BusSpec(data_width=data_width, burst=burst, outstanding=outstanding)


def random_rows(rng: np.random.Generator, count: int, most: int) -> Rows:
    rows = []
    for _ in range(count):
        length = int(rng.integers(1, 2 ** rng.integers(1, most.bit_length())))
        near = int(rng.integers(0, 5)) * 0x1000 + int(rng.integers(-length, length + 1))
        at = near if rng.random() < 0.5 else int(rng.integers(0, SIZE))
        rows.append((BASE + min(max(at, 0), SIZE - length - 64), length))
    return rows


def rows_apart(rng: np.random.Generator, most: int, shortest: int = 1) -> Rows:
    """Rows at any byte, the next one some bytes behind the last."""
    rows, at = [], int(rng.integers(0, 64))
    while at + most + 64 < SIZE:
        rows.append((BASE + at, int(rng.integers(shortest, most + 1))))
        at = sum(rows[-1]) - BASE + int(rng.integers(0, 40))
    return rows


class ReadBench:
    """A read master, its memory, and rows on their way; all seeded."""

    def __init__(
        self,
        spec: BusSpec,
        rows: Rows,
        seed: int,
        rates: Any = None,
        *,
        urgent: bool = False,
        **more: Any,
    ):
        self.rng = np.random.default_rng(seed)
        rates = rates or (1.0,) * 4
        octets = self.rng.integers(0, 256, SIZE, np.uint8)
        self.memory = Contents(
            spec, octets, self.rng, base=BASE, rates=(rates[0], rates[1], 1.0), **more
        )
        self.spec, self.rows = spec, rows
        self.dut = dut = ReadMaster(spec, urgent=urgent)
        self.reader = Reader(dut.axi, self.memory)
        items = [address | count << spec.address_width for address, count in rows]
        self.source = Source(dut.i, items, self.rng, rates[2])
        self.sink = Sink(dut.o, self.rng, rates[3])
        axi = dut.axi
        payload = [axi.araddr, axi.arlen, axi.arsize, axi.arburst]
        self.parts: list[Part] = [
            self.reader,
            self.source,
            self.sink,
            Stable(axi.arvalid, axi.arready, payload),
        ]

    def beats(self, row: tuple[int, int]) -> list[int]:
        """Beats that a row has to bring, with `last` above the data."""
        octets = self.spec.bytes
        first = (row[0] - BASE) // octets * octets
        end = -(-(sum(row) - BASE) // octets) * octets
        found = words(self.memory.octets[first:end], octets)
        found[-1] |= 1 << self.spec.data_width
        return found

    def check(self) -> None:
        expected = [beat for row in self.rows for beat in self.beats(row)]
        assert len(self.sink.items) == len(expected) > 0
        assert self.sink.items == expected

    def run(self, **more: int) -> int:
        total = sum(len(self.beats(row)) for row in self.rows)
        return run(self.dut, self.parts, lambda: len(self.sink.items) >= total, **more)


class WriteBench:
    """A write master, its memory, and rows on their way; all seeded."""

    def __init__(self, spec: BusSpec, rows: Rows, seed: int, rates: Any = None, **more: Any):
        self.rng = np.random.default_rng(seed)
        rates = rates or (1.0,) * 5
        self.before = self.rng.integers(0, 256, SIZE, np.uint8)
        self.octets = self.rng.integers(0, 256, SIZE, np.uint8)
        self.memory = Contents(
            spec, self.before.copy(), self.rng, base=BASE, rates=rates[:3], **more
        )
        self.spec, self.rows = spec, rows
        self.dut = dut = WriteMaster(spec)
        self.writer = Writer(dut.axi, self.memory)
        items = [address | count << spec.address_width for address, count in rows]
        self.source = Source(dut.i, items, self.rng, rates[3])
        beats = [beat for row in rows for beat in self.beats(row)]
        self.data = Source(dut.i_data, beats, self.rng, rates[4])
        axi = dut.axi
        self.parts: list[Part] = [
            self.writer,
            self.source,
            self.data,
            Stable(axi.awvalid, axi.awready, [axi.awaddr, axi.awlen, axi.awsize, axi.awburst]),
            Stable(axi.wvalid, axi.wready, [axi.wdata, axi.wstrb, axi.wlast]),
        ]

    def beats(self, row: tuple[int, int]) -> list[int]:
        """Beats of a row, with the strobes above the data."""
        octets = self.spec.bytes
        begin, end = row[0] - BASE, sum(row) - BASE
        found = []
        for at in range(begin // octets * octets, end, octets):
            strobes = sum(1 << byte for byte in range(octets) if begin <= at + byte < end)
            value = int.from_bytes(self.octets[at : at + octets].tobytes(), "little")
            found.append(value | strobes << self.spec.data_width)
        return found

    def expected(self, rows: Rows) -> np.ndarray:
        """Memory with these rows written."""
        found = self.before.copy()
        for address, count in rows:
            part = slice(address - BASE, address - BASE + count)
            found[part] = self.octets[part]
        return found

    def done(self) -> bool:
        writer = self.writer
        return self.data.done and writer.answered == len(writer.bursts) == writer.written

    def run(self, **more: int) -> int:
        return run(self.dut, self.parts, self.done, **more)

    def check(self) -> None:
        assert self.source.done
        assert np.array_equal(self.memory.octets, self.expected(self.rows))
        assert not np.array_equal(self.memory.octets, self.before)

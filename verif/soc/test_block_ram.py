"""The memory of boards behind AXI4: bytes, bursts at full rate, and addresses beyond it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from amaranth import Module, Mux, Signal

from hw.catalog import Design
from hw.soc.stores import block_ram as memory
from hw.soc.stores.block_ram import BlockRam
from hw.soc.stores.operand_store import Bank
from verif.soc.bus.byte_host import Host, channels
from verif.soc.bus.partners import Part, Sink, Source, run

SIZE, BYTES, BEATS = 1024, 4, 16
SMALL: dict[str, Any] = {
    "engine": "systolic_os(m=2,n=2)",
    "data_width": 8 * BYTES,
    "memory_bytes": SIZE,
    "address_width": 16,
    "a_bytes": 64,
    "b_bytes": 64,
    "sums": 16,
}


class Placed(Bank):
    """A bank that is simulated; what is read while it is written is wrong."""

    def elaborate(self, platform: Any) -> Module:
        m, clash = Module(), Signal()
        m.submodules.bank = bank = Bank(self.module, self.width, self.depth)
        m.d.sync += clash.eq(self.write & self.en & (self.i_address == self.o_address))
        m.d.comb += self.o.eq(Mux(clash, ~bank.o, bank.o))
        m.d.comb += [
            getattr(bank, name).eq(getattr(self, name))
            for name in ("write", "i_address", "i", "en", "o_address")
        ]
        return m


def block_ram(monkeypatch: pytest.MonkeyPatch, *, far: bool, lean: bool = False) -> BlockRam:
    """Make the memory; each of its banks is simulated, in place of an instance of one.

    Parameters
    ----------
    far : it is as large memories are, with registers around its banks.
    lean : with few registers.
    """
    monkeypatch.setattr(memory, "NEAR", SIZE - far)
    monkeypatch.setattr(
        Bank,
        "place",
        lambda bank: Placed(bank.module, bank.width, bank.depth),
    )
    return BlockRam(Design("coprocessor_uart", SMALL).spec, SIZE, lean=lean)


def burst(address: int, beats: int) -> int:
    return address | (beats - 1) << 16


@pytest.mark.parametrize("far", [False, True])
def test_beats_follow_each_other(monkeypatch: pytest.MonkeyPatch, far: bool) -> None:
    """The first comes three or five cycles after its address, each other one in the next cycle."""
    dut = block_ram(monkeypatch, far=far)
    axi, rng = channels(dut), np.random.default_rng(1)
    asked = [burst(0, BEATS), *[burst(64, 1)] * 3, burst(128, 2)]
    asks, takes = Source(axi.ar, asked, rng), Sink(axi.r, rng)
    run(dut, [asks, takes], lambda: len(takes.items) == BEATS + 5, deadline=80)
    first = asks.cycles[0] + (5 if far else 3)
    assert takes.cycles == list(range(first, first + BEATS + 5))


@pytest.mark.parametrize(("far", "rate"), [(False, 1.0), (True, 1.0), (True, 0.3)])
def test_writes_follow_each_other(monkeypatch: pytest.MonkeyPatch, far: bool, rate: float) -> None:
    """A beat in each cycle, of short bursts, too; as many answers, of which none is lost."""
    dut = block_ram(monkeypatch, far=far)
    axi, rng = channels(dut), np.random.default_rng(1)
    sizes = [1, 1, 3, 1, 2, 1, 1]
    asks = Source(axi.aw, [burst(32 * number, size) for number, size in enumerate(sizes)], rng)
    words = [15 << 32 | (beat == size - 1) << 36 for size in sizes for beat in range(size)]
    gives, ends = Source(axi.w, words, rng), Sink(axi.b, rng, rate)
    run(dut, [asks, gives, ends], lambda: len(ends.items) == len(sizes), deadline=90)
    if rate == 1:
        assert gives.cycles == list(range(gives.cycles[0], gives.cycles[0] + sum(sizes)))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("rate", "far", "lean"),
    [
        (1.0, False, False),
        (0.5, False, False),
        (1.0, True, False),
        (0.5, True, False),
        (1.0, False, True),
        (0.5, True, True),
    ],
)
def test_bytes_and_bursts(
    monkeypatch: pytest.MonkeyPatch, rate: float, far: bool, lean: bool
) -> None:
    """Strobes, single bytes between bursts, whatever waits; nothing is written beyond the end."""
    rng = np.random.default_rng(2)
    dut = block_ram(monkeypatch, far=far, lean=lean)
    axi = channels(dut)
    # Bytes of the host are in the upper half, those of bursts that write in the lower one.
    wanted = np.zeros(SIZE, np.uint8)
    asked_w = [burst(low, BEATS) for low in range(0, SIZE, BEATS * BYTES)]
    data, beats = rng.integers(0, 256, (SIZE // BYTES, BYTES), np.uint8), []
    for number, word in enumerate(data):
        wanted[BYTES * number :][:BYTES] = word
        beats.append((word, 15, number % BEATS == BEATS - 1))
    for low in rng.integers(0, SIZE // 2 // BYTES // BEATS, 6) * BEATS * BYTES:
        beyond = bool(rng.integers(2))
        asked_w.append(burst(int(low) | beyond * SIZE, BEATS))
        for beat in range(BEATS):
            word, strobes = rng.integers(0, 256, BYTES, np.uint8), int(rng.integers(16))
            beats.append((word, strobes, beat == BEATS - 1))
            own = wanted[low + BYTES * beat :][:BYTES]
            kept = [not beyond and strobes >> lane & 1 for lane in range(BYTES)]
            own[:] = np.where(kept, word, own)
    words = [
        int.from_bytes(word.tobytes(), "little") | strobes << 32 | last << 36
        for word, strobes, last in beats
    ]
    writes, gives = Source(axi.aw, asked_w, rng, rate), Source(axi.w, words, rng, rate)
    ends = Sink(axi.b, rng, rate)
    asked: list[tuple[int, int | None]] = []
    results: list[tuple[int, int] | None] = []
    for _ in range(60):
        address = int(rng.integers(SIZE // 2, SIZE + 40))
        value = int(rng.integers(256)) if rng.integers(2) else None
        asked.append((address, value))
        inside = address < SIZE
        if value is None:
            results.append((int(wanted[address]), 0) if inside else None)
        else:
            results.append(None)
            if inside:
                wanted[address] = value

    def filled() -> bool:
        return len(ends.items) == len(asked_w)

    host = Host(dut, asked, 3)
    waits = SimpleNamespace(ready=False)

    class After(Part):
        """The host, who comes when all is written that bursts write."""

        ports = host.ports

        def drive(self, ctx: Any) -> None:
            if waits.ready:
                host.drive(ctx)

        def see(self, cycle: int, values: Any) -> None:
            host.see(cycle, values)
            waits.ready = waits.ready or filled()

    lows = [*range(0, SIZE, BEATS * BYTES), *rng.integers(0, SIZE // BYTES - BEATS, 8) * BYTES]
    reads = Source(axi.ar, [], rng, rate)
    takes = Sink(axi.r, rng, rate)

    def done() -> bool:
        if filled() and len(host.found) == len(asked) and not reads.items:
            reads.items = [burst(int(low), BEATS) for low in lows] + [burst(SIZE, 2)]
        return len(takes.items) == BEATS * len(lows) + 2

    run(dut, [writes, gives, ends, After(), reads, takes], done, deadline=6000)
    assert ends.items == [
        3 * bool((asked_w[number] & 0xFFFF) >= SIZE) for number in range(len(asked_w))
    ]
    for (address, value), found, result in zip(asked, host.found, results, strict=True):
        assert found[1] == 3 * (address >= SIZE)
        assert value is not None or result is None or found == result
    at = 0
    for low in lows:
        for beat in range(BEATS):
            word, last, resp = split(takes.items[at])
            assert word == wanted[low + BYTES * beat :][:BYTES].tobytes()
            assert (last, resp) == (beat == BEATS - 1, 0)
            at += 1
    assert [split(item)[1:] for item in takes.items[at:]] == [(False, 3), (True, 3)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("lean", [False, True])
def test_what_is_read_while_it_is_written(
    monkeypatch: pytest.MonkeyPatch, far: bool, lean: bool
) -> None:
    """Each byte is the old or the new one, of bursts and of the host, who writes bytes, too."""
    rng = np.random.default_rng(3)
    dut = block_ram(monkeypatch, far=far, lean=lean)
    axi, rounds = channels(dut), 24
    words = [0x11111111 * (1 + turn % 2) for turn in range(rounds)]
    wanted = {0x11, 0x22}
    asked: list[tuple[int, int | None]] = []
    for turn in range(300):
        byte = int(rng.choice([*wanted])) if turn % 4 else None
        asked.append((int(rng.integers(BYTES * BEATS)), byte))
    writes = Source(axi.aw, [burst(0, BEATS)] * rounds, rng)
    gives = Source(
        axi.w,
        [word | 15 << 32 | (beat == BEATS - 1) << 36 for word in words for beat in range(BEATS)],
        rng,
        0.7,
    )
    ends, takes, host = Sink(axi.b, rng), Sink(axi.r, rng, 0.9), Host(dut, asked, 4)
    reads = Source(axi.ar, [], rng)

    def done() -> bool:
        # From the first burst on, all is known.
        if ends.items and not reads.items:
            reads.items = [burst(0, BEATS)] * rounds
        ends_all = len(ends.items) == rounds and len(host.found) == len(asked)
        return ends_all and len(takes.items) == rounds * BEATS

    class After(Part):
        """The host, who comes then."""

        ports = host.ports

        def drive(self, ctx: Any) -> None:
            if ends.items:
                host.drive(ctx)

        def see(self, cycle: int, values: Any) -> None:
            host.see(cycle, values)

    run(dut, [writes, gives, ends, reads, takes, After()], done, deadline=6000)
    found = [split(item)[0] for item in takes.items]
    assert {byte for word in found for byte in word} == wanted
    told = [value for (_, data), (value, _) in zip(asked, host.found, strict=True) if data is None]
    assert set(told) == wanted


def split(item: int) -> tuple[bytes, bool, int]:
    """Return a beat's word, whether it is the last, and its response."""
    return (item & 0xFFFFFFFF).to_bytes(4, "little"), bool(item >> 32 & 1), item >> 33

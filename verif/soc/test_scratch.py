"""Memory on chip between a manager and memory: order, strobes, answers, whatever waits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from golden.soc.coprocessor import CoprocessorSpec
from golden.tpe.systolic_os import SystolicOsSpec
from hw.soc.bus.axi import Axi4
from hw.soc.stores.block_ram import BlockRam
from hw.soc.stores.operand_store import Bank
from hw.soc.stores.scratch import Scratch
from verif.soc.bus.byte_host import channels
from verif.soc.bus.partners import Part, Sink, Source, run
from verif.soc.test_block_ram import Placed

BYTES, SIZE = 4, 4096
SPEC = CoprocessorSpec(
    engine=SystolicOsSpec(m=2, n=2),
    data_width=8 * BYTES,
    address_width=16,
    scratch=SIZE,
    a_bytes=64,
    b_bytes=64,
    sums=16,
    outstanding=64,
)
CHIP = (1 << 16) - SIZE
BURSTS = 60


class Both(wiring.Component):
    """The chip, and a memory behind it.

    A `late` one takes addresses of writes only when a beat is offered, and answers them when others
    on chip are long answered.
    """

    axi: Any

    def __init__(self, *, late: bool) -> None:
        self.late = late
        self.scratch, self.memory = Scratch(SPEC), BlockRam(SPEC, SIZE)
        self.busy = Signal()
        super().__init__({"axi": In(Axi4(SPEC))})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.scratch = scratch = self.scratch
        m.submodules.memory = memory = self.memory
        connect(m, flipped(self.axi), scratch.axi)
        far, near = scratch.m_axi, memory.axi
        for name, member in far.signature.members.items():
            ends = getattr(near, name), getattr(far, name)
            if name not in ("awvalid", "awready", "bvalid", "bready"):
                m.d.comb += (
                    ends[0].eq(ends[1]) if member.flow == wiring.Out else ends[1].eq(ends[0])
                )
        go = far.wvalid | (not self.late)
        waited, opened = Signal(5), Signal()
        m.d.sync += waited.eq(Mux(near.bvalid & ~opened, waited + 1, 0))
        m.d.sync += opened.eq((opened & ~(far.bvalid & far.bready)) | waited.all())
        answers = opened | (not self.late)
        m.d.comb += [far.bvalid.eq(near.bvalid & answers), near.bready.eq(far.bready & answers)]
        m.d.comb += [near.awvalid.eq(far.awvalid & go), far.awready.eq(near.awready & go)]
        m.d.comb += self.busy.eq(far.arvalid | far.rvalid | far.awvalid | far.wvalid | far.bvalid)
        return m


class Later(Source):
    """Offers nothing until it may."""

    may: Callable[[], bool]

    def drive(self, ctx: Any) -> None:
        if self.may():
            super().drive(ctx)


class Quiet(Part):
    """Counts the cycles in which memory has something to do."""

    def __init__(self, dut: Both) -> None:
        self.ports, self.cycles = [dut.busy], 0

    def see(self, cycle: int, values: Any) -> None:
        self.cycles += values[0]


def both(monkeypatch: pytest.MonkeyPatch, *, late: bool = False) -> Both:
    monkeypatch.setattr(
        Bank,
        "place",
        lambda bank: Placed(bank.module, bank.width, bank.depth),
    )
    return Both(late=late)


def burst(address: int, beats: int) -> int:
    return address | (beats - 1) << 16


def places(rng: np.random.Generator, share: float) -> list[tuple[int, int]]:
    """Draw bursts in memory, beyond it, and on chip: addresses and beats."""
    found = []
    for _ in range(BURSTS):
        beats = int(rng.integers(1, 17))
        start = int(rng.integers(SIZE // BYTES - beats + 1)) * BYTES
        base = CHIP if rng.random() < share else int(rng.choice([0, 0, 0, SIZE, CHIP - SIZE]))
        found.append((base + start, beats))
    # The ends of the chip, and what is before it.
    return [*found[:-3], (CHIP, 2), (CHIP - 2 * BYTES, 2), ((1 << 16) - 2 * BYTES, 2)]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("rate", "late", "share"),
    [(1.0, False, 0.5), (0.5, False, 0.5), (1.0, True, 0.5), (0.5, True, 0.2), (1.0, False, 1.0)],
)
def test_bursts_anywhere(
    monkeypatch: pytest.MonkeyPatch, rate: float, late: bool, share: float
) -> None:
    """Answers come in order, with DECERR where nothing is; bytes are where they were written."""
    rng = np.random.default_rng(5)
    dut = both(monkeypatch, late=late)
    axi = channels(dut)
    wanted = np.zeros(1 << 16, np.uint8)
    written, beats, ends = places(rng, share), [], []
    whole = [(base + at, 16) for base in (0, CHIP) for at in range(0, SIZE, 16 * BYTES)]
    for address, count in [*whole[:1], *written]:
        there = address < SIZE or address >= CHIP
        ends.append(0 if there else 3)
        for beat in range(count):
            word, strobes = rng.integers(0, 256, BYTES, np.uint8), int(rng.integers(16))
            beats.append(
                int.from_bytes(word.tobytes(), "little") | strobes << 32 | (beat == count - 1) << 36
            )
            own = wanted[address + BYTES * beat :][:BYTES]
            kept = [there and strobes >> lane & 1 for lane in range(BYTES)]
            own[:] = np.where(kept, word, own)
    asked = [burst(*one) for one in (whole[0], *written)]
    writes, gives = Source(axi.aw, asked, rng, rate), Source(axi.w, beats, rng, rate)
    answers, takes = Sink(axi.b, rng, rate), Sink(axi.r, rng, rate)
    read = places(rng, share)
    asks = Later(axi.ar, [burst(*one) for one in read], rng, rate)
    asks.may = lambda: len(answers.items) == len(asked)
    total = sum(count for _, count in read)
    run(
        dut,
        [writes, gives, answers, asks, takes],
        lambda: len(takes.items) == total,
        deadline=20_000,
    )
    assert answers.items == ends
    expected = []
    for address, count in read:
        there = address < SIZE or address >= CHIP
        for beat in range(count):
            right = int.from_bytes(wanted[address + BYTES * beat :][:BYTES].tobytes(), "little")
            expected.append((right if there else None, beat == count - 1, 0 if there else 3))
    for item, (code, last, response) in zip(takes.items, expected, strict=True):
        assert (item >> 32 & 1, item >> 33) == (last, response)
        assert code is None or item & 0xFFFFFFFF == code


def test_memory_sees_nothing_of_the_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst on chip has its first beat four cycles after its address, and none is idle then."""
    rng = np.random.default_rng(6)
    dut = both(monkeypatch)
    axi = channels(dut)
    asks, takes, quiet = Source(axi.ar, [burst(CHIP, 16)] * 3, rng), Sink(axi.r, rng), Quiet(dut)
    run(dut, [asks, takes, quiet], lambda: len(takes.items) == 48, deadline=200)
    first = asks.cycles[0] + 4
    assert takes.cycles == list(range(first, first + 48))
    assert quiet.cycles == 0

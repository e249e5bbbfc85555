"""Unpacker and packer: rows of bytes at any byte, words of any width, and cycles per row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from amaranth import Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.soc.bus.beat_gather import BeatGather
from hw.soc.bus.burst import Beat, Span
from hw.soc.bus.packer import Packer
from hw.soc.bus.unpacker import Unpacker
from verif.soc.bus.partners import Part, Sink, Source, run, words

Rows = list[tuple[int, np.ndarray]]
"""Offset and bytes of each row."""


class Words(wiring.Component):
    """Unpacker, and what makes words of its pieces."""

    i_clear: Signal
    i_row: stream.Interface
    i: stream.Interface
    o: stream.Interface

    def __init__(self, beat: int, word: int):
        self.unpack, self.gather = Unpacker(beat), BeatGather(beat, word)
        super().__init__({
            "i_clear": In(1),
            "i_row": In(stream.Signature(Span(beat))),
            "i": In(stream.Signature(Beat(8 * beat))),
            "o": Out(stream.Signature(Beat(8 * word))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.unpack = unpack = self.unpack
        m.submodules.gather = ResetInserter(self.i_clear)(self.gather)
        gather = self.gather
        m.d.comb += unpack.i_clear.eq(self.i_clear)
        wiring.connect(m, wiring.flipped(self.i_row), unpack.i_row)
        wiring.connect(m, wiring.flipped(self.i), unpack.i)
        wiring.connect(m, unpack.o, gather.i)
        wiring.connect(m, gather.o, wiring.flipped(self.o))
        return m


def random_rows(rng: np.random.Generator, beat: int, word: int, count: int) -> Rows:
    """Rows of one byte to several words and beats, and whole numbers of both."""
    rows = []
    for _ in range(count):
        most = int(rng.choice([4, beat + 1, word + 1, 3 * (beat + word)]))
        whole = word * int(rng.integers(1, 4))
        length = int(rng.integers(1, most + 1)) if rng.random() < 0.5 else whole
        offset = int(rng.integers(0, beat)) if rng.random() < 0.5 else 0
        rows.append((offset, rng.integers(1, 256, length, np.uint8)))
    return rows


def every_row(beat: int, longest: int) -> Rows:
    """Rows at each offset of each length, each pair of kinds in some order."""
    rng = np.random.default_rng(1)
    rows = [
        (offset, rng.integers(1, 256, length, np.uint8))
        for offset in range(beat)
        for length in range(1, longest + 1)
    ]
    return [rows[at] for _ in range(2) for at in rng.permutation(len(rows))]


def beats_of(offset: int, octets: np.ndarray, beat: int) -> list[int]:
    """Beats of a row, zero around it."""
    return words(np.concatenate([np.zeros(offset, np.uint8), octets]), beat)


def last(items: list[int], width: int) -> list[int]:
    """Mark the last one."""
    return [*items[:-1], items[-1] | 1 << width]


def spans(beat: int, rows: Rows) -> list[int]:
    return [offset | len(octets) << (beat - 1).bit_length() for offset, octets in rows]


def simulate(
    dut: Any, rows: Sequence[int], items: Sequence[int], total: int, rates: Any, seed: int = 1
) -> tuple[Source, Source, Sink]:
    """Send rows and items; return the streams after `total` items came out, and no more do."""
    rng = np.random.default_rng(seed)
    row = Source(dut.i_row, rows, rng, rates[0])
    source, sink = Source(dut.i, items, rng, rates[1]), Sink(dut.o, rng, rates[2])
    deadline = 20 * (len(items) + len(rows) + total) + 100
    run(dut, [row, source, sink], lambda: len(sink.items) >= total, deadline=deadline, more=10)
    assert row.done
    assert source.done
    return row, source, sink


RATES = [(1.0, 1.0, 1.0), (0.4, 0.9, 0.7), (0.9, 0.6, 0.9)]


def unpack(
    beat: int, word: int, rows: Rows, rates: Any, rng: np.random.Generator
) -> tuple[Source, Source, Sink]:
    """Send rows through an unpacker, other bytes around them, and compare their own bytes."""
    beats: list[int] = []
    for offset, octets in rows:
        around = rng.integers(1, 256, -(offset + len(octets)) % beat, np.uint8)
        front = rng.integers(1, 256, offset, np.uint8)
        beats += last(words(np.concatenate([front, octets, around]), beat), 8 * beat)
    expected = [item for _, octets in rows for item in last(words(octets, word), 8 * word)]
    streams = simulate(Words(beat, word), spans(beat, rows), beats, len(expected), rates)
    own = [
        item | 1 << 8 * word
        for _, octets in rows
        for item in words(np.full(len(octets), 255, np.uint8), word)
    ]
    found = [item & mask for item, mask in zip(streams[2].items, own, strict=True)]
    assert found == expected
    return streams


@pytest.mark.sample(5)
@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize(
    ("beat", "word"), [(4, 4), (4, 5), (8, 24), (16, 16), (16, 50), (2, 3), (1, 3), (64, 64)]
)
def test_unpacker_brings_every_byte(beat: int, word: int, rates: tuple[float, ...]) -> None:
    rng = np.random.default_rng([beat, word])
    unpack(beat, word, random_rows(rng, beat, word, 60), rates, rng)


@pytest.mark.parametrize(("beat", "word"), [(4, 4), (4, 6), (4, 8)])
def test_unpacker_takes_a_beat_per_cycle_whatever_the_rows(beat: int, word: int) -> None:
    rows = every_row(beat, 3 * word)
    _, source, sink = unpack(beat, word, rows, RATES[0], np.random.default_rng(1))
    assert source.cycles == list(range(1, 1 + len(source.cycles)))
    # One cycle through each, and one for what a last beat leaves, and if it completes two words.
    assert sink.cycles[-1] - source.cycles[-1] in (2, 3, 4)


def pack(
    beat: int, word: int, rows: Rows, rates: Any, rng: np.random.Generator
) -> tuple[Source, Source, Sink]:
    """Send rows through a packer, other bytes behind them, and compare."""
    items: list[int] = []
    expected: list[int] = []
    for offset, octets in rows:
        behind = rng.integers(1, 256, -len(octets) % word, np.uint8)
        items += words(np.concatenate([octets, behind]), word)
        data = beats_of(offset, octets, beat)
        ones = beats_of(offset, np.ones(len(octets), np.uint8), beat)
        strobes = [sum((flags >> 8 * byte & 1) << byte for byte in range(beat)) for flags in ones]
        joined = [value | strobe << 8 * beat for value, strobe in zip(data, strobes, strict=True)]
        expected += last(joined, 9 * beat)
    streams = simulate(Packer(beat, word), spans(beat, rows), items, len(expected), rates)
    assert streams[2].items == expected
    return streams


@pytest.mark.sample(5)
@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize(
    ("beat", "word"),
    [(4, 4), (8, 24), (8, 20), (16, 1), (16, 3), (16, 12), (4, 13), (64, 8), (64, 64), (2, 2)],
)
def test_packer_brings_every_byte(beat: int, word: int, rates: tuple[float, ...]) -> None:
    rng = np.random.default_rng([beat, word])
    pack(beat, word, random_rows(rng, beat, word, 60), rates, rng)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("beat", "word"), [(4, 4), (4, 12), (4, 6), (4, 1), (8, 4), (8, 3)])
def test_packer_takes_the_cycles_it_says(beat: int, word: int) -> None:
    """One for each piece of a row, and one if the last piece reaches into another beat."""
    rows = every_row(beat, 3 * max(beat, word))
    _, _, sink = pack(beat, word, rows, RATES[0], np.random.default_rng(1))
    ends = [cycle for item, cycle in zip(sink.items, sink.cycles, strict=True) if item >> 9 * beat]
    sizes = [min(beat, word - at) for at in range(0, word, beat)]
    due = 2
    for (offset, octets), end in zip(rows, ends, strict=True):
        begin, left, pieces = offset, len(octets), 1
        while left > (size := sizes[(pieces - 1) % len(sizes)]):
            begin, left, pieces = (begin + size) % beat, left - size, pieces + 1
        due += pieces + (begin + left > beat)
        assert end == due
    if word % beat == 0:
        assert sink.cycles == list(range(3, 3 + len(sink.cycles)))


class Clear(Part):
    """Clears in one cycle; then the partners begin anew, with other items."""

    def __init__(self, dut: Any, wait: int, parts: tuple[Source, Source, Sink], items: Any):
        self.port, self.wait, self.parts, self.items = dut.i_clear, wait, parts, items

    def drive(self, ctx: Any) -> None:
        ctx.set(self.port, self.wait == 0)
        if self.wait == -1:
            for source, items in zip(self.parts[:2], self.items, strict=True):
                source.items, source.cycles, source.offered = items, [], False
            sink = self.parts[2]
            sink.items, sink.cycles, sink.waits = [], [], None
        self.wait -= 1


@pytest.mark.parametrize("wait", range(14))
@pytest.mark.parametrize("cls", [Words, Packer])
def test_clear_forgets_everything(cls: type[Words | Packer], wait: int) -> None:
    """Rows of ones, cut off in any cycle, leave nothing in the row that follows."""
    dut = cls(4, 8)
    rng = np.random.default_rng(wait)
    beats = cls is Words
    ones = (1 << (32 if beats else 64)) - 1
    row = Source(dut.i_row, [3 | 2 << 2, 1 | 19 << 2] * 4, rng)
    source = Source(dut.i, [ones, ones | beats << 32, ones, ones, ones] * 4, rng)
    sink = Sink(dut.o, rng, 0.7)
    octets = rng.integers(1, 256, 6, np.uint8)
    if beats:
        items, expected = last(beats_of(2, octets, 4), 32), last(words(octets, 8), 64)
    else:
        items = words(octets, 8)
        low, high = beats_of(2, octets, 4)
        expected = [low | 0b1100 << 32, high | 0b11111 << 32]
    clear = Clear(dut, wait, (row, source, sink), ([2 | 6 << 2], items))
    done = lambda: clear.wait < -2 and len(sink.items) == len(expected)  # noqa: E731
    run(dut, [clear, row, source, sink], done, deadline=60, more=5)
    own = (1 << 48) - 1 | 1 << 64 if beats else -1
    assert [item & own for item in sink.items] == expected


@pytest.mark.parametrize("cls", [Words, Packer])
def test_pack_refuses(cls: type[Words | Packer]) -> None:
    with pytest.raises(TypeError, match=r"beat_bytes must be 1\.\.64 bytes, not True"):
        cls(True, 4)
    with pytest.raises(ValueError, match="beat_bytes must be a power of two, not 12"):
        cls(12, 16)
    with pytest.raises(ValueError, match="word_bytes must be"):
        cls(4, 3 if cls is Words else 0)


def test_pack_latency() -> None:
    assert (Unpacker(4).latency, BeatGather(4, 8).latency, Packer(4, 8).latency) == (2, 1, 1)
    assert Packer(8, 1, 8, 9, 24).pieces == [1, 1, 2, 3]

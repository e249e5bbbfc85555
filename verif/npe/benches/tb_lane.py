"""Bench of a lane between two streams."""

import importlib
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from carrysave.sim.cocotb.bench import Bench
from carrysave.sim.cocotb.streams import (
    SCHEDULES,
    Sink,
    Source,
    deadline,
    generator,
    limited,
    limited_beats,
    schedule,
)
from carrysave.sim.parameters import bench_parameters, bench_spec
from verif.npe.benches.words import (
    Beats,
    all_pairs,
    codes,
    corners,
    draw,
    ends,
    extreme,
    make,
    pairs,
)

SPEC = bench_spec()
LATENCY = bench_parameters()["latency"]
FIELDS = ["a", "b", "a_format", "b_format", "last"]
FEW, MANY = 512, 1 << 16
"""Pairs of codes of two formats of more than 4 bits, and of one of 16."""
_MODULE = importlib.import_module(bench_parameters()["spec"][0])
lane, cycles = getattr(_MODULE, _MODULE.__name__.rpartition(".")[2]), _MODULE.cycles


class LaneBench(Bench):
    """The design with its clock running, reset, and its two streams."""

    def __init__(self, dut: Any) -> None:
        super().__init__(dut)
        self.rows = ["sum", "carry"] if hasattr(dut, "o_carry") else ["sum"]
        self.i = Source(dut, "i", FIELDS)
        self.o = Sink(dut, "o", [*self.rows, "invalid", "overflow"])

    def results(self) -> list[tuple[int, bool, bool]]:
        """Return the sums taken since the last call, each with its flags."""
        *rows, invalid, overflow = self.o.pop()
        half = 1 << (SPEC.accumulator_width - 1)
        totals = [sum(int(row, 2) for row in sums) for sums in zip(*rows, strict=True)]
        sums = [(total + half) % (2 * half) - half for total in totals]
        flags = ([bit == "1" for bit in bits] for bits in (invalid, overflow))
        return list(zip(sums, *flags, strict=True))

    async def check(self, beats: Beats, source: str, sink: str, seed: int) -> None:
        """Send words, of which the last ends a sum, and compare every sum with golden."""
        beats = beats[: limited_beats(beats[:, -1])]
        expected = golden(beats)
        stalls = schedule(source, generator(seed, 1)), schedule(sink, generator(seed, 2))
        self.i.send(beats.tolist(), stalls[0])
        taken = self.o.take(len(expected), stalls[1])
        # The slowest schedule moves in one cycle of five.
        await deadline(taken, 32 * len(beats) + 200 * len(expected) + 1000, "sums")
        results = self.results()
        assert len(results) == len(expected) > 0
        wrong = [at for at, (x, y) in enumerate(zip(results, expected, strict=True)) if x != y]
        assert not wrong, (
            f"{len(wrong)} of {len(results)} sums differ; sum {wrong[0]} is {results[wrong[0]]}"
            f" and must be {expected[wrong[0]]}"
        )
        await self.o.silent(LATENCY + 3)


def golden(beats: Beats) -> list[tuple[int, bool, bool]]:
    """Return what must come of these beats."""
    sums, *flags = lane(SPEC, *beats.T)
    return list(zip(sums.tolist(), *(flag.tolist() for flag in flags), strict=True))


@cocotb.test
async def test_operand_pairs(dut: Any) -> None:
    """Every pair of codes of one format, and with one of 4 bits as b; of others random ones.

    Of 16 bits every code on both sides with a random one, and all pairs of corners.
    """
    rng = generator(10)
    beats = []
    for pair in SPEC.pairs:
        # Of two formats, if the second one has 4 bits.
        whole = pair[0] == pair[1] or SPEC.container(pair[1]) == 4
        if max(SPEC.container(index) for index in pair) == 16:
            beats.append(pairs(rng, pair, MANY if pair[0] == pair[1] else FEW))
            beats.append(corners(rng, pair))
        else:
            beats.append(all_pairs(rng, pair, 1 << 16 if whole else FEW))
    bench = await LaneBench(dut).start()
    await bench.check(np.concatenate(beats), "flowing", "flowing", 10)


@cocotb.test
async def test_worst_case_to_the_limit_and_beyond(dut: Any) -> None:
    """Runs of the greatest products; those longer than the limit have the flag.

    Of pairs of formats with a limit of thousands of words, one with the greatest is enough:
    all bits that count words change.
    """
    bench = await LaneBench(dut).start()
    beats = []
    flagged = 0
    longest = max(SPEC.pairs, key=lambda one: (SPEC.k_max_words(*one), -SPEC.cycles(*one)))
    for pair in SPEC.pairs:
        limit = SPEC.k_max_words(*pair)
        for signs in ((-1, -1), (-1, 1), (1, 1)):
            whole = limit < 3000 or (pair == longest and signs == (1, 1))
            lengths = np.array([1, limit, limit + 1, 1] if whole else [1, min(limit, 20) + 1, 1])
            worst = [extreme(index, pair, sign) for index, sign in zip(pair, signs, strict=True)]
            words = [np.full(lengths.sum(), word) for word in worst]
            beats.append(make(words, pair, ends(lengths), 20))
            flagged += (lengths > limit).sum()
    sent = np.concatenate(beats)
    assert sum(overflow for *_, overflow in golden(sent)) == flagged
    await bench.check(sent, "flowing", "flowing", 20)


@cocotb.test
async def test_order_does_not_matter(dut: Any) -> None:
    """Great products that cancel leave the small one between them, in whatever order."""
    rng = generator(25)
    bench = await LaneBench(dut).start()
    for index, fmt in enumerate(SPEC.elements):
        value = fmt.decode(codes(index)).fixed(fmt.lsb)
        small = codes(index)[np.flatnonzero(value == 1)[:1]]
        great, less = codes(index)[[np.argmax(value), np.flatnonzero(value == -value.max())[0]]]
        a = np.array([great, great, small[0], *rng.choice(codes(index)[value != 0], 5)])
        b = np.array([great, less, small[0], *rng.choice(codes(index)[value != 0], 5)])
        orders = [np.arange(3), *(rng.permutation(8) for _ in range(6))]
        runs = np.concatenate(orders)
        # One code a word: alone in its slot, the other one is zero.
        pitch = SPEC.pitch(index, index)
        words = [SPEC.pack(side[runs][:, None], index, pitch)[:, 0] for side in (a, b)]
        beats = make(words, (index, index), ends(np.array([len(o) for o in orders])), 25)
        await bench.check(beats, "flowing", "flowing", 25)
        results = golden(beats)
        assert results[0][:2] == (1, False)
        assert len(set(results[1:])) == 1


@cocotb.test
async def test_invalid_at_each_position(dut: Any) -> None:
    """What is no number sets the flag of its own sum, wherever it stands, and counts as zero."""
    rng = generator(27)
    beats = []
    due = []
    for index in range(len(SPEC.names)):
        nan = SPEC.elements[index].decode(codes(index)).nan
        numbers, others = codes(index)[~nan], codes(index)[nan]
        count, pitch = SPEC.codes(index, index), SPEC.pitch(index, index)
        for place in range(2 * 4 * count if others.size else 0):
            # Four words with one such code, and a word without.
            pair = rng.choice(numbers, (2, 5 * count))
            pair[place % 2, place // 2] = rng.choice(others)
            words = [SPEC.pack(side, index, pitch) for side in pair]
            beats.append(make(words, (index, index), ends(np.array([4, 1])), 27))
            due += [True, False]
    beats.append(draw(rng, np.array([1]), 27))
    sent = np.concatenate(beats)
    assert [flag for _, flag, _ in golden(sent)[: len(due)]] == due
    await (await LaneBench(dut).start()).check(sent, "flowing", "flowing", 27)


@cocotb.test
@cocotb.parametrize(source=list(SCHEDULES), sink=list(SCHEDULES))
async def test_matches_golden(dut: Any, source: str, sink: str) -> None:
    """Random runs, each in formats of its own, single words among them, under stalls."""
    seed = 30 + 10 * list(SCHEDULES).index(source) + list(SCHEDULES).index(sink)
    rng = generator(seed)
    bench = await LaneBench(dut).start()
    lengths = np.concatenate([rng.geometric(0.1, 20), np.ones(30, int), rng.geometric(0.5, 20)])
    await bench.check(draw(rng, lengths, seed), source, sink, seed)


@cocotb.test
async def test_reset_forgets(dut: Any) -> None:
    """Reset within a run, with a sum waiting, and with one on its way; then all is as new."""
    rng = generator(200)
    bench = await LaneBench(dut).start()
    for trial in range(24):
        sent = bench.i.send(draw(rng, rng.geometric(0.3, 12), 200).tolist())
        taken = bench.o.take(1000) if trial % 3 else None
        for _ in range(int(rng.integers(1, 12))):
            await RisingEdge(dut.clk)
        sent.cancel()
        if taken is not None:
            taken.cancel()
        bench = await bench.restart()
        if trial % 4 == 3:
            await bench.o.silent(LATENCY + 3)
        await bench.check(draw(rng, np.array([1, 3, 1]), 200), "flowing", "flowing", 200)


@cocotb.test
async def test_latency_and_throughput(dut: Any) -> None:
    """A sum follows its last words after the stated cycles; there is no gap between sums."""
    rng = generator(300)
    bench = await LaneBench(dut).start()
    await bench.check(draw(rng, np.array([1]), 300), "flowing", "flowing", 300)
    for length in (1, 2, 7):
        bench.i.offers.clear()
        beats = draw(rng, np.full(20, length), 300)
        await bench.check(beats, "flowing", "flowing", 300)
        count = limited(20)
        spent = cycles(SPEC, *beats.T).reshape(20, length).sum(axis=1)[:count]
        assert bench.o.cycles[-count] - bench.i.offers[0] == spent[0] - 1 + LATENCY
        assert np.diff(bench.o.cycles[-count:]).tolist() == spent[1:].tolist()


@cocotb.test
async def test_valid_does_not_wait_for_ready(dut: Any) -> None:
    """A sum is offered to a receiver that is not ready, and is then still there."""
    bench = await LaneBench(dut).start()
    beats = draw(generator(400), np.array([1]), 400)
    bench.i.send(beats.tolist())
    for _ in range(LATENCY + 3):
        await RisingEdge(dut.clk)
    assert dut.o_valid.value
    await deadline(bench.o.take(1), 2, "the waiting sum")
    assert bench.results() == golden(beats)
    await bench.o.silent(LATENCY + 3)

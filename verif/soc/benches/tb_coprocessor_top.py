"""Bench of searches of the greatest codes, and of products whose B a place chooses.

Every byte of memory is compared with the twin's.
"""

from dataclasses import replace
from itertools import product as tuples
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.axi_memory import Memory
from carrysave.sim.cocotb.streams import SCHEDULES, limited
from carrysave.sim.parameters import bench_spec
from golden.npe.requantiser import Requantisation
from golden.soc.coprocessor import CoprocessorSpec, Error, Job, coprocessor, matrices
from golden.soc.lists import PLACE_BYTES, list_bytes, top_bytes
from verif.soc.benches.jobs import fill_records
from verif.soc.benches.listed import SLOT, choosing_job, top_job
from verif.soc.benches.slots import Slots

SPEC: CoprocessorSpec = bench_spec()
JOBS = 6
SLOTS = Slots(spec=SPEC, slot=SLOT, jobs=JOBS, likely=0.06, seed=70)
N = min(5, SPEC.lists)
ORDERS = [row for row in tuples(range(N), repeat=N) if {*row} == {*range(max(row) + 1)}]
"""Every order that N codes can have, with equal ones."""


@cocotb.test
@cocotb.parametrize(wide=range(SPEC.vector_in_bytes))
async def test_every_order_of_few_codes(dut: Any, wide: int) -> None:
    """With codes at both ends of their range, for every K; in brief runs for the greatest ones."""
    host, memory, _ = await SLOTS.start(dut, "flowing", wide)
    high = (1 << 8 * wide + 7) - 1
    codes = np.array([-high - 1, -1, 0, 1, high])[np.array(ORDERS)]
    m, size = len(codes), wide + 1
    most = min(SPEC.top_k, N)
    for k in range(most, most - limited(most), -1):
        job = Job(
            a=3,
            b=0,
            c=8 + m * N * size,
            m=m,
            n=N,
            k=k,
            lda=N * size,
            ldb=0,
            ldc=top_bytes(k, size),
            a_format=wide,
            vector="top_k",
        )
        matrices(SPEC, job)["a"].store(memory.data, codes)
        await SLOTS.run(host, memory, [job])


@cocotb.test
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_any_rows(dut: Any, kind: str) -> None:
    """Searches follow each other, after a reset amid others."""
    host, memory, rng = await SLOTS.start(dut, kind, 4)

    def some() -> list[Job]:
        count = int(rng.integers(1, JOBS + 1)) if SPEC.follows_ring else 1
        return [top_job(SPEC, rng, memory.data, slot) for slot in range(count)]

    for number in range(limited(6)):
        if number % 2:
            await SLOTS.begin(host, memory, some())
            await ClockCycles(dut.aclk, int(rng.integers(1, 900)))
            await host.write(0, 1 << 31)
            while await host.read(0) & 1 << 31:
                pass
        await SLOTS.run(host, memory, some())


def _drawn(rng: np.random.Generator, memory: Memory, slot: int) -> Job:
    """Draw a product by a place, a search, or a product of all of its own."""
    kind = int(rng.integers(4))
    if kind == 0:
        return top_job(SPEC, rng, memory.data, slot)
    job = (
        SLOTS.job(rng, slot)
        if kind == 1
        else choosing_job(SPEC, rng, memory.data, slot, likely=SLOTS.likely)
    )
    fill_records(memory.data, job)
    return job


@cocotb.test
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_any_choices(dut: Any, kind: str) -> None:
    """Products by places follow others; one of a place that is none is told, and writes nothing."""
    host, memory, rng = await SLOTS.start(dut, kind, 9)
    for number in range(limited(8)):
        count = int(rng.integers(1, JOBS + 1)) if SPEC.follows_ring else 1
        jobs = [_drawn(rng, memory, slot) for slot in range(count)]
        if number % 3 != 1:
            await SLOTS.run(host, memory, jobs)
            continue
        last = count - 1
        beyond = (0, 1 << 31, 1)[number // 3]
        wrong = choosing_job(SPEC, rng, memory.data, last, likely=SLOTS.likely, beyond=beyond)
        fill_records(memory.data, wrong)
        expected = memory.data[: JOBS * SLOT].copy()
        codes = [coprocessor(SPEC, expected, job) for job in [*jobs[:-1], wrong]]
        assert codes == [Error.NONE] * last + [Error.INDEX]
        await SLOTS.begin(host, memory, [*jobs[:-1], wrong])
        assert await host.wait() == Error.INDEX
        if SPEC.follows_ring:
            await host.write(0x98, 0)
        assert np.array_equal(memory.data[: JOBS * SLOT], expected)


SIZE, EXPERTS, HIDDEN, USED = 24, 7, 9, min(3, SPEC.top_k)
APART = SIZE * HIDDEN + 5
X, ROUTER, WEIGHTS, SCORES, TOP, MADE, SUMS = 0, 64, 512, 4096, 4200, 4400, 4608


def _ring() -> list[Job]:
    """Return a router, a search of its scores, experts by their places, and their sum."""
    to_codes = Requantisation(
        multiplier=np.array([1 << 30]),
        shift=np.array([39]),
        zero_point=np.array([0]),
        low=-128,
        high=127,
    )
    product = Job(
        a=X,
        b=ROUTER,
        c=SCORES,
        m=1,
        n=EXPERTS,
        k=SIZE,
        lda=SIZE,
        ldb=EXPERTS,
        ldc=EXPERTS,
        requantisation=to_codes,
    )
    search = Job(
        a=SCORES,
        b=0,
        c=TOP,
        m=1,
        n=EXPERTS,
        k=USED,
        lda=EXPERTS,
        ldb=0,
        ldc=top_bytes(USED, 1),
        vector="top_k",
    )
    expert = replace(
        product, b=WEIGHTS, c=MADE, n=HIDDEN, ldb=HIDDEN, ldc=HIDDEN, ldsa=APART, ldsb=EXPERTS
    )
    experts = [
        replace(expert, c=MADE + HIDDEN * rank, places=TOP + PLACE_BYTES * rank)
        for rank in range(USED)
    ]
    gates: dict[str, Any] = {"a": TOP + list_bytes(USED), "k": USED, "lda": USED}
    gates |= {"b": MADE, "n": HIDDEN, "ldb": HIDDEN, "c": SUMS, "ldc": SPEC.sum_bytes * HIDDEN}
    return [product, search, *experts, replace(product, **gates, requantisation=None)]


@cocotb.test(skip=not (SPEC.requantise and SPEC.follows_ring) or SPEC.kinds[0].b_bits != 8)
@cocotb.parametrize(kind=list(SCHEDULES))
async def test_experts(dut: Any, kind: str) -> None:
    """One ring without the host: weights are read of the experts that are chosen, and no others."""
    host, memory, rng = await SLOTS.start(dut, kind, 15)
    ring = _ring()
    for _ in range(limited(4)):
        memory.data[: 1 << 13] = rng.integers(256, size=1 << 13)
        bursts = len(memory.bursts)
        await SLOTS.run(host, memory, ring)
        order = _places(memory.data, SCORES, EXPERTS)[:USED]
        _check_sums(memory.data, ring, order)
        firsts = [WEIGHTS + APART * place for place in order]
        for channel, at, *_ in memory.bursts[bursts:]:
            of_experts = WEIGHTS <= at < WEIGHTS + APART * EXPERTS
            chosen = any(one - SPEC.bytes < at < one + SIZE * HIDDEN for one in firsts)
            assert channel != "ar" or chosen or not of_experts, (at, order)


def _signed(memory: np.ndarray, at: int, rows: int, columns: int) -> np.ndarray:
    return memory[at : at + rows * columns].view(np.int8).astype(np.int64).reshape(rows, columns)


def _places(memory: np.ndarray, scores: int, count: int) -> list[int]:
    """Return the experts, by falling scores."""
    codes = _signed(memory, scores, 1, count)[0].tolist()
    return sorted(range(count), key=lambda one: (-codes[one], one))


def _check_sums(memory: np.ndarray, ring: list[Job], order: list[int]) -> None:
    """Compute what experts make without places, and compare their sum."""
    first, last = ring[2], ring[-1]
    x, gates = _signed(memory, first.a, 1, first.k), _signed(memory, ring[0].c, 1, ring[0].n)[0]
    total = np.zeros(first.n, np.int64)
    for place in order:
        weights = _signed(memory, first.b + first.ldsa * place, first.k, first.n)
        total += gates[place] * np.clip(np.rint((x @ weights)[0] / 512), -128, 127).astype(np.int64)
    sums = memory[last.c : last.c + 4 * last.n].view("<i4")
    assert SPEC.sum_bytes == 4
    assert np.array_equal(sums, total), (sums, total)

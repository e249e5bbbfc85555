"""Bench of what products by lists of places take, beside those of all of K."""

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from carrysave.sim.cocotb import system
from carrysave.sim.cocotb.host import descriptors
from carrysave.sim.cocotb.streams import generator
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.soc.blocking import plan
from golden.soc.coprocessor import CoprocessorSpec, Job, coprocessor
from golden.soc.lists import list_bytes
from verif.soc.benches.listed import put

SPEC: CoprocessorSpec = bench_spec()
SIZE = 1 << 20


@cocotb.test(skip="groups" in bench_parameters())
async def test_beats(dut: Any) -> None:
    """A row by a matrix, all of K and by a list, with a memory that gives a beat in some cycles."""
    parameters = bench_parameters()
    slow = itertools.cycle([True] + [False] * (parameters["pause"]))
    host, memory = await system.start(dut, size=SIZE, latency=20, stalls={"r": slow})
    m, k, n = parameters["sizes"]
    rng, blocks = generator(53), plan(SPEC.stores(), m, n, k, 32)
    b = 1 << 14
    job = Job(a=0, b=b, c=1 << 13, m=m, n=n, k=k, lda=k, ldb=n * SPEC.b_bits // 8, ldc=4 * n)
    job = replace(job, block_m=blocks.m, block_n=blocks.n, block_k=blocks.k)
    memory.data[: SIZE // 2] = rng.integers(256, size=SIZE // 2)
    words = np.zeros(k + 1, np.int64)
    places = np.flatnonzero(rng.random(k) < parameters["share"])
    words[: len(places)], words[k] = places, len(places)
    by_list = replace(job, places=SIZE - (1 << 14))
    put(memory.data, by_list, words)
    took = []
    for one in (job, by_list):
        expected, before = memory.data.copy(), memory.read_beats
        assert not coprocessor(SPEC, expected, one)
        cycles = await host.time(one)
        assert np.array_equal(memory.data, expected)
        took.append({"cycles": cycles, "beats": memory.read_beats - before})
    Path("beats.json").write_text(json.dumps(took))


@cocotb.test(skip="groups" not in bench_parameters())
async def test_groups(dut: Any) -> None:
    """Products of groups of a row, as a decoder has them, dense and by lists made before."""
    parameters = bench_parameters()
    slow = itertools.cycle([True] + [False] * parameters["pause"])
    host, memory = await system.start(dut, size=SIZE, latency=20, stalls={"r": slow})
    groups, (size, n) = parameters["groups"], parameters["sizes"]
    rng, blocks = generator(54), plan(SPEC.stores(), 1, n, size, 8 * SPEC.sum_bytes)
    ldb, ldc, lists = n * SPEC.b_bits // 8, n * SPEC.sum_bytes, 1 << 16
    b, c = 1 << 17, 1 << 19
    memory.data[b:c] = rng.integers(256, size=c - b)
    codes = rng.integers(1, 256, groups * size)
    codes[rng.random(groups * size) >= parameters["share"]] = 0
    memory.data[: groups * size] = codes
    dense = [
        Job(
            a=group * size,
            b=b + group * size * ldb,
            c=c + group * ldc,
            m=1,
            n=n,
            k=size,
            lda=size,
            ldb=ldb,
            ldc=ldc,
            block_m=blocks.m,
            block_n=blocks.n,
            block_k=blocks.k,
        )
        for group in range(groups)
    ]
    each = list_bytes(size)
    makes = Job(
        a=0,
        b=0,
        c=lists,
        m=groups,
        n=size,
        k=0,
        lda=size,
        ldb=0,
        ldc=each,
        vector="index",
        least=1,
    )
    by_list = [replace(job, places=lists + number * each) for number, job in enumerate(dense)]
    took = {}
    for name, jobs in {"dense": dense, "lists": [makes, *by_list]}.items():
        image = np.frombuffer(descriptors(jobs, SPEC.sum_bytes), np.uint8)
        at = SIZE - len(image)
        memory.data[at:] = image
        expected, before = memory.data.copy(), memory.read_beats
        assert not any(coprocessor(SPEC, expected, job) for job in jobs)
        cycles = await host.time_ring(at, len(jobs))
        assert np.array_equal(memory.data, expected)
        took[name] = {"cycles": cycles, "beats": memory.read_beats - before}
    Path("groups.json").write_text(json.dumps(took))

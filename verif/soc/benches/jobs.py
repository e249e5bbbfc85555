"""Jobs for the benches of the co-processor: any that it can do, placed in a small memory."""

from dataclasses import replace
from typing import Any

import numpy as np

from carrysave.sim.cocotb.streams import generator
from golden.npe.requantiser import Requantisation
from golden.soc.code_table import CODES
from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.maps import MAPS
from golden.soc.row_factors import FACTOR_BYTES
from golden.soc.spec import CoprocessorSpec
from verif.soc.uvm.modes import requantisation

__all__ = ["SIZE", "alike", "any_job", "any_options", "draw", "fill_records", "requantisation"]

SIZE = 1 << 16
"""Bytes of the memory."""


def draw(
    spec: CoprocessorSpec, rng: np.random.Generator, m: int, n: int, k: int, **more: Any
) -> Job:
    """Place a product somewhere in memory, rows at any byte and at any distance."""
    codes = more.get("requantisation") is not None or more.get("encode", False)
    mode = spec.inside.modes[more.get("a_format", 0), more.get("b_format", 0)]
    c_bits = spec.code_bits if codes else 8 * spec.sum_bytes
    if spec.sizes and codes:
        most = 1 if more.get("table") else spec.code_bytes
        more["c_bytes"] = more.get("c_bytes", int(rng.integers(most + 1)))
        if more["c_bytes"] > 1:
            c_bits = 8 * more["c_bytes"]
            more["requantisation"] = _widened(more["requantisation"])
    bits = {"a": mode.a_bits, "b": mode.b_bits, "c": c_bits}
    words = -(-k // mode.codes)
    shapes = {"a": (m, words), "b": (-(-words // mode.b_deep), n), "c": (m, n)}
    if spec.inside.block:
        blocks = -(-k // spec.inside.block)
        bits |= {"b_scales": 8 * spec.inside.b_sides}
        shapes |= {"b_scales": (blocks, n)}
        if spec.inside.a_sides:
            bits, shapes = bits | {"a_scales": 8}, shapes | {"a_scales": (m, blocks)}
    if octaves := more.pop("octaves", 0):
        bits, shapes = bits | {"a_scales": 8}, shapes | {"a_scales": (m, octaves)}
    if groups := more.pop("groups", 0):
        bits |= {"a_scales": 8, "b_scales": 16}
        shapes |= {"a_scales": (groups, m), "b_scales": (groups, n)}
    found: dict[str, Any] = {}
    free = int(rng.integers(0, 64))
    for name, (rows, columns) in shapes.items():
        length = -(-columns * bits[name] // 8)
        distance = length + int(rng.integers(0, 9))
        leading = {"a_scales": "ldsa", "b_scales": "ldsb"}.get(name, f"ld{name}")
        found |= {name: free, leading: distance}
        free += (rows - 1) * distance + length + int(rng.integers(0, 40))
    if size := spec.inside.expander.table_bytes:
        # What is there by chance is a table.
        more["b_scales"] = free
        free += size + int(rng.integers(0, 9))
    if more.pop("bias", False):
        more["bias"] = free
        free += n * spec.sum_bytes
    if more.pop("row_factors", False):
        more["row_factors"] = free
        free += m * FACTOR_BYTES
    if more.pop("records", False):
        more["records"] = free
        free += n * CoprocessorSpec.RECORD_BYTES + CODES * more.get("table", False)
    assert free <= SIZE, "the matrices do not fit into the memory"
    return Job(m=m, n=n, k=k, **found, **more)


def _widened(how: Requantisation) -> Requantisation:
    """Return what makes codes of 16 bits, few of which are at a limit."""
    assert how.low is not None
    assert how.high is not None
    if how.low < -128:
        return how
    return replace(how, shift=how.shift - 8, low=how.low * 250, high=how.high * 250)


def fill_records(memory: np.ndarray, job: Job) -> None:
    """Put a requantisation of each column into memory, few of whose codes are at a limit.

    And a table, in which no code is what it was.
    """
    if job.records is None or job.records >= len(memory):
        return
    rng = generator(20, job.records)
    if job.table:
        records = job.n * CoprocessorSpec.RECORD_BYTES * (job.vector not in MAPS)
        at = job.records + records
        memory[at : at + CODES] = (np.arange(CODES) * 5 + rng.integers(1, CODES, CODES)) % CODES
    for column in range(job.n if job.vector not in MAPS else 0):
        how = requantisation(rng)
        if job.c_bytes > 1:
            how = _widened(how)
        record = int(how.multiplier[0]) | int(how.shift[0]) << 32
        record |= (int(how.zero_point[0]) & 0xFFFF) << 48
        at = job.records + column * CoprocessorSpec.RECORD_BYTES
        memory[at : at + CoprocessorSpec.RECORD_BYTES] = list(
            record.to_bytes(CoprocessorSpec.RECORD_BYTES, "little")
        )


def any_job(spec: CoprocessorSpec, rng: np.random.Generator, likely: float) -> Job:
    """Draw a job of any size, with whatever the co-processor can do."""
    m, n, k = (int(rng.geometric(likely)) for _ in range(3))
    more = any_options(spec, rng)
    if rng.integers(2) and spec.blocks:
        mode = spec.inside.modes[more["a_format"], more["b_format"]]
        up, across, depth = (int(rng.integers(1, most + 1)) for most in spec.default_blocks(mode))
        if spec.fits(up, across, depth, mode):
            more |= {"block_m": up, "block_n": across, "block_k": depth}
    return draw(spec, rng, m, n, k, **more)


def alike(spec: CoprocessorSpec, job: Job) -> list[Job]:
    """Return a product, and up to five that differ in their addresses of A and C alone."""
    there = matrices(spec, job)
    size = there["c"].end - job.c
    free = max(one.end for one in there.values())
    more = (replace(job, a=max(job.a - at, 0), c=free + at * size) for at in range(5))
    return [job, *(one for one in more if one.c + size <= SIZE)]


def any_options(spec: CoprocessorSpec, rng: np.random.Generator) -> dict[str, Any]:
    """Draw what is done with sums, and formats."""
    more: dict[str, Any] = {"by_columns": bool(rng.integers(2)) and spec.blocks}
    more["bias"] = spec.bias and bool(rng.integers(2))
    pairs = list(spec.inside.modes)
    more["a_format"], more["b_format"] = pairs[rng.integers(len(pairs))]
    if spec.requantise and rng.integers(2):
        if spec.inside.result is None:
            more["requantisation"] = requantisation(rng)
            more["records"] = spec.requantises_columns and bool(rng.integers(2))
            more["table"] = spec.table and more["records"] and bool(rng.integers(2))
        else:
            more["encode"] = True
            more["seed"] = int(rng.integers(1 << 31)) if spec.random_width else 0
    elif spec.accumulates and not more["bias"]:
        more["accumulate"] = bool(rng.integers(2))
        more["row_factors"] = spec.row_factors and more["accumulate"] and bool(rng.integers(2))
    return more

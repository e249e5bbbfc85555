"""Jobs whose B is packed: images that are right, and such as are not."""

from dataclasses import replace

import numpy as np

from golden.formats.bitmap import ENTRY_BYTES, BlockSize, pack_image
from golden.soc.job import Job
from golden.soc.job_check import matrices
from golden.soc.spec import CoprocessorSpec
from verif.soc.benches.jobs import any_job
from verif.soc.uvm.orders import moved

__all__ = ["SLOT", "block_of", "packed_job", "sparse_bytes", "spoiled", "with_image"]

SLOT = 1 << 15
"""Bytes of memory that a job has."""


def block_of(spec: CoprocessorSpec, job: Job) -> BlockSize:
    """Return the size of a block of B of a job, in rows and bytes."""
    mode = spec.inside.modes[job.a_format, job.b_format]
    blocks = job.block_m, job.block_n, job.block_k
    _, across, deep = blocks if all(blocks) else spec.default_blocks(mode)
    return BlockSize(deep * spec.inside.k, across * spec.inside.n * mode.b_bits // 8)


def sparse_bytes(rng: np.random.Generator, shape: tuple[int, int], size: BlockSize) -> np.ndarray:
    """Draw bytes of which some are zero, in some blocks all and in others none."""
    rows = rng.integers(1, 256, shape).astype(np.uint8)
    for left in range(0, shape[1], size.bytes):
        for top in range(0, shape[0], size.rows):
            block = rows[top : top + size.rows, left : left + size.bytes]
            share = float(rng.choice([0, 0.2, 0.5, 0.9, 1]))
            block[rng.random(block.shape) < share] = 0
    return rows


def with_image(spec: CoprocessorSpec, job: Job, image: bytes, at: int) -> Job:
    """Return a job whose B is an image at an address."""
    return replace(job, b=at, ldb=len(image), packed=True)


def packed_job(
    spec: CoprocessorSpec, rng: np.random.Generator, memory: np.ndarray, slot: int, likely: float
) -> Job:
    """Draw any job of a build, in a part of memory, whose B is packed, there behind all else."""
    while True:
        job = any_job(spec, rng, likely)
        there = matrices(spec, job)
        end = max(matrix.end for matrix in there.values()) + int(rng.integers(40))
        b, size = there["b"], block_of(spec, job)
        rows = sparse_bytes(rng, (b.rows, b.row_bytes), size)
        image = pack_image(rows, size)
        if end + len(image) <= SLOT:
            break
    job = with_image(spec, moved(job, slot * SLOT), image, slot * SLOT + end)
    memory[job.b : job.b + len(image)] = np.frombuffer(image, np.uint8)
    return job


def spoiled(
    spec: CoprocessorSpec, rng: np.random.Generator, memory: np.ndarray, job: Job
) -> tuple[str, Job]:
    """Spoil the image of a job; return how, and the job.

    Offsets go back, are beyond the end, of another block, or have a bit that is none; masks mark
    more bytes than there are, or fewer; the image is shorter than its table, or it.
    """
    image = memory[job.b : job.b + job.ldb]
    count = _entries(spec, job)
    entry = int(rng.integers(count))
    at = ENTRY_BYTES * entry
    table = image[: ENTRY_BYTES * count].copy().view("<u4")
    how = str(rng.choice(["back", "beyond", "bit", "moved", "mask", "short", "raw"]))
    if how == "short":
        return how, replace(job, ldb=int(rng.integers(1, job.ldb)))
    if how == "mask":
        place = ENTRY_BYTES * int(rng.integers(count, max(len(image) // ENTRY_BYTES, count + 1)))
        image[place : place + 1] ^= np.uint8(1 << int(rng.integers(8)))
        return how, job
    value = int(table[entry])
    changed = {
        "back": int(rng.integers(0, max(value, 1))),
        "beyond": len(image) + int(rng.integers(1, 1 << 31)),
        "bit": value | 2,
        "moved": value + ENTRY_BYTES * int(rng.integers(1, 9)),
        "raw": value ^ 1,
    }[how]
    image[at : at + ENTRY_BYTES] = list((changed & 0xFFFFFFFF).to_bytes(ENTRY_BYTES, "little"))
    return how, job


def _entries(spec: CoprocessorSpec, job: Job) -> int:
    """Count the entries of a job's table."""
    size, b = block_of(spec, job), matrices(spec, replace(job, packed=False, b=0, ldb=0))["b"]
    return -(-b.rows // size.rows) * -(-b.row_bytes // size.bytes) + 1

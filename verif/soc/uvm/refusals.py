"""Good jobs with one thing wrong, for each reason to refuse a job."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from golden.soc.coprocessor import CoprocessorSpec, Error, Job, matrices
from golden.soc.memory import Matrix
from verif.soc.uvm.modes import unsupported
from verif.soc.uvm.orders import DESCRIPTOR, Task

__all__ = ["REFUSALS", "RING_REFUSALS", "bad_rings", "refused"]

REFUSALS = {
    "dimension": Error.DIMENSION,
    "long_k": Error.K_TOO_LARGE,
    "wraps": Error.WRAPS,
    "mode": Error.MODE,
    "blocks": Error.BLOCKS,
    "short_row": Error.LEADING_DIMENSION,
}
RING_REFUSALS = {"ring_misaligned": Error.MISALIGNED, "ring_wraps": Error.WRAPS}


def refused(spec: CoprocessorSpec, job: Job, reason: str) -> list[Task]:
    """Spoil a good job in every way that is refused for this reason, and for no other."""
    if reason == "mode":
        return [Task(job, modes) for modes in unsupported(spec)]
    changes = {
        "dimension": _dimension,
        "long_k": _long_k,
        "wraps": _wraps,
        "blocks": _blocks,
        "short_row": _short_row,
    }[reason]
    return [Task(replace(job, **changed)) for changed in changes(spec, job)]


def bad_rings(spec: CoprocessorSpec, ring: int, count: int, reason: str) -> list[int]:
    """List addresses of rings that are refused for this reason, and for no other."""
    if reason == "ring_misaligned":
        return [ring + offset for offset in range(1, spec.bytes)]
    high = 1 << spec.address_width
    found = [high - DESCRIPTOR * count + spec.bytes, high - spec.bytes]
    found += [ring | high << bit for bit in range(64 - spec.address_width)]
    return found


def _matrices(spec: CoprocessorSpec, job: Job) -> dict[str, Matrix]:
    return matrices(spec, job)


def _dimension(spec: CoprocessorSpec, job: Job) -> Iterator[dict[str, Any]]:
    for side in "mnk":
        for size in (0, 1 << spec.dimension_width, 1 << 31, (1 << 32) - 1):
            yield {side: size}


def _long_k(spec: CoprocessorSpec, job: Job) -> Iterator[dict[str, Any]]:
    limit = spec.inside.modes[0, 0].k_max
    for k in {limit + 1, (1 << spec.dimension_width) - 1} - {limit}:
        if limit < k < 1 << spec.dimension_width:
            yield {"k": k, "lda": _matrices(spec, replace(job, k=k))["a"].row_bytes}


def _wraps(spec: CoprocessorSpec, job: Job) -> Iterator[dict[str, Any]]:
    high = 1 << spec.address_width
    for name, matrix in _matrices(spec, job).items():
        # One byte too far, and as far as can be; a single byte of 64 bits' addresses is not.
        for address in (high - (matrix.end - matrix.address) + 1, high - 1):
            if address < 1 << 64 and address + matrix.end - matrix.address > high:
                yield {name: address}
        # Bits above the highest of an address.
        for bit in range(spec.address_width, 64):
            yield {name: matrix.address | 1 << bit}
    # Only the distance of rows leads there.
    rows, far = (1 << spec.dimension_width) - 1, (1 << 32) - 1
    for name, other in (("a", "c"), ("c", "a")):
        if rows * getattr(job, f"ld{other}") < high:
            yield {"m": rows, f"ld{name}": far, name: max(high - (rows - 1) * far, 0), other: 0}


def _blocks(spec: CoprocessorSpec, job: Job) -> Iterator[dict[str, Any]]:
    sides = ("block_m", "block_n", "block_k")
    good = spec.default_blocks()
    for number, side in enumerate(sides):
        blocks = list(good)
        while spec.stores().fits(*blocks):
            blocks[number] += 1
        for size in (blocks[number], 1 << 20, (1 << 24) - 1, (1 << 32) - 1):
            yield dict(zip(sides, good, strict=True)) | {side: size}
    # Blocks that begin inside of a byte.
    for blocks in ([1, 1, good[2]], [1, good[1], 1], [good[0], 1, good[2]], [1, good[1], good[2]]):
        for number in range(3):
            less = list(blocks)
            less[number] = max(less[number] - 1, 1)
            if not spec.stores().fits(*less):
                yield dict(zip(sides, less, strict=True))


def _short_row(spec: CoprocessorSpec, job: Job) -> Iterator[dict[str, Any]]:
    for name, matrix in _matrices(spec, job).items():
        if name in ("a", "b", "c"):
            yield {f"ld{name}": matrix.row_bytes - 1}
            yield {f"ld{name}": 0}

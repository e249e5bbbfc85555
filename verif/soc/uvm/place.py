"""Places of matrices in memory: rows at whole beats, at any byte, packed, at ends of pages."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from golden.soc.coprocessor import CoprocessorSpec, Job, matrices
from golden.soc.memory import Matrix
from verif.soc.uvm.modes import ADDRESSES

__all__ = ["PAGE", "PLACINGS", "Placer", "placing_of"]

PAGE = 4096
PLACINGS = ("beats", "bytes", "packed", "pages")


class Placer:
    """Places one thing behind the other.

    Parameters
    ----------
    rng : draws gaps.
    spec : the bus, and numbers.
    free : the first byte that is free.
    """

    def __init__(self, rng: np.random.Generator, spec: CoprocessorSpec, free: int = 0) -> None:
        self.rng, self.spec = rng, spec
        self.free = free

    def job(self, job: Job, placing: str) -> Job:
        """Place all that a job reads and writes, in any order."""
        there = matrices(self.spec, job)
        for name in self.rng.permutation([name for name in ADDRESSES if name in there]):
            matrix = matrices(self.spec, job)[str(name)]
            address, distance = self._matrix(matrix.rows, matrix.row_bytes, placing)
            if name == "b_scales" and not address:
                # At 0 it would be none.
                address, distance = self._matrix(matrix.rows, matrix.row_bytes, placing)
            fields: dict[str, Any] = {str(name): address}
            if name in ("a", "b", "c"):
                fields[f"ld{name}"] = distance
            job = replace(job, **fields)
        return job

    def ring(self, count: int, size: int) -> int:
        """Place descriptors, one of them now and then across the end of a page."""
        beat = self.spec.bytes
        address = -(-(self.free + int(self.rng.integers(64))) // beat) * beat
        if self.rng.integers(2):
            page = -(-address // PAGE) * PAGE
            address = max(
                address, page - beat * int(self.rng.integers(1, count * size // beat + 1))
            )
        self.free = address + count * size
        return address

    def _matrix(self, rows: int, length: int, placing: str) -> tuple[int, int]:
        """Choose address and distance of rows."""
        rng, beat = self.rng, self.spec.bytes
        distance = length + int(rng.integers(1, 9))
        if placing == "packed":
            distance = length
        if placing == "beats":
            distance = -(-length // beat) * beat + beat * int(rng.integers(2))
            address = -(-(self.free + int(rng.integers(40))) // beat) * beat
        elif placing == "pages":
            if rng.integers(2):
                distance = length
            # The last byte of a page is byte `inside` of row `row`.
            row, inside = int(rng.integers(rows)), int(rng.integers(length))
            before = row * distance + inside + 1
            address = -(-(self.free + before) // PAGE) * PAGE - before
        else:
            address = self.free + int(rng.integers(40))
            address += address % beat == 0
        self.free = address + (rows - 1) * distance + length
        return address, distance


def placing_of(spec: CoprocessorSpec, found: Sequence[Matrix]) -> str | None:
    """Tell how the matrices a, b, c are placed; None if in no way that has a name."""
    beat = spec.bytes
    if all((matrix.places() % PAGE == PAGE - 1).any() for matrix in found):
        return "pages"
    starts = [matrix.address + matrix.distance * np.arange(matrix.rows) for matrix in found]
    if all((rows % beat == 0).all() for rows in starts):
        return "beats"
    if any(matrix.address % beat == 0 for matrix in found):
        return None
    if all(matrix.distance == matrix.row_bytes for matrix in found):
        return "packed"
    return "bytes" if all(matrix.distance > matrix.row_bytes for matrix in found) else None

"""Memory that a co-processor can access: matrices, and descriptors of jobs."""

from collections.abc import Sequence

import numpy as np

from .descriptor import descriptors
from .device_info import Info
from .job import Job
from .matrix import Allocate, Matrix
from .number import BYTE, Number
from .registers import JOB_BYTES

__all__ = ["DeviceMemory"]


class DeviceMemory:
    """What is allocated for jobs."""

    info: Info
    _allocate: Allocate
    _ring: Matrix | None

    def _descriptors(self, jobs: Sequence[Job]) -> int:
        """Write jobs to memory; returns its address."""
        image = descriptors(jobs, self.info.sums.bits // 8)
        rows = np.frombuffer(image, np.uint8).reshape(-1, JOB_BYTES)
        if self._ring is not None and self._ring.shape[0] != len(jobs):
            self._ring.free()
            self._ring = None
        if self._ring is None:
            self._ring = self._bytes(rows)
        else:
            self._ring.write_bytes(rows)
        return self._ring.address

    def _bytes(self, rows: np.ndarray) -> Matrix:
        """Place rows of bytes on the device."""
        matrix = self._matrix(rows.shape, BYTE)
        with matrix.freed_on_error():
            matrix.write_bytes(rows)
        return matrix

    def _matrix(self, shape: tuple[int, ...], number: Number) -> Matrix:
        """Allocate a matrix in memory that the device can access."""
        rows, columns = shape
        matrix = Matrix(self._allocate, (rows, columns), number, self.info.stores.data_width // 8)
        info = self.info
        if matrix.end > info.memory_end:
            matrix.free()
            end = f"{info.memory_end:#x}" if info.scratch else f"2^{info.address_width}"
            raise ValueError(f"memory must end below {end}, not at {matrix.end:#x}")
        return matrix

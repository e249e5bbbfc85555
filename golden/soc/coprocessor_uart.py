"""The matmul co-processor with on-chip memory, behind a serial line."""

from dataclasses import dataclass

import numpy as np

from golden.check import Integer, check_fields, parameter, parameters_of
from golden.soc.coprocessor import coprocessor
from golden.soc.job import Error, Job
from golden.soc.spec import CoprocessorSpec

__all__ = ["CoprocessorUartSpec", "coprocessor_uart"]

_TO_ADDRESS = 3
_NEAR, _FAR, _NEAR_BYTES = 3, 5, 1 << 14
"""Cycles to the first beat in a memory of few bytes, and in one that is all over a device."""


@dataclass(frozen=True, kw_only=True)
class CoprocessorUartSpec(CoprocessorSpec):
    """A co-processor, block RAM for its matrices, and a UART (8N1) for the host.

    What goes over the line is in :class:`golden.soc.serial.host_link.HostLinkFormat`.
    """

    memory_bytes: int = parameter(
        Integer("memory size, a power of two", 32768, 1024, 1 << 20, "bytes")
    )
    divisor: int = parameter(
        Integer("clock cycles per bit (clock / baud rate)", 217, 4, 65535, "cycles")
    )

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_fields(parameters_of(CoprocessorUartSpec), vars(self))
        if self.memory_bytes.bit_count() != 1:
            raise ValueError(f"memory_bytes must be a power of two, not {self.memory_bytes}")
        if self.scratch:
            raise ValueError(f"scratch must be 0 where all memory is on chip, not {self.scratch}")

    @property
    def memory_latency(self) -> int:
        """Cycles from a row's request to its data: to its address, and from there in block RAM."""
        return _TO_ADDRESS + (_NEAR if self.memory_bytes <= _NEAR_BYTES else _FAR)


def coprocessor_uart(spec: CoprocessorUartSpec, memory: np.ndarray, job: Job) -> Error:
    """Run a job; see :func:`golden.soc.coprocessor.coprocessor`."""
    return coprocessor(spec, memory, job)

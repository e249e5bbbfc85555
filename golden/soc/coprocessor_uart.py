"""The matmul co-processor with on-chip memory, behind a serial line."""

from dataclasses import dataclass

import numpy as np

from golden.check import Integer, check_fields, parameter, parameters_of
from golden.soc.coprocessor import coprocessor
from golden.soc.job import Error, Job
from golden.soc.spec import CoprocessorSpec

__all__ = ["CoprocessorUartSpec", "coprocessor_uart"]


@dataclass(frozen=True, kw_only=True)
class CoprocessorUartSpec(CoprocessorSpec):
    """A co-processor, block RAM for its matrices, and a UART (8N1) for the host.

    The host sends a command of 7 bytes: a letter, an address (4 bytes) and a number of bytes (2),
    both little-endian. ``w`` and ``r`` write and read memory, ``z`` fills it with zeros, ``W`` and
    ``R`` write and read whole words of registers; the bytes of a write follow. The
    response is the bytes of a read, then a status byte: the OR of all AXI responses. ``i`` has no
    address and number; its response is log2 of the memory's bytes, and status. A command that
    pauses for :attr:`TIMEOUT` bit times is discarded.
    """

    memory_bytes: int = parameter(
        Integer("memory size, a power of two", 32768, 1024, 1 << 20, "bytes")
    )
    divisor: int = parameter(
        Integer("clock cycles per bit (clock / baud rate)", 217, 4, 65535, "cycles")
    )

    TIMEOUT = 256
    """Command timeout, in bit times."""

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_fields(parameters_of(CoprocessorUartSpec), vars(self))
        if self.memory_bytes.bit_count() != 1:
            raise ValueError(f"memory_bytes must be a power of two, not {self.memory_bytes}")


def coprocessor_uart(spec: CoprocessorUartSpec, memory: np.ndarray, job: Job) -> Error:
    """Run a job; see :func:`golden.soc.coprocessor.coprocessor`."""
    return coprocessor(spec, memory, job)

"""The matmul co-processor with its memory, behind a serial line."""

from dataclasses import dataclass

import numpy as np

from golden.check import Choice, Integer, check_fields, parameter, parameters_of
from golden.soc.coprocessor import coprocessor
from golden.soc.job import Error, Job
from golden.soc.memory_timing import BLOCK_RAM, BLOCK_RAM_NEAR, MemoryTiming
from golden.soc.spec import CoprocessorSpec

__all__ = ["CoprocessorUartSpec", "coprocessor_uart"]

_NEAR_BYTES = 1 << 14
_BLOCK_RAM, _EXTERNAL = MEMORIES = ("block_ram", "external")
_MOST = 1 << 20
"""Bytes of block RAM."""


@dataclass(frozen=True, kw_only=True)
class CoprocessorUartSpec(CoprocessorSpec):
    """A co-processor, memory for its matrices, and a UART (8N1) for the host.

    The memory is block RAM, or outside of the design, behind an AXI4 port. What goes over the line
    is in :class:`golden.soc.serial.host_link.HostLinkFormat`.
    """

    memory: str = parameter(
        Choice("where matrices are: on chip, or behind the AXI4 port m_axi", _BLOCK_RAM, MEMORIES)
    )
    memory_bytes: int = parameter(
        Integer("memory size, a power of two", 32768, 1024, 1 << 32, "bytes")
    )
    flash: int = parameter(
        Integer(
            "address in SPI flash of an image of memory, read at the start; 0: none",
            0,
            0,
            (1 << 24) - 1,
        )
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
        if not self.external and self.memory_bytes > _MOST:
            raise ValueError(
                f"memory_bytes must be {_MOST} or less in block RAM, not {self.memory_bytes}"
            )
        if self.memory_bytes > 1 << self.address_width:
            raise ValueError(
                f"memory_bytes must be {1 << self.address_width} or less, as address_width is"
                f" {self.address_width}, not {self.memory_bytes}"
            )
        if self.scratch and not self.external:
            raise ValueError(f"scratch must be 0 where all memory is on chip, not {self.scratch}")

    @property
    def external(self) -> bool:
        """Whether the memory is behind the design's AXI4 port."""
        return self.memory == _EXTERNAL

    @property
    def patience(self) -> int:
        """Cycles after which memory is given up; block RAM always answers."""
        return super().patience if self.external else 0

    @property
    def memory_timing(self) -> MemoryTiming:
        """How long its memory takes, if that is block RAM; of other memory nothing is known."""
        if self.external:
            return super().memory_timing
        return BLOCK_RAM_NEAR if self.memory_bytes <= _NEAR_BYTES else BLOCK_RAM


def coprocessor_uart(spec: CoprocessorUartSpec, memory: np.ndarray, job: Job) -> Error:
    """Run a job; see :func:`golden.soc.coprocessor.coprocessor`."""
    return coprocessor(spec, memory, job)

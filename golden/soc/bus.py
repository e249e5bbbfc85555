"""The memory bus of the co-processor: widths and limits of AXI4."""

from dataclasses import dataclass
from typing import ClassVar

from golden.check import Integer, check_fields, parameter, parameters_of
from golden.soc.memory_timing import AXI, MemoryTiming

__all__ = ["BusSpec"]


@dataclass(frozen=True, kw_only=True)
class BusSpec:
    """AXI4 with INCR bursts of whole beats that cross no 4 KiB boundary."""

    data_width: int = parameter(Integer("bits of a bus beat, a power of two", 128, 32, 512, "bits"))
    address_width: int = parameter(Integer("bits of an address", 64, 16, 64, "bits"))
    burst: int = parameter(Integer("maximum beats per burst", 64, 1, 256, "beats"))
    outstanding: int = parameter(
        Integer("maximum outstanding bursts, each for reads and writes", 16, 1, 64, "bursts")
    )
    watchdog: int = parameter(
        Integer(
            "waiting for memory, without any progress, that ends a job; 0: it waits forever",
            65536,
            0,
            1 << 24,
            "cycles",
        )
    )

    STREAM: ClassVar[bool] = False
    """Whether there are streams in place of the bus."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(BusSpec), vars(self))
        if self.data_width.bit_count() != 1:
            raise ValueError(f"data_width must be 32, 64, 128, 256 or 512, not {self.data_width}")
        if 0 < self.watchdog < _LEAST:
            raise ValueError(f"watchdog must be 0, or {_LEAST} or more, not {self.watchdog}")

    @property
    def memory_timing(self) -> MemoryTiming:
        """How long its memory takes; by default as if nothing is known of it."""
        return AXI

    @property
    def patience(self) -> int:
        """Cycles after which memory is given up; 0: never, as are streams, which are not memory."""
        return 0 if self.STREAM else self.watchdog

    @property
    def length_width(self) -> int:
        """Bits of a row's number of bytes, at most the whole memory."""
        return min(32, self.address_width + 1)

    @property
    def bytes(self) -> int:
        """Bytes of a beat."""
        return self.data_width // 8


_LEAST = 1024
"""Cycles that memory may take: less would be the latency of some, and their refresh."""

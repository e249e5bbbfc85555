"""How long memory takes: facts that plans, costs and simulations of a program have in common."""

from dataclasses import dataclass

from golden.check import Integer, check_fields, parameter, parameters_of
from golden.soc.blocking import LATENCY

__all__ = [
    "AXI",
    "BLOCK_RAM",
    "BLOCK_RAM_NEAR",
    "MEMORIES",
    "TO_ADDRESS",
    "MemoryTiming",
    "LitedramTiming",
]

TO_ADDRESS = 3
"""Cycles from a row's request to its address on the bus."""
_WIDEST = 64
"""Bytes of the widest bus."""


@dataclass(frozen=True, kw_only=True)
class LitedramTiming:
    """What SDRAM behind LiteDRAM takes besides beats, in cycles.

    Parameters
    ----------
    read, write : of a burst, beside its beats.
    turn : from reads to writes, or back.
    reads, writes : for which one kind goes on, if the other one waits.
    bank : from one bank to another, which gets no command until all of the other's have left.
    row, opening : to open another row of a bank; and how much later its first beat comes.
    refresh, every : of a refresh, which closes all rows, and from one to the next.
    page, banks : bytes of a row, and banks, which follow each other row by row.
    answer : from the last beat of a burst that is written to its answer.
    """

    read: float = 0.08
    write: float = 1.07
    turn: float = 7.8
    reads: float = 16.9
    writes: float = 11.3
    bank: float = 2.1
    row: float = 3.3
    opening: float = 8.7
    refresh: float = 10.4
    every: float = 468.0
    page: int = 1024
    banks: int = 4
    answer: float = 3.3


@dataclass(frozen=True, kw_only=True)
class MemoryTiming:
    """How long the memory behind a co-processor takes.

    Members
    -------
    name : of :data:`MEMORIES`, or what a user calls it.
    source : where the figures come from.
    sdram : it is SDRAM, whose rows are opened, and one bus is for both ways; None: reads and writes
        pass beside each other.
    """

    latency: int = parameter(
        Integer(
            "cycles from a row's request to its first beat", LATENCY, TO_ADDRESS + 1, 4096, "cycles"
        )
    )
    bytes: int = parameter(
        Integer("bytes that pass in a cycle, a power of two", _WIDEST, 1, _WIDEST, "bytes")
    )
    name: str = "given"
    source: str = "as given"
    sdram: LitedramTiming | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(parameters_of(MemoryTiming), vars(self))
        if self.bytes.bit_count() != 1:
            raise ValueError(f"bytes must be a power of two, 1..{_WIDEST}, not {self.bytes}")

    @property
    def answer(self) -> int:
        """Cycles from an address on the bus to its first beat."""
        return self.latency - TO_ADDRESS

    @property
    def answer_again(self) -> int:
        """The same, of what has just been written: of SDRAM, its row is open."""
        return self.answer - (round(self.sdram.opening) if self.sdram else 0)

    def beat(self, bus: int) -> int:
        """Return the cycles of a beat of a bus of so many bytes."""
        return max(1, bus // self.bytes)


AXI = MemoryTiming(name="axi", source="assumed: of what is behind the bus nothing is known")


def _block_ram(latency: int) -> MemoryTiming:
    return MemoryTiming(name="block_ram", latency=latency, source="simulated, as it is in hardware")


BLOCK_RAM, BLOCK_RAM_NEAR = _block_ram(TO_ADDRESS + 5), _block_ram(TO_ADDRESS + 3)
"""All over a device, and in one place of it: up to 16 KiB."""


def _sdram(bits: int, latency: int, source: str) -> MemoryTiming:
    return MemoryTiming(
        name=f"sdram{bits}",
        latency=latency,
        bytes=bits // 8,
        source=source,
        sdram=LitedramTiming(),
    )


_SDRAMS = (
    _sdram(16, TO_ADDRESS + 19, "simulated: LiteDRAM, one clock, beats of 64 bits"),
    _sdram(32, TO_ADDRESS + 17, "as sdram16, whose first beat takes two words more"),
)
_DDR3 = MemoryTiming(
    name="ddr3x16",
    latency=TO_ADDRESS + 26,
    bytes=8,
    source="simulated at 80 MHz: LiteDRAM, two commands a cycle, beats of 64 bits",
    sdram=LitedramTiming(
        read=0.0,
        write=2.0,
        turn=8.0,
        reads=16.0,
        writes=18.0,
        bank=2.0,
        row=5.0,
        opening=7.0,
        refresh=66.0,
        every=625.0,
        page=2048,
        banks=8,
        answer=9.0,
    ),
)
MEMORIES = {one.name: one for one in (AXI, BLOCK_RAM, *_SDRAMS, _DDR3)}
"""By name."""

"""SDRAM of boards, as LiteDRAM and LiteX's platforms know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from carrysave.errors import ArgumentError
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.memory_timing import MEMORIES, MemoryTiming
from golden.soc.spec import CoprocessorSpec

__all__ = ["SDRAMS", "WITHOUT", "Sdram", "external_bytes", "sdram_of", "timing_of"]

_MOST = 1 << 24
"""Bytes that a host on a serial line can name."""


@dataclass(frozen=True, kw_only=True)
class Sdram:
    """The SDRAM of a board.

    Members
    -------
    platform, arguments : module of litex_boards.platforms, and of its Platform.
    memory : LiteDRAM's name of it.
    bits : of its data bus.
    bytes : of the memory.
    """

    platform: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    memory: str
    bits: int
    bytes: int

    @property
    def timing(self) -> MemoryTiming:
        """How long it takes."""
        return MEMORIES[f"sdram{self.bits}"]


def _ulx3s(size: int) -> Sdram:
    return Sdram(
        platform="radiona_ulx3s",
        arguments={"device": f"LFE5U-{size}F"},
        memory="MT48LC16M16",
        bits=16,
        bytes=1 << 25,
    )


def _colorlight(name: str, revision: str) -> Sdram:
    return Sdram(
        platform="colorlight_i5",
        arguments={"board": name, "revision": revision},
        memory="M12L64322A",
        bits=32,
        bytes=1 << 23,
    )


SDRAMS = {
    "ulx3s_12f": _ulx3s(12),
    "ulx3s_25f": _ulx3s(25),
    "ulx3s_45f": _ulx3s(45),
    "ulx3s_85f": _ulx3s(85),
    "colorlight_i5": _colorlight("i5", "7.0"),
    "colorlight_i9": _colorlight("i9", "7.2"),
}
"""By names of :data:`carrysave.boards.board.BOARDS`."""

_DDR3 = "its DDR3 must be levelled at each start, by a processor: carrysave has no machine for that"
WITHOUT = {
    "orangecrab_25f": _DDR3,
    "orangecrab_85f": _DDR3,
    "ecpix5_45f": _DDR3,
    "ecpix5_85f": _DDR3,
    "tang_nano_20k": "its PLL's tool makes no second clock, by which SDRAM samples",
    "tang_nano_9k": "there is no maintained open core for its HyperRAM",
}
"""Why boards with other memory have none, beside block RAM."""


def sdram_of(board: str) -> Sdram:
    """Return the SDRAM of a board, by its name.

    Raises
    ------
    UsageError
        `build` has no controller for its memory: says why.
    """
    if board in SDRAMS:
        return SDRAMS[board]
    why = WITHOUT.get(board, "it has none beside its FPGA that open tools reach")
    raise ArgumentError(
        "memory must be block_ram on {_board}: {_why}; external memory is on {_others}",
        _board=board,
        _why=why,
        _others=", ".join(SDRAMS),
    )


def external_bytes(board: str) -> int:
    """Return the bytes of a board's SDRAM that a host on a serial line can name."""
    return min(sdram_of(board).bytes, _MOST)


def timing_of(board: str, spec: CoprocessorSpec) -> MemoryTiming | None:
    """Return how long the SDRAM of a board takes; None: the design says, or nothing is known."""
    external = isinstance(spec, CoprocessorUartSpec) and spec.external
    return sdram_of(board).timing if external else None

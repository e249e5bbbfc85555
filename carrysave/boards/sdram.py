"""SDRAM of boards, as LiteDRAM and LiteX's platforms know it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from carrysave.errors import ArgumentError
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.memory_timing import MEMORIES, MemoryTiming
from golden.soc.spec import CoprocessorSpec

__all__ = ["SDRAMS", "WITHOUT", "Sdram", "sdram_of", "timing_of"]


@dataclass(frozen=True, kw_only=True)
class Ddr3:
    """What DDR3 needs besides, as LiteX's targets of the boards have it.

    Members
    -------
    bridged : its clock is for pins on both sides of the FPGA.
    swapped_masks : the masks of its two bytes are connected to each other's pins.
    late_commands : commands leave later, below 64 MHz.
    termination : of the memory, ``RTT_NOM``; empty: LiteDRAM's.
    """

    bridged: bool = False
    swapped_masks: bool = False
    late_commands: bool = False
    termination: str = ""


@dataclass(frozen=True, kw_only=True)
class Sdram:
    """The SDRAM of a board.

    SDR runs at the clock of the co-processor; the PLL makes a second clock, a quarter of a period
    behind, for it; in the FPGA's package it has the clock's inverse. DDR3 runs at twice that clock,
    which the PLL makes, with a slow one by which the FPGA's delay line is started.

    Members
    -------
    platform, arguments : module of litex_boards.platforms, and of its Platform.
    memory : LiteDRAM's name of it.
    bits : of its data bus.
    bytes : of the memory.
    packaged : it is SDR in the package of a Gowin FPGA.
    ddr3 : it is DDR3, and needs that; None: SDR.
    """

    platform: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    memory: str
    bits: int
    bytes: int
    packaged: bool = False
    ddr3: Ddr3 | None = None

    @property
    def kind(self) -> str:
        """Of memory: the end of the name of the module that attaches it."""
        return "ddr3" if self.ddr3 else "sdr"

    @property
    def port_bits(self) -> int:
        """Bits of the controller's port: a burst of 8 words of DDR3."""
        return 8 * self.bits if self.ddr3 else self.bits

    @property
    def cycle_bits(self) -> int:
        """Bits that pass in a cycle of the co-processor's clock."""
        return 4 * self.bits if self.ddr3 else self.bits

    @property
    def timing(self) -> MemoryTiming:
        """How long it takes."""
        return MEMORIES[f"ddr3x{self.bits}" if self.ddr3 else f"sdram{self.bits}"]


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


def _orangecrab(size: int) -> Sdram:
    return Sdram(
        platform="gsd_orangecrab",
        arguments={"revision": "0.2", "device": f"{size}F"},
        memory="MT41K64M16",
        bits=16,
        bytes=1 << 27,
        ddr3=Ddr3(bridged=True, swapped_masks=True, late_commands=True, termination="disabled"),
    )


def _ecpix5(size: int) -> Sdram:
    return Sdram(
        platform="lambdaconcept_ecpix5",
        arguments={"device": f"{size}F"},
        memory="MT41K256M16",
        bits=16,
        bytes=1 << 29,
        ddr3=Ddr3(),
    )


SDRAMS = {
    "ulx3s_12f": _ulx3s(12),
    "ulx3s_25f": _ulx3s(25),
    "ulx3s_45f": _ulx3s(45),
    "ulx3s_85f": _ulx3s(85),
    "colorlight_i5": _colorlight("i5", "7.0"),
    "colorlight_i9": _colorlight("i9", "7.2"),
    "orangecrab_25f": _orangecrab(25),
    "orangecrab_85f": _orangecrab(85),
    "ecpix5_45f": _ecpix5(45),
    "ecpix5_85f": _ecpix5(85),
    "tang_nano_20k": Sdram(
        platform="sipeed_tang_nano_20k",
        arguments={"toolchain": "apicula"},
        memory="M12L64322A",  # its timing, as LiteX's target has it
        bits=32,
        bytes=1 << 23,
        packaged=True,
    ),
}
"""By names of :data:`carrysave.boards.board.BOARDS`."""

WITHOUT = {
    "tang_nano_9k": "LiteX's core for its HyperRAM is on Wishbone; no bridge carries bursts there",
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


def timing_of(board: str, spec: CoprocessorSpec) -> MemoryTiming | None:
    """Return how long the SDRAM of a board takes; None: the design says, or nothing is known."""
    external = isinstance(spec, CoprocessorUartSpec) and spec.external
    return sdram_of(board).timing if external else None

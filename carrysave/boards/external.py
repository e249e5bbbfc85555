"""The memory of a board beside its FPGA: which boards have it, and its controller in Verilog."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from carrysave import cache
from carrysave.boards.board import Board
from carrysave.boards.litedram_core import CORE, FACTS, Request
from carrysave.boards.litex_parts import run_litex
from carrysave.boards.sdram import Sdram, sdram_of
from carrysave.errors import ArgumentError, needs
from golden.soc.coprocessor_uart import CoprocessorUartSpec

__all__ = ["Controller", "controller"]

_BEATS = 256
"""Of a burst of AXI4 at most."""
_SLOWEST = 15
"""Cycles of a bit of the serial line, at least: a byte may have to wait for DDR3's refresh."""
_FORMAT = "3"  # of what is kept


@dataclass(frozen=True)
class Controller:
    """A controller of SDRAM, of LiteDRAM.

    Members
    -------
    verilog : of the module ``carrysave_sdram``.
    pins : constraints of its pins, as nextpnr takes them for ECP5.
    data_width, address_width : bits of its bus.
    pads : bits and direction of each port that goes to the memory.
    """

    verilog: str
    pins: str
    data_width: int
    address_width: int
    pads: Mapping[str, tuple[int, str]]


def controller(
    board: Board, spec: CoprocessorUartSpec, clock_hz: float, *, simulated: bool = False
) -> Controller:
    """Write the controller for a co-processor's memory; it starts the memory by itself.

    Parameters
    ----------
    clock_hz : of the co-processor.
    simulated : it has what a simulator has, see :class:`carrysave.boards.litedram_core.Request`.

    Raises
    ------
    UsageError
        The board has no such memory, or not as much; bursts are too long for its width, or the
        serial line is too fast for it.
    ModuleNotFoundError
        LiteX is not installed.
    """
    sdram = sdram_of(board.name)
    _check(board, sdram, spec)
    needs("litex", "litedram", "migen", "litex_boards")
    request = Request(
        platform=sdram.platform,
        arguments=dict(sdram.arguments),
        kind=sdram.kind,
        memory=sdram.memory,
        data_width=spec.data_width,
        clock_hz=clock_hz,
        simulated=simulated,
        packaged=sdram.packaged,
        **(asdict(sdram.ddr3) if sdram.ddr3 else {}),
    )

    def make(folder: Path) -> None:
        request.write(folder / "request.json")
        run_litex("carrysave.boards.litedram_core", folder, FACTS)

    folder = cache.entry("sdram", [_FORMAT, repr(request)], make)
    facts = json.loads((folder / FACTS).read_text())
    return Controller(
        verilog=(folder / f"{CORE}.v").read_text(),
        pins=(folder / "pins.lpf").read_text(),
        data_width=spec.data_width,
        address_width=min(32, spec.address_width),
        pads={name: (width, way) for name, (width, way) in facts["pads"].items()},
    )


def _check(board: Board, sdram: Sdram, spec: CoprocessorUartSpec) -> None:
    """Check that a co-processor fits the memory of a board."""
    if spec.memory_bytes > sdram.bytes:
        raise ArgumentError(
            "memory_bytes must be {_most} or less on {_board}, not {_bytes}",
            _most=sdram.bytes,
            _board=board.name,
            _bytes=spec.memory_bytes,
        )
    most = _BEATS * sdram.port_bits // spec.data_width
    if spec.burst > most:
        raise ArgumentError(
            "burst must be {_most} or less on {_board}, whose memory has {_bits} bits, at a"
            " data_width of {_width}, not {_burst}",
            _most=most,
            _board=board.name,
            _bits=sdram.port_bits,
            _width=spec.data_width,
            _burst=spec.burst,
        )
    if sdram.ddr3 and spec.divisor < _SLOWEST:
        raise ArgumentError(
            "divisor must be {_least} or more on {_board}, whose memory may be busy for as long as"
            " a byte of the line, not {_divisor}",
            _least=_SLOWEST,
            _board=board.name,
            _divisor=spec.divisor,
        )

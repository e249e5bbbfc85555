"""The top of a board's FPGA: the co-processor, its clock, and its reset."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from carrysave.boards.board import Board
from carrysave.boards.external import Controller
from carrysave.boards.litedram_core import CORE
from carrysave.errors import ArgumentError
from carrysave.fpga import place
from hw import device

__all__ = ["ARRAY", "TOP", "Clock", "clock_of", "top"]

TOP = "carrysave_board"
ARRAY = "array"
"""A second clock of twice the design's, for its array."""

_ACHIEVED = re.compile(
    r"clkout0, // ([\d.]+) MHz|Achieved output frequency:\s*([\d.]+) MHz", re.ASCII
)

_STEPS, _STEP = 12, 0.025
"""Frequencies that are asked for, each lower by a share of what is wanted."""


@dataclass(frozen=True)
class Clock:
    """The clock of a design on a board.

    Members
    -------
    mhz : its frequency.
    verilog : of the module ``pll``; empty if it is the board's own clock.
    pair : the PLL makes another one of twice the frequency, for the array.
    """

    mhz: float
    verilog: str = ""
    pair: bool = False


def clock_of(board: Board, mhz: float, folder: Path, *, second: str = "") -> Clock:
    """Make the clock that is the nearest to a frequency, and not above it.

    A PLL's steps are coarse: where the tool's nearest is above, a lower one is asked for.

    Parameters
    ----------
    second : what the PLL makes a second clock for: a kind of external memory, see
        :class:`carrysave.boards.sdram.Sdram`, or :data:`ARRAY`.

    Raises
    ------
    ValueError
        The family's PLL makes no such frequency.
    """
    if mhz == board.oscillator_mhz and not second:
        return Clock(mhz)
    flow, part = device.family(board.family).flow, board.part
    assert flow.bitstream is not None
    assert part is not None
    package, tool, *arguments = flow.bitstream.pll
    if second == ARRAY and ARRAY not in flow.bitstream.pll_pairs:
        raise ArgumentError(
            "array_clock must be 1 on {name}, of whose PLL the tools make one clock, not 2",
            name=board.name,
        )
    times, more = flow.bitstream.pll_pairs.get(second, (1, ()))
    path = folder / "pll.v"
    clock = ""
    for step in range(_STEPS):
        path.unlink(missing_ok=True)
        wanted = times * mhz * (1 - _STEP * step)
        words = [*arguments, *more]
        filled = [
            word.format(
                mhz=f"{board.oscillator_mhz:g}",
                wanted=f"{wanted:g}",
                half=f"{wanted / 2:g}",
                pll=part.names[1],
            )
            for word in words
        ]
        done = place.call(package, folder, filled, tool)
        match = _ACHIEVED.search(path.read_text()) if path.exists() else None
        if done.code or not match:
            clock = f": {(done.output.strip().splitlines() or ['no frequency'])[-1]}"
            break
        achieved = float(match[1] or match[2]) / times
        if achieved <= mhz * (1 + 1e-6):
            text = _without_comments(path.read_text())
            for word, value in board.pll_words.items():
                text = text.replace(word, value)
            return Clock(achieved, text, second == ARRAY)
    raise ValueError(
        f"clock must be one that the PLL makes of {board.oscillator_mhz:g} MHz, not {mhz:g} MHz"
        f"{clock}"
    )


def _without_comments(text: str) -> str:
    """Drop what names the tool's run, so that the same clock is the same text."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL).strip() + "\n"


def top(
    board: Board,
    module: str,
    clock: Clock,
    memory: Controller | None = None,
    *,
    flash: bool = False,
) -> str:
    """Return the Verilog of the top: reset until the clock is stable, and some cycles more.

    Parameters
    ----------
    memory : the controller of the design's external memory, which has the design's clock, too, and
        resets the design when that begins anew; it says when the memory has started.
    flash : the design reads the board's SPI flash.
    """
    flow = device.family(board.family).flow
    lines = [f"module {TOP}({', '.join(_ports(memory, flash=flash))});"]
    if clock.verilog:
        assert flow.bitstream is not None
        comes, goes = flow.bitstream.pll_ports
        second = flow.bitstream.pll_second if memory or clock.pair else ""
        second = f" .{second}(second)," if second else ""
        lines += [
            "  wire first, second, locked;",
            f"  pll clocks (.{comes}(clk), .{goes}(first),{second} .locked(locked));",
        ]
    else:
        lines += ["  wire first = clk, second = clk, locked = 1'b1;"]
    # What is called fast is the design's clock, or of two of them that of its array.
    design_clock = "slow" if clock.pair else "fast"
    lines += ["  wire slow = second;"] if clock.pair else []
    lines += ["  wire fast;" if memory else "  wire fast = first;"]
    light = "!light" if board.facts["pins"]["busy"]["inverted"] else "light"
    lines += [
        "  wire light;",
        f"  assign busy = {light};",
        "  reg [4:0] start = 0;",
        "  reg reset = 1;",
        f"  always @(posedge {design_clock}) begin",
        "    if (locked) start <= start + !start[4];",
        "    reset <= !start[4];",
        "  end",
    ]
    more = ""
    if memory:
        lines += _memory(memory)
        more = ", " + ", ".join(f".m_axi_{name}({name})" for name in _AXI)
        more += ", .memory_started(started)"
    held = "reset | anew" if memory else "reset"
    if flash:
        lines += _flash_clock()
        more += "".join(f", .flash_{name}(flash_{name})" for name in _FLASH)
    clocks = f".clk({design_clock})" + (", .clk_fast(fast)" if clock.pair else "")
    lines += [
        f"  {module} block ({clocks}, .rst({held}), .rx(rx), .tx(tx), .busy(light){more});",
        "endmodule",
    ]
    return "\n".join(lines) + "\n" + clock.verilog


def _ports(memory: Controller | None, *, flash: bool) -> Iterator[str]:
    """Yield the top's ports: of the clock and the serial line, of memory, of flash."""
    yield from ("input clk", "input rx", "output tx", "output busy")
    for name, (width, way) in memory.pads.items() if memory else ():
        yield f"{way} {_range(width)}{name}"
    if flash:
        yield from ("output flash_cs_n", "output flash_mosi", "input flash_miso")


def _flash_clock() -> Iterator[str]:
    """Yield flash's clock: at ECP5's pin of its configuration, which no constant lets go."""
    yield "  wire flash_clk;"
    yield "  USRMCLK configuration (.USRMCLKI(flash_clk), .USRMCLKTS(reset));"


def _range(width: int) -> str:
    """Return the range of a signal, with a space behind it; empty for one bit."""
    return f"[{width - 1}:0] " if width > 1 else ""


_FLASH = ("cs_n", "clk", "mosi", "miso")
_ONE = ("arvalid", "arready", "rlast", "rvalid", "rready", "awvalid", "awready", "wlast", "wvalid",
        "wready", "bvalid", "bready")  # fmt: skip
_MORE = {"arlen": 8, "awlen": 8, "arsize": 3, "awsize": 3, "arburst": 2,
         "awburst": 2, "arcache": 4, "awcache": 4, "arprot": 3, "awprot": 3, "rresp": 2,
         "bresp": 2}  # fmt: skip
_AXI = (*_ONE, *_MORE, "araddr", "awaddr", "rdata", "wdata", "wstrb")
"""Signals between design and controller."""


def _memory(memory: Controller) -> Iterator[str]:
    """Yield the controller of the memory, and the signals between it and the design."""
    wide = dict.fromkeys(("rdata", "wdata"), memory.data_width) | {"wstrb": memory.data_width // 8}
    wide |= dict.fromkeys(("araddr", "awaddr"), memory.address_width)
    for name in _AXI:
        yield f"  wire {_range((dict.fromkeys(_ONE, 1) | _MORE | wide)[name])}{name};"
    unused = ("arid", "arlock", "arqos", "arregion", "aruser", "awid", "awlock", "awqos",
              "awregion", "awuser", "wuser")  # fmt: skip
    ports = [
        *(f".s_axi_{name}({name})" for name in _AXI),
        *(f".s_axi_{name}(0)" for name in unused),
        *(f".{name}({name})" for name in memory.pads),
    ]
    yield "  wire started, anew;"
    yield (
        f"  {CORE} memory (.core_first(first), .core_second(second), .core_locked(locked),"
        f" .core_rst(reset), .core_clk(fast), .core_anew(anew), .core_started(started),"
        f" {', '.join(ports)});"
    )

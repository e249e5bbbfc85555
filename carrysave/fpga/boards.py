"""Bitstreams for boards, with open tools: the co-processor behind the board's serial bridge."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.fpga import implementation, place
from carrysave.fpga.path import Words, critical_path
from hw import device as devices
from hw.catalog import Design, nearest
from hw.emit import constraints, tools, yosys
from hw.emit.verilog import Emission

__all__ = ["BAUD", "BOARDS", "Board", "build", "design_of"]

BAUD = 115200
"""Default baud rate."""

_TOP = "carrysave_board"

_TOOLS = {
    "ecp5": ("--lpf", "--textcfg", "ecppack"),
    "ice40": ("--pcf", "--asc", "icepack"),
}
"""By family: nextpnr's options for constraints and output, and the bitstream packer."""


@dataclass(frozen=True)
class Board:
    """A board.

    Members
    -------
    summary : what it is.
    family : of :mod:`hw.device`; ecp5 or ice40.
    device : arguments of nextpnr.
    capacity : the FPGA's resources.
    clock_hz : frequency of its oscillator.
    pins : file of constraints.
    parameters : of the default co-processor.
    """

    summary: str
    family: str
    device: tuple[str, ...]
    capacity: Mapping[str, int]
    clock_hz: float
    pins: str
    parameters: Mapping[str, Any]

    @property
    def constraints(self) -> str:
        """Text of the file of constraints."""
        return constraints.pins(self.pins)


_FPGA_ENGINE = "encoding=operator,adder=operator,pe=mac"

BOARDS = {
    "ulx3s_85f": Board(
        "ULX3S, Lattice ECP5 LFE5U-85F",
        "ecp5",
        ("--85k", "--package", "CABGA381", "--speed", "6"),
        {"luts": 83640, "ffs": 83640, "dsps": 156, "brams": 208},
        25e6,
        "ulx3s_85f.lpf",
        {
            "engine": f"systolic_os(m=4,n=4,pipeline=1,{_FPGA_ENGINE})",
            "data_width": 32,
            "address_width": 32,
            "outstanding": 4,
            "sums": 256,
            "a_bytes": 512,
            "b_bytes": 512,
            "memory_bytes": 65536,
        },
    ),
    "ice40_hx8k_b_evn": Board(
        "iCE40-HX8K breakout board, Lattice iCE40HX8K-CT256",
        "ice40",
        ("--hx8k", "--package", "ct256"),
        {"luts": 7680, "ffs": 7680, "dsps": 0, "brams": 32},
        12e6,
        "ice40_hx8k_b_evn.pcf",
        {
            "engine": f"systolic_os(m=2,n=2,{_FPGA_ENGINE})",
            "data_width": 32,
            "address_width": 16,
            "burst": 16,
            "outstanding": 1,
            "dimension_width": 12,
            "sums": 128,
            "a_bytes": 512,
            "b_bytes": 256,
            "memory_bytes": 8192,
            "bias": False,
            "requantise": False,
            "per_column": False,
            "blocks": False,
            "ring": False,
            "counters": False,
            "narrow": True,
        },
    ),
}


def design_of(name: str, baud: int, parameters: Mapping[str, str]) -> Design:
    """Return the co-processor for a board, with other parameters if given.

    Raises
    ------
    ValueError
        There is no such board; its clock is not 4 to 65535 times the baud rate, within 2 %.
    """
    if name not in BOARDS:
        raise nearest(name, BOARDS, "board")
    board = BOARDS[name]
    divisor = round(board.clock_hz / baud)
    if not 4 <= divisor <= 65535 or abs(board.clock_hz / baud / divisor - 1) > 0.02:
        raise ValueError(
            f"baud rate must be {board.clock_hz / 1e6:g} MHz over 4..65535, within 2 %, not {baud}"
        )
    texts = {key: str(value) for key, value in board.parameters.items()} | {"divisor": str(divisor)}
    return Design.parse("coprocessor_uart", texts | dict(parameters))


def build(
    name: str, design: Design, folder: Path, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Map, place, route and pack a design for a board.

    Parameters
    ----------
    name : of :data:`BOARDS`.
    design : a ``coprocessor_uart``.
    folder : where files go: Verilog, bitstream, report.
    progress : callback for each step.

    Returns
    -------
    ``board design luts ffs dsps brams carry capacity fmax_mhz clock_mhz ok critical_path versions
    files``; ``ok``: the clock is fast enough.

    Raises
    ------
    ValueError
        The design is larger than the FPGA; states the resources exceeded.
    ModuleNotFoundError
        The package of the family's nextpnr is not installed.
    YosysError, FpgaError
        A tool fails.
    """
    board = BOARDS[name]
    flow = devices.family(board.family).flow
    made_by = yosys.version(), place.nextpnr_version(board.family) or ""
    emission = Emission(design)
    top = _wrapper(design.module)
    sources = emission.verilog, top, board.constraints

    def make(kept: Path) -> None:
        with tools.workplace() as work:
            found, image = _implement(board, design, emission.verilog + top, work, progress)
        (kept / "image").write_bytes(image)
        (kept / "report.json").write_text(json.dumps(found))

    kept = cache.entry("boards", [*sources, repr(board), repr(flow), *made_by], make)
    facts = json.loads((kept / "report.json").read_text())
    contents: dict[str, str | bytes] = {
        f"{design.module}.v": emission.verilog,
        f"{_TOP}.v": top,
        board.pins: board.constraints,
        f"{name}.bit": (kept / "image").read_bytes(),
    }
    written = [cache.write(folder / part, content) for part, content in contents.items()]
    report = folder / f"{name}.json"
    facts = {
        "board": name,
        "design": design.module,
        "parameters": dict(design.parameters),
        "clock_mhz": board.clock_hz / 1e6,
        "capacity": dict(board.capacity),
        "ok": facts["fmax_mhz"] >= board.clock_hz / 1e6,
        **facts,
        "versions": dict(zip(("yosys", "nextpnr"), made_by, strict=True)),
        "files": [str(path) for path in (*written, report)],
    }
    cache.write(report, json.dumps(facts, indent=2) + "\n")
    return facts


def _implement(
    board: Board, design: Design, verilog: str, folder: Path, progress: Callable[[str], None]
) -> tuple[dict[str, Any], bytes]:
    """Run the tools in a folder; return the figures, and the bitstream."""
    flow = devices.family(board.family).flow
    (folder / "top.v").write_text(verilog)
    (folder / board.pins).write_text(board.constraints)
    progress(f"{board.family}: mapping {design.module}")
    yosys.run(
        [
            "read_verilog top.v", f"{flow.synth} -top {_TOP} -json top.json",
            "tee -q -o design.stat stat -json",
        ],
        cwd=folder,
    )  # fmt: skip
    cells = json.loads((folder / "design.stat").read_text())["design"]["num_cells_by_type"]
    taken = implementation.resources(flow, cells)
    beyond = {part: limit for part, limit in board.capacity.items() if taken[part] > limit}
    if beyond:
        parts = ", ".join(f"{taken[part]:,} {part} of {limit:,}" for part, limit in beyond.items())
        raise ValueError(f"{design.module} is larger than the board's FPGA: {parts}")
    progress(f"{board.family}: placing and routing {design.module}")
    constrain, write, pack = _TOOLS[board.family]
    arguments = [*board.device, "--json", "top.json", "--timing-allow-fail",
                 constrain, board.pins, write, "top.config"]  # fmt: skip
    found = place.nextpnr(flow, folder, arguments)
    done = place.call(str(flow.nextpnr), pack, folder, ["top.config", "image"])
    if done.code:
        raise place.FpgaError(f"{pack}: {done.output.strip().splitlines()[-1]}")
    fmax = min(clock["achieved"] for clock in found["fmax"].values())
    netlist = json.loads((folder / "top.json").read_text())["modules"][_TOP]
    path = critical_path(found, Words(netlist))
    return {**taken, "fmax_mhz": fmax, "critical_path": path}, (folder / "image").read_bytes()


def _wrapper(module: str) -> str:
    """Return the board's top: the design, and its reset for the first cycles."""
    return f"""
module {_TOP}(input clk, input rx, output tx, output busy);
  reg [4:0] start = 0;
  always @(posedge clk) start <= start + !start[4];
  {module} block (.clk(clk), .rst(!start[4]), .rx(rx), .tx(tx), .busy(busy));
endmodule
"""

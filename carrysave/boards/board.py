"""What boards there are, and which co-processor each gets by default."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from carrysave.boards.line_rate import divisor_of, rate_of
from carrysave.boards.sdram import sdram_of
from hw import device
from hw.catalog import Design
from hw.device.description import Part
from hw.emit import constraints
from hw.unknown import nearest

__all__ = ["BOARDS", "Board", "board_of", "design_of"]

FTDI = 3_000_000
"""Baud rate of FTDI's bridges, FT231X and FT2232H, which a clock of 12 MHz and more can make."""


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board.

    Members
    -------
    name : of :data:`BOARDS`; that of ``constraints/boards.json``.
    title : what it is called.
    family : of :mod:`hw.device`.
    parameters : of the default co-processor.
    clock_mhz : that the first run asks for, and at which what tools do not time stays; of
        `scripts/figures/bench_boards.py`. 0: not known.
    baud : default rate of the serial line: the highest that the board's bridge is known to take.
    loader : what openFPGALoader calls it.
    pll_words : words in the module of the PLL's tool, and what this board needs in their place.
    processor : the host is a processor in the FPGA, and there is no serial line.
    note : what else a user must know.
    """

    name: str
    title: str
    family: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    clock_mhz: float = 0
    baud: int = FTDI
    loader: str = ""
    pll_words: Mapping[str, str] = field(default_factory=dict)
    processor: bool = False
    note: str = ""

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Return ``source part clock_hz pins``, see :func:`hw.emit.constraints.boards`."""
        return constraints.boards()[self.name]

    @property
    def part(self) -> Part | None:
        """The FPGA, as its family's tools take it; None if no open tool places it."""
        parts = device.family(self.family).flow.parts
        return next((part for part in parts if part.name == self.facts["part"]), None)

    @property
    def oscillator_mhz(self) -> float:
        """Frequency of the board's clock."""
        return float(self.facts["clock_hz"]) / 1e6


def _engine(target: str, m: int, n: int, more: str = "") -> str:
    return f"systolic_os(m={m},n={n},target={target}{more})"


_SMALL = {
    "data_width": 32, "address_width": 16, "burst": 16, "outstanding": 1, "dimension_width": 12,
    "bias": False, "requantise": False, "per_column": False, "blocks": False, "ring": False,
    "accumulate": False, "counters": False, "narrow": True, "sum_copies": 2,
}  # fmt: skip
"""Every optional feature left out, and sums twice in block RAM, which saves logic."""


def _ecp5(
    m: int, n: int, *, sums: int, memory: int, requantisers: int = 2, more: str = ""
) -> dict[str, Any]:
    return {
        "engine": _engine("ecp5", m, n, more),
        "data_width": 64,
        "address_width": 32,
        "outstanding": 4,
        "sums": sums,
        "a_bytes": 2048,
        "b_bytes": 2048,
        "memory_bytes": memory,
        "requantisers": requantisers,
        # A block RAM is as deep as both halves of the sums.
        "sum_copies": 2,
    }


# Of the 85F's 156 blocks, columns take 140, one requantiser 4; two rows are logic.
_FULL = _ecp5(14, 12, sums=2688, memory=1 << 17, requantisers=1, more=",dsps=148")
# With twice the memory it is four blocks of RAM larger than a 45F.
_8, _4 = _ecp5(8, 8, sums=1024, memory=1 << 16), _ecp5(4, 4, sums=256, memory=1 << 15)


def _ulx3s(size: int, parameters: Mapping[str, Any], clock_mhz: float = 0) -> Board:
    return Board(
        name=f"ulx3s_{size}f",
        title=f"ULX3S {size}F",
        family="ecp5",
        parameters=parameters,
        clock_mhz=clock_mhz,
        loader="ulx3s",
    )


BOARDS = {
    board.name: board
    for board in (
        _ulx3s(12, _4, clock_mhz=81.25),
        _ulx3s(25, _4, clock_mhz=81.25),
        _ulx3s(45, _8, clock_mhz=75),
        _ulx3s(85, _FULL, clock_mhz=75),
        Board(
            name="orangecrab_25f", title="OrangeCrab 25F", family="ecp5", parameters=_4,
            clock_mhz=100.8, baud=1_000_000, loader="orangeCrab",
            note="serial line: an adapter of 3.3 V at pins 0 (rx) and 1 (tx)",
        ),
        Board(
            name="orangecrab_85f", title="OrangeCrab 85F", family="ecp5", parameters=_FULL,
            clock_mhz=82.91, baud=1_000_000, loader="orangeCrab",
            note="serial line: an adapter of 3.3 V at pins 0 (rx) and 1 (tx)",
        ),
        Board(
            name="colorlight_i5", title="Colorlight i5", family="ecp5", parameters=_4,
            clock_mhz=80, baud=115_200, loader="colorlight-i5",
        ),
        Board(
            name="colorlight_i9", title="Colorlight i9", family="ecp5", parameters=_8,
            clock_mhz=75, baud=115_200, loader="colorlight-i9",
        ),
        Board(
            name="ecpix5_45f", title="ECPIX-5 45F", family="ecp5", parameters=_8,
            clock_mhz=112.5, loader="ecpix5",
        ),
        Board(
            name="ecpix5_85f", title="ECPIX-5 85F", family="ecp5", parameters=_FULL,
            clock_mhz=100, loader="ecpix5",
        ),
        Board(
            name="icebreaker", title="iCEBreaker", family="ice40", loader="ice40_generic",
            clock_mhz=24,
            # Its oscillator is at the pad of the PLL, and goes nowhere else.
            pll_words={"SB_PLL40_CORE": "SB_PLL40_PAD", "REFERENCECLK": "PACKAGEPIN"},
            parameters=_SMALL | {
                "engine": _engine("ice40", 2, 1), "sums": 64, "a_bytes": 256, "b_bytes": 256,
                "memory_bytes": 4096, "lean": True,
            },
        ),
        Board(
            name="ice40_hx8k_b_evn", title="iCE40-HX8K breakout board", family="ice40",
            loader="ice40_generic", clock_mhz=64.5, parameters=_SMALL | {
                "engine": "systolic_os(m=1,n=1,encoding=operator,adder=operator,pe=mac)",
                "sums": 64, "a_bytes": 128, "b_bytes": 128, "memory_bytes": 8192,
                "lean": True,
            },
        ),
        Board(
            name="tang_nano_9k", title="Tang Nano 9K", family="gowin", loader="tangnano9k",
            clock_mhz=48, baud=115_200,
            parameters=_SMALL | {
                "engine": _engine("gowin", 2, 2), "sums": 64, "a_bytes": 256, "b_bytes": 256,
                "memory_bytes": 8192,
            },
        ),
        Board(
            name="tang_nano_20k", title="Tang Nano 20K", family="gowin", loader="tangnano20k",
            clock_mhz=48, baud=115_200,
            parameters=_SMALL | {
                "engine": _engine("gowin", 4, 4), "sums": 256, "a_bytes": 512, "b_bytes": 512,
                "memory_bytes": 32768,
            },
        ),
        Board(
            name="arty_a7_35t", title="Arty A7-35T", family="xilinx7", loader="arty_a7_35t",
            parameters=_ecp5(8, 8, sums=1024, memory=1 << 16)
            | {"engine": _engine("xilinx7", 8, 8)},
        ),
        Board(
            name="arty_a7_100t", title="Arty A7-100T", family="xilinx7", loader="arty_a7_100t",
            parameters=_ecp5(12, 12, sums=2304, memory=1 << 17)
            | {"engine": _engine("xilinx7", 12, 12)},
        ),
        Board(
            name="pynq_z2", title="PYNQ-Z2", family="xilinx7", processor=True,
            parameters={"engine": _engine("xilinx7", 12, 12), "data_width": 64},
        ),
        Board(
            name="kv260", title="KV260", family="ultrascale", processor=True,
            parameters={"engine": _engine("ultrascale", 16, 16)},
        ),
    )
}  # fmt: skip


def board_of(name: str) -> Board:
    """Return a board.

    Raises
    ------
    ValueError
        There is none of that name.
    """
    if name not in BOARDS:
        raise nearest(name, BOARDS, "board")
    return BOARDS[name]


def design_of(
    board: Board, parameters: Mapping[str, str], *, clock_hz: float | None = None, baud: int = 0
) -> Design:
    """Return the co-processor for a board, with other parameters if given.

    Parameters
    ----------
    clock_hz, baud : of the design's clock, the board's by default, and of the line, of
        :func:`rate_of` by default.

    Raises
    ------
    ValueError
        The clock cannot make the rate; the board has no external memory.
    """
    texts = {key: str(value) for key, value in board.parameters.items()}
    if parameters.get("memory") == "external":
        size = sdram_of(board.name).bytes
        width = max(int(texts["address_width"]), (size - 1).bit_length())
        texts |= {"memory_bytes": str(size), "address_width": str(width)}
    if board.processor:
        return Design.parse("coprocessor", texts | dict(parameters))
    hertz = clock_hz or 1e6 * (board.clock_mhz or board.oscillator_mhz)
    divisor = divisor_of(hertz, baud or rate_of(board.baud, hertz))
    design = Design.parse("coprocessor_uart", texts | {"divisor": str(divisor)} | dict(parameters))
    shared = int(texts.get("requantisers", 0))
    if shared and "requantisers" not in parameters and design.spec.inside.n % shared:
        # Columns of another engine, in groups of another size.
        fitting = str(math.gcd(design.spec.inside.n, shared))
        given = {**parameters, "requantisers": fitting}
        return design_of(board, given, clock_hz=clock_hz, baud=baud)
    return design

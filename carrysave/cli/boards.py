"""``carrysave boards``."""

import json
from typing import Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from carrysave.boards.board import BOARDS, Board, board_of, design_of
from carrysave.boards.line_rate import rate_of
from carrysave.boards.sdram import SDRAMS
from carrysave.cli.options import Json, console

__all__ = ["list_boards"]


def list_boards(
    names: Annotated[list[str] | None, Parameter(help="Show these.")] = None,
    /,
    *,
    json_: Json = False,
) -> int:
    """List the boards that `build` knows, and the co-processor that each gets by default.

    **Examples:**

    - `carrysave boards`
    - `carrysave boards ulx3s_85f --json`
    """
    chosen = [board_of(name) for name in names] if names else list(BOARDS.values())
    rows = [facts(board) for board in chosen]
    if json_:
        print(json.dumps(rows, indent=2))
        return 0
    table = Table(title="Boards", title_justify="left")
    for head in ("board", "FPGA", "engine", "MHz", "GOPS", "KiB", "Mbaud"):
        right = head not in {"board", "FPGA", "engine"}
        table.add_column(head, justify="right" if right else "left", no_wrap=True)
    for row in rows:
        mbaud = row["baud"] and row["baud"] / 1e6
        kib = row["memory_bytes"] and row["memory_bytes"] / 1024
        table.add_row(
            row["board"],
            row["part"],
            f"{row['m']}x{row['n']}",
            *map(_shown, (row["clock_mhz"], row["gops"], kib, mbaud)),
        )
    console.print(table)
    console.print("engine: of the default build, MHz that it is first asked for, GOPS at these.")
    console.print("KiB: of its block RAM, for matrices and programs; Mbaud: of its serial line.")
    if sdrams := [row for row in rows if row["sdram_bytes"]]:
        console.print("SDRAM for `build -p memory=external`, and GB/s of its wires at these MHz:")
    for row in sdrams:
        megabytes = row["sdram_bytes"] >> 20
        console.print(
            f"{row['board']}: {row['sdram']}, {megabytes} MB, {_shown(row['sdram_gbps'])} GB/s",
            highlight=False,
        )
    console.print("Arty A7, PYNQ-Z2, KV260: `build` writes a project for Vivado.")
    for note, row in ((row["note"], row) for row in rows if row["note"]):
        console.print(f"{row['board']}: {note}", highlight=False, markup=False, soft_wrap=True)
    return 0


def facts(board: Board) -> dict[str, Any]:
    """Describe a board and its default build in plain values."""
    design = design_of(board, {})
    clock = board.clock_mhz or None
    sdram = SDRAMS.get(board.name)
    rate = rate_of(board.baud, 1e6 * (clock or board.oscillator_mhz))
    return {
        "board": board.name,
        "title": board.title,
        "family": board.family,
        "part": board.facts["part"],
        "capacity": dict(board.part.capacity) if board.part else {},
        "oscillator_mhz": board.oscillator_mhz,
        "pins": {port: pin["site"] for port, pin in board.facts["pins"].items()},
        "source": board.facts["source"],
        "design": design.module,
        "engine": str(board.parameters["engine"]),
        "m": design.spec.inside.m,
        "n": design.spec.inside.n,
        "data_width": design.spec.data_width,
        "clock_mhz": clock,
        "gops": clock and design.component().operations_per_cycle * clock / 1e3,
        "baud": None if board.processor else rate,
        "memory_bytes": None if board.processor else design.spec.memory_bytes,
        "sdram": sdram and f"{sdram.kind.upper()}, {sdram.bits} bits",
        "sdram_bytes": sdram and sdram.bytes,
        "sdram_gbps": sdram and clock and sdram.cycle_bits / 8 * clock / 1e3,
        "built_by": "open tools" if board.part else "Vivado",
        "note": board.note,
    }


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"

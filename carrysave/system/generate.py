"""Writes a system: its Verilog, by LiteX, and its firmware."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.boards.board import Board
from carrysave.errors import needs
from carrysave.ip import litex
from carrysave.ip.facts import Facts
from carrysave.system.boards import SystemBoard
from carrysave.system.firmware import compile_firmware
from carrysave.system.litex_soc import FACTS, PINS, TOP, Request
from carrysave.system.memory_image import Banks, with_dump
from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from hw.device import models_of
from hw.emit import tools
from hw.emit.verilog import Emission

__all__ = ["BUSES", "CPUS", "Cpu", "EXTRA", "Written", "write"]


@dataclass(frozen=True)
class Cpu:
    """A processor.

    Members
    -------
    title : what it is called.
    divisor : cycles of a bit of the serial line, at least: the firmware keeps up with that.
    """

    title: str
    divisor: int


CPUS = {"vexriscv": Cpu("VexRiscv", 8), "picorv32": Cpu("PicoRV32", 64)}
"""By LiteX's names."""
BUSES = {"wishbone": "Wishbone", "axi": "AXI"}
"""Titles of the standards of the processor's bus, by LiteX's names."""

EXTRA = (
    "litex", "litedram", "migen", "litex_boards", "pythondata_cpu_vexriscv",
    "pythondata_cpu_picorv32", "ziglang",
)  # fmt: skip
"""Modules that a system needs, beside the core's."""


@dataclass(frozen=True)
class Written:
    """A system in a folder.

    Members
    -------
    sources : Verilog; files for its memories are beside the first.
    models : of an FPGA's blocks, for simulation.
    data : files for its memories.
    pins : constraints of the board's pins; empty if it is simulated.
    firmware_bytes : of the ROM.
    divisor : cycles of a bit of the serial line, in simulation.
    banks : of the simulated SDRAM; None: it is real.
    """

    sources: list[Path]
    models: list[Path]
    data: list[Path]
    pins: str
    firmware_bytes: int
    divisor: int
    banks: Banks | None = None


def write(
    board: Board,
    chosen: SystemBoard,
    design: Design,
    folder: Path,
    progress: Callable[[str], None],
    *,
    clock_hz: float,
    baud: float,
    cpu: str,
    bus: str,
    simulated: bool,
) -> Written:
    """Write a system into a folder: ``carrysave_soc.v``, the co-processor, ``firmware``.

    Parameters
    ----------
    board, chosen : the board, and what the system takes of it.
    design : the co-processor.
    progress : callback for each step.
    clock_hz, baud : of the system, and of its serial line.
    cpu, bus : see :data:`CPUS` and :data:`BUSES`.
    simulated : for a simulator, with a model of SDRAM.

    Raises
    ------
    ModuleNotFoundError
        A package of :data:`EXTRA` is not installed.
    RuntimeError
        LiteX or the compiler fails; says why.
    """
    needs(*EXTRA)
    spec = design.spec
    assert isinstance(spec, CoprocessorSpec)
    progress(f"{board.name}: writing {design.module}")
    block = Facts(Emission(design))
    made = {
        f"{design.module}.v": block.emission.verilog,
        f"{design.module}_litex.py": litex.module(block),
    }
    with tools.workplace() as work:
        for name, text in made.items():
            cache.write(work / name, text)
        Request(
            module=design.module, data_width=spec.data_width, address_width=spec.address_width,
            window=block.window, platform=chosen.platform, arguments=dict(chosen.arguments),
            memory=chosen.memory, memory_bits=chosen.memory_bits, clock_hz=clock_hz, baud=baud,
            cpu=cpu, bus=bus, simulated=simulated,
        ).write(work / "request.json")  # fmt: skip
        progress(f"{board.name}: writing the system by LiteX")
        facts = _litex(work)
        for name in [*facts["data"], *([] if simulated else [PINS])]:
            cache.write(folder / name, (work / name).read_bytes())
        banks = Banks.of(facts["banks"]) if simulated else None
        top = (work / f"{TOP}.v").read_text()
        cache.write(folder / f"{TOP}.v", top if banks is None else with_dump(top, banks))
    for name, text in made.items():
        cache.write(folder / name, text)
    others = [Path(path) for path in facts["sources"] if not path.endswith(f"{design.module}.v")]
    for path in others:
        shutil.copy(path, folder / path.name)
    progress(f"{board.name}: compiling the firmware")
    words = compile_firmware(facts, cpu, folder / "firmware")
    if 4 * len(words) > (size := facts["memories"]["rom"][1]):
        raise RuntimeError(f"the firmware must be {size:,} bytes at most, not {4 * len(words):,}")
    cache.write(folder / facts["rom"], "".join(f"{word:08x}\n" for word in words))
    return Written(
        sources=[
            folder / name for name in (TOP + ".v", f"{design.module}.v", *(p.name for p in others))
        ],
        models=models_of(block.emission.verilog),
        data=[folder / name for name in facts["data"]],
        pins="" if simulated else (folder / PINS).read_text(),
        firmware_bytes=4 * len(words),
        divisor=CPUS[cpu].divisor,
        banks=banks,
    )


def _litex(folder: Path) -> dict[str, Any]:
    """Run LiteX on the request in a folder; return its facts."""
    # It reads its own modules only, and would warn of what other packages do.
    root = str(Path(__file__).parents[2])
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join([root, *filter(None, sys.path)]),
        "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    command = [sys.executable, "-B", "-m", "carrysave.system.litex_soc", "request.json"]
    done = tools.run(command, cwd=folder, environment=environment)
    if done.code or not (folder / FACTS).exists():
        told = done.output.strip().splitlines() or ["it says nothing"]
        raise RuntimeError(f"LiteX: {told[-1]}")
    facts: dict[str, Any] = json.loads((folder / FACTS).read_text())
    return facts

"""Writes a system: its Verilog, by LiteX, and its firmware."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.boards.board import Board
from carrysave.boards.litex_parts import run_litex
from carrysave.errors import needs
from carrysave.ip import litex
from carrysave.ip.facts import Facts
from carrysave.sim.emission import verilog_of
from carrysave.system.boards import SystemBoard
from carrysave.system.firmware import compile_firmware
from carrysave.system.litex_soc import FACTS, PINS, TOP, Request
from carrysave.system.memory_image import Banks, with_dump
from golden.soc.spec import CoprocessorSpec
from hw.catalog import Design
from hw.device import models_of
from hw.emit import tools
from hw.emit.verilog import Emission

__all__ = ["BUSES", "CPUS", "Cpu", "EXTRA", "System", "Written", "write"]


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
    "litex",
    "litedram",
    "migen",
    "litex_boards",
    "pythondata_cpu_vexriscv",
    "pythondata_cpu_picorv32",
    "ziglang",
)
"""Modules that a system needs, beside the core's."""


ROMS = {False: 0x6800, True: 0x10000}
"""Bytes of ROM, without steps on floats and with them."""


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


@dataclass(frozen=True, kw_only=True)
class System:
    """A system for a board.

    Members
    -------
    board, chosen : the board, and what the system takes of it.
    design : the co-processor.
    clock_hz, baud : of the system, and of its serial line; None: the fastest that the firmware
        keeps up with.
    cpu, bus : see :data:`CPUS` and :data:`BUSES`.
    floats : programs may have steps on floats, for which there is a larger ROM.
    simulated : for a simulator, with a model of SDRAM.
    """

    board: Board
    chosen: SystemBoard
    design: Design
    clock_hz: float
    baud: float | None = None
    cpu: str = "vexriscv"
    bus: str = "wishbone"
    floats: bool = False
    simulated: bool = False

    def request(self, block: Facts) -> Request:
        """Return what LiteX is asked for, around a co-processor."""
        spec = self.design.spec
        assert isinstance(spec, CoprocessorSpec)
        return Request(
            module=self.design.module,
            data_width=spec.data_width,
            address_width=spec.address_width,
            window=block.window,
            platform=self.chosen.sdram.platform,
            arguments=dict(self.chosen.sdram.arguments),
            memory=self.chosen.sdram.memory,
            memory_bits=self.chosen.sdram.bits,
            phase=self.chosen.phase,
            ddr3=None if self.chosen.sdram.ddr3 is None else vars(self.chosen.sdram.ddr3),
            clock_hz=self.clock_hz,
            baud=self.baud or self.clock_hz / CPUS[self.cpu].divisor,
            cpu=self.cpu,
            bus=self.bus,
            rom=ROMS[self.floats],
            simulated=self.simulated,
        )


def write(system: System, folder: Path, progress: Callable[[str], None]) -> Written:
    """Write a system into a folder: ``carrysave_soc.v``, the co-processor, ``firmware``.

    Parameters
    ----------
    progress : callback for each step.

    Raises
    ------
    ModuleNotFoundError
        A package of :data:`EXTRA` is not installed.
    RuntimeError
        LiteX or the compiler fails; says why.
    """
    needs(*EXTRA)
    name, module = system.board.name, system.design.module
    progress(f"{name}: writing {module}")
    block = Facts(Emission(system.design))
    files = {
        f"{module}.v": verilog_of(system.design),
        f"{module}_litex.py": litex.module(block),
    }
    for file, text in files.items():
        cache.write(folder / file, text)
    progress(f"{name}: writing the system by LiteX")
    facts, banks = _verilog(system, system.request(block), files, folder)
    others = [Path(path) for path in facts["sources"] if not path.endswith(f"{module}.v")]
    for path in others:
        shutil.copy(path, folder / path.name)
    progress(f"{name}: compiling the firmware")
    spec = system.design.spec
    assert isinstance(spec, CoprocessorSpec)
    words = compile_firmware(
        facts,
        system.cpu,
        folder / "firmware",
        every=spec.windows or spec.sparse or spec.lists > 0 or spec.vector is not None,
        floats=system.floats,
    )
    if 4 * len(words) > (size := facts["memories"]["rom"][1]):
        raise RuntimeError(f"the firmware must be {size:,} bytes at most, not {4 * len(words):,}")
    cache.write(folder / facts["rom"], "".join(f"{word:08x}\n" for word in words))
    return Written(
        sources=[folder / file for file in (f"{TOP}.v", f"{module}.v", *(p.name for p in others))],
        models=models_of(files[f"{module}.v"]),
        data=[folder / file for file in facts["data"]],
        pins="" if system.simulated else (folder / PINS).read_text(),
        firmware_bytes=4 * len(words),
        divisor=CPUS[system.cpu].divisor,
        banks=banks,
    )


def _verilog(
    system: System, request: Request, files: Mapping[str, str], folder: Path
) -> tuple[dict[str, Any], Banks | None]:
    """Write the system's Verilog and its memories by LiteX; return its facts, and SDRAM's banks.

    Parameters
    ----------
    files : of the co-processor.
    """
    with tools.workplace() as work:
        for file, text in files.items():
            cache.write(work / file, text)
        request.write(work / "request.json")
        facts = run_litex("carrysave.system.litex_soc", work, FACTS)
        for file in [*facts["data"], *([] if system.simulated else [PINS])]:
            cache.write(folder / file, (work / file).read_bytes())
        banks = Banks.of(facts["banks"]) if system.simulated else None
        top = (work / f"{TOP}.v").read_text()
        cache.write(folder / f"{TOP}.v", top if banks is None else with_dump(top, banks))
    return facts, banks

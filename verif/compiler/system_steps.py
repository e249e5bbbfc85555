"""A simulated system that runs sections of a program, and its memory after each.

As a bench, it takes the address of each section's words, and has the firmware run them, one after
the other.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles

from carrysave.driver.line import Command, Line
from carrysave.driver.system import RUN_WORDS
from carrysave.sim.cocotb.serial_line import SerialLine
from carrysave.sim.cocotb.soc_host import BOOT
from carrysave.sim.cocotb.streams import reset, start_clock
from carrysave.sim.parameters import bench_parameters
from carrysave.sim.runner import new_folder, run
from carrysave.sim.verilator import build
from carrysave.system.generate import Written
from carrysave.system.litex_soc import TOP

__all__ = ["system_memories"]

_PATIENCE = 1e6
"""Bits of the line that a section may take."""


def system_memories(
    written: Written, memory: np.ndarray, starts: Sequence[int], folder: Path
) -> list[np.ndarray]:
    """Run sections on a simulated system, which begins with this memory; return it after each.

    Parameters
    ----------
    written : a system for simulation.
    starts : address of each section.
    folder : in which this run gets its own new folder.
    """
    assert written.banks is not None
    run_folder = new_folder(folder, TOP)
    for path in written.data:
        shutil.copy(path, run_folder / path.name)
    written.banks.write(memory, run_folder)
    result = run(
        build([*written.sources, *written.models], TOP),
        "verif.compiler.system_steps",
        parameters={
            "divisor": written.divisor,
            "constants": {"sim_trace": 0},
            "starts": list(starts),
        },
        directory=run_folder,
        deadline=3600.0,
    )
    assert result.ok, result.log
    return [
        written.banks.read(memory.size, run_folder / str(number)) for number in range(len(starts))
    ]


@cocotb.test
async def sections(dut: Any) -> None:
    """Boot, run each, and move the files with its memory away."""
    chosen = bench_parameters()
    line = SerialLine(dut, chosen["divisor"])
    await start_clock(dut)
    await reset(dut)
    dut.sim_trace.value = 0

    async def dump(folder: Path) -> None:
        dut.sim_trace.value = 1
        await ClockCycles(dut.clk, 2)
        dut.sim_trace.value = 0
        await ClockCycles(dut.clk, 2)
        folder.mkdir()
        for path in Path().glob("*.after"):
            path.rename(folder / path.name)

    def host() -> None:
        line.timeout = BOOT
        port = Line(line)
        port.open()
        line.timeout = _PATIENCE
        for number, start in enumerate(chosen["starts"]):
            answer, failed = port.command(Command.RUN, start, 0, b"", 4 * len(RUN_WORDS))
            said = dict(zip(RUN_WORDS, np.frombuffer(answer, "<u4").tolist(), strict=True))
            assert not failed, (number, said)
            assert not said["status"], (number, said)
            resume(dump)(Path(str(number)))

    await bridge(host)()

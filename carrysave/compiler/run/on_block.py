"""Not a test but a job: run a section of program.pickle by the driver; see :mod:`.block`."""

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge

from carrysave.compiler.program.program import Section
from carrysave.compiler.run.device import by_device
from carrysave.driver.number import BYTE
from carrysave.sim.cocotb.opened import opener


@cocotb.test
async def run_section(dut: Any) -> None:
    """Place a program's memory, run a section, and keep what is there then."""
    section: Section
    memory: np.ndarray
    section, memory = pickle.loads(Path("section.pickle").read_bytes())  # of our own caller
    opened = await opener(dut, 1 << (len(memory) + 65536).bit_length())

    def run() -> None:
        device = opened()
        placed = device.empty((1, len(memory)), BYTE)
        placed.write_bytes(memory[None])
        ours, runner = by_device(device, placed)
        runner(section)
        np.save("memory.npy", ours)
        Path("counters.json").write_text(json.dumps(dataclasses.asdict(device.counters())))

    await bridge(run)()

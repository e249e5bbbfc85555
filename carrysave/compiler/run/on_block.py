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
from carrysave.driver import Coprocessor
from carrysave.driver.number import BYTE
from carrysave.sim.cocotb.device_memory import Pool
from carrysave.sim.cocotb.streams import generator
from carrysave.sim.cocotb.system import Registers, seconds, start

LATENCY = 50
TIMEOUT = 10.0
"""Of simulated seconds."""


@cocotb.test
async def run_section(dut: Any) -> None:
    """Place a program's memory, run a section, and keep what is there then."""
    section: Section
    memory: np.ndarray
    section, memory = pickle.loads(Path("section.pickle").read_bytes())  # of our own caller
    host, bus = await start(dut, size=1 << (len(memory) + 65536).bit_length(), latency=LATENCY)
    pool = Pool(bus.data, generator(1))

    def run() -> None:
        device = Coprocessor(Registers(host), pool, clock=seconds, timeout=TIMEOUT)
        placed = device.empty((1, len(memory)), BYTE)
        placed.write_bytes(memory[None])
        ours, runner = by_device(device, placed)
        runner(section)
        np.save("memory.npy", ours)
        Path("counters.json").write_text(json.dumps(dataclasses.asdict(device.counters())))

    await bridge(run)()

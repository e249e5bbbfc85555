"""Not a test but a job: run the list of list.pickle by the driver, on one start.

Writes the matrices that jobs wrote, but for those on chip, to results.npz, and counters to
counters.json.
"""

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge

from carrysave.compiler.program.jobs import Job
from carrysave.compiler.program.matrices import Memory, View
from carrysave.compiler.program.on_device import OnDevice
from carrysave.driver import Coprocessor
from carrysave.sim.cocotb.device_memory import Pool
from carrysave.sim.cocotb.streams import generator
from carrysave.sim.cocotb.system import Registers, seconds, start

LATENCY = 50
TIMEOUT = 10.0
"""Of simulated seconds."""
_ROOM = 4096
"""Bytes besides each matrix, and for each job's descriptor and records."""


@cocotb.test
async def run_list(dut: Any) -> None:
    """Place all matrices in memory, and start."""
    jobs: list[Job]
    memory: Memory
    jobs, memory = pickle.loads(Path("list.pickle").read_bytes())  # written by our own caller
    size = sum(
        codes.size * memory.bits[name] // 8 + _ROOM for name, codes in memory.matrices.items()
    )
    size += _ROOM * len(jobs)
    host, bus = await start(dut, size=1 << size.bit_length(), latency=LATENCY)
    pool = Pool(bus.data, generator(1))

    def run_all() -> None:
        device = Coprocessor(Registers(host), pool, clock=seconds, timeout=TIMEOUT)
        with OnDevice(device, memory) as placed:
            counters = placed.run(jobs)
            names = dict.fromkeys(job.c.name for job in jobs if job.c.name not in memory.on_chip)
            found: dict[str, Any] = {name: placed.read(View(name)) for name in names}
        np.savez("results.npz", **found)
        facts = dataclasses.asdict(counters) | {"utilisation": counters.utilisation}
        Path("counters.json").write_text(json.dumps(facts))

    await bridge(run_all)()

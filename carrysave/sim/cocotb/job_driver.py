"""Not a test but a job: give a driver to a function, see :mod:`carrysave.sim.device`."""

import pickle
from pathlib import Path
from typing import Any

import cocotb
from cocotb.task import bridge

from carrysave.sim.cocotb.opened import opener
from carrysave.sim.parameters import CALL, PROGRESS, RESULT


@cocotb.test
async def with_driver(dut: Any) -> None:
    """Call it, and write what it returns."""
    call, size, memory = pickle.loads(Path(CALL).read_bytes())  # of our caller
    opened = await opener(dut, 1 << size.bit_length(), memory)

    def run() -> None:
        made = call(opened(), progress=lambda done: Path(PROGRESS).write_text(str(done)))
        Path(RESULT).write_bytes(pickle.dumps(made))

    await bridge(run)()

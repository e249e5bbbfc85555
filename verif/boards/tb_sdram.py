"""Bench of a board's top with SDRAM: the host at the serial pins, a chip at those of the memory."""

import json
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge

from carrysave.boards.memory_test import check_memory
from carrysave.driver import Coprocessor
from carrysave.driver.uart import UartLink
from carrysave.sim.cocotb.sdram_chip import SdramChip
from carrysave.sim.cocotb.serial_line import SerialLine
from carrysave.sim.cocotb.streams import generator, start_clock
from carrysave.sim.cocotb.system import seconds
from carrysave.sim.parameters import bench_parameters

GIVEN = bench_parameters()


@cocotb.test
async def test_board(dut: Any) -> None:
    """Test the memory, multiply, and write down what was found."""
    line = SerialLine(dut, GIVEN["divisor"])
    bad = {int(place): flips for place, flips in GIVEN["chip"].pop("bad", {}).items()}
    chip = SdramChip(dut, GIVEN["period_ns"], **GIVEN["chip"], bad=bad)
    await start_clock(dut)

    def check() -> None:
        link = UartLink(line)
        device = Coprocessor(link, link, clock=seconds, timeout=0.1)
        outcome = check_memory(link, device, GIVEN["size"])
        found = vars(outcome) | {"ok": outcome.ok}
        if outcome.ok:
            rng = generator(1)
            a, b = (rng.integers(-128, 128, size, np.int8) for size in ((9, 40), (40, 7)))
            assert np.array_equal(device.matmul(a, b), a.astype(np.int64) @ b)
        Path("found.json").write_text(json.dumps(found | {"commands": chip.commands}))

    await bridge(check)()

"""Bench of a board's top with SDRAM: the host at the serial pins, a chip at those of the memory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge

from carrysave.boards.attached import opened
from carrysave.boards.memory_test import check_memory
from carrysave.driver import Coprocessor, CoprocessorError
from carrysave.driver.job import Job
from carrysave.driver.uart import UartLink
from carrysave.sim.cocotb.ddr3_phy import Ddr3Phy
from carrysave.sim.cocotb.sdram_chip import SdramChip, SdramTiming
from carrysave.sim.cocotb.serial_line import SerialLine
from carrysave.sim.cocotb.streams import generator, start_clock
from carrysave.sim.cocotb.system import seconds
from carrysave.sim.parameters import bench_parameters
from hw.catalog import Design
from verif.boards.early import early_status

GIVEN = bench_parameters()
POLLS = 20
"""In which memory starts."""
CHIPS = {"sdr": SdramChip, "ddr3": Ddr3Phy}


@cocotb.test
async def test_board(dut: Any) -> None:
    """Test the memory, multiply, and write down what was found."""
    line = SerialLine(dut, GIVEN["divisor"])
    faults = GIVEN["chip"]
    faults["bad"] = _numbered(faults.get("bad", {}))
    if "timing" in faults:
        faults["timing"] = SdramTiming(**faults["timing"])
    if "windows" in faults:
        faults["windows"] = [_numbered(one) for one in faults["windows"]]
    chip = CHIPS[GIVEN["kind"]](dut, GIVEN["period_ns"], **faults)
    await start_clock(dut)
    early = await early_status(line)

    def check() -> None:
        link = UartLink(line)
        device = Coprocessor(link, link, clock=seconds, timeout=0.1)
        started = any(link.started for _ in range(POLLS))
        if not started or (failed := link.failed_bytes()):
            said = {"started": started, "failed": failed if started else []}
            said |= _refused(link, device, line) | {"commands": chip.commands}
            Path("found.json").write_text(json.dumps(said))
            return
        outcome = check_memory(link, device, GIVEN["size"])
        found = vars(outcome) | {"ok": outcome.ok, "early": early}
        if outcome.ok:
            rng = generator(1)
            a, b = (rng.integers(-128, 128, size, np.int8) for size in ((9, 40), (40, 7)))
            assert np.array_equal(device.matmul(a, b), a.astype(np.int64) @ b)
        Path("found.json").write_text(json.dumps(found | {"commands": chip.commands}))

    await bridge(check)()


def _numbered(named: dict[str, Any]) -> dict[int, Any]:
    """Return what JSON has names for, by numbers."""
    return {int(name): value for name, value in named.items()}


def _said(call: Callable[[], Any]) -> str:
    """Return the error of a call."""
    try:
        call()
    except CoprocessorError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _refused(link: UartLink, device: Coprocessor, line: SerialLine) -> dict[str, Any]:
    """Access a memory that failed; return what is said of it."""
    design = Design(GIVEN["design"], GIVEN["parameters"])
    jobs = [Job(a=0, b=512, c=1024, m=2, n=4, k=8, lda=8, ldb=8, ldc=16)]
    calls = {
        "write": lambda: link.write_memory(16, b"12"),
        "read": lambda: link.read_memory(16, 2),
        "job": lambda: device.run_jobs(jobs),
        "opened": lambda: opened(line, design, patience=0.0),
    }
    said = {name: _said(call) for name, call in calls.items()}
    # Registers are as before.
    return said | {"m": device.info.stores.tile_m, "idle": link.read(0)}

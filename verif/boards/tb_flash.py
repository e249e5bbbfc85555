"""Bench of a board's top whose memory comes from flash: the host at the serial pins, both chips."""

import json
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.task import bridge
from cocotb.triggers import FallingEdge

from carrysave.driver import Coprocessor
from carrysave.driver.job import Job
from carrysave.driver.uart import UartLink
from carrysave.sim.cocotb.ddr3_phy import Ddr3Phy
from carrysave.sim.cocotb.sdram_chip import SdramChip
from carrysave.sim.cocotb.serial_line import SerialLine
from carrysave.sim.cocotb.streams import generator, start_clock
from carrysave.sim.cocotb.system import seconds
from carrysave.sim.parameters import bench_parameters
from golden.soc.serial.flash_image import flash_image
from verif.boards.early import early_status
from verif.soc.serial.flash_chip import FlashChip

GIVEN = bench_parameters()
CHIPS = {"sdr": SdramChip, "ddr3": Ddr3Phy}
A, B, C, END = 0, 64, 128, 192
"""Of a product of 2 x 8 and 8 x 4 codes, whose rows are beats."""


def image(rng: np.random.Generator) -> tuple[bytes, np.ndarray]:
    """Return what is in flash, and the product of it."""
    data = rng.integers(1, 256, END, np.uint8)
    codes = data.view(np.int8).astype(np.int64)
    rows = codes[B : B + 64].reshape(8, 8)[:, :4]
    whole = bytearray(
        flash_image(int(GIVEN["digest"], 16) ^ GIVEN["flash"].get("other", 0), data.tobytes())
    )
    for at in GIVEN["flash"].get("flips", ()):
        whole[at] ^= 1
    return bytes(whole), codes[A : A + 16].reshape(2, 8) @ rows


async def serve(dut: Any, chip: FlashChip) -> None:
    """Move the flash's pins."""
    while True:
        await FallingEdge(dut.clk)
        pins = (dut.flash_cs_n, dut.flash_pin, dut.flash_mosi)
        dut.flash_miso.value = chip.step(*(int(pin.value) for pin in pins))


@cocotb.test
async def test_flash(dut: Any) -> None:
    """Say what came; multiply what did; write and fill once more."""
    line = SerialLine(dut, GIVEN["divisor"])
    whole, product = image(generator(1))
    absent = GIVEN["flash"].get("absent")
    chip = FlashChip(bytes(GIVEN["address"]) + whole, absent=absent, wake=2800)
    if GIVEN["kind"]:
        CHIPS[GIVEN["kind"]](dut, GIVEN["period_ns"])
    dut.flash_miso.value = 1
    await start_clock(dut)
    await FallingEdge(dut.clk)
    cocotb.start_soon(serve(dut, chip))
    early = await early_status(line)

    def check() -> None:
        link = UartLink(line)
        while not link.started:
            pass
        found: dict[str, Any] = {"early": early, "flash": link.flash}
        device = Coprocessor(link, link, clock=seconds, timeout=0.1)
        job = Job(a=A, b=B, c=C, m=2, n=4, k=8, lda=8, ldb=8, ldc=16)
        data = whole[24:]
        if link.flash == "loaded":
            device.run_jobs([job])
            c = np.frombuffer(link.read_memory(C, 32), np.int32).reshape(2, 4)
            found |= {"right": bool(np.array_equal(c, product)), "reads": [*chip.reads]}
            assert link.read_memory(A, 24) == data[:24]
        filled = link.fill(data)
        buffer = link((END,))
        assert buffer.device_address == 0
        assert link.read_memory(0, END) == (data if filled else bytes(END))
        assert bytes(buffer) == (data if filled else bytes(END))
        found |= {"filled": filled, "again": len(chip.reads)}
        Path("found.json").write_text(json.dumps(found))

    await bridge(check)()

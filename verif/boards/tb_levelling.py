"""Bench of a DDR3 controller alone: its levelling of one memory after the other, and bursts."""

import json
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.ddr3_phy import Ddr3Phy, Windows
from carrysave.sim.cocotb.streams import generator
from carrysave.sim.parameters import bench_parameters
from verif.boards.controller_port import Pins, begin, read, restart, write

GIVEN = bench_parameters()
BYTES = 8
"""Of a beat."""
MOST = 20_000
"""Cycles until the memory is started."""
LATE = 12_000
"""Cycles after which all places were tried, and not yet what was set."""


async def _change(dut: Any, chip: Ddr3Phy, windows: list[Windows] | None) -> None:
    """Have bytes be right at other places, once all were tried."""
    if windows is not None:
        await ClockCycles(dut.core_first, LATE)
        chip.windows = windows


def _numbered(windows: list[dict[str, list[int]]]) -> list[Windows]:
    """Return windows as they were before they were JSON."""
    return [{int(slip): places for slip, places in one.items()} for one in windows]


@cocotb.test
async def test_levelling(dut: Any) -> None:
    """Start each memory, write and read two beats; write down what came of it."""
    seen = []
    await begin(dut, BYTES)
    chip = Ddr3Phy(Pins(dut), GIVEN["period_ns"])
    for case in GIVEN["cases"]:
        chip.restart()
        chip.windows, chip.weak = _numbered(case["windows"]), case.get("weak", ((), ()))
        chip.stuck_high, chip.silent = case.get("stuck_high", 0), case.get("silent", False)
        chip.deaf = case.get("deaf", False)
        late = _numbered(case["late"]) if "late" in case else None
        change = cocotb.start_soon(_change(dut, chip, late))
        cycles = await restart(dut, MOST)
        change.cancel()
        data = [0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210]
        wrote = await write(dut, 0x10008, data, [255, 255])
        answer = await read(dut, 0x10008, 2)
        facts = {"cycles": cycles, "delays": chip.delays, "slips": chip.slips, "wrote": wrote}
        seen.append(facts | vars(answer) | {"right": answer.data == data})
    Path("seen.json").write_text(json.dumps(seen))


@cocotb.test
async def test_bursts(dut: Any) -> None:
    """Bursts of all lengths, from each place, with bytes left out: memory is as it should be."""
    rng = generator(3)
    chip = Ddr3Phy(Pins(dut), GIVEN["period_ns"])
    await begin(dut, BYTES)
    await restart(dut, MOST)
    base, size = 1 << 20, 1 << 14
    memory = bytearray(rng.bytes(size))
    words = memoryview(memory).cast("Q")
    for at in range(0, size, 2048):
        await write(dut, base + at, list(words[at // 8 : at // 8 + 256]), [255] * 256)
    # So long that refreshes are among them, for which beats must wait.
    for at in range(0, size, 2048):
        assert (await read(dut, base + at, 256)).data == list(words[at // 8 : at // 8 + 256])
    for _ in range(120):
        beats = int(rng.integers(1, 20)) if rng.integers(2) else 1
        at = int(rng.integers(0, size // BYTES - beats))
        if rng.integers(2):
            data = [int.from_bytes(rng.bytes(8), "little") for _ in range(beats)]
            strobes = [int(rng.integers(256)) for _ in range(beats)]
            assert await write(dut, base + BYTES * at, data, strobes) == 0
            for beat, (word, strobe) in enumerate(zip(data, strobes, strict=True)):
                for byte in range(BYTES):
                    if strobe >> byte & 1:
                        memory[BYTES * (at + beat) + byte] = word >> 8 * byte & 255
        else:
            answer = await read(dut, base + BYTES * at, beats)
            assert answer.data == list(words[at : at + beats])
            assert set(answer.answers) == {0}
    assert chip.commands["refresh"] > 0

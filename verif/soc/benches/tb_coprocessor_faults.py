"""Bench of the co-processor behind a serial line: memory falls silent, or the line is cut."""

from collections.abc import Iterator
from typing import Any

import cocotb
import pytest
from cocotb.task import bridge, resume
from cocotb.triggers import RisingEdge

from carrysave.driver import Coprocessor, CoprocessorError, JobError, LinkError
from carrysave.driver.uart import UartLink
from carrysave.sim.cocotb.axi_memory import CHANNELS
from carrysave.sim.cocotb.streams import generator
from carrysave.sim.cocotb.system import seconds
from golden.soc.job import Error
from verif.soc.benches.format_products import check_any
from verif.soc.benches.jobs import draw
from verif.soc.benches.tb_coprocessor_uart import SIDE, SPEC, start


class Hushed:
    """A channel that may be silent."""

    silent = False

    def __iter__(self) -> Iterator[bool]:
        while True:
            yield not self.silent


@cocotb.test
@cocotb.parametrize(channel=CHANNELS)
async def test_memory_is_silent(dut: Any, channel: str) -> None:
    """The host is told, of its own bytes and of a job; once memory answers, all goes on."""
    hushed, reads = Hushed(), channel in ("ar", "r")

    def check(link: UartLink) -> None:
        device: Any = Coprocessor(link, link, clock=seconds, timeout=1e-3)
        rng = generator(8)
        job = draw(SPEC, rng, 3, 2, 5)
        link.write_memory(0, bytes(64))
        hushed.silent = True
        with pytest.raises(JobError, match="timeout") as error:
            device.run_jobs([job])
        assert error.value.silent
        assert error.value.code == (Error.READ_TIMEOUT if reads else Error.WRITE_TIMEOUT)
        assert device.lost
        for _ in range(2):
            # Behind what the job has asked for, both are silent.
            with pytest.raises(CoprocessorError, match="memory does not answer: READ of 0x10"):
                link.read_memory(0x10, 9)
            with pytest.raises(CoprocessorError, match="memory does not answer: WRITE of 0x20"):
                link.write_memory(0x20, b"abc")
        assert link.read(0x100) == link.read(0x100)
        hushed.silent = False
        device.reset()
        link.write_memory(0x20, b"abc")
        assert link.read_memory(0x1F, 5)[1:4] == b"abc"
        hushed.silent = True
        with pytest.raises(CoprocessorError, match="memory does not answer"):
            link.read_memory(0, 9) if reads else link.write_memory(0, bytes(9))
        hushed.silent = False
        assert link.read_memory(0x20, 3) == b"abc"
        device.reset()
        check_any(device, SPEC, rng, 2, SIDE)

    line = await start(dut, **{channel: iter(hushed)})
    await bridge(lambda: check(UartLink(line)))()


@cocotb.test
async def test_memory_has_not_started(dut: Any) -> None:
    """Bytes and starts are refused, nothing is asked of memory, registers live; then all goes."""
    line = await start(dut)
    asked: list[str] = []
    dut.memory_started.value = 0

    async def watch() -> None:
        while not int(dut.memory_started.value):
            await RisingEdge(dut.clk)
            valid = (getattr(dut, f"m_axi_{name}valid") for name in ("ar", "aw", "w"))
            asked.extend(name for name in valid if int(name.value))

    cocotb.start_soon(watch())

    def check(link: UartLink) -> None:
        assert not link.started
        device: Any = Coprocessor(link, link, clock=seconds, timeout=1e-3)
        rng = generator(8)
        job = draw(SPEC, rng, 3, 2, 5)
        calls: dict[str, Any] = {
            "READ of 0x10": lambda: link.read_memory(0x10, 9),
            "WRITE of 0x20": lambda: link.write_memory(0x20, b"abc"),
            "ZERO of 0x0": lambda: link((8,)),
            "WRITE_WORD of 0x0": lambda: device.run_jobs([job]),
        }
        for access, call in calls.items():
            with pytest.raises(CoprocessorError, match=f"memory has not started: {access}"):
                call()
        link.write(0x68, 0x1234)
        assert link.read(0x68) == 0x1234
        assert device._get("ctrl_idle")
        begin()
        assert link.started
        check_any(device, SPEC, rng, 2, SIDE)

    @resume
    async def begin() -> None:
        assert not asked
        dut.memory_started.value = 1

    await bridge(lambda: check(UartLink(line)))()


@cocotb.test
@cocotb.parametrize(after=[3, 40])
async def test_line_is_cut(dut: Any, after: int) -> None:
    """In the midst of a load, for as long as the host tries; then all is loaded anew."""
    line, left = await start(dut), [1 << 30]
    write = line.write

    def cut(data: bytes) -> None:
        write(data[: left[0]])
        left[0] -= len(data[: left[0]])

    def check(link: UartLink) -> None:
        buffer = link((60,))
        buffer[:], left[0] = range(60), after
        with pytest.raises(LinkError, match=r"no answer to WRITE of .*, sent 2 times"):
            buffer.flush()
        left[0] = 1 << 30
        link.reset()
        assert buffer.lost
        buffer.flush()
        assert link.read_memory(buffer.device_address, 60) == bytes(range(60))
        check_any(Coprocessor(link, link, clock=seconds, timeout=0.1), SPEC, generator(9), 1, SIDE)

    line.write = cut
    await bridge(lambda: check(UartLink(line, tries=2)))()

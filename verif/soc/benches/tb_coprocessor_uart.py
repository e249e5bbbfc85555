"""Bench of the co-processor behind a serial line: the host's driver, through the pins."""

from collections.abc import Callable, Iterator
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.task import bridge
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from carrysave.driver import Coprocessor, CoprocessorError, Job, JobError
from carrysave.driver.uart import UartLink
from carrysave.sim.cocotb.axi_memory import CHANNELS, Memory
from carrysave.sim.cocotb.serial_line import SerialLine
from carrysave.sim.cocotb.streams import (
    cycle,
    generator,
    limited,
    reset,
    schedule,
    start_clock,
)
from carrysave.sim.cocotb.system import seconds
from carrysave.sim.parameters import bench_parameters, bench_spec
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.job import Error
from golden.soc.job_check import error_of
from golden.soc.serial.host_link import HostLinkFormat, frame
from verif.soc.benches.format_products import check_any
from verif.soc.benches.frames import MOST, Frames
from verif.soc.benches.jobs import draw
from verif.soc.uvm.refusals import refused

SPEC: CoprocessorUartSpec = bench_spec()
WRONG: int = bench_parameters().get("wrong", 2)
"""Jobs that are refused, for each reason."""
# Rows and columns with which the operands of a product, each row a beat at least, find room.
SIDE = max(1, SPEC.memory_bytes // (16 * max(SPEC.bytes, 64)))


async def start(dut: Any, **channels: Iterator[bool]) -> SerialLine:
    """Start memory, some channels of which may move only as they are told, and reset."""
    line = SerialLine(dut, SPEC.divisor)
    if SPEC.external:
        stalls = {
            name: schedule("rare", generator(6, place)) for place, name in enumerate(CHANNELS)
        } | channels
        data = np.zeros(SPEC.memory_bytes, np.uint8)
        Memory(
            dut, data, latency=7, outstanding=SPEC.outstanding, clock="clk", stalls=stalls
        ).start()
        dut.memory_started.value = 1
    await start_clock(dut)
    await reset(dut)
    return line


async def drive(dut: Any, check: Callable[[UartLink], None], rate: float = 1.0) -> None:
    """Run a check on an opened link, in a thread."""
    line = await start(dut)
    line.rate = rate
    await bridge(lambda: check(UartLink(line)))()


@cocotb.test
async def test_registers(dut: Any) -> None:
    def check(link: UartLink) -> None:
        device = Coprocessor(link, link, clock=seconds, timeout=0.1)
        inside = SPEC.inside
        assert device.info.peak == SPEC.array_clock * inside.m * inside.n * inside.k
        link.write(0x68, 0x1234)
        assert link.read(0x68) == 0x1234
        with pytest.raises(CoprocessorError, match="status 2"):
            link.read(0x7FC)
        assert link.read(0x68) == 0x1234
        with pytest.raises(CoprocessorError, match="READ of 0x80000000 has status 3"):
            link.read_memory(1 << 31, 1)

    await drive(dut, check)


@cocotb.test
@cocotb.parametrize(rate=[0.97, 1.03])
async def test_memory(dut: Any, rate: float) -> None:
    """Bytes at any address, at the ends of memory, and beyond; the host's clock is off."""

    def check(link: UartLink) -> None:
        assert link.size == SPEC.memory_bytes
        rng = generator(1)
        copy = np.frombuffer(link.read_memory(0, 96), np.uint8).copy()
        for _ in range(limited(12)):
            low, high = sorted(map(int, rng.integers(0, 97, 2)))
            data = rng.integers(0, 256, high - low, dtype=np.uint8)
            link.write_memory(low, data.tobytes())
            copy[low:high] = data
        assert link.read_memory(0, 96) == copy.tobytes()
        buffer = link((40,))
        assert not buffer.any()
        assert link.read_memory(buffer.device_address, 41) == bytes(40) + copy[40:41].tobytes()
        middle = link.size // 2 - 1  # with the most memory, bit 24 of an address changes there
        link.write_memory(middle, b"\x17\x28")
        assert link.read_memory(middle, 2) == b"\x17\x28"
        assert link.read_memory(0, 1) == bytes(1)
        link.write_memory(link.size - 2, b"\x81\x42")
        assert link.read_memory(link.size - 2, 2) == b"\x81\x42"
        with pytest.raises(CoprocessorError, match="status 3"):
            link.write_memory(link.size - 1, b"\x01\x02")
        assert link.read_memory(link.size - 2, 2) == b"\x81\x01"
        assert link.read_memory(0, 1) == bytes(1)

    await drive(dut, check, rate)


@cocotb.test
async def test_products(dut: Any) -> None:
    def check(link: UartLink) -> None:
        device = Coprocessor(link, link, clock=seconds, timeout=0.1)
        check_any(device, SPEC, generator(2), limited(4), SIDE)

    await drive(dut, check)


@cocotb.test
async def test_matrices_beyond_the_memory(dut: Any) -> None:
    """Refused by the host; as a job, an error of memory, after which the next job is right."""

    def check(link: UartLink) -> None:
        device = Coprocessor(link, link, clock=seconds, timeout=0.1)
        most = (1 << SPEC.dimension_width) - 1
        height = min(link.size // 8, most)
        width = min(-(-link.size // height), most)
        if height * width >= link.size:  # no matrix of such dimensions may be as large
            with pytest.raises(MemoryError, match=f"of {link.size} in a row"):
                device.empty((height, width), device.info.sums)
        far = link.size
        rows: dict[str, Any] = dict.fromkeys(("lda", "ldb", "ldc", "ldsa", "ldsb"), 64)
        with pytest.raises(JobError) as error:
            device.run_jobs([Job(a=far, b=0, c=0, m=1, n=1, k=1, **rows)])
        assert error.value.address == far
        assert error.value.response == "DECERR"
        check_any(device, SPEC, generator(3), limited(2), SIDE)

    await drive(dut, check)


@cocotb.test
async def test_refusals(dut: Any) -> None:
    """Jobs that are wrong, or ask for what is not built, are refused as the golden model does."""

    def check(link: UartLink) -> None:
        device: Any = Coprocessor(link, link, clock=seconds, timeout=0.1)
        rng = generator(4)
        good = draw(SPEC, rng, 3, 2, 5)
        wrong = []
        for reason in ("dimension", "long_k", "wraps", "short_row", "blocks"):
            tasks = refused(SPEC, good, reason)
            wrong += [tasks[number].job for number in rng.permutation(len(tasks))[:WRONG]]
        for job in wrong[: limited(len(wrong))]:
            expected = error_of(SPEC, job)
            assert expected
            with pytest.raises(JobError) as error:
                device.run_jobs([job])
            assert error.value.code == expected, job
        if not SPEC.follows_ring:
            assert device.run_jobs([good, good]).macs in (0, 2 * 3 * 2 * 5)
            for count in (1, 1 << 31):
                device._put("ring_count", count)
                device._put("ctrl_start", 1)
                assert device._get("error_code") == Error.MODE
        device.reset()
        check_any(device, SPEC, rng, 1, SIDE)

    await drive(dut, check)


@cocotb.test
async def test_frames_that_are_none(dut: Any) -> None:
    """What is no frame, or stops in the middle, or has a wrong stop bit, is forgotten."""
    line = await start(dut)
    assert len(await line.take(1)) == 0
    hello = frame(bytes(9))
    greeted = frame(bytes([0, SPEC.memory_bytes.bit_length() - 1, HostLinkFormat.RESET]))
    damaged = hello[:3] + b"\x01" + hello[4:]
    parts = (b"?\x00\xff", b"\x7d", b"\x7e", hello[:-1], hello[:-2], damaged, damaged[:5])
    for part in parts[: limited(len(parts))]:
        await line.send(part)
        if part == hello[:-1]:  # it is whole without the delimiter at its end
            assert await line.take(len(greeted)) == greeted
        assert len(await line.take(1)) == 0
        await line.send(hello)
        assert await line.take(len(greeted)) == greeted
    await line.send(hello[:4])
    await line.send(hello[4:5], stop=0)
    await line.wait(30)
    await line.send(hello[5:])
    assert len(await line.take(1)) == 0


@cocotb.test
async def test_damaged_frames(dut: Any) -> None:
    """The device does what the golden link does, whatever happens to the bytes on their way."""
    line = await start(dut)
    line.timeout = 60.0 + 2 * MOST
    frames = Frames(SPEC.memory_bytes, generator(5))
    count = 200 if SPEC.divisor == 4 else 40
    for _ in range(limited(count)):
        sent, expected = frames.draw()
        await line.send(sent)
        assert await line.take(len(expected) + 1) == expected, sent.hex()
    assert frames.answers > 20 or limited(count) < count


@cocotb.test(skip=len(SPEC.inside.modes) > 1)
async def test_light(dut: Any) -> None:
    """`busy` is low but while a job runs."""
    line = await start(dut)
    await ClockCycles(dut.clk, 10)
    assert int(dut.busy.value) == 0
    lit: list[int] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.busy)
            begin = cycle()
            await FallingEdge(dut.busy)
            lit.append(cycle() - begin)

    cocotb.start_soon(watch())

    def check() -> None:
        link = UartLink(line)
        device = Coprocessor(link, link, clock=seconds, timeout=0.1)
        one = np.ones((1, 1), np.int8)
        assert device.matmul(one, one) == 1

    await bridge(check)()
    assert 0 < sum(lit) < 1000
    assert int(dut.busy.value) == 0

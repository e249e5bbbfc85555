"""Bench of the co-processor behind a serial line: the host's driver, through the pins."""

import zlib
from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.task import bridge
from cocotb.triggers import ClockCycles

from carrysave.driver import Coprocessor, CoprocessorError, Job, JobError
from carrysave.driver.uart import UartLink
from carrysave.sim.cocotb.serial_line import SerialLine
from carrysave.sim.cocotb.streams import generator, reset, start_clock
from carrysave.sim.cocotb.system import seconds
from carrysave.sim.parameters import bench_spec
from golden.soc.coprocessor_uart import CoprocessorUartSpec
from golden.soc.job import Error, error_of
from golden.soc.serial.host_link import HostLink, HostLinkFormat, frame
from verif.soc.benches.format_products import check_any
from verif.soc.benches.jobs import draw
from verif.soc.driver.faulty_line import damage
from verif.soc.uvm.refusals import refused

SPEC: CoprocessorUartSpec = bench_spec()


async def start(dut: Any) -> SerialLine:
    line = SerialLine(dut, SPEC.divisor)
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
        assert device.info.peak == SPEC.inside.m * SPEC.inside.n * SPEC.inside.k
        link.write(0x68, 0x1234)
        assert link.read(0x68) == 0x1234
        with pytest.raises(CoprocessorError, match="status 2"):
            link.read(0x7FC)
        assert link.read(0x68) == 0x1234

    await drive(dut, check)


@cocotb.test
@cocotb.parametrize(rate=[0.97, 1.03])
async def test_memory(dut: Any, rate: float) -> None:
    """Bytes at any address, at the ends of memory, and beyond; the host's clock is off."""

    def check(link: UartLink) -> None:
        assert link.size == SPEC.memory_bytes
        rng = generator(1)
        copy = np.frombuffer(link.read_memory(0, 96), np.uint8).copy()
        for _ in range(12):
            low, high = sorted(map(int, rng.integers(0, 97, 2)))
            data = rng.integers(0, 256, high - low, dtype=np.uint8)
            link.write_memory(low, data.tobytes())
            copy[low:high] = data
        assert link.read_memory(0, 96) == copy.tobytes()
        buffer = link((40,))
        assert not buffer.any()
        assert link.read_memory(buffer.device_address, 41) == bytes(40) + copy[40:41].tobytes()
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
        check_any(device, SPEC, generator(2), 4)

    await drive(dut, check)


@cocotb.test
async def test_matrices_beyond_the_memory(dut: Any) -> None:
    """Refused by the host; as a job, an error of memory, after which the next job is right."""

    def check(link: UartLink) -> None:
        device = Coprocessor(link, link, clock=seconds, timeout=0.1)
        with pytest.raises(MemoryError, match=f"of {link.size} in a row"):
            device.empty((link.size // 8, 8), device.info.sums)
        far = link.size
        rows: dict[str, Any] = dict.fromkeys(("lda", "ldb", "ldc", "ldsa", "ldsb"), 64)
        with pytest.raises(JobError) as error:
            device.run_jobs([Job(a=far, b=0, c=0, m=1, n=1, k=1, **rows)])
        assert error.value.address == far
        assert error.value.response == "DECERR"
        check_any(device, SPEC, generator(3), 2)

    await drive(dut, check)


@cocotb.test
async def test_refusals(dut: Any) -> None:
    """Jobs that are wrong, or ask for what is not built, are refused as the golden model does."""

    def check(link: UartLink) -> None:
        device: Any = Coprocessor(link, link, clock=seconds, timeout=0.1)
        rng = generator(4)
        good = draw(SPEC, rng, 3, 2, 5)
        for reason in ("dimension", "long_k", "wraps", "short_row", "blocks"):
            tasks = refused(SPEC, good, reason)
            for number in rng.permutation(len(tasks))[:2]:
                job = tasks[number].job
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
        check_any(device, SPEC, rng, 1)

    await drive(dut, check)


@cocotb.test
async def test_frames_that_are_none(dut: Any) -> None:
    """What is no frame, or stops in the middle, or has a wrong stop bit, is forgotten."""
    line = await start(dut)
    assert len(await line.take(1)) == 0
    hello = frame(bytes(9))
    greeted = frame(bytes([0, SPEC.memory_bytes.bit_length() - 1, HostLinkFormat.RESET]))
    damaged = hello[:3] + b"\x01" + hello[4:]
    for part in (b"?\x00\xff", b"\x7d", b"\x7e", hello[:-1], hello[:-2], damaged, damaged[:5]):
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
    check = Check(generator(5))
    for _ in range(200 if SPEC.divisor == 4 else 40):
        sent, expected = check.draw()
        await line.send(sent)
        assert await line.take(len(expected) + 1) == expected, sent.hex()
    assert check.answers > 20


MOST = 40
"""Bytes of memory in a frame."""


class Check:
    """Frames, damaged or whole, and answers of the golden link; few registers and bytes."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.answers = 0
        self.sent = b""
        self.sequence = 0
        self.golden = HostLink(np.zeros(SPEC.memory_bytes, np.uint8), self)
        self.words = dict.fromkeys((0x10, 0x48, 0x4C), 0)
        # The memory is not initialised.
        zero = HostLinkFormat.ZERO
        starts = *range(0, 3 * MOST, MOST), SPEC.memory_bytes - MOST
        self.first = [(HostLinkFormat.CLAIM, 0, 0), *((zero, start, MOST) for start in starts)]

    def read(self, address: int) -> tuple[int, int]:
        """Read a register; another one does not exist."""
        return self.words.get(address, 0), 0 if address in self.words else 2

    def write(self, address: int, value: int) -> int:
        """Write a register."""
        self.words[address] = value
        return 0

    def header(self, command: int, address: int, value: int) -> bytes:
        """Make a header; most have the next sequence number."""
        self.sequence = self.sequence + (bool(self.first) or self.rng.random() < 0.9) & 0xFF
        start = bytes([self.sequence]) + address.to_bytes(3, "little") + bytes([command])
        return start + value.to_bytes(4, "little")

    def draw(self) -> tuple[bytes, bytes]:
        """Draw what goes over the line, and what comes back."""
        rng = self.rng
        if self.first:
            sent = frame(self.header(*self.first[0]))
            del self.first[0]
        elif rng.random() < 0.2:
            sent = self.sent  # once more
        else:
            sent = self.frame(int(rng.integers(2, 7)) if rng.random() < 0.95 else 0)
        self.sent = sent
        if rng.random() < 0.5 and not self.first:
            sent = damage(rng, sent)
        for used, byte in enumerate(sent):
            answer = self.golden.take(byte)
            if answer:
                self.answers += 1
                # What comes during an answer is dropped.
                return sent[: used + 4], answer
        return sent, b""

    def frame(self, command: int) -> bytes:
        """Make a frame of a command."""
        rng = self.rng
        if command >= HostLinkFormat.READ_WORD:
            names = [*self.words] + [0x7FC] * (command == HostLinkFormat.READ_WORD)
            word = int(rng.choice([0x7E, 0xD7E, int(rng.integers(1 << 12))]))
            return frame(self.header(command, int(rng.choice(names)), word))
        start = int(rng.choice([0, MOST, SPEC.memory_bytes - MOST])) + int(rng.integers(MOST))
        count = int(rng.integers(MOST))
        header = self.header(command, start, count)
        if command != HostLinkFormat.WRITE:
            return frame(header)
        data = rng.choice([0x7D, 0x7E, 0x5D, 0, 1, 255], count).astype(np.uint8).tobytes()
        return frame(header + zlib.crc32(header).to_bytes(4, "little") + data)


@cocotb.test(skip=len(SPEC.inside.modes) > 1)
async def test_light(dut: Any) -> None:
    """`busy` is low but while a job runs."""
    line = await start(dut)
    await ClockCycles(dut.clk, 10)
    assert int(dut.busy.value) == 0
    seen: list[int] = []

    async def watch() -> None:
        while True:
            await ClockCycles(dut.clk, 1)
            seen.append(int(dut.busy.value))

    cocotb.start_soon(watch())

    def check() -> None:
        link = UartLink(line)
        device = Coprocessor(link, link, clock=seconds, timeout=0.1)
        one = np.ones((1, 1), np.int8)
        assert device.matmul(one, one) == 1

    await bridge(check)()
    assert 0 < sum(seen) < 1000
    assert seen[-1] == 0

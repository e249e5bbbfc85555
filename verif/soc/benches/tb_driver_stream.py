"""Bench of the driver for streams: as on a board, in a thread, with channels of DMAs beside it."""

from collections.abc import Callable, Iterator
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.task import bridge, resume
from cocotb.triggers import RisingEdge, Timer

from carrysave.driver import CoprocessorError, CoprocessorStream, Job, JobTimeout
from carrysave.driver_modes import modes
from carrysave.sim.cocotb.device_memory import CachedBuffer, Pool
from carrysave.sim.cocotb.streams import generator
from carrysave.sim.cocotb.system import Registers, seconds
from carrysave.sim.parameters import bench_parameters
from verif.soc.benches.format_products import check_any
from verif.soc.benches.tb_coprocessor_stream import SPEC, Bench
from verif.soc.benches.tb_driver import LANGUAGES
from verif.soc.driver import c_driver
from verif.soc.driver.c_driver_stream import CStream
from verif.soc.driver.driver_checks import check_network, has_layers

SIZE = 1 << 17
MODES = modes(SPEC)
DEADLINE = 1000
"""Cycles after the end of a job, within which all channels come to theirs."""


class Channel:
    """A channel of a DMA: memory to one of the streams that go in, or from that of C."""

    def __init__(self, bench: Bench, memory: np.ndarray, side: str) -> None:
        self.streams, self.memory, self.side = bench.streams, memory, side
        self.wait: Callable[[], None] = resume(self._wait)
        self._clock = bench.dut.aclk
        self._running = False
        self._place: slice | None = None

    def start(self) -> None:
        """Be ready."""
        self._running = True

    def stop(self) -> None:
        """Forget what is under way."""
        self._running, self._place = False, None
        self.streams.give_up()

    def transfer(self, buffer: CachedBuffer) -> None:
        """Begin to send a buffer's bytes in memory, or to fill them."""
        assert self._running
        assert self._place is None, "a transfer is under way"
        start = buffer.device_address
        self._place = slice(start, start + buffer.nbytes)
        if self.side != "c":
            data = self.memory[self._place].tobytes()
            cut = range(0, len(data), SPEC.bytes)
            self.streams.sent[self.side] += [data[at : at + SPEC.bytes] for at in cut]

    async def _wait(self) -> None:
        """Wait until all is sent, or the last beat came."""
        came, sent = self.streams.came, self.streams.sent
        for _ in range(DEADLINE):
            if came and came[-1][2] if self.side == "c" else not sent[self.side]:
                break
            await RisingEdge(self._clock)
        else:
            raise AssertionError(f"the transfer of {self.side} does not end")
        if self.side == "c":
            assert self._place is not None
            self.memory[self._place] = np.frombuffer(b"".join(beat[0] for beat in came), np.uint8)
            came.clear()
        self._place = None


async def drive(
    dut: Any, language: str, check: Callable[..., None], kind: str, **options: Any
) -> None:
    """Run ``check(device, bench)`` on an opened driver, in a thread."""
    bench = await Bench.start(dut, kind)
    pool = Pool(generator(20).integers(0, 256, SIZE, dtype=np.uint8), generator(21))
    channels = {side: Channel(bench, pool.memory, side) for side in "abc"}

    def run() -> None:
        registers = Registers(bench.host)
        settings = {"clock": seconds, "timeout": 2e-3, **channels, **options}
        if language == "c":
            library = c_driver.load(bench_parameters()["library"])
            known = MODES.values()
            device: CoprocessorStream = CStream(library, registers, pool, modes=known, **settings)
        else:
            device = CoprocessorStream(registers, pool, **settings)
        check(device, bench)

    await bridge(run)()
    assert not pool.live, "a buffer was not given back"


@cocotb.test
@cocotb.parametrize(language=LANGUAGES, kind=("flowing", "bursts", "long"))
async def test_products(dut: Any, language: str, kind: str) -> None:
    def check(device: CoprocessorStream, bench: Bench) -> None:
        check_any(device, SPEC, generator(22), 12)

    await drive(dut, language, check, kind)


@cocotb.test
@cocotb.parametrize(language=LANGUAGES)
async def test_network(dut: Any, language: str) -> None:
    """Layers, each of which reads what the one before wrote; of a build that has what they need."""

    def check(device: CoprocessorStream, bench: Bench) -> None:
        if has_layers(device, SPEC):
            check_network(device, SPEC, generator(23))
        else:
            check_any(device, SPEC, generator(23), 6)

    await drive(dut, language, check, "rare")


@cocotb.test
@cocotb.parametrize(language=LANGUAGES)
async def test_failures(dut: Any, language: str) -> None:
    """A refusal and a timeout leave nothing on the streams; the next product is right."""
    gate = {"open": True}

    def gated() -> Iterator[bool]:
        while True:
            yield gate["open"]

    async def later() -> None:
        await Timer(15, "us")
        gate["open"] = True

    def check(device: CoprocessorStream, bench: Bench) -> None:
        bench.streams.stalls["c"] = gated()
        with pytest.raises(ValueError, match="products must be one or more"):
            device.run([])
        # In C, it is not even started.
        with pytest.raises(CoprocessorError, match=r"M, N or K is 0|M, N and K must be"):
            device.run_jobs([Job(a=0, b=0, c=0, m=0, n=1, k=1, lda=1, ldb=1, ldc=1)])
        check_any(device, SPEC, generator(24), 1)
        gate["open"] = False
        cocotb.start_soon(later())
        mode = next(iter(MODES.values()), device.info.mode)
        more: dict[str, Any] = {"mode": mode}
        if mode.block:
            more |= {"a_scales": np.ones((5, 1), int), "b_scales": np.ones((1, 7), int)}
        with pytest.raises(JobTimeout, match="0 of 1 jobs"):
            device.matmul(np.ones((5, 6), int), np.ones((6, 7), int), timeout=10e-6, **more)
        assert not device.lost
        assert not any(bench.streams.sent.values())
        check_any(device, SPEC, generator(25), 1)

    await drive(dut, language, check, "flowing")

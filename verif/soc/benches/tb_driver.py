"""Bench of the drivers: the same driver as on a board, in a thread, on the simulated co-processor.

Parameters of the bench: `library`, the C driver compiled for tests; None leaves it out.
"""

from collections.abc import Callable, Iterator
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.task import bridge, resume
from cocotb.triggers import ReadOnly, RisingEdge, Timer, with_timeout

from carrysave.driver import Coprocessor, CoprocessorError, JobError, JobTimeout
from carrysave.driver_modes import modes
from carrysave.sim.cocotb.axi_memory import CHANNELS, Memory
from carrysave.sim.cocotb.device_memory import Pool
from carrysave.sim.cocotb.streams import generator, schedule
from carrysave.sim.cocotb.system import Registers, seconds
from carrysave.sim.parameters import bench_parameters
from verif.soc.benches.tb_coprocessor_formats import SPEC, start
from verif.soc.driver import c_driver
from verif.soc.driver.driver_checks import check_network, check_products, draw, expected, has_layers

LANGUAGES = ("python", "c")
SIZE = 1 << 17


async def drive(
    dut: Any, language: str, check: Callable[..., None], *, stall: Any = None, **options: Any
) -> None:
    """Run ``check(device, memory)`` on an opened driver, in a thread."""
    stalls = {name: stall(place) for place, name in enumerate(CHANNELS)} if stall else None
    host, memory = await start(dut, size=SIZE, stalls=stalls, latency=7)
    pool = Pool(memory.data, generator(20), manual=language == "c")

    def run() -> None:
        registers = Registers(host)
        settings = {"clock": seconds, "timeout": 0.02, **options}
        if language == "c":
            library = c_driver.load(bench_parameters()["library"])
            known = modes(SPEC).values()
            device: Coprocessor = c_driver.CDevice(
                library, registers, pool, modes=known, **settings
            )
        else:
            device = Coprocessor(registers, pool, **settings)
        check(device, memory)

    await bridge(run)()
    assert memory.busy == 0


@cocotb.test
@cocotb.parametrize(language=LANGUAGES)
async def test_products(dut: Any, language: str) -> None:
    def check(device: Coprocessor, memory: Memory) -> None:
        check_products(device, SPEC, generator(21), 8)

    await drive(dut, language, check)


@cocotb.test
@cocotb.parametrize(language=LANGUAGES)
async def test_network(dut: Any, language: str) -> None:
    """Layers on one start; of a build that has what layers need."""

    def check(device: Coprocessor, memory: Memory) -> None:
        if has_layers(device, SPEC):
            check_network(device, SPEC, generator(22))
        else:
            _check_ring(device)

    def stall(place: int) -> Iterator[bool] | None:
        return schedule("rare", generator(23, place))

    await drive(dut, language, check, stall=stall)


def _check_ring(device: Coprocessor) -> None:
    """Run products that have nothing to do with each other on one start."""
    rng, info = generator(24), device.info
    pairs = [(draw(rng, info.a, m, 7), draw(rng, info.b, 7, 4)) for m in (1, 3, 5)]
    products = [device.product(device.place(a, info.a), device.place(b, info.b)) for a, b in pairs]
    device.run(products)
    for (a, b), product in zip(pairs, products, strict=True):
        assert np.array_equal(product.c.read(), expected(SPEC, a, b))


@cocotb.test
@cocotb.parametrize(language=LANGUAGES)
async def test_errors(dut: Any, language: str) -> None:
    """Memory fails in the second of three jobs: it is told, and the next run is right."""

    def check(device: Coprocessor, memory: Memory) -> None:
        rng, info = generator(25), device.info
        a, b = draw(rng, info.a, 5, 6), draw(rng, info.b, 6, 7)
        first = device.product(device.place(a, info.a), device.place(b, info.b))
        second = device.product(device.place(a, info.a), device.place(b, info.b))
        jobs = [first, second, first]
        right = expected(SPEC, a, b)
        for way, matrix, code in (("r", second.allocated[0], 16), ("w", second.c, 17)):
            for response, name in ((2, "SLVERR"), (3, "DECERR")):
                memory.faults[way] = {matrix.address: response}
                with pytest.raises(JobError) as told:
                    device.run(jobs)
                error = told.value
                assert (error.code, error.job, error.response) == (code, 1, name)
                # Of the burst that has the beat.
                assert 0 <= matrix.address - error.address < 4096
                assert np.array_equal(first.c.read(), right)
                assert memory.busy == 0
                memory.faults[way] = {}
                assert device.counters().cycles == 0
                device.run(jobs)
                assert np.array_equal(second.c.read(), right)

    await drive(dut, language, check)


@cocotb.test
@cocotb.parametrize(language=LANGUAGES)
async def test_timeout(dut: Any, language: str) -> None:
    """Memory stalls for longer than the driver waits, then for longer than a reset may take."""
    gate = {"open": True}

    def stall(place: int) -> Iterator[bool]:
        while True:
            yield gate["open"]

    async def later(microseconds: int) -> None:
        await Timer(microseconds, "us")
        gate["open"] = True

    def check(device: Coprocessor, memory: Memory) -> None:
        rng, info = generator(26), device.info
        a, b = draw(rng, info.a, 4, 6), draw(rng, info.b, 6, 2)
        gate["open"] = False
        cocotb.start_soon(later(15))
        began = seconds()
        with pytest.raises(JobTimeout, match="0 of 1 jobs"):
            device.matmul(a, b, timeout=10e-6)
        assert 15e-6 <= seconds() - began < 20e-6, "the reset did not wait for memory"
        assert not device.lost
        assert np.array_equal(device.matmul(a, b), expected(SPEC, a, b))
        gate["open"] = False
        with pytest.raises(CoprocessorError, match="cannot be reset"):
            device.matmul(a, b, timeout=1e-6)
        assert device.lost
        gate["open"] = True
        device.reset()
        assert np.array_equal(device.matmul(a, b), expected(SPEC, a, b))

    await drive(dut, language, check, stall=stall, timeout=20e-6)


@cocotb.test
@cocotb.parametrize(language=LANGUAGES)
async def test_interrupt(dut: Any, language: str) -> None:
    """The driver waits for the interrupt, and clears it."""
    waits = []

    async def interrupt(seconds: float) -> bool:
        await ReadOnly()
        if dut.interrupt.value != 1:
            await with_timeout(RisingEdge(dut.interrupt), int(seconds * 1e9), "ns")
        await RisingEdge(dut.aclk)
        waits.append(seconds)
        return True

    def check(device: Coprocessor, memory: Memory) -> None:
        for number in range(3):
            rng = generator(27, number)
            a, b = draw(rng, device.info.a, 5, 30), draw(rng, device.info.b, 30, 9)
            assert dut.interrupt.value == 0
            assert np.array_equal(device.matmul(a, b), expected(SPEC, a, b))
            assert len(waits) == number + 1
            counted = "uncounted" not in device.info.features
            assert (device.counters().read_beats > 0) == counted

    await drive(dut, language, check, interrupt=resume(interrupt))

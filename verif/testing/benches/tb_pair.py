"""Bench of the helpers for users: two engines inside of a larger design, watched and driven."""

from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout

from carrysave import testing
from golden.tpe.systolic_os import SystolicOsSpec
from hw.catalog import Design

DESIGN = Design("systolic_os", {"m": 2, "n": 2, "k_max": 16})
SPEC = DESIGN.spec


def ports(lane: int) -> testing.Ports:
    return testing.Ports(
        a=f"s{lane}_a",
        b=f"s{lane}_b",
        c=f"m{lane}_c",
        clk="aclk",
        valid="tvalid",
        ready="tready",
        data="tdata",
        last="tlast",
    )


def inner(dut: Any, lane: int) -> Any:
    """Return an engine, two levels down."""
    return dut.lane[lane].inner.engine


def started(dut: Any) -> list[testing.EngineDriver]:
    """Start a clock whose period is not that of our benches; registers have any value yet."""
    Clock(dut.aclk, 6, unit="ns").start()
    return [testing.EngineDriver(dut, SPEC, ports(lane)) for lane in range(2)]


def operands(rng: np.random.Generator, m: int, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(-128, 128, (m, k)), rng.integers(-128, 128, (k, n))


@cocotb.test
async def products_of_both(dut: Any) -> None:
    engines = started(dut)
    seen = [testing.watch(DESIGN, inner(dut, lane), clk=dut.aclk) for lane in range(2)]
    streams = testing.monitors(DESIGN, inner(dut, 1), clk=dut.aclk)
    await ClockCycles(dut.aclk, 3)
    await testing.reset(dut.aclk, dut.areset)
    rng = testing.generator()
    pairs = [operands(rng, 5, 20, 3), operands(rng, 2, 7, 2)]
    a, b, c = (testing.schedule(kind, rng) for kind in ("bursts", "long", "sparse"))
    tasks = [
        cocotb.start_soon(engines[0].multiply(*pairs[0])),
        cocotb.start_soon(engines[1].multiply(*pairs[1], stalls=(a, b, c))),
    ]
    for task, (left, right) in zip(tasks, pairs, strict=True):
        assert np.array_equal(await with_timeout(task, 100, "us"), left @ right)
    await RisingEdge(dut.aclk)
    assert dut.c_valid.value == 0  # of the top, all that is inside can be read, too
    seen[0].check(tiles=3 * 2 * 2)  # rows and columns of tiles, and parts of K
    seen[1].check(tiles=1)
    (product,) = seen[1].products
    for found, due in zip(product, (*pairs[1], pairs[1][0] @ pairs[1][1]), strict=True):
        assert np.array_equal(found, due)
    assert {name: len(one.beats) for name, one in streams.items()} == {"i_a": 7, "i_b": 7, "o_c": 2}
    assert streams["o_c"].cycles[1] > streams["o_c"].cycles[0] > streams["i_a"].cycles[-1] > 5


@cocotb.test
async def a_reset_drops_what_is_under_way(dut: Any) -> None:
    engines = started(dut)
    await testing.reset(dut.aclk, dut.areset)
    seen = testing.watch(DESIGN, inner(dut, 0), clk=dut.aclk, was_reset=True)
    rng = testing.generator(1)
    await engines[0].multiply(*operands(rng, 2, 4, 2))
    part = cocotb.start_soon(engines[0].multiply(*operands(rng, 2, 9, 2)))
    await ClockCycles(dut.aclk, 4)
    part.cancel()
    with pytest.raises(AssertionError, match="C has not come out of 1 of the tiles that went in"):
        seen.check()
    engines[0] = testing.EngineDriver(dut, SPEC, ports(0))
    await testing.reset(dut.aclk, dut.areset)
    a, b = operands(rng, 2, 3, 2)
    assert np.array_equal(await engines[0].multiply(a, b), a @ b)
    await RisingEdge(dut.aclk)
    seen.check(tiles=2)
    with pytest.raises(AssertionError, match="2 tiles were multiplied, and 3 are due"):
        seen.check(tiles=3)


@cocotb.test
async def another_twin_is_noticed(dut: Any) -> None:
    engines = started(dut)
    other = SystolicOsSpec(m=2, n=2, k_max=16, b_signed=False)
    watch = testing.EngineMonitor(inner(dut, 0), other, clk=dut.aclk)
    with pytest.raises(AssertionError, match=r"0 tiles were .*, and some are due; no reset was"):
        watch.check()
    task = watch.start()
    await testing.reset(dut.aclk, dut.areset)
    a, b = np.full((2, 3), 5), np.full((3, 2), -1)
    cocotb.start_soon(engines[0].multiply(a, b))
    with pytest.raises(AssertionError, match=r"tile 0, K 3: 4 of 4 codes of C differ .* is -15"):
        await with_timeout(task, 10, "us")


@cocotb.test
async def a_sender_that_breaks_the_rule_is_noticed(dut: Any) -> None:
    """Have A wait for B, which does not come: what is offered must stay."""
    engines = started(dut)
    a = engines[0].a
    for broken, says in (("withdrawn", "was withdrawn before"), ("changed", "changed while it")):
        monitor = testing.Monitor(inner(dut, 0), "i_a", ["data", "last"], clk=dut.aclk)
        task = monitor.start()
        await testing.reset(dut.aclk, dut.areset)
        a.valid.value = 1
        for port in a.payload:
            port.value = 1
        await ClockCycles(dut.aclk, 40)  # however many it can hold
        assert not a.ready.value
        held = len(monitor.beats)
        if broken == "withdrawn":
            a.valid.value = 0
        else:
            a.payload[0].value = 2
        with pytest.raises(AssertionError, match=says):
            await with_timeout(task, 10, "us")
        assert len(monitor.beats) == held
        a.idle()


@cocotb.test
async def operands_that_no_port_shows(dut: Any) -> None:
    refused = {"lut_core": "must have a pattern for each", "mac": "an engine of integers or an"}
    for name, says in refused.items():
        with pytest.raises(TypeError, match=says):
            testing.watch(Design(name), inner(dut, 0), clk=dut.aclk)

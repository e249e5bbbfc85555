"""Bench of the co-processor: its environment, and what it is put through."""

import cocotb

from carrysave.sim.cocotb.axi_memory import CHANNELS
from carrysave.sim.parameters import bench_parameters, bench_spec
from verif.soc.uvm import overlap, register_tests, scenarios
from verif.soc.uvm.environment import Environment, coverages, within
from verif.soc.uvm.refusals import REFUSALS, RING_REFUSALS
from verif.soc.uvm.silence import silence
from verif.soc.uvm.soak import soak

CLOSE: bool = bench_parameters().get("close", True)
"""Whether coverage must have no hole at the end; else there is a sample of the orders only."""
OVERLAPS: int = bench_parameters().get("overlaps", 20 if CLOSE else 3)
"""Rounds of jobs that overlap."""
ORDERS: int = bench_parameters().get("transactions", 100 if CLOSE else 20)
"""Orders of all kinds, with what hosts and memories do to them: as many as the caller says."""
SPEC = bench_spec()
LONGEST = 4096
"""Cycles of a watchdog that is waited for."""
STILL: int = min(bench_parameters().get("still", 10_000), max(SPEC.patience - 64, 0) or 10_000)
"""Cycles for which a channel of memory does nothing, before the watchdog gives it up."""


@cocotb.test
@within
async def test_registers_reset(env: Environment) -> None:
    """Reset values, also after a soft reset; all that is not there answers SLVERR."""
    await register_tests.reset_values(env)
    await register_tests.unmapped(env)
    await register_tests.bits(env, 4)
    await env.soft_reset()
    await register_tests.reset_values(env)


@cocotb.test
@within
async def test_registers_bits(env: Environment) -> None:
    """Every bit of every register is as the register model has it."""
    await register_tests.bits(env, 32 if CLOSE else 8)
    await register_tests.strobes(env)
    await register_tests.clearing(env)
    await env.run(env.draw())


@cocotb.test
@within
async def test_orders(env: Environment) -> None:
    """Orders of all kinds, after one another, until every pair of bins was seen."""
    await scenarios.fill(env, coverages()[0], most=1000 if CLOSE else 40, close=CLOSE)


@cocotb.test
@within
async def test_faults(env: Environment) -> None:
    """Errors of memory on the first, a middle and the last beat of bursts of all kinds."""
    await scenarios.faults(env, most=400 if CLOSE else 4, close=CLOSE)


@cocotb.test
@cocotb.parametrize(reason=(*REFUSALS, *RING_REFUSALS))
@within
async def test_refused(env: Environment, reason: str) -> None:
    """Whatever is wrong, it is told, and nothing is read or written."""
    await scenarios.refusals(env, reason)


@cocotb.test
@within
async def test_soft_resets(env: Environment) -> None:
    """After a soft reset at any moment the co-processor is idle, and the next job is right."""
    await scenarios.resets(env, 40 if CLOSE else 12, hard=False)


@cocotb.test
@within
async def test_hard_resets(env: Environment) -> None:
    """After a reset at any moment nothing is left of what was under way."""
    await scenarios.resets(env, 20 if CLOSE else 8, hard=True)


@cocotb.test
@within
async def test_configuration_while_busy(env: Environment) -> None:
    """Writes to a job that runs have no effect, and are told."""
    await register_tests.while_busy(env)
    await register_tests.start_during_reset(env)


@cocotb.test
@cocotb.parametrize(channel=CHANNELS)
@within
async def test_channel_stands_still(env: Environment, channel: str) -> None:
    """A channel of memory that does nothing for thousands of cycles, in the middle of a job."""
    await scenarios.standstill(env, channel, STILL)


@cocotb.test(skip=not (CLOSE and 0 < SPEC.patience <= LONGEST))
@cocotb.parametrize(channel=CHANNELS)
@within
async def test_channel_is_silent(env: Environment, channel: str) -> None:
    """A channel of memory that does nothing more: an error that says so, and late answers."""
    for start in ("registers", "ring") if SPEC.follows_ring else ("registers",):
        await silence(env, channel, start)


@cocotb.test
@within
async def test_soak(env: Environment) -> None:
    """Orders, errors, resets, stalls, writes and flipped bits, one after the other."""
    await soak(env, ORDERS)


@cocotb.test
@within
async def test_ring_of_results(env: Environment) -> None:
    """Jobs each of which reads what the one before wrote."""
    for count in (1, 2, 5):
        for order in scenarios.chain(env, count):
            await env.run(order)


@cocotb.test(skip=not SPEC.follows_ring)
@within
async def test_overlap(env: Environment) -> None:
    """Jobs that differ only in their addresses, each begun before the last one ends."""
    await overlap.overlap(env, OVERLAPS)

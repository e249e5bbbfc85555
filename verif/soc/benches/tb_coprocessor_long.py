"""Long bench of the co-processor: every combination of bins, and resets at many moments."""

import cocotb

from verif.soc.uvm import scenarios
from verif.soc.uvm.environment import Environment, coverages, within


@cocotb.test
@within
async def test_combinations(env: Environment) -> None:
    """Shape x mode x placing x memory x error: all that there are."""
    await scenarios.fill(env, coverages(full=True)[0], most=20_000)


@cocotb.test
@within
async def test_soft_resets(env: Environment) -> None:
    """A soft reset at a thousand moments."""
    await scenarios.resets(env, 1000, hard=False)


@cocotb.test
@within
async def test_hard_resets(env: Environment) -> None:
    """A reset at a thousand moments."""
    await scenarios.resets(env, 1000, hard=True)

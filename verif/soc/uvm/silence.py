"""Memory that falls silent in the midst of an order: the order ends, and nothing late is taken."""

from collections.abc import Iterator

from cocotb.triggers import ClockCycles, RisingEdge, with_timeout

from carrysave.sim.cocotb.streams import PERIOD_NS, cycle
from golden.soc.coprocessor import Error
from verif.soc.uvm.axi_lite import Access
from verif.soc.uvm.environment import Environment
from verif.soc.uvm.orders import Order

__all__ = ["silence"]

_CONTROL, _ERROR, _ADDRESS = 0x000, 0x0A0, 0x0A8
_IDLE = 0b100
_SPARE = 3000
"""Cycles that an order takes beside those in which it waits."""


class _Channel:
    """A channel that falls silent after some transfers, until it is told to speak."""

    def __init__(self, transfers: int) -> None:
        self.silent = True
        self.transfers = transfers

    def __iter__(self) -> Iterator[bool]:
        for _ in range(self.transfers):
            yield True
        while self.silent:
            yield False
        while True:
            yield True


async def silence(env: Environment, channel: str, start: str) -> None:
    """Let a channel of memory fall silent; it speaks again after the order has ended.

    What it owes comes then, before or in a soft reset, and the next order is right.
    """
    for _ in range(30):
        order = env.draw(error="none", m="blocks", n="blocks", speed="immediate", start=start)
        await env.launch(order)
        hushed = _Channel(env.choice.randint(0, env.choice.choice((20, 100, 300))))
        env.memory.model.stalls[channel] = iter(hushed)
        begin = cycle()
        limit = 3 * env.spec.patience + _SPARE
        await with_timeout(RisingEdge(env.dut.interrupt), limit * PERIOD_NS, "ns")
        code = await _read(env, _ERROR)
        if not code:
            await env.finish()
            continue
        assert cycle() - begin >= env.spec.patience
        await _check(env, channel, order, code)
        await _recover(env, hushed)
        return
    raise AssertionError("the channel did not matter")


async def _read(env: Environment, address: int) -> int:
    item = await env.access(Access(address, None))
    assert item.response == 0
    return int(item.data)


async def _check(env: Environment, channel: str, order: Order, error: int) -> None:
    """Check what is told: which side, where, and that the co-processor waits for it."""
    address = await _read(env, _ADDRESS) | await _read(env, _ADDRESS + 4) << 32
    model = env.memory.model
    way = "ar" if channel in ("ar", "r") else "aw"
    if channel == way:
        asked = int(getattr(env.dut, f"m_axi_{channel}addr").value)
    else:
        owed = model._reads if way == "ar" else [*model._writes, *model._answers]
        asked = [at for one, at, _ in model.bursts if one == way][-len(owed)]
    sides = {Error.WRITE_TIMEOUT}
    if way == "ar":
        sides = {Error.READ_TIMEOUT}
        if order.of_ring(asked):
            # A job may wait for the descriptor of the next.
            sides.add(Error.DESCRIPTOR_TIMEOUT)
    assert error & 255 in sides, f"error {error:#x}, not one of {sides}: {order}"
    assert not error >> 8 & 3, f"error {error:#x} has a response: {order}"
    assert address == asked, f"{address:#x}, not {asked:#x}: {order}"
    assert not await _read(env, _CONTROL) & _IDLE


async def _recover(env: Environment, hushed: _Channel) -> None:
    """Have the channel speak again: the co-processor becomes idle, or its reset ends."""
    model, early = env.memory.model, env.choice.random() < 0.5
    await ClockCycles(env.dut.aclk, env.choice.randint(1, 2 * env.spec.patience))
    if early:
        hushed.silent = False
        for _ in range(300):
            if await _read(env, _CONTROL) & _IDLE:
                break
        else:
            raise AssertionError("it does not become idle")
        assert model.busy == 0, "bursts are under way while it is idle"
    else:
        await env.access(Access(_CONTROL, 1 << 31))
        await ClockCycles(env.dut.aclk, 2 * env.spec.patience)
        assert await _read(env, _CONTROL) >> 31, "the reset ends while memory owes an answer"
        hushed.silent = False
    await env.soft_reset()
    for _ in range(3):
        await env.run(env.draw(error="none"))

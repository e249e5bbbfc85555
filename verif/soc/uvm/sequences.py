"""Sequences of a host: orders from their first register to their end, and soft resets."""

from typing import Any

from cocotb.triggers import RisingEdge, SimTimeoutError, with_timeout
from pyuvm import uvm_sequence, uvm_status_e

from carrysave.sim.cocotb.streams import PERIOD_NS
from verif.soc.uvm.axi_lite import Access
from verif.soc.uvm.orders import DESCRIPTOR, Order
from verif.soc.uvm.registers import reset
from verif.soc.uvm.scoreboard import Outcome

__all__ = ["FinishOrder", "OneAccess", "RegisterSequence", "SoftReset", "StartOrder"]

PATIENCE = 600_000
"""Cycles within which an order has to end."""
_COUNTERS = ("CYCLES", "COMPUTE", "STALL_LOAD", "STALL_STORE", "READ_BEATS", "WRITE_BEATS", "MACS")


class RegisterSequence(uvm_sequence):
    """A sequence of accesses through the register model.

    Parameters
    ----------
    env : the environment, which has the model.
    """

    def __init__(self, env: Any, name: str = "sequence") -> None:
        super().__init__(name)
        self.env = env
        self.model = env.registers.block

    async def read(self, register: Any) -> int:
        """Read a register that answers."""
        status, value = await register.read()
        assert status == uvm_status_e.UVM_IS_OK, f"{register.get_full_name()} does not answer"
        return int(value)

    async def put(self, register: Any, value: int) -> None:
        """Write a register, unless it has that value."""
        register.set(value)
        status = await register.update()
        assert status == uvm_status_e.UVM_IS_OK, f"{register.get_full_name()} does not answer"

    async def wide(self, name: str, block: Any = None) -> int:
        """Read two registers, the lower one first."""
        block = block or self.model
        low = await self.read(getattr(block, f"{name}_LO"))
        return low | await self.read(getattr(block, f"{name}_HI")) << 32


class OneAccess(uvm_sequence):
    """One access of the bus, whatever is there."""

    def __init__(self, item: Access) -> None:
        super().__init__("one_access")
        self.item = item

    async def body(self) -> None:
        """Carry it out."""
        await self.start_item(self.item)
        await self.finish_item(self.item)


class StartOrder(RegisterSequence):
    """Writes what has changed of the arguments, and starts."""

    def __init__(self, env: Any, order: Order) -> None:
        super().__init__(env, "start_order")
        self.order = order

    async def body(self) -> None:
        """Write and start."""
        order, model, env = self.order, self.model, self.env
        await self.put(model.GIER, 1)
        await self.put(model.IER, 1)
        assert env.dut.interrupt.value == 0, "an interrupt before the start"
        if order.ring is None:
            image = order.task.image
            for place in range(0, DESCRIPTOR - 4, 4):
                word = int.from_bytes(image[place : place + 4], "little")
                await self.put(env.by_address[0x10 + place], word)
            await self.put(model.RING_COUNT, 0)
        else:
            await self.put(model.RING_LO, order.ring & 0xFFFFFFFF)
            await self.put(model.RING_HI, order.ring >> 32)
            await self.put(model.RING_COUNT, len(order.tasks))
        env.begin(order)
        env.registers.locked = True
        assert await model.CTRL.write(1) == uvm_status_e.UVM_IS_OK


async def ended(env: Any) -> None:
    """Wait for the interrupt, if it is not there."""
    if env.dut.interrupt.value == 0:
        await with_timeout(RisingEdge(env.dut.interrupt), PATIENCE * PERIOD_NS, "ns")


class FinishOrder(RegisterSequence):
    """Waits for the end, by interrupt or by asking, and reads all there is to know.

    Members
    -------
    polls : ask, instead of waiting for the interrupt.
    counts : read the counters too.
    outcome : what was read.
    """

    def __init__(self, env: Any, *, polls: bool = False, counts: bool = False) -> None:
        super().__init__(env, "finish_order")
        self.polls, self.counts = polls, counts
        self.outcome: Outcome | None = None

    async def _asks(self) -> None:
        """Read CTRL until it says done."""
        while not (await self.read(self.model.CTRL)) >> 1 & 1:
            pass

    async def body(self) -> None:
        """Wait and read."""
        model, env, interrupt = self.model, self.env, self.env.dut.interrupt
        try:
            if self.polls:
                await with_timeout(self._asks(), PATIENCE * PERIOD_NS, "ns")
            else:
                await ended(env)
        except SimTimeoutError:
            raise AssertionError(f"no end within {PATIENCE} cycles") from None
        env.registers.locked = False
        control = await self.read(model.CTRL)
        assert control & 0b111 == (0b100 if self.polls else 0b110), f"CTRL {control:#x} at the end"
        assert env.memory.model.busy == 0, "bursts are under way after the end"
        error = await self.read(model.ERROR)
        code, response = error & 255, error >> 8 & 3
        status = await self.read(model.ISR)
        assert status == (0b11 if code else 0b01), f"ISR {status:#x}, error {code}"
        await model.ISR.write(status)
        assert await self.read(model.ISR) == 0
        assert interrupt.value == 0, "the interrupt stays"
        counters = {}
        if self.counts:
            for name in _COUNTERS:
                counters[name.lower()] = await self.wide(name, model.COUNTERS)
        read, write = env.memory.counts()
        self.outcome = Outcome(
            error=code,
            response=response,
            job=await self.read(model.ERROR_JOB),
            address=await self.wide("ERROR_ADDRESS"),
            done=await self.read(model.RING_DONE),
            memory=env.memory.data.copy(),
            beats=(read - env.beats[0], write - env.beats[1]),
            counters=counters,
        )


class SoftReset(RegisterSequence):
    """Resets by a register, and waits until that is done."""

    PATIENCE = 20_000
    """Reads of CTRL within which it has to end."""

    async def body(self) -> None:
        """Write and wait."""
        await self.model.CTRL.write(1 << 31)
        for _ in range(self.PATIENCE):
            control = await self.read(self.model.CTRL)
            if not control >> 31:
                break
        else:
            raise AssertionError("the soft reset does not end")
        assert control == 0b100, f"CTRL {control:#x} after a soft reset"
        assert self.env.memory.model.busy == 0, "bursts are under way after a soft reset"
        reset(self.model)
        self.env.registers.locked = False

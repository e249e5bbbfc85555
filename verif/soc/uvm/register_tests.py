"""Tests of the register interface, against the register model."""

from typing import Any

from cocotb.triggers import ClockCycles

from verif.soc.uvm.axi_lite import Access
from verif.soc.uvm.environment import Environment

__all__ = [
    "bits",
    "clearing",
    "reset_values",
    "start_during_reset",
    "strobes",
    "unmapped",
    "while_busy",
]

CTRL, ISR, ERROR = 0x00, 0x0C, 0xA0
IDLE, RESET = 1 << 2, 1 << 31
IGNORED = 1 << 16


async def _read(env: Environment, address: int, **waits: int) -> int:
    item = await env.access(Access(address, **waits))
    assert item.response == 0, f"register {address:#x} does not answer"
    return item.data


async def _write(
    env: Environment, address: int, value: int, strobe: int = 15, **waits: int
) -> None:
    item = await env.access(Access(address, value, strobe, **waits))
    assert item.response == 0, f"register {address:#x} does not answer"


def _is(register: Any, *accesses: str) -> bool:
    return all(field.get_access() in accesses for field in register.get_fields())


async def reset_values(env: Environment) -> None:
    """Every register has its reset value."""
    assert len(env.by_address) > 60
    for address, register in env.by_address.items():
        expected = (
            IDLE
            if address == CTRL
            else sum(field.get_reset() << field.get_lsb_pos() for field in register.get_fields())
        )
        found = await _read(env, address)
        assert found == expected, f"{register.get_name()} is {found:#x} after reset"


async def unmapped(env: Environment) -> None:
    """Addresses without a register answer SLVERR, and change nothing."""
    places = range(0, 1 << len(env.dut.s_axi_awaddr), 4)
    others = [address for address in places if address not in env.by_address]
    assert len(others) > 20
    for address in others:
        for item in (Access(address, 0xFFFFFFFF), Access(address + 3)):
            await env.access(item)
            assert item.response == 2, f"response {item.response} of {address:#x}"
            assert item.write or item.data == 0, f"{item.data:#x} read of {address:#x}"


async def bits(env: Environment, count: int) -> None:
    """Write single ones and single zeros: what is writable keeps them, what is not does not."""
    for address, register in env.by_address.items():
        if not (_is(register, "RW") or _is(register, "RO")):
            continue
        before = await _read(env, address)
        for bit in env.choice.sample(range(32), 4 if _is(register, "RO") else count):
            for value in (1 << bit, ~(1 << bit) & 0xFFFFFFFF):
                await _write(env, address, value)
                expected = before if _is(register, "RO") else register.get_mirrored_value()
                found = await _read(env, address)
                assert found == expected, f"{register.get_name()}: {found:#x}, not {expected:#x}"
    # All registers are as the model has them, whatever was written to others.
    for address, register in env.by_address.items():
        if _is(register, "RW"):
            assert await _read(env, address) == register.get_mirrored_value()


async def strobes(env: Environment) -> None:
    """Write some bytes, on channels that are late: the other bytes stay."""
    rng = env.choice
    for address, register in env.by_address.items():
        if _is(register, "RW"):
            value = rng.getrandbits(32)
            late = {channel: rng.randrange(9) for channel in ("aw", "w", "b")}
            await _write(env, address, value, rng.randrange(16), **late)
            expected = register.get_mirrored_value()
            found = await _read(env, address, ar=rng.randrange(9), r=rng.randrange(9))
            assert found == expected, f"{register.get_name()}: {found:#x}, not {expected:#x}"
    # A host that takes its time.
    await _write(env, 0x04, 1, b=500)
    assert await _read(env, 0x04, r=500) == 1


async def clearing(env: Environment) -> None:
    """Bits that toggle, and what they do to the interrupt."""
    interrupt = env.dut.interrupt
    for enable in (1, 0):
        await _write(env, 0x04, enable)
        for mask in range(4):
            await _write(env, 0x08, mask)
            for status in (1, 2, 3):
                await _write(env, ISR, status)
                assert await _read(env, ISR) == status
                assert interrupt.value == (enable and mask & status != 0)
                await _write(env, ISR, status)
                assert await _read(env, ISR) == 0
                assert interrupt.value == 0


async def while_busy(env: Environment) -> None:
    """Write every argument while a job runs: that has no effect, and is told."""
    for address in _arguments(env):
        await written_while_busy(env, address)


def _arguments(env: Environment) -> list[int]:
    """List the registers of a job."""
    return [a for a, r in env.by_address.items() if 0x10 <= a < 0xA0 and _is(r, "RW")]


async def written_while_busy(env: Environment, address: int | None = None) -> None:
    """Write an argument, any if none is given, while a job runs."""
    if address is None:
        address = env.choice.choice(_arguments(env))
    await env.launch(env.draw(speed="long", error="none"))
    strobe = 1 << env.choice.randrange(4)
    for place in (address, env.choice.randrange(0x10, 0x9C, 4)):
        await _write(env, place, env.choice.getrandbits(32), strobe)
    busy = not await _read(env, CTRL) & IDLE
    await env.finish()
    ignored = await _read(env, ERROR) & IGNORED
    assert bool(ignored) == busy, f"{address:#x} was written, ERROR has {ignored:#x}"
    await _write(env, ERROR, 0)
    assert await _read(env, ERROR) & IGNORED == ignored
    await _write(env, ERROR, IGNORED)
    assert not await _read(env, ERROR)
    assert await _read(env, address) == env.by_address[address].get_mirrored_value()


async def start_during_reset(env: Environment) -> None:
    """Start during a soft reset: that is told, and nothing begins."""
    seen = 0
    for _ in range(8):
        await env.launch(env.draw(speed="long", error="none", m="blocks", n="blocks"))
        await ClockCycles(env.dut.aclk, 100)
        await _write(env, CTRL, RESET)
        await _write(env, CTRL, 1)
        during = await _read(env, CTRL) & RESET
        while await _read(env, CTRL) & RESET:
            pass
        if during:
            assert await _read(env, CTRL) == IDLE
            assert await _read(env, ERROR) == IGNORED
            seen += 1
        await env.soft_reset()
        assert await _read(env, ERROR) == 0
    assert seen, "every reset was too short"

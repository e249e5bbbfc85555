"""Orders without end, in no order: errors, resets, stalls, writes, and bits that have flipped."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.axi_memory import CHANNELS
from golden.soc.coprocessor import CoprocessorSpec, Error, error_of, matrices
from verif.soc.uvm import register_tests
from verif.soc.uvm.environment import Environment
from verif.soc.uvm.orders import MEMORY, Order, Task, moved

__all__ = ["flipped", "soak"]

_KINDS = {"any": 45, "error": 18, "flip": 12, "reset": 10, "stall": 8, "write": 7}
"""How often each comes, of 100."""
_WORDS = (
    *("a", "b", "c", "m", "n", "k", "lda", "ldb", "ldc"),
    *("bias", "records", "row_factors", "block_m", "block_n", "block_k"),
)
"""Fields of a job that bits flip in; those of addresses have 64, the others 32."""
_ADDRESSES = ("a", "b", "c", "bias", "records", "row_factors")
_TRIES = 60


async def soak(env: Environment, count: int) -> dict[str, int]:
    """Run orders; return how many there were of each kind.

    What each brings about is golden's, memory to the last byte; none reads or writes outside of
    what it names; and each ends.
    """
    done = dict.fromkeys(_KINDS, 0)
    errors = [one for one in env.collector.orders[0].space.points["error"].bins if one != "none"]
    for _ in range(count):
        (kind,) = env.choice.choices([*_KINDS], [*_KINDS.values()])
        done[kind] += 1
        match kind:
            case "error":
                # What came before may exclude some.
                await env.run(env.draw(error=env.choice.choice(errors), before="done"))
            case "flip":
                await env.run(flipped(env, env.draw()))
            case "reset":
                await env.launch(env.draw())
                await ClockCycles(env.dut.aclk, env.choice.randint(1, 600))
                await (
                    env.hard_reset(env.choice.randint(1, 4)) if done[kind] % 2 else env.soft_reset()
                )
            case "stall":
                await env.launch(env.draw(speed="immediate"))
                channel, pause = env.choice.choice(CHANNELS), env.choice.randint(1, 800)
                env.memory.model.stalls[channel] = _pausing(env.choice.randint(0, 99), pause)
                await env.finish()
            case "write":
                await register_tests.written_while_busy(env)
            case _:
                await env.run(env.draw())
    return done


def _pausing(first: int, cycles: int) -> Iterator[bool]:
    """Go on for some transfers, stand still for some cycles, and go on."""
    for _ in range(first):
        yield True
    for _ in range(cycles):
        yield False
    while True:
        yield True


def flipped(env: Environment, order: Order) -> Order:
    """Return an order in one of whose jobs a bit or two have flipped.

    The job is one that is refused, or whose operands are in memory, apart from what it writes: the
    result of another one is that of no order.
    """
    spec, rng = env.spec, env.choice
    for _ in range(_TRIES):
        number = rng.randrange(len(order.tasks))
        job, changed = order.tasks[number].job, {}
        for name in rng.sample(_WORDS, rng.choice((1, 1, 2))):
            value = getattr(job, name)
            if value is not None:
                changed[name] = value ^ 1 << rng.randrange(64 if name in _ADDRESSES else 32)
        task = Task(replace(job, **changed))
        if changed and _harmless(spec, order, task):
            tasks = [*order.tasks]
            tasks[number] = task
            return replace(order, tasks=tuple(tasks), alike=False)
    return order


def _harmless(spec: CoprocessorSpec, order: Order, task: Task) -> bool:
    """Return whether a task is refused, or does what golden says in memory."""
    error = error_of(spec, task.job)
    if error != Error.NONE:
        return True
    job = moved(task.job, -order.base)
    if job.m * job.n * job.k > 1 << 16:
        return False
    taken: dict[str, np.ndarray] = {}
    for name, matrix in matrices(spec, job).items():
        if matrix.address < 0 or matrix.end > MEMORY:
            return False
        taken[name] = matrix.places().ravel()
    written = taken.pop("c")
    if len(np.unique(written)) < len(written):
        return False
    if order.ring is not None:
        taken["ring"] = order.ring - order.base + np.arange(len(order.image))
    return not np.isin(written, np.concatenate([*taken.values()])).any()

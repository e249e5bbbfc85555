"""Jobs on one start that are marked to overlap: well, with errors in one of them, reset."""

from dataclasses import replace
from typing import Any

from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.streams import cycle
from golden.soc.coprocessor import Job, matrices
from golden.soc.spec import CoprocessorSpec
from verif.soc.uvm.environment import Environment
from verif.soc.uvm.orders import DESCRIPTOR, MEMORY, Order, Task, moved
from verif.soc.uvm.points import shapes_of
from verif.soc.uvm.sequences import ended

__all__ = ["alike", "overlap"]


def alike(env: Environment, count: int, **wanted: str) -> Order:
    """Draw jobs that differ only in their addresses, marked so; some share their B."""
    spec, rng = env.spec, env.choice
    while True:
        order = env.draw(error="none", start="ring", **wanted)
        found = matrices(spec, order.good).values()
        low = min(matrix.address for matrix in found)
        span = max(matrix.end for matrix in found) - low + 40
        fits = min(count, (MEMORY - DESCRIPTOR * count - spec.bytes) // span)
        if fits == count or (fits > 2 and rng.random() < 0.2):
            break
    starts = [order.base + span * number + rng.randrange(40) for number in range(fits)]
    jobs = [moved(order.good, start - low) for start in starts]
    if rng.random() < 0.5:
        jobs = [replace(job, b=jobs[0].b) for job in jobs]
    ring = -(-(order.base + span * fits) // spec.bytes) * spec.bytes
    return replace(
        order, tasks=tuple(map(Task, jobs)), good=jobs[-1], failing=fits - 1, ring=ring, alike=True
    )


async def overlap(env: Environment, count: int) -> None:
    """Run jobs that overlap: well, with each kind of error in one of them, reset in their midst."""
    spec, rng = env.spec, env.choice
    # Classes of sizes that the build has: a tile of one row has no other whole one.
    bins = dict(zip("mn", shapes_of(spec).bins[:2], strict=True))
    several = {"m": "blocks"} if "blocks" in bins["m"] else {}
    whole = {side: "equal" if "equal" in own else "one" for side, own in bins.items()}
    for _ in range(count):
        await env.run(alike(env, 7))
        await env.run(alike(env, 7, **several))
        # Each may be complete before the next one is checked.
        await env.run(alike(env, 4, speed="immediate", m="one", n="one", k="one"))
        for way in ("read", "write", "ring", "both", "refused"):
            order = alike(env, 7)
            # A matrix of one byte does not reach beyond memory, wherever it is.
            while way == "refused" and _longest(spec, order.tasks[0].job)[1] < 2:
                order = alike(env, 7)
            number = rng.randrange(1, len(order.tasks))
            await env.run(_spoiled(env, order, number, way))
        await env.launch(alike(env, 7))
        await ClockCycles(env.dut.aclk, rng.randint(1, rng.choice((100, 400))))
        await (env.hard_reset() if rng.random() < 0.5 else env.soft_reset())
    # They do overlap, unless they accumulate.
    order = alike(env, 7, speed="immediate", k="one", mode="sums", **whole)
    cycles = []
    for marked in (False, True):
        await env.launch(replace(order, alike=marked))
        begin = cycle()
        # To the interrupt: what is read behind it differs from order to order.
        await ended(env)
        cycles.append(cycle() - begin)
        await env.finish()
    assert cycles[1] < 0.85 * cycles[0], f"{cycles} cycles, one by one and together"
    assert spec.follows_ring


def _longest(spec: CoprocessorSpec, job: Job) -> tuple[str, int]:
    """Return the matrix that reaches farthest, and how many bytes."""
    found = matrices(spec, job)
    return max(
        ((name, found[name].end - found[name].address) for name in "abc"), key=lambda each: each[1]
    )


def _spoiled(env: Environment, order: Order, number: int, way: str) -> Order:
    """Let one of some jobs meet an error."""
    spec, rng = env.spec, env.choice
    job = order.tasks[number].job
    found = matrices(spec, job)
    if way == "refused":
        tasks = list(order.tasks)
        change: dict[str, Any] = {_longest(spec, job)[0]: (1 << spec.address_width) - 1}
        tasks[number] = Task(replace(job, **change))
        return replace(order, tasks=tuple(tasks), error="wraps", failing=number)
    assert order.ring is not None

    def byte(names: str) -> int:
        matrix = found[rng.choice(names)]
        row = rng.randrange(matrix.rows)
        return matrix.address + row * matrix.distance + rng.randrange(matrix.row_bytes)

    after = order.ring + DESCRIPTOR * min(number + 1, len(order.tasks) - 1)
    places = {
        "read": {"r": [byte("ab")]},
        "write": {"w": [byte("c")]},
        "ring": {"r": [order.ring + DESCRIPTOR * number]},
        # The descriptor is read before, but the job is the later one.
        "both": {"r": [byte("ab"), after]},
    }[way]
    beat = spec.bytes
    faults = {
        channel: {address // beat * beat: rng.choice((2, 3)) for address in addresses}
        for channel, addresses in places.items()
    }
    error = f"{'read' if way == 'both' else way}_slverr"
    return replace(order, error=error, failing=number, faults=faults)

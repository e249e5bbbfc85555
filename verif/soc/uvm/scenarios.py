"""What the co-processor is put through: all kinds of orders, errors, refusals, resets, stalls."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cocotb.triggers import ClockCycles, RisingEdge, with_timeout

from carrysave.sim.cocotb.streams import PERIOD_NS, cycle
from golden.soc.coprocessor import Error, Job, matrices
from golden.soc.spec import CoprocessorSpec
from verif.soc.uvm.coverage import Coverage
from verif.soc.uvm.covered import burst_values, place
from verif.soc.uvm.environment import Environment
from verif.soc.uvm.memory import Burst
from verif.soc.uvm.orders import DESCRIPTOR, MEMORY, Order, Task, moved
from verif.soc.uvm.place import Placer
from verif.soc.uvm.points import errors_of, shapes_of
from verif.soc.uvm.predictor import WAYS, first_fault
from verif.soc.uvm.refusals import REFUSALS, bad_rings, refused
from verif.soc.uvm.sequences import PATIENCE

__all__ = ["chain", "faults", "fill", "overlap", "refusals", "resets", "standstill"]

_BRINGS = {
    "done": "none",
    "refused": "dimension",
    "read": "read_slverr",
    "write": "write_slverr",
    "ring": "ring_slverr",
}
"""An error after which each of these is what came before."""


async def fill(env: Environment, coverage: Coverage, *, most: int, close: bool = True) -> None:
    """Run orders until nothing is left to be seen, or, if it need not close, the most there are."""
    env.collector.orders = [coverage]
    for _ in range(most):
        if not coverage.left:
            break
        values = coverage.draw(env.choice, {"before": env.collector.before})
        if values is None:
            values = coverage.draw(env.choice, {})
            assert values is not None, "holes that no order fills"
            before = values["before"]
            if before.endswith("_reset"):
                await env.launch(env.draw())
                await ClockCycles(env.dut.aclk, env.choice.randint(1, 300))
                await (env.soft_reset() if before == "soft_reset" else env.hard_reset())
                continue
            given = {"before": env.collector.before, "error": _BRINGS[before]}
            values = coverage.any(env.choice, given)
            assert values is not None
        await env.run(env.drawer.order(values))
    holes = {cross.name: sorted(cross.holes) for cross in coverage.crosses if cross.holes}
    assert coverage.samples
    assert not (close and holes), f"never seen in {coverage.samples} orders: {holes}"


async def faults(env: Environment, *, most: int, close: bool = True) -> None:
    """Run orders as they are, then with errors on beats on which there was none before."""
    coverage = env.collector.bursts
    for _ in range(most):
        if not coverage.left:
            break
        order = env.draw(speed="immediate", **_wanted(env, coverage))
        await env.run(order)
        bursts = tuple(env.scoreboard.bursts)
        for faulty in _faulty(env, coverage, order, bursts):
            await env.run(faulty)
            await env.run(env.draw(m="one", k="one", error="none"))
    holes = {cross.name: sorted(cross.holes) for cross in coverage.crosses if cross.holes}
    assert coverage.samples
    assert not (close and holes), f"never seen in {coverage.samples} bursts: {holes}"


def _wanted(env: Environment, coverage: Coverage) -> dict[str, str]:
    """Choose bins of an order whose bursts may fill a hole."""
    rng = env.choice
    holes = [
        dict(zip(cross.points, bins, strict=True))
        for cross in coverage.crosses
        for bins in sorted(cross.holes)
    ]
    hole = rng.choice(holes)
    wanted = {
        "placing": "pages" if hole.get("end") == "at 4 KiB" else rng.choice(("bytes", "pages"))
    }
    if hole["of"] == "ring":
        wanted["start"] = "ring"
    modes = {"bias": "sums_bias", "row_factors": "sums_scaled", "records": "codes_columns"}
    if hole["of"] in modes:
        wanted["mode"] = modes[hole["of"]]
    if hole.get("burst") in ("first", "middle", "last"):
        wanted["n"] = "blocks"
    if hole.get("beats") == "one" or hole.get("beat") == "only":
        wanted[rng.choice("nk")] = "one"
    return wanted


def _faulty(
    env: Environment, coverage: Coverage, order: Order, bursts: tuple[Burst, ...]
) -> Iterator[Order]:
    """Put errors on beats of an order's bursts, as long as that fills holes."""
    spec = env.spec
    seen = burst_values(spec, order, bursts)
    env.choice.shuffle(seen)
    for burst, values in seen:
        for beat in {0, burst.beats // 2, burst.beats - 1}:
            for name, response in (("slverr", 2), ("decerr", 3)):
                values |= {"response": name, "beat": place(beat, burst.beats)}
                if not any(
                    tuple(values[point] for point in cross.points) in cross.holes
                    for cross in coverage.crosses
                ):
                    continue
                way = {"ring": "ring", "c": "write"}.get(values["of"], "read")
                address = burst.address + beat * spec.bytes
                faulty = replace(
                    order, error=f"{way}_{name}", faults={burst.way: {address: response}}
                )
                if first_fault(spec, faulty) == (order.failing, WAYS[way]):
                    yield faulty


async def refusals(env: Environment, reason: str) -> None:
    """Run a good job spoiled in each way, then as it was."""
    spec, ring = env.spec, reason not in REFUSALS
    wanted = {"start": "ring" if ring and spec.follows_ring else "registers", "placing": "bytes"}
    if reason == "blocks" and spec.blocks:
        wanted["blocks"] = "given"
    order = env.draw(**wanted)
    if ring:
        # A build that follows none refuses whatever ring it is.
        address = env.drawer.base("low") if order.ring is None else order.ring
        for bad in bad_rings(spec, address, len(order.tasks), reason):
            await env.run(replace(order, ring=bad, error=reason, failing=0))
    else:
        tasks = refused(spec, order.good, reason)
        assert tasks or reason not in errors_of(spec), "there is nothing to refuse"
        why = REFUSALS[reason] if spec.blocks or reason != "blocks" else Error.MODE
        for task in tasks:
            assert task.refusal(spec) == why, f"{task} is not refused for {reason}"
            name = "mode" if why == Error.MODE else reason
            await env.run(replace(order, tasks=(task,), error=name))
    await env.run(order)


async def resets(env: Environment, count: int, *, hard: bool) -> None:
    """Reset orders in their midst; the next one is right."""
    for _ in range(count):
        await env.launch(env.draw(error="none"))
        await ClockCycles(env.dut.aclk, env.choice.randint(1, env.choice.choice((60, 300, 900))))
        await (env.hard_reset(env.choice.randint(1, 4)) if hard else env.soft_reset())
        await env.run(env.draw(error="none"))


async def standstill(env: Environment, channel: str, cycles: int) -> None:
    """Let a channel of memory stand still, in the midst of an order that has to wait for it."""

    def stalls() -> Iterator[bool]:
        for _ in range(env.choice.randint(0, 20)):
            yield True
        for _ in range(cycles):
            yield False
        while True:
            yield True

    for _ in range(10):
        await env.launch(env.draw(error="none", m="blocks", n="blocks", speed="immediate"))
        begin = cycle()
        env.memory.model.stalls[channel] = stalls()
        await env.finish()
        # Else its last transfer came before: of responses there are few.
        if cycle() - begin > cycles:
            break
    else:
        raise AssertionError("the channel did not matter")
    await env.run(env.draw(error="none"))


def chain(env: Environment, count: int) -> list[Order]:
    """Make jobs each of which reads the sums of the one before; on one start, if they can be."""
    spec, placer = env.spec, Placer(env.drawer.rng, env.spec)
    limit = spec.inside.modes[0, 0].k_max
    k, jobs = min(9, limit), list[Job]()
    for number in range(count):
        job = Job(a=0, b=0, c=0, m=6, n=5 - number % 2, k=k, lda=0, ldb=0, ldc=0)
        job = placer.job(job, "bytes")
        if jobs:
            job = replace(job, a=jobs[-1].c, lda=jobs[-1].ldc, by_columns=spec.blocks)
        jobs.append(job)
        codes = job.n * spec.sum_bytes * 8 // spec.kinds[0].a_bits * spec.kinds[0].codes
        k = min(codes, limit)
    if not spec.follows_ring:
        return [Order(tasks=(Task(job),), good=job) for job in jobs]
    ring = placer.ring(count, DESCRIPTOR)
    return [Order(tasks=tuple(map(Task, jobs)), good=jobs[-1], failing=count - 1, ring=ring)]


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
        await with_timeout(RisingEdge(env.dut.interrupt), PATIENCE * PERIOD_NS, "ns")
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

"""What the co-processor is put through: all kinds of orders, errors, refusals, resets, stalls."""

from collections.abc import Iterator
from dataclasses import replace

from cocotb.triggers import ClockCycles

from carrysave.sim.cocotb.streams import cycle
from golden.soc.coprocessor import Error, Job
from verif.soc.uvm.coverage import Coverage
from verif.soc.uvm.covered import burst_values, place
from verif.soc.uvm.environment import Environment
from verif.soc.uvm.memory import Burst
from verif.soc.uvm.orders import DESCRIPTOR, Order, Task
from verif.soc.uvm.place import Placer
from verif.soc.uvm.points import errors_of
from verif.soc.uvm.predictor import WAYS, first_fault
from verif.soc.uvm.refusals import REFUSALS, bad_rings, refused

__all__ = ["chain", "faults", "fill", "refusals", "resets", "standstill"]

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

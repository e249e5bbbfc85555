"""What goes between two clocks: nothing is lost, comes twice, changes places, or waits for ever.

Proofs take the slow clock as an enable of the fast one, high in each second cycle: edges of both
are at one time, which is all that the parts suppose. Mutants of what crosses are refuted.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amaranth import DomainRenamer, EnableInserter, Module, Mux, Signal, Value
from amaranth.sim import Simulator

from hw.soc.path import clock_crossing
from hw.soc.path.clock_crossing import FAST, SLOW, ClockPair, ClockPulses, ClockQueue, ClockTotal
from verif.support.formal import never

WAYS = [ClockPair(SLOW, FAST), ClockPair(FAST, SLOW)]
LATE = 9
"""Fast cycles after which what came must have left, or be there."""


class Model:
    """One of the parts, in one domain; and whether each of its clocks has an edge now."""

    def __init__(self, part: Any):
        self.m = m = Module()
        tick = Signal()
        m.d.sync += tick.eq(~tick)
        m.submodules.part = DomainRenamer({FAST: "sync"})(EnableInserter({SLOW: tick})(part))
        self.edge: dict[str, Value] = {SLOW: tick, FAST: Value.cast(1)}

    def count(self, event: Value, width: int, name: str) -> Signal:
        """Count an event."""
        count = Signal(width, name=name)
        self.m.d.sync += count.eq(count + event)
        return count

    def stays(self, state: Value, name: str) -> Value:
        """Return whether a state lasts too long."""
        lasts = Signal(range(LATE + 2), name=name)
        self.m.d.sync += lasts.eq(Mux(state, Mux(lasts > LATE, lasts, lasts + 1), 0))
        return lasts > LATE


def queue_holds(clocks: ClockPair) -> bool:
    """Decide whether a queue gives what came, in its order, and soon; with any stalls."""
    queue = ClockQueue(4, 4, clocks)
    model = Model(queue)
    here, there = (model.edge[name] for name in clocks)
    came = model.count(queue.i.valid & queue.i.ready & here, 4, "all_came")
    left = model.count(queue.o.valid & queue.o.ready & there, 4, "all_left")
    valid, ready = Signal(), Signal()
    model.m.d.comb += [queue.i.valid.eq(valid), queue.o.ready.eq(ready)]
    model.m.d.comb += queue.i.payload.eq(came)
    bad = queue.o.valid & (queue.o.payload != left)
    bad |= model.stays((came != left) & ~queue.o.valid, "waits")
    bad |= model.stays((came == left) & ~queue.i.ready, "full")
    return never(model.m, bad, {"valid": valid, "ready": ready})


def pulses_hold(clocks: ClockPair, most: int) -> bool:
    """Decide whether pulses are as many on both sides, where no more come than may wait.

    Those of the slow clock may come in each of its cycles.
    """
    pulses = ClockPulses(most, clocks)
    model = Model(pulses)
    here, there = (model.edge[name] for name in clocks)
    some = Signal()
    came, given = Signal(4, name="all_came"), Signal(4, name="all_given")
    waits = (came - given)[:4]
    model.m.d.comb += pulses.i.eq(some & ((waits < most) | (clocks.source == SLOW)))
    model.m.d.sync += [came.eq(came + (pulses.i & here)), given.eq(given + (pulses.o & there))]
    bad = waits > most
    bad |= model.stays((waits != 0) & ~pulses.o, "late")
    bad |= (waits == 0) & pulses.o & there
    return never(model.m, bad, {"some": some})


def totals_hold() -> bool:
    """Decide whether numbers of the fast clock are all in those of the slow one, and once."""
    total = ClockTotal(3)
    model = Model(total)
    number = Signal(2)
    every = Signal(6, name="every")
    summed, until = Signal(6, name="summed"), Signal(6, name="until")
    model.m.d.comb += total.i.eq(number)
    model.m.d.sync += every.eq(every + number)
    with model.m.If(model.edge[SLOW]):
        model.m.d.sync += [summed.eq(summed + total.o), until.eq(every)]
    return never(model.m, summed != until, {"number": number})


@pytest.mark.parametrize("clocks", WAYS, ids=["to fast", "to slow"])
def test_queue_gives_all_in_order(clocks: ClockPair) -> None:
    assert queue_holds(clocks)


@pytest.mark.parametrize(("clocks", "most"), [(WAYS[0], 1), (WAYS[1], 4)])
def test_pulses_are_as_many(clocks: ClockPair, most: int) -> None:
    assert pulses_hold(clocks, most)


def test_totals_are_all_there_is() -> None:
    assert totals_hold()


MUTANTS: dict[str, tuple[str, str, Callable[[], bool]]] = {
    "a request a cycle early": (
        "known.eq(came)",
        "known.eq(came + write.en)",
        lambda: queue_holds(WAYS[0]),
    ),
    # In the cycle of its write a row is there: both edges are one.
    "a row before it is there": (
        "known.eq(came)",
        "known.eq(came + self.i.ready)",
        lambda: queue_holds(WAYS[1]),
    ),
    "a queue that is never full": (
        "full.eq(held >= self.depth - 1)",
        "full.eq(0)",
        lambda: queue_holds(WAYS[0]),
    ),
    "full an entry late": (
        "held >= self.depth - 1",
        "held >= self.depth",
        lambda: queue_holds(WAYS[1]),
    ),
    "room that is not told": ("gone.eq(left)", "gone.eq(gone)", lambda: queue_holds(WAYS[0])),
    "an entry that is counted as it is offered": (
        "takes.eq(self.o.valid & self.o.ready)",
        "takes.eq(self.o.valid)",
        lambda: queue_holds(WAYS[1]),
    ),
    "a toggle that is lost": (
        "came.eq(came + self.i)",
        "came.eq(came ^ (self.i & ~came[0]))",
        lambda: pulses_hold(WAYS[0], 1),
    ),
    "a release that is lost": (
        "came.eq(came + self.i)",
        "came.eq(came + (self.i & ~came[0]))",
        lambda: pulses_hold(WAYS[1], 4),
    ),
    "a release that counts twice": (
        "given.eq(given + self.o)",
        "given.eq(given + (self.o & given[0]))",
        lambda: pulses_hold(WAYS[1], 4),
    ),
    "a count that is one off": (
        "self.o.eq(known != given)",
        "self.o.eq(known != given + 1)",
        lambda: pulses_hold(WAYS[1], 4),
    ),
    "a number that is left out": ("total + self.i", "total + (self.i & ~1)", totals_hold),
    "numbers that are summed again": ("seen.eq(total)", "seen.eq(seen)", totals_hold),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What crosses wrongly is found: each of the signals between the domains."""
    right, wrong, claim = MUTANTS[name]
    source = Path(clock_crossing.__file__).read_text()
    assert right in source
    changed: dict[str, Any] = {"__name__": clock_crossing.__name__}
    exec(compile(source.replace(right, wrong), clock_crossing.__file__, "exec"), changed)
    for kind in ("ClockQueue", "ClockPulses", "ClockTotal"):
        monkeypatch.setitem(globals(), kind, changed[kind])
    assert not claim()


def simulate(part: Any, *benches: Any) -> None:
    """Run benches with both clocks."""
    simulator = Simulator(part)
    simulator.add_clock(1e-8, domain=SLOW, phase=0)
    simulator.add_clock(5e-9, domain=FAST, phase=0)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("clocks", WAYS, ids=["to fast", "to slow"])
def test_queue_moves_an_entry_in_each_slow_cycle(clocks: ClockPair) -> None:
    queue, count, ends = ClockQueue(8, 8, clocks), 40, list[int]()

    async def put(ctx: Any) -> None:
        ctx.set(queue.i.valid, 1)
        for number in range(count):
            ctx.set(queue.i.payload, number)
            await ctx.tick(clocks.source).until(queue.i.ready)
        ctx.set(queue.i.valid, 0)

    async def get(ctx: Any) -> None:
        ctx.set(queue.o.ready, 1)
        for cycle in range(4 * count):
            *_, valid, payload = await ctx.tick(clocks.target).sample(
                queue.o.valid, queue.o.payload
            )
            if valid:
                assert payload == len(ends)
                ends.append(cycle)

    simulate(queue, put, get)
    assert len(ends) == count
    each = 2 if clocks.target == FAST else 1
    assert ends[-1] - ends[8] == each * (count - 9)


@pytest.mark.parametrize("depth", [0, 2, 7, 12])
def test_queue_rejects_depth(depth: int) -> None:
    with pytest.raises(ValueError, match="depth must be a power of two of 4 or more, not"):
        ClockQueue(8, depth, WAYS[0])

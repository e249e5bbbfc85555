"""Rules of buses alone: each trace breaks those that it should, and no others."""

from typing import Any

import pytest
from amaranth import ClockDomain, Module, ResetSignal, Signal
from amaranth.sim import Simulator

from carrysave.sim.rules.axi4 import Axi4ReadRules, Axi4WriteRules
from carrysave.sim.rules.others import AxiLiteRules, AxiStreamRules
from carrysave.sim.rules.rules import Rules
from verif.soc.rules.traces import TRACES, Cycle, Trace

_HANDS = {"valid": 1, "ready": 1}
_ADDRESS = {"addr": 16, "prot": 3}
_BURST = {"len": 8, "size": 3, "burst": 2, "cache": 4, "id": 2}
_LAST = {"last": 1}


def bus(**channels: dict[str, int]) -> dict[str, int]:
    """Return the bits of each signal."""
    return {
        f"{channel}{name}": width
        for channel, members in channels.items()
        for name, width in (_HANDS | members).items()
    }


def rules_of(kind: str) -> Rules:
    """Make the rules that a table of traces is about; they count from the first reset on."""
    words, answers = {"data": 32, "strb": 4}, {"data": 32, "resp": 2}
    if kind == "read":
        members = bus(ar=_ADDRESS | _BURST, r=answers | _LAST | {"id": 2})
        return Axi4ReadRules(members, burst=32, outstanding=2)
    if kind == "write":
        members = bus(aw=_ADDRESS | _BURST, w=words | _LAST, b={"resp": 2, "id": 2})
        return Axi4WriteRules(members, burst=32, outstanding=2)
    if kind == "lite":
        return AxiLiteRules(bus(aw=_ADDRESS, w=words, b={"resp": 2}, ar=_ADDRESS, r=answers))
    return AxiStreamRules(bus(t={"data": 32, "last": 1}))


def simulated(rules: Rules, traces: list[Trace], *, reset: bool = True) -> dict[str, set[str]]:
    """Run traces, with or without a reset before each; return the rules that each breaks."""
    m = Module()
    m.domains.sync = ClockDomain("sync")
    m.submodules.rules = rules
    rst = Signal()
    m.d.comb += ResetSignal().eq(rst)
    pins = [name for name in rules.signature.members if name != "kept"]
    found: dict[str, set[str]] = {}

    async def step(ctx: Any, cycle: Cycle) -> set[str]:
        assert set(cycle) <= set(pins)
        for name in pins:
            ctx.set(getattr(rules, name), cycle.get(name, 0))
        *_, kept = await ctx.tick().sample(rules.kept)
        return {rule.name for place, rule in enumerate(rules.RULES) if not kept >> place & 1}

    async def bench(ctx: Any) -> None:
        for trace in traces:
            if reset:
                ctx.set(rst, 1)
                # What happens in reset is not looked at.
                assert not await step(ctx, dict.fromkeys(pins, 1))
                ctx.set(rst, 0)
            broken = [await step(ctx, cycle) for cycle in trace.cycles]
            found[trace.name] = set().union(*broken)

    simulator = Simulator(m)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert len(found) == len(traces), "two traces have one name"
    return found


@pytest.mark.parametrize("kind", TRACES)
def test_traces_break_their_rules_alone(kind: str) -> None:
    found = simulated(rules_of(kind), TRACES[kind])
    assert found == {trace.name: set(trace.breaks.split()) for trace in TRACES[kind]}


@pytest.mark.parametrize("kind", TRACES)
def test_nothing_is_told_before_a_reset(kind: str) -> None:
    assert not any(simulated(rules_of(kind), TRACES[kind], reset=False).values())


@pytest.mark.parametrize("kind", TRACES)
def test_every_rule_has_a_trace(kind: str) -> None:
    broken = {name for trace in TRACES[kind] for name in trace.breaks.split()}
    assert broken == {rule.name for rule in rules_of(kind).RULES}

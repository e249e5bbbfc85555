"""A component with a bus, any inputs, and the rules of that bus."""

from typing import Any

from amaranth import Cat, Const, Module, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from carrysave.sim.rules.rules import Rules
from verif.support.formal import never

__all__ = ["keeps", "widths"]

_OTHER = {"manager": "subordinate", "subordinate": "manager"}


def widths(signature: wiring.Signature) -> dict[str, int]:
    """Return the bits of each signal of a bus."""
    return {
        name: Shape.cast(member.shape).width for name, member in signature.members.items()
    }  # fmt: skip


def keeps(
    dut: wiring.Component, bus: Any, rules: Rules, side: str, *names: str, seconds: int = 100
) -> bool:
    """Decide whether a component keeps rules of its side as long as the other side keeps all.

    Parameters
    ----------
    dut : the component.
    bus : the interface of it that is watched.
    rules : of that bus, armed.
    side : which one the component is.
    names : of the rules; all by default.
    """
    m = Module()
    m.submodules.dut, m.submodules.rules = dut, rules
    m.d.comb += [getattr(rules, name).eq(getattr(bus, name)) for name in bus.signature.members]
    own = {rule.name: bit for rule, bit in zip(rules.RULES, rules.kept, strict=True)
           if rule.by == side and (not names or rule.name in names)}  # fmt: skip
    assert own
    legal, assumed, kept = Signal(init=1, reset_less=True), Signal(), Signal()
    theirs = any(rule.by == _OTHER[side] for rule in rules.RULES)
    m.d.comb += assumed.eq(legal & (rules.by(_OTHER[side]) if theirs else Const(1)))
    m.d.comb += kept.eq(Cat(own.values()).all())
    m.d.sync += legal.eq(assumed)
    inputs = {
        "__".join(map(str, path)): Value.cast(value)
        for path, member, value in dut.signature.flatten(dut)
        if member.flow == In
    }
    return never(m, assumed & ~kept, inputs, seconds=seconds)

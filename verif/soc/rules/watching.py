"""A component with a bus, any inputs, and the rules of that bus."""

from collections.abc import Collection
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
    return {name: Shape.cast(member.shape).width for name, member in signature.members.items()}


def keeps(
    dut: wiring.Component,
    bus: Any,
    rules: Rules,
    side: str,
    *names: str,
    given: Collection[str] | None = None,
    lemmas: Collection[Value] = (),
    seconds: int = 100,
) -> bool:
    """Decide whether a component keeps rules of its side as long as the other side keeps its own.

    Parameters
    ----------
    dut : the component.
    bus : the interface of it that is watched.
    rules : of that bus, armed.
    side : which one the component is.
    names : of the rules; all by default.
    given : of the rules of the other side that it is relied on to keep; all by default. Fewer
        prove more, and sooner: what they watch need not be looked at.
    lemmas : what holds in any case, as another proof says, and is long to find.
    """
    m = Module()
    m.submodules.dut, m.submodules.rules = dut, rules
    m.d.comb += [getattr(rules, name).eq(getattr(bus, name)) for name in bus.signature.members]

    def chosen(by: str, some: Collection[str] | None) -> list[Value]:
        found = {
            rule.name: bit
            for rule, bit in zip(rules.RULES, rules.kept, strict=True)
            if rule.by == by and (some is None or rule.name in some)
        }
        assert some is None or {*some} == {*found}
        return [*found.values()]

    legal, assumed, kept = Signal(init=1, reset_less=True), Signal(), Signal()
    own, theirs = chosen(side, names or None), chosen(_OTHER[side], given)
    assert own
    m.d.comb += assumed.eq(legal & Cat(Const(1), *theirs, *lemmas).all())
    m.d.comb += kept.eq(Cat(own).all())
    m.d.sync += legal.eq(assumed)
    inputs = {
        "__".join(map(str, path)): Value.cast(value)
        for path, member, value in dut.signature.flatten(dut)
        if member.flow == In
    }
    return never(m, assumed & ~kept, inputs, seconds=seconds)

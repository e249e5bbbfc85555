"""What all rules share: a component that watches a bus, with a bit for each rule."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from amaranth import Cat, Module, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AXI", "STREAM", "Rule", "Rules", "handshake"]

AXI = "IHI 0022E"
"""The specification of AXI, of which rules name sections."""
STREAM = "IHI 0051A"
"""That of AXI4-Stream."""


class Rule(NamedTuple):
    """One rule of a protocol.

    Members
    -------
    name : of the rule.
    by : who has to keep it, ``manager`` or ``subordinate``; of a stream, who sends is the manager.
    section : where it comes from.
    says : the rule, in our words.
    """

    name: str
    by: str
    section: str
    says: str


def handshake(channel: str, by: str, *, stream: bool = False) -> tuple[Rule, ...]:
    """Return the rules of any channel that `by` drives."""
    hand, reset = (
        (f"{STREAM} 2.2.1", f"{STREAM} 2.7.2") if stream else (f"{AXI} A3.2.1", f"{AXI} A3.1.2")
    )
    name = channel.upper()
    return (
        Rule(f"{channel}_stays", by, hand, f"{name}VALID stays high until {name}READY is."),
        Rule(f"{channel}_same", by, hand, f"What {name}VALID offers stays the same until taken."),
        Rule(f"{channel}_reset", by, reset, f"{name}VALID is low at the first edge after reset."),
    )


class Rules(wiring.Component):  # type: ignore[type-arg]
    """Watches a bus; what it finds counts at rising edges of the clock.

    Parameters
    ----------
    members : bits of each signal of the bus, by its name in the standard, in lower case.
    armed : rules count from the start on; else from the first reset on.

    Members
    -------
    one In for each signal.
    kept : Out
        A bit for each of `RULES`: it is not broken now.
    """

    RULES: ClassVar[tuple[Rule, ...]]

    kept: Signal

    def __init__(self, members: Mapping[str, int], *, armed: bool = False):
        self.armed = armed
        self._claims: dict[str, Value] = {}
        super().__init__({
            **{name: In(width) for name, width in members.items()},
            "kept": Out(len(self.RULES)),
        })

    def by(self, side: str) -> Value:
        """Return whether one side keeps all of its rules."""
        return Cat(
            bit for bit, rule in zip(self.kept, self.RULES, strict=True) if rule.by == side
        ).all()

    def elaborate(self, platform: Any) -> Module:
        """Build all."""
        m = Module()
        reset = ResetSignal(allow_reset_less=True)
        on = Signal(init=self.armed, reset_less=True)
        self.fresh = Signal(init=1)
        m.d.sync += self.fresh.eq(0)
        with m.If(reset):
            m.d.sync += on.eq(1)
        self._claims.clear()
        self.watch(m)
        for bit, rule in zip(self.kept, self.RULES, strict=True):
            m.d.comb += bit.eq(~on | reset | self._claims.pop(rule.name))
        assert not self._claims, "a claim is of no rule"
        return m

    def watch(self, m: Module) -> None:
        """Claim every rule."""
        raise NotImplementedError

    def claim(self, name: str, holds: Value) -> None:
        """Say when a rule is kept."""
        self._claims[name] = holds

    def port(self, name: str) -> Signal:
        """Return a signal of the bus."""
        port: Signal = getattr(self, name)
        return port

    def taken(self, channel: str) -> Value:
        """Return whether there is a transfer."""
        return self.port(f"{channel}valid") & self.port(f"{channel}ready")

    def shake(self, m: Module, channel: str) -> None:
        """Claim the rules of :func:`handshake`, of all signals of a channel."""
        valid, ready = self.port(f"{channel}valid"), self.port(f"{channel}ready")
        names = [
            name
            for name in self.signature.members
            if name.startswith(channel) and name not in (f"{channel}valid", f"{channel}ready")
        ]
        payload = Cat(self.port(name) for name in names)
        waits = Signal(name=f"{channel}_waits")
        before = Signal.like(payload, name=f"{channel}_before")
        m.d.sync += [waits.eq(valid & ~ready), before.eq(payload)]
        self.claim(f"{channel}_stays", ~waits | valid)
        self.claim(f"{channel}_same", ~waits | ~valid | (payload == before))
        self.claim(f"{channel}_reset", ~self.fresh | ~valid)

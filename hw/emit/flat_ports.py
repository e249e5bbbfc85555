"""Streams and buses as flat Verilog ports."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from amaranth import ClockDomain, ClockSignal, Module, ResetSignal, Signal, Value
from amaranth.hdl import Elaboratable
from amaranth.lib import stream
from amaranth.lib.wiring import In

__all__ = [
    "FlatPort",
    "FlatPorts",
    "check_one_clock",
    "clock_and_reset",
    "fast_clock",
    "flat_ports",
    "streams_of",
]


class FlatPort(NamedTuple):
    """One port: its Verilog name, its path in the component, its width, whether it is an input."""

    name: str
    path: str
    value: Value
    inward: bool


def flat_ports(component: Any) -> Iterator[FlatPort]:
    """Name every port of a component.

    Fields of streams: ``i_a.payload.data`` is ``i_a_data``; members of other interfaces:
    ``m_axi.araddr`` is ``m_axi_araddr``; all others keep their names.
    """
    for name, member in component.signature.members.items():
        port = getattr(component, name)
        inward = member.flow == In
        if member.is_port:
            yield FlatPort(name, name, Value.cast(port), inward)
            continue
        if not isinstance(member.signature, stream.Signature):
            for inner, part in port.signature.members.items():
                yield FlatPort(
                    f"{name}_{inner}", f"{name}.{inner}", getattr(port, inner), part.flow == In
                )
            continue
        yield FlatPort(f"{name}_valid", f"{name}.valid", port.valid, inward)
        yield FlatPort(f"{name}_ready", f"{name}.ready", port.ready, not inward)
        bits = port.payload.as_value()
        for field, position in port.payload.shape():
            value = bits[position.offset : position.offset + position.width]
            yield FlatPort(f"{name}_{field}", f"{name}.payload.{field}", value, inward)


def streams_of(component: Any) -> dict[str, tuple[bool, tuple[str, ...]]]:
    """Return the streams of a component: name -> (it is an input, fields of its payload)."""
    return {
        name: (member.flow == In, tuple(str(field) for field, _ in port.payload.shape()))
        for name, member in component.signature.members.items()
        if not member.is_port and isinstance(member.signature, stream.Signature)
        for port in (getattr(component, name),)
    }


def clock_and_reset(component: Any) -> tuple[str, str]:
    """Name the clock and reset of a component; a reset ``...n`` is active low."""
    return getattr(component, "CLOCK", "clk"), getattr(component, "RESET", "rst")


def fast_clock(component: Any) -> str | None:
    """Name the clock of the array of a component, if it has one of twice the other's frequency.

    Its rising edges are at those of the other clock, and half way between these.
    """
    if getattr(getattr(component, "spec", None), "array_clock", 1) == 1:
        return None
    return f"{clock_and_reset(component)[0]}_fast"


def check_one_clock(design: Any, where: str) -> None:
    """Refuse a design whose array has a clock of its own, where there is but one; ValueError."""
    if (clocks := getattr(design.spec, "array_clock", 1)) > 1:
        raise ValueError(f"array_clock must be 1 {where}, where there is one clock, not {clocks}")


class FlatPorts(Elaboratable):
    """A component with flat ports, clock and reset among them.

    Amaranth's own names and packed payloads (``i_a__payload``) are useless to other tools.

    Members
    -------
    ports : by name, as Amaranth's back ends take them.
    """

    def __init__(self, component: Any):
        self.component = component
        clock, reset = clock_and_reset(component)
        self.clock, self.reset = Signal(name=clock), Signal(name=reset)
        self.ports: dict[str, tuple[Signal, None]] = {
            clock: (self.clock, None),
            reset: (self.reset, None),
        }
        fast = fast_clock(component)
        self.fast = Signal(name=fast) if fast else None
        if self.fast is not None:
            self.ports[self.fast.name] = (self.fast, None)
        self._connections: list[Any] = [
            ClockSignal().eq(self.clock),
            ResetSignal().eq(~self.reset if reset.endswith("n") else self.reset),
        ]
        for name, _, value, inward in flat_ports(component):
            signal = Signal(len(value), name=name)
            self.ports[name] = (signal, None)
            self._connections.append(value.eq(signal) if inward else signal.eq(value))

    def elaborate(self, platform):
        m: Module = self.component.elaborate(platform)
        m.domains.sync = ClockDomain()
        if self.fast is not None:
            m.domains.fast = ClockDomain()
            # Both domains leave their reset at the same edge.
            reset = Signal(init=1, reset_less=True, name="reset_fast")
            m.d.fast += reset.eq(ResetSignal())
            m.d.comb += [ClockSignal("fast").eq(self.fast), ResetSignal("fast").eq(reset)]
        m.d.comb += self._connections
        return m

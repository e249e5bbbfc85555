"""Streams as flat ports: the names that a Verilog user connects."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from amaranth import Signal, Value
from amaranth.hdl import Elaboratable
from amaranth.lib.wiring import In

__all__ = ["FlatPort", "FlatPorts", "flat_ports"]


class FlatPort(NamedTuple):
    """One port: its Verilog name, its place in the component, its bits, whether it is an input."""

    name: str
    path: str
    value: Value
    inward: bool


def flat_ports(component: Any) -> Iterator[FlatPort]:
    """Name every field of every stream of a component: ``i_a.payload.data`` is ``i_a_data``."""
    for name, member in component.signature.members.items():
        port = getattr(component, name)
        inward = member.flow == In
        yield FlatPort(f"{name}_valid", f"{name}.valid", port.valid, inward)
        yield FlatPort(f"{name}_ready", f"{name}.ready", port.ready, not inward)
        bits = port.payload.as_value()
        for field, place in port.payload.shape():
            value = bits[place.offset : place.offset + place.width]
            yield FlatPort(f"{name}_{field}", f"{name}.payload.{field}", value, inward)


class FlatPorts(Elaboratable):
    """A component with flat ports.

    Amaranth's own names and packed payloads (``i_a__payload``) are known to no other tool.

    Members
    -------
    ports : by name, as Amaranth's back ends take them.
    """

    def __init__(self, component: Any):
        self.component = component
        self.ports: dict[str, tuple[Signal, None]] = {}
        self._connections: list[Any] = []
        for name, _, value, inward in flat_ports(component):
            signal = Signal(len(value), name=name)
            self.ports[name] = (signal, None)
            self._connections.append(value.eq(signal) if inward else signal.eq(value))

    def elaborate(self, platform):
        m = self.component.elaborate(platform)
        m.d.comb += self._connections
        return m

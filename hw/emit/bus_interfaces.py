"""Bus interfaces, clock, reset and interrupt of a block, for tools that connect blocks."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from amaranth.lib.wiring import In

from hw.emit.flat_ports import clock_and_reset, fast_clock

__all__ = ["Interface", "attributes_of", "interfaces_of"]


class Interface(NamedTuple):
    """A group of ports: a bus interface, or a single port.

    Members
    -------
    name : of the bus, or of the single port.
    kind : ``AXI4``, ``AXI4LITE``, ``AXI4STREAM``, ``clock``, ``reset`` or ``interrupt``.
    inward : whether it is an input, or the subordinate of a bus.
    ports : by their names in the bus standard.
    parameters : as Vivado names them.
    """

    name: str
    kind: str
    inward: bool
    ports: Mapping[str, str]
    parameters: Mapping[str, str | int]


def interfaces_of(component: Any) -> list[Interface]:
    """List the interfaces of a component that has buses; an empty list for any other."""
    buses = []
    for name, member in component.signature.members.items():
        bus = None if member.is_port else getattr(member.signature, "bus", None)
        if bus is not None:
            ports = {port.upper(): f"{name}_{port}" for port in member.signature.members}
            buses.append(Interface(name, bus.protocol, member.flow == In, ports, bus.parameters))
    if not buses:
        return []
    clock, reset = clock_and_reset(component)
    level = "ACTIVE_LOW" if reset.endswith("n") else "ACTIVE_HIGH"
    associated = {
        "ASSOCIATED_BUSIF": ":".join(bus.name for bus in buses),
        "ASSOCIATED_RESET": reset,
    }
    line = getattr(component, "INTERRUPT", "")
    interrupt = [
        Interface(line, "interrupt", False, {"INTERRUPT": line}, {"SENSITIVITY": "LEVEL_HIGH"})
    ]
    fast = fast_clock(component)
    return [
        Interface(clock, "clock", True, {"CLK": clock}, associated),
        *([Interface(fast, "clock", True, {"CLK": fast}, {})] if fast else []),
        Interface(reset, "reset", True, {"RST": reset}, {"POLARITY": level}),
        *buses,
        *(interrupt if line else []),
    ]


_ABSTRACTIONS = {
    "AXI4": "xilinx.com:interface:aximm:1.0",
    "AXI4LITE": "xilinx.com:interface:aximm:1.0",
    "AXI4STREAM": "xilinx.com:interface:axis:1.0",
    "clock": "xilinx.com:signal:clock:1.0",
    "reset": "xilinx.com:signal:reset:1.0",
    "interrupt": "xilinx.com:signal:interrupt:1.0",
}


def attributes_of(interfaces: Iterable[Interface]) -> dict[str, dict[str, str]]:
    """Verilog attributes, by port, from which Vivado infers interfaces.

    Attributes of a whole interface are on its first port.
    """
    attributes: dict[str, dict[str, str]] = {}
    for interface in interfaces:
        parameters = dict(interface.parameters)
        if interface.kind in ("AXI4", "AXI4LITE"):
            parameters = {"PROTOCOL": interface.kind, **parameters}
        whole = ", ".join([
            f"XIL_INTERFACENAME {interface.name}",
            *(f"{key} {value}" for key, value in parameters.items()),
        ])
        for logical, port in interface.ports.items():
            kind = _ABSTRACTIONS[interface.kind]
            attributes[port] = {"X_INTERFACE_INFO": f"{kind} {interface.name} {logical}"}
        attributes[next(iter(interface.ports.values()))]["X_INTERFACE_PARAMETER"] = whole
    return attributes

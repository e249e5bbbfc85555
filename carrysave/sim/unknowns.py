"""A shell around a design in a simulator that knows x: what is not offered is x, and is not used.

Nothing is known of a payload while its ``valid`` is low. The shell gives the design x then, and
0 for a control signal that the bench does not drive yet, so that registers are seen as they power
up. It checks at every edge of the clock that what comes out is known: ``valid``, ``ready`` and
whatever is not of a stream always, a payload while its ``valid`` is high.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from amaranth.lib import stream
from amaranth.lib.wiring import In

from carrysave.sim.rules.bound import BROKEN
from hw.catalog import Design
from hw.emit.flat_ports import clock_and_reset, fast_clock, flat_ports

__all__ = ["LONG", "SHORT", "Channel", "channels_of", "shell", "shell_name"]

SHORT = "test_latency|test_cycles|test_valid_does_not_wait|test_small"
"""Tests of benches that take a second in Icarus, in which streams stand still, too."""
LONG = f"{SHORT}|test_matches_golden.*(bursts|sparse)|test_single|reset|starved|refus|regist|order"
"""Those that take up to a minute."""

_BUSES = {
    "AXI4": ("aw", "w", "b", "ar", "r"),
    "AXI4LITE": ("aw", "w", "b", "ar", "r"),
    "AXI4STREAM": ("t",),
}
"""Channels of a bus: what the names of their ports begin with."""


class Channel(NamedTuple):
    """Ports of one stream, or of one channel of a bus, by their Verilog names.

    Members
    -------
    inward : the design takes it.
    valid : says that there is a payload.
    payload : all other ports but ``ready``.
    """

    inward: bool
    valid: str
    payload: tuple[str, ...]


def channels_of(component: Any) -> Iterator[Channel]:
    """List the channels of a component, those of its streams and of its buses."""
    for name, member in component.signature.members.items():
        if member.is_port:
            continue
        bus = getattr(member.signature, "bus", None)
        port = getattr(component, name)
        if isinstance(member.signature, stream.Signature):
            fields = tuple(f"{name}_{field}" for field, _ in port.payload.shape())
            yield Channel(member.flow == In, f"{name}_valid", fields)
        elif bus is not None:
            # As the port has them: the other way round than the bus, where it is an input.
            flows = {members: inner.flow == In for members, inner in port.signature.members.items()}
            for start in _BUSES[bus.protocol]:
                valid, ready = f"{start}valid", f"{start}ready"
                members = [one for one in flows if one.startswith(start)]
                payload = tuple(f"{name}_{one}" for one in members if one not in (valid, ready))
                if valid in members:
                    yield Channel(flows[valid], f"{name}_{valid}", payload)


def shell_name(design: Design) -> str:
    """Name the module that :func:`shell` writes."""
    return f"{design.module}_unknowns"


def shell(design: Design) -> str:
    """Write the shell, a Verilog module of the design's own ports.

    A broken rule ends the simulation, and the log says which.
    """
    component = design.component()
    clock, reset = clock_and_reset(component)
    clocks = [clock, *filter(None, [fast_clock(component)])]
    widths = dict.fromkeys((*clocks, reset), 1)
    inward = dict.fromkeys(widths, True)
    for port in flat_ports(component):
        if len(port.value):
            widths[port.name], inward[port.name] = len(port.value), port.inward
    channels = list(channels_of(component))
    payload = {port: one for one in channels for port in one.payload}
    pins = {name: name for name in widths}
    for name, width in widths.items():
        if inward[name] and name in payload:
            pins[name] = f"{payload[name].valid} === 1'b1 ? {name} : {{{width}{{1'bx}}}}"
        elif inward[name] and width == 1 and name not in clocks:
            pins[name] = f"{name} === 1'b1"
    plain = [name for name in widths if name not in payload]
    checks = [(name, f"{name} is neither 0 nor 1", "") for name in plain if not inward[name]]
    checks += [
        (name, f"{name} has x while {of.valid} is 1", f"{of.valid} && ")
        for name, of in payload.items()
        if name in widths and not inward[name]
    ]
    lines = [
        f"module {shell_name(design)} (",
        ",\n".join(
            f"  {'input' if inward[name] else 'output'} [{width - 1}:0] {name}"
            for name, width in widths.items()
        ),
        ");",
        f"  {design.module} watched (",
        ",\n".join(f"    .{name}({value})" for name, value in pins.items()),
        "  );",
        f"  always @(posedge {clock}) begin",
    ]
    for name, says, when in checks:
        lines += [
            f"    if ({when}^{name} === 1'bx) begin",
            f'      $display("{BROKEN}: at %0t {says}: %b", $time, {name});',
            "      $fatal;",
            "    end",
        ]
    return "\n".join([*lines, "  end", "endmodule\n"])

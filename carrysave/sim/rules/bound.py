"""Binds rules to the ports of a design in simulation: a broken rule ends it, with a message."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from amaranth.back import rtlil  # type: ignore[attr-defined]

from carrysave.sim.rules.axi4 import Axi4ReadRules, Axi4WriteRules
from carrysave.sim.rules.others import AxiLiteRules, AxiStreamRules
from carrysave.sim.rules.rules import Rules
from hw.catalog import Design
from hw.emit import tools, yosys
from hw.emit.bus_interfaces import Interface, interfaces_of
from hw.emit.flat_ports import FlatPorts, clock_and_reset, flat_ports

__all__ = ["BROKEN", "Watched", "bound", "watched"]

BROKEN = "rule broken"
"""Start of a line of the simulation's log that reports one."""


class Watched(NamedTuple):
    """Rules of a port.

    Members
    -------
    name : of the port, and of the direction if there are two.
    rules : of the whole port, or of one direction.
    ports : of the design, by signal.
    """

    name: str
    rules: Rules
    ports: dict[str, str]


def watched(interface: Interface, widths: dict[str, int], **options: Any) -> Iterator[Watched]:
    """Make the rules of an interface; nothing of one that is no bus.

    Parameters
    ----------
    interface : of a design.
    widths : bits of its ports.
    options : of :class:`carrysave.sim.rules.rules.Rules`.
    """
    ports = {logical.lower(): port for logical, port in interface.ports.items()}
    rules: Iterator[tuple[Any, str, dict[str, Any]]] = iter(())
    if interface.kind == "AXI4":
        limits, way = interface.parameters, "NUM_{}_OUTSTANDING"
        rules = (
            (
                kind,
                channels,
                {"burst": limits["MAX_BURST_LENGTH"], "outstanding": limits[way.format(name)]},
            )
            for kind, channels, name in (
                (Axi4ReadRules, "ar r", "READ"),
                (Axi4WriteRules, "aw w b", "WRITE"),
            )
        )
    elif interface.kind == "AXI4LITE":
        rules = iter([(AxiLiteRules, "aw w b ar r", {})])
    elif interface.kind == "AXI4STREAM":
        rules = iter([(AxiStreamRules, "t", {})])
    for kind, channels, more in rules:
        port_of = {
            name: port for name, port in ports.items() if name.startswith(tuple(channels.split()))
        }
        bits = {name: widths[port] for name, port in port_of.items()}
        direction = {Axi4ReadRules: "_read", Axi4WriteRules: "_write"}.get(kind, "")
        yield Watched(f"{interface.name}{direction}", kind(bits, **more, **options), port_of)


def bound(design: Design) -> str:
    """Write the rules of all buses of a design, bound to its module; empty if it has none."""
    component = design.component()
    interfaces = interfaces_of(component)
    widths = {port.name: len(port.value) for port in flat_ports(component)}
    parts = [one for interface in interfaces for one in watched(interface, widths)]
    if not parts:
        return ""
    names = [f"rules_{one.name}" for one in parts]
    clock, reset = clock_and_reset(component)
    high = f"~{reset}" if reset.endswith("n") else reset
    texts = [_verilog(names, parts)]
    for name, one in zip(names, parts, strict=True):
        texts.append(_teller(name, one))
        pins = {"clk": clock, "rst": high} | one.ports
        texts.append(
            f"bind {design.module} {name}_teller {name} ("
            + ", ".join(f".{pin}({port})" for pin, port in pins.items())
            + ");\n"
        )
    return "".join(texts)


def _verilog(names: Sequence[str], parts: Sequence[Watched]) -> str:
    """Convert rules to Verilog modules."""
    script = []
    with tools.workplace() as folder:
        for name, one in zip(names, parts, strict=True):
            flat = FlatPorts(one.rules)
            text = rtlil.convert(flat, name=f"{name}_kept", ports=flat.ports, emit_src=False)
            (folder / f"{name}.il").write_text(text)
            script.append(f"read_rtlil {name}.il")
        script.append("proc\nopt_clean\nwrite_verilog -noattr rules.v")
        yosys.run("\n".join(script), cwd=folder)
        return (folder / "rules.v").read_text()


def _teller(name: str, one: Watched) -> str:
    """Write a module that reports rules that are broken, and ends the simulation.

    A bench can set its register ``excused``.
    """
    sizes = {pin: member.shape for pin, member in one.rules.signature.members.items()}
    pins = {"clk": 1, "rst": 1} | {pin: sizes[pin] for pin in one.ports}
    count = len(one.rules.RULES)
    lines = [
        f"module {name}_teller (",
        ",\n".join(f"  input [{width - 1}:0] {pin}" for pin, width in pins.items()),
        ");",
        f"  wire [{count - 1}:0] kept;",
        "  reg excused /* verilator public_flat_rw */ = 0;",
        f"  {name}_kept rules (" + ", ".join(f".{pin}({pin})" for pin in (*pins, "kept")) + ");",
        "  always @(posedge clk) if (~&kept & ~excused) begin",
        *(
            f'    if (~kept[{number}]) $display("{BROKEN} by the {rule.by} of {one.name}:'
            f' {rule.name} ({rule.section}): {rule.says}");'
            for number, rule in enumerate(one.rules.RULES)
        ),
        "    $fatal;",
        "  end",
        "endmodule\n",
    ]
    return "\n".join(lines)

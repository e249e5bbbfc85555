"""Verilog of legal inputs of a design, in which it and a mutant of it are compared."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

from carrysave.regress.deciding.contract import beyond, differences, illegal, longest
from golden.tpe.lut_core import LutCoreSpec
from hw.catalog import Design
from hw.emit.verilog import Emission

__all__ = ["Inputs", "legal"]


class Inputs(Enum):
    """Which inputs a design and its mutant are given."""

    ANY = "any inputs"
    """Illegal ones too."""
    POSSIBLE = "inputs of which it is not known that they are illegal"
    """A mutant that is the same for these is the same for legal ones."""
    CERTAIN = "inputs that are legal without doubt"
    """A mutant that differs for these is a fault."""


def legal(design: Design, given: Inputs) -> str:
    """Return Verilog of a module with an output ``bad``: the two differ in such a run.

    It has all inputs of the design, ``in_`` before their names. Outputs differ as the contract
    says; of possible inputs bit by bit, which is proven sooner, and means more.
    """
    strict = given is Inputs.CERTAIN
    every = Emission(design).ports
    ports = [port for port in every if port["direction"] == "input"]
    outputs = [port for port in every if port["direction"] == "output"]
    made = _tables(design.spec) if given is not Inputs.ANY else {}
    inputs = {f"in_{port['name']}": f"input [{port['width'] - 1}:0]" for port in ports}
    pins = [f".{name}({name})" for name in inputs]
    heads = [name for name in inputs if name not in made] + ["activations"] * len(made)
    lines = [f"module legal({', '.join(heads)}, bad);", "output bad;"]
    lines += [made.get(name, f"{kind} {name};") for name, kind in inputs.items()]
    for port in outputs:
        for name in (f"{copy}_{port['name']}" for copy in ("gold", "gate")):
            lines.append(f"wire [{port['width'] - 1}:0] {name};")
            pins.append(f".{name}({name})")
    differ = differences(every, sums=given is not Inputs.POSSIBLE)
    bad = f"({' | '.join(f'({one})' for one in differ)})"
    if given is not Inputs.ANY:
        more, allowed = _rules(design, every, strict=strict)
        lines += more
        bad += allowed
    return "\n".join([
        *lines,
        f"miter both({', '.join(pins)});",
        f"assign bad = {bad};",
        "endmodule\n",
    ])


def _rules(
    design: Design, ports: Sequence[Mapping[str, Any]], *, strict: bool
) -> tuple[list[str], str]:
    """Return Verilog that follows a run, and of the condition that it was legal until now."""
    lines: list[str] = []
    allowed = ""
    streams, never = _streams(ports), illegal(design) if strict else []
    if streams or never:
        lines += _steady_offers(ports, streams, never)
        allowed += " & ~broke & ~breaks"
    limit = longest(design, full=strict)
    if limit is not None:
        stream, beats = limit
        full = strict and design.spec.k_max >= design.spec.k if stream == "i_a" else True
        wrong = [f"~in_{stream}_last", *([] if full else beyond(design.spec))]
        lines += [
            f"wire beat = in_{stream}_valid & gold_{stream}_ready;",
            f"reg [{beats.bit_length() - 1}:0] beats = 0;\nreg before = 0;",
            f"wire ends = in_{stream}_valid & beats == {beats - 1};",
            f"wire beyond = before | ends & ({' | '.join(f'({one})' for one in wrong)});",
            "always @(posedge in_clk) begin\nbefore <= beyond;",
            f"if (in_rst | beat & in_{stream}_last) beats <= 0; else if (beat) beats <= beats + 1;",
            "end",
        ]
        allowed += " & ~beyond"
    return lines, allowed


def _streams(ports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of streams into a design."""
    ready = {port["name"] for port in ports if port["direction"] == "output"}
    names = [
        port["name"].removesuffix("_valid")
        for port in ports
        if port["direction"] == "input" and port["name"].endswith("_valid")
    ]
    return [name for name in names if f"{name}_ready" in ready]


def _steady_offers(
    ports: Sequence[Mapping[str, Any]], streams: Sequence[str], illegal: Sequence[str]
) -> list[str]:
    """Write Verilog of ``breaks`` and ``broke``: an offer that was not taken changes, or did.

    Or one of the conditions `illegal` is met.
    """
    widths = {port["name"]: port["width"] for port in ports if port["direction"] == "input"}
    clock = next(name for name in ("clk", "aclk") if name in widths)
    reset = "in_rst" if "rst" in widths else "~in_aresetn"
    lines, breaks = [], [*illegal]
    for stream in streams:
        inputs = [name for name in widths if name.startswith(f"{stream}_")]
        offer = f"{{{', '.join(f'in_{name}' for name in inputs)}}}"
        lines += [
            f"reg waits_{stream} = 0;",
            f"reg [{sum(widths[name] for name in inputs) - 1}:0] was_{stream} = 0;",
            f"always @(posedge in_{clock}) begin was_{stream} <= {offer};",
            f"waits_{stream} <= in_{stream}_valid & ~gold_{stream}_ready & ~{reset}; end",
        ]
        breaks.append(f"waits_{stream} & {offer} != was_{stream}")
    return [
        *lines,
        f"wire breaks = {' | '.join(f'({one})' for one in breaks)};\nreg broke = 0;",
        f"always @(posedge in_{clock}) broke <= broke | breaks;",
    ]


def _tables(spec: Any) -> dict[str, str]:
    """Write Verilog of inputs that are made of others: a LUT core's tables, of activations.

    Returns
    -------
    By name of the input, its declaration and that of what it is made of. Others are not there.
    """
    if not isinstance(spec, LutCoreSpec) or not spec.external:
        return {}
    width, wide, entries = spec.a_width, spec.a_code_width, spec.made.table_entries
    tables = spec.m * spec.lookups
    lines = [
        f"input [{tables * spec.group * width - 1}:0] activations;",
        f"wire [{tables * entries * wide - 1}:0] in_i_a_data;",
    ]
    for number in range(tables * spec.group):
        kind = "signed " if spec.a_signed else ""
        lines.append(f"wire {kind}[{width - 1}:0] a{number};")
        lines.append(f"assign a{number} = activations[{number * width} +: {width}];")
    for number in range(tables * entries):
        table, entry = divmod(number, entries)
        half = spec.table == "half"
        # Of a half table activations have signs, the last one minus; a full one has sums of some.
        bits = [(entry if half else entry + 1) >> index & 1 for index in range(spec.group)]
        signs = [("-+" if half else " +")[bit] for bit in bits]
        terms = [
            f"{sign} a{table * spec.group + index}"
            for index, sign in enumerate(signs)
            if sign != " "
        ]
        lines.append(f"assign in_i_a_data[{number * wide} +: {wide}] = {' '.join(terms)};")
    return {"in_i_a_data": "\n".join(lines)}

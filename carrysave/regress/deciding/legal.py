"""Verilog of legal inputs of a design, in which it and a mutant of it are compared."""

from collections.abc import Mapping, Sequence
from typing import Any

from golden.engine import EngineSpec
from golden.npe.activation import ActivationSpec
from golden.tpe.lut_core import LutCoreSpec
from hw.catalog import Design
from hw.emit.verilog import Emission

__all__ = ["legal", "longest"]


def legal(design: Design) -> str:
    """Return Verilog of a module whose only output is 1 if the two differ in a legal run."""
    every = Emission(design).ports
    ports = [port for port in every if port["direction"] == "input"]
    made = _tables(design.spec)
    inputs = {f"in_{port['name']}": f"input [{port['width'] - 1}:0]" for port in ports}
    pins = [f".{name}({name})" for name in inputs] + [".trigger(differ)"]
    heads = [name for name in inputs if name not in made] + ["activations"] * len(made)
    lines, bad = [f"module legal({', '.join(heads)}, bad);", "output bad;\nwire differ;"], "differ"
    lines += [made.get(name, f"{kind} {name};") for name, kind in inputs.items()]
    streams = _streams(every)
    if streams:
        pins += [f".gold_{stream}_ready(ready_{stream})" for stream in streams]
        lines += _steady_offers(every, streams)
        bad = "differ & ~broke & ~breaks"
    limit = longest(design)
    if limit is not None:
        stream, beats = limit
        padded = _padded(design.spec) if made else "0"
        lines += [
            f"wire beat = in_{stream}_valid & ready_{stream};",
            f"reg [{beats.bit_length() - 1}:0] beats = 0;\nreg before = 0;",
            f"wire beyond = before | beat & (beats == {beats} | beats == {beats - 1} & {padded});",
            "always @(posedge in_clk) begin\nbefore <= beyond;",
            f"if (in_rst | beat & in_{stream}_last) beats <= 0; else if (beat) beats <= beats + 1;",
            "end",
        ]
        bad += " & ~beyond"
    return "\n".join([*lines, f"miter both({', '.join(pins)});", f"assign bad = {bad};",
                      "endmodule\n"])  # fmt: skip


def _streams(ports: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of streams into a design."""
    ready = {port["name"] for port in ports if port["direction"] == "output"}
    names = [
        port["name"].removesuffix("_valid") for port in ports
        if port["direction"] == "input" and port["name"].endswith("_valid")
    ]  # fmt: skip
    return [name for name in names if f"{name}_ready" in ready]


def _steady_offers(ports: Sequence[Mapping[str, Any]], streams: Sequence[str]) -> list[str]:
    """Write Verilog of ``breaks`` and ``broke``: an offer that was not taken changes, or did."""
    widths = {port["name"]: port["width"] for port in ports if port["direction"] == "input"}
    clock = next(name for name in ("clk", "aclk") if name in widths)
    reset = "in_rst" if "rst" in widths else "~in_aresetn"
    lines, breaks = [], []
    for stream in streams:
        own = [name for name in widths if name.startswith(f"{stream}_")]
        offer = f"{{{', '.join(f'in_{name}' for name in own)}}}"
        lines += [
            f"wire ready_{stream};\nreg waits_{stream} = 0;",
            f"reg [{sum(widths[name] for name in own) - 1}:0] was_{stream} = 0;",
            f"always @(posedge in_{clock}) begin was_{stream} <= {offer};",
            f"waits_{stream} <= in_{stream}_valid & ~ready_{stream} & ~{reset}; end",
        ]
        breaks.append(f"waits_{stream} & {offer} != was_{stream}")
    return [
        *lines, f"wire breaks = {' | '.join(f'({one})' for one in breaks)};\nreg broke = 0;",
        f"always @(posedge in_{clock}) broke <= broke | breaks;",
    ]  # fmt: skip


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
        bits = [(entry if half else entry + 1) >> place & 1 for place in range(spec.group)]
        signs = [("-+" if half else " +")[bit] for bit in bits]
        terms = [
            f"{sign} a{table * spec.group + place}"
            for place, sign in enumerate(signs)
            if sign != " "
        ]
        lines.append(f"assign in_i_a_data[{number * wide} +: {wide}] = {' '.join(terms)};")
    return {"in_i_a_data": "\n".join(lines)}


def _padded(spec: LutCoreSpec) -> str:
    """Write the condition that activations of the last beat differ from 0 that must not."""
    own = spec.k_max - spec.k * (-(-spec.k_max // spec.k) - 1)
    rows = range(0, spec.m * spec.k, spec.k)
    more = [f"a{row + place} != 0" for row in rows for place in range(own, spec.k)]
    return f"({' | '.join(more or ['0'])})"


def longest(design: Design) -> tuple[str, int] | None:
    """Return a stream, and how many beats it may have from one `last` to the next; None if any.

    Engines of several passes are left out.
    """
    spec = design.spec
    if isinstance(spec, ActivationSpec):
        return "i", spec.length
    if isinstance(spec, EngineSpec) and spec.passes == 1:
        return "i_a", -(-spec.k_max // spec.k)
    return None

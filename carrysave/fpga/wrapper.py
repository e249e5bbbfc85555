"""The top that a design is measured in on an FPGA: four pins, and every path between registers."""

from collections.abc import Mapping
from typing import Any

__all__ = ["INSTANCE", "TOP", "wrapper"]

TOP = "carrysave_wrapper"
INSTANCE = "design"
"""The design in it; a port ``x`` has the register ``input_x`` or ``output_x``."""


def wrapper(top: str, clock: str, ports: Mapping[str, Mapping[str, Any]], source: str = "") -> str:
    """Return the Verilog of :data:`TOP`.

    A shift register and a register that holds its contents feed the inputs: a flip-flop of the
    shift register would pass for one of the design's own that delays the operands. Another
    flip-flop stands behind every output bit, and a shift register behind those.

    Parameters
    ----------
    ports : of the top module, as in Yosys's JSON.
    source : Verilog that makes ``clk``; a pin if empty.
    """
    sized = [(port["direction"], name, len(port["bits"])) for name, port in ports.items()]
    ins = [(name, w) for direction, name, w in sized if direction == "input" and name != clock]
    outs = [(name, w) for direction, name, w in sized if direction == "output"]
    width_in, width_out = (max(sum(w for _, w in group), 1) for group in (ins, outs))
    connections = [
        # Escaped, since a port may be a word of Verilog.
        f".\\{clock} (clk)",
        *(f".\\{name} (input_{name})" for name, _ in ins),
        *(f".\\{name} (from_{name})" for name, _ in outs),
    ]

    def all_of(kind: str, group: list[tuple[str, int]]) -> str:
        return "{" + ", ".join(f"{kind}_{name}" for name, _ in group) + "}"

    lines = [
        f"module {TOP}({'' if source else 'input clk, '}input si, input load, output so);",
        *([f"  wire clk;\n  {source}"] if source else []),
        f"  reg [{width_in - 1}:0] shift_in;",
        f"  reg [{width_out - 1}:0] shift_out;",
        *(f"  reg [{width - 1}:0] input_{name};" for name, width in ins),
        *(
            f"  wire [{width - 1}:0] from_{name};\n  reg [{width - 1}:0] output_{name};"
            for name, width in outs
        ),
        f"  \\{top} {INSTANCE} ({', '.join(connections)});",
        "  always @(posedge clk) begin",
        "    shift_in <= {shift_in, si};",
        *([f"    if (load) {all_of('input', ins)} <= shift_in;"] if ins else []),
    ]
    if outs:
        lines.append(f"    {all_of('output', outs)} <= {all_of('from', outs)};")
    loaded = all_of("output", outs) if outs else "1'b0"
    lines.append(f"    shift_out <= load ? {loaded} : {{shift_out, 1'b0}};")
    return "\n".join([
        *lines,
        "  end",
        f"  assign so = shift_out[{width_out - 1}];",
        "endmodule",
        "",
    ])

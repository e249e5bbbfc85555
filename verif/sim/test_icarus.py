"""Transitions of a netlist with delays against an event-driven simulator, Icarus."""

import subprocess
from pathlib import Path

import numpy as np

from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.power import activity
from carrysave.asic.power.delays import Delays
from carrysave.asic.power.flat_netlist import CellGroup, Flat, flatten
from carrysave.asic.power.replay import Trace, replay
from hw.catalog import Design
from verif.asic.test_activity import trace_of


def test_transitions_are_those_of_icarus(tmp_path: Path) -> None:
    """A synthesised multiply-accumulate, every gate with its own delays, rise unlike fall.

    Icarus's have one delay for all inputs of a gate. They are so long that hardly any two events
    fall on the same picosecond, where the order in which Icarus works them off would count.
    """
    library = cells.osu018()
    design = Design("mac", {"a_width": 4, "b_width": 4, "accumulator_width": 12})
    result = synthesis.synthesise_design(design, library, activity="assumed")
    netlist = Path(result["netlist"])
    flat = flatten(netlist, design.module, library)
    recorded = activity.record(design, "uniform")
    trace = Trace(recorded.ports, recorded.first, recorded.first + 200, 0)
    rng = np.random.default_rng(5)
    delays: Delays = {}
    parameters = []
    for group in flat.modules[design.module].groups:
        for pin in group.cell.outputs:
            edges = rng.integers(100_000, 500_000, size=(len(group.names), 2))
            whole = np.empty((len(group.names), len(group.cell.inputs), 2, 2))
            whole[...] = edges[:, None, None, :] * 1e-3
            delays[design.module, group.cell.name, pin.name] = whole
            parameters += [
                f"defparam {design.module}.{name} .{edge}_{pin.name} = {value};"
                for name, row in zip(group.names, edges.tolist(), strict=True)
                for edge, value in zip(("FALL", "RISE"), row, strict=True)
            ]
    found, _ = replay(flat, trace, "clk", delays)
    seen = icarus(tmp_path, netlist, design.module, flat, trace, parameters)
    compared = glitches = 0
    for group in flat.modules[design.module].groups:
        for pin in group.cell.outputs:
            nets = flat.nets_of[design.module][0, group.pins[pin.name]]
            for name, net in zip(group.names, nets.tolist(), strict=True):
                times = [time for time, _ in seen[name, pin.name]]
                count = sum(PERIOD * trace.first < time < PERIOD * trace.end for time in times)
                assert count == round(found.density[net] * 200), (name, pin.name)
                glitches += count - round(found.functional[net] * 200)
                compared += 1
    assert compared > 100
    assert glitches > 1000


PERIOD = 50_000_000  # ps: long enough for all to settle


def icarus(
    tmp_path: Path, netlist: Path, top: str, flat: Flat, trace: Trace, parameters: list[str]
) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """Simulate a netlist with delays on recorded inputs; return the changes of its pins.

    Cycle i begins at the rising edge at i periods.
    """
    ports = {
        name: trace.ports[name]
        for name, (direction, _) in flat.modules[top].ports.items()
        if direction == "input" and name != "clk"
    }
    words = [
        "".join(str(bit) for own in ports.values() for bit in own[cycle][::-1])
        for cycle in range(trace.end)
    ]
    (tmp_path / "inputs.txt").write_text("\n".join(words) + "\n")
    declared = "".join(f"reg [{own.shape[1] - 1}:0] {name} = 0;\n" for name, own in ports.items())
    connected = ", ".join(f".{name}({name})" for name in [*ports, "clk"])
    (tmp_path / "bench.v").write_text(f"""
`timescale 1ps/1ps
{"".join(map(icarus_model, flat.modules[top].groups))}
module bench;
  reg clk = 0;
  {declared}
  reg [{len(words[0]) - 1}:0] words [0:{trace.end - 1}];
  integer cycle;
  {top} {top}({connected});
  {chr(10).join(parameters)}
  initial begin
    $dumpfile("trace.vcd"); $dumpvars(0, {top});
    $readmemb("inputs.txt", words);
    {{{", ".join(ports)}}} = words[0];
    #{PERIOD};
    for (cycle = 1; cycle < {trace.end}; cycle = cycle + 1) begin
      clk <= 1; {{{", ".join(ports)}}} <= words[cycle];
      #{PERIOD // 2} clk <= 0;
      #{PERIOD - PERIOD // 2};
    end
    $finish;
  end
endmodule
""")
    timed = "`timescale 1ps/1ps\n" + netlist.read_text()
    (tmp_path / "netlist.v").write_text(timed)
    for command in (
        ["iverilog", "-g2005", "-s", "bench", "-o", "bench.vvp", "bench.v", "netlist.v"],
        ["vvp", "bench.vvp"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    return trace_of(tmp_path / "trace.vcd", top)


def icarus_model(group: CellGroup) -> str:
    """Return a cell with the delays of a continuous assignment."""
    cell = group.cell
    names = [pin.name for pin in cell.inputs]
    body = ""
    for pin in cell.outputs:
        body += f"  parameter FALL_{pin.name} = 0, RISE_{pin.name} = 0;\n"
        source = "state"
        if not cell.register:
            table = cell.table(pin)
            assert table is not None
            bits = "".join(str(bit) for bit in reversed(table))
            body += f"  wire [{len(table) - 1}:0] table_{pin.name} = {len(table)}'b{bits};\n"
            source = f"table_{pin.name}[{{{', '.join(reversed(names))}}}]"
        body += f"  assign #(RISE_{pin.name}, FALL_{pin.name}) {pin.name} = {source};\n"
    if cell.register:
        clock, state = cell.register.clocked_on, cell.register.next_state
        body += f"  reg state = 0;\n  always @(posedge {clock}) state <= {state};\n"
    outputs = [pin.name for pin in cell.outputs]
    return (
        f"module {cell.name}({', '.join(names + outputs)});\n  input {', '.join(names)};\n"
        f"  output {', '.join(outputs)};\n{body}endmodule\n"
    )

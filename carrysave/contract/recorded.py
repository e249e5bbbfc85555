"""Runs of a design's own bench, recorded at its ports: traffic that gets somewhere."""

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from carrysave.contract.handshakes import Handshakes
from carrysave.sim.attempt import attempt
from carrysave.sim.bench_tests import bench_tests
from carrysave.sim.options import BenchOptions
from carrysave.sim.parameters import describe
from carrysave.sim.runner import named, sources_of
from carrysave.sim.verilator import build
from hw.catalog import Design
from hw.emit import tools, yosys

__all__ = ["LENGTH", "Recording", "recordings"]

LENGTH = 3000
"""Cycles of a test that are recorded: what moves a handshake does so soon, or in another test."""
_FILE = "recorded"
_DEADLINE = 120.0
_SEED = 1


@dataclass(frozen=True)
class Recording:
    """The first cycles of a test, from power-up on.

    Members
    -------
    inputs : of each cycle, values by name, before the clock's edge.
    outputs : of each cycle, bits of the handshakes, the first one the lowest.
    """

    inputs: tuple[Mapping[str, int], ...]
    outputs: tuple[int, ...]

    def until(self, cycle: int) -> "Recording":
        """Return the cycles before one."""
        return Recording(self.inputs[:cycle], self.outputs[:cycle])


def recordings(design: Design, core: Handshakes) -> Generator[Recording]:
    """Run the tests of a design's bench in Verilator, one after the other; yield each."""
    with tools.workplace() as folder:
        recorder = folder / "recorder.sv"
        recorder.write_text(_recorder(core))
        simulator = build([*sources_of(design, folder), recorder], design.module)
        for number, test in enumerate(bench_tests(design)):
            # Most end by the recorder, which is no failure here.
            options = BenchOptions(tests=named(test), seed=_SEED, deadline=_DEADLINE, stop=True)
            attempt(
                simulator,
                design.entry.bench,
                folder / f"run{number}",
                options=options,
                parameters=describe(design),
                poll=None,
                folders=(),
                plain=True,
            )
            recording = _read(folder / f"run{number}" / _FILE, core)
            if recording.inputs:
                yield recording


def _recorder(core: Handshakes) -> str:
    """Write a module that is bound to the design, and writes a line in each cycle."""
    given = [name for name in core.widths if name != core.clock]
    high, last = sum(core.widths[name] for name in given) - 1, len(core.outputs) - 1
    return "\n".join([
        f"module recorder__(input clk, input [{high}:0] i, input [{last}:0] o);",
        "integer file, count;",
        f'initial begin file = $fopen("{_FILE}", "w"); count = 0; end',
        "always @(posedge clk) begin",
        '  $fwrite(file, "%h %h\\n", i, o);',
        "  count <= count + 1;",
        f"  if (count == {LENGTH - 1}) begin $fclose(file); $finish; end",
        "end",
        "endmodule",
        f"bind {core.module} recorder__ recorder__(.clk({yosys.word(core.clock)}), "
        f".i({{{', '.join(map(yosys.word, given))}}}), "
        f".o({{{', '.join(map(yosys.word, reversed(core.outputs)))}}}));\n",
    ])


def _read(path: Path, core: Handshakes) -> Recording:
    """Read what the recorder wrote; the last line may be cut."""
    text = path.read_text() if path.exists() else ""
    lines = re.findall(r"^([0-9a-f]+) ([0-9a-f]+)\n", text, re.MULTILINE)
    inputs = []
    for line, _ in lines:
        bits, values = int(line, 16), {}
        for name, width in reversed(core.widths.items()):
            if name != core.clock:
                values[name] = bits & (1 << width) - 1
                bits >>= width
        inputs.append({name: values[name] for name in core.widths if name != core.clock})
    return Recording(tuple(inputs), tuple(int(line, 16) for _, line in lines))

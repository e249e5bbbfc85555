"""Pairs of runs of a design, one of them recorded, whose handshakes differ by chance."""

import random
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from typing import Self

from carrysave.contract.handshakes import CORE, Handshakes
from carrysave.contract.miter import Witness
from carrysave.contract.recorded import Recording, recordings
from hw.catalog import Design
from hw.emit import tools, yosys

__all__ = ["Pairs"]

_TRIES = 6
"""Second runs for each test of the bench."""
_LEAST = 4
"""Second runs that are tried in any case."""
_AFTER = 400
"""Cycles that are looked at after a field is taken for the first time."""


class Pairs:
    """Looks for two runs that differ: in Icarus, on the logic of the handshakes alone.

    The first run is a test of the design's own bench; nothing is simulated before it is asked for.
    """

    def __init__(self, design: Design, core: Handshakes) -> None:
        self.core = core
        self._coming = recordings(design, core)
        self._recorded: list[Recording] = []
        self._stack = ExitStack()
        self._folder: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Remove what was written."""
        self._stack.close()
        self._coming.close()

    def differing(self, field: str, seconds: float) -> Witness | None:
        """Return two runs whose handshakes differ in the last cycle, if they are found in time.

        Without a simulator, which :mod:`carrysave.installation.doctor` reports, none is.

        Parameters
        ----------
        field : the input in which the runs differ.
        seconds : without the simulator's build and the recorded runs; a few second runs are tried
            in any case.
        """
        with suppress(tools.MissingToolError):
            return self._differing(field, seconds)
        return None

    def _differing(self, field: str, seconds: float) -> Witness | None:
        rng = random.Random(f"{self.core.module} {field}")
        tried, left = 0, seconds
        for recording in self._recordings():
            first = next(_transfers(self.core, recording, field), None)
            if first is None:
                continue
            start, part = time.monotonic(), recording.until(first + _AFTER)
            for other in second_runs(self.core, part, field, rng):
                cycle = self._simulate(part, field, other)
                tried += 1
                if cycle is not None:
                    values = tuple({field: value} for value in other[: cycle + 1])
                    return Witness(part.inputs[: cycle + 1], values)
                if time.monotonic() - start > left:
                    break
            left -= time.monotonic() - start
            if left < 0 and tried >= _LEAST:
                return None
        return None

    def _recordings(self) -> Iterator[Recording]:
        for number in count():
            if number == len(self._recorded):
                recording = next(self._coming, None)
                if recording is None:
                    return
                self._recorded.append(recording)
            yield self._recorded[number]

    def _workplace(self) -> Path:
        """Build the simulator of both copies, once; return its folder."""
        if self._folder is None:
            self._folder = self._stack.enter_context(tools.workplace())
            (self._folder / "core.il").write_text(self.core.netlist)
            yosys.run("read_rtlil core.il\nwrite_verilog -noattr core.v", cwd=self._folder)
            (self._folder / "both.v").write_text(_both(self.core))
            command = ["iverilog", "-g2005", "-s", "both__", "-o", "both", "both.v", "core.v"]
            built = tools.run(command, cwd=self._folder)
            if built.code:
                raise RuntimeError(f"cannot simulate {self.core.module}: {built.output.strip()}")
        return self._folder

    def _simulate(self, recording: Recording, field: str, other: list[int]) -> int | None:
        """Return the first cycle in which handshakes differ; None if the first run is another."""
        folder = self._workplace()
        lines = [
            f"{_packed(self.core, inputs):x} {_packed(self.core, {**inputs, field: value}):x}"
            f" {outputs:x}"
            for inputs, value, outputs in zip(
                recording.inputs, other, recording.outputs, strict=True
            )
        ]
        (folder / "vectors").write_text("\n".join([*lines, ""]))
        output = tools.run(["vvp", "-n", "both"], cwd=folder).output
        match = re.match(r"(differ|stray|alike) (\d+)\n", output)
        if match is None:
            last = output.strip().splitlines()[-1:]
            raise RuntimeError(f"the simulation of {self.core.module} has no end: {''.join(last)}")
        return int(match[2]) if match[1] == "differ" else None


def _packed(core: Handshakes, inputs: Mapping[str, int]) -> int:
    """Put the values of all inputs but the clock into one number, the first one highest."""
    bits = 0
    for name, width in core.widths.items():
        if name != core.clock:
            bits = bits << width | inputs[name]
    return bits


def second_runs(
    core: Handshakes, recording: Recording, field: str, rng: random.Random
) -> Iterator[list[int]]:
    """Yield the field's values in second runs: other bits from some time on, or all the time.

    What is offered stays until it is taken: bits change only where a sender may offer anew.
    """
    ones = (1 << core.fields[field]) - 1
    values = [inputs[field] for inputs in recording.inputs]
    free = [cycle for cycle in range(len(values)) if not _waits(core, recording, field, cycle)]
    yield [value ^ ones for value in values]
    for _ in range(_TRIES - 1):
        start, mask = rng.choice(free), rng.randint(1, ones)
        yield [value ^ (mask if cycle >= start else 0) for cycle, value in enumerate(values)]


def _transfers(core: Handshakes, recording: Recording, field: str) -> Iterator[int]:
    """Yield the cycles in which a field is taken; all of them if it belongs to no stream."""
    channel, high = core.channel(field), not core.reset.endswith("n")
    for cycle, (inputs, outputs) in enumerate(
        zip(recording.inputs, recording.outputs, strict=True)
    ):
        if inputs[core.reset] == high:
            continue
        if channel is None or (inputs[channel] and _bit(core, outputs, core.streams[channel])):
            yield cycle


def _waits(core: Handshakes, recording: Recording, field: str, cycle: int) -> bool:
    """Return whether the sender of a field still offers what was not taken in the cycle before."""
    channel = core.channel(field)
    if channel is None or not cycle:
        return False
    before, outputs = recording.inputs[cycle - 1], recording.outputs[cycle - 1]
    return bool(before[channel] and not _bit(core, outputs, core.streams[channel]))


def _bit(core: Handshakes, outputs: int, name: str) -> int:
    return outputs >> core.outputs.index(name) & 1


def _both(core: Handshakes) -> str:
    """Write a module that runs two copies on the file of vectors, and tells what comes first."""
    given = {name: width for name, width in core.widths.items() if name != core.clock}
    high, last = sum(given.values()) - 1, len(core.outputs) - 1
    lines = [
        "module both__;",
        "reg clock = 0;",
        f"reg [{high}:0] in_one, in_two;",
        f"wire [{last}:0] one, two;",
        f"reg [{last}:0] known;",
        "integer file, cycle;",
    ]
    for copy in ("one", "two"):
        pins, top = [f".{yosys.word(core.clock)}(clock)"], high
        for name, width in given.items():
            pins.append(f".{yosys.word(name)}(in_{copy}[{top}:{top - width + 1}])")
            top -= width
        pins += [f".{yosys.word(name)}({copy}[{at}])" for at, name in enumerate(core.outputs)]
        lines.append(f"{CORE} copy_{copy} ({', '.join(pins)});")
    return "\n".join([
        *lines,
        "initial begin",
        '  file = $fopen("vectors", "r"); cycle = 0;',
        '  while ($fscanf(file, "%h %h %h\\n", in_one, in_two, known) == 3) begin',
        "    #1;",
        '    if (one !== known || ^two === 1\'bx) begin $display("stray %0d", cycle); $finish; end',
        '    else if (one !== two) begin $display("differ %0d", cycle); $finish; end',
        "    clock = 1; #1 clock = 0; cycle = cycle + 1;",
        "  end",
        '  $display("alike %0d", cycle); $finish;',
        "end",
        "endmodule\n",
    ])

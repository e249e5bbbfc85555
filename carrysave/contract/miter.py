"""Two copies of a design with one input that differs: whether their handshakes ever do."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import ceil
from pathlib import Path

from carrysave.contract.handshakes import CORE, Handshakes
from hw.emit import tools, yosys

__all__ = ["DEPTH", "Answer", "Verdict", "Witness", "compare"]

DEPTH = 64
"""Cycles in which the shortest counterexample is looked for."""


class Verdict(Enum):
    """What is known of the handshakes and one input."""

    STRUCTURE = "never: no path"
    INDUCTION = "never: proven by induction"
    DEPENDS = "yes"
    OPEN = "unknown"


@dataclass(frozen=True)
class Witness:
    """Two runs from power-up whose handshakes differ in the last cycle.

    Members
    -------
    inputs : of each cycle, values by name; those of the first run for the field.
    other : of each cycle, the field's value in the second run.
    """

    inputs: tuple[Mapping[str, int], ...]
    other: tuple[int, ...]

    @property
    def cycles(self) -> int:
        """Cycles of both runs."""
        return len(self.inputs)


@dataclass(frozen=True)
class Answer:
    """Whether timing depends on a field, with a witness if it does."""

    verdict: Verdict
    witness: Witness | None = None


def compare(
    core: Handshakes,
    field: str,
    seconds: float,
    search: Callable[[str, float], Witness | None] = lambda field, seconds: None,
) -> Answer:
    """Decide whether the handshakes depend on a field.

    Two copies start alike, and have all inputs in common but the field. Senders keep the rule of
    their stream, in both: what is offered stays, unchanged, until it is taken.

    Parameters
    ----------
    seconds : for each attempt: a search for the shortest counterexample, and a proof.
    search : looks for another counterexample; before the proof, if the first search took all of its
        time, and so was not through.
    """
    if field not in core.reaching:
        return Answer(Verdict.STRUCTURE)
    with tools.workplace() as folder:
        (folder / "core.il").write_text(core.netlist)
        (folder / "miter.v").write_text(_miter(core, field))
        yosys.run(
            "read_rtlil core.il\nread_verilog miter.v\nhierarchy -top miter__\nproc\nflatten\n"
            "setundef -zero\nopt -full\nopt_clean -purge\nmemory_map\nopt -full\n"
            "techmap\nopt -full\ndffunmap\naigmap\nopt_clean -purge\n"
            "write_aiger -zinit -map miter.map miter.aig",
            cwd=folder,
        )
        shortest = f"read_aiger miter.aig; bmc3 -F {DEPTH} -T {ceil(seconds)}; write_cex -a cex"
        # Not all of its commands look at the clock.
        output = yosys.run_abc(shortest, cwd=folder, deadline=seconds + 10)
        if "was asserted" in output:
            return Answer(Verdict.DEPENDS, _witness(core, field, folder))
        through = f"No output asserted in {DEPTH} frames" in output
        if not through and (witness := search(field, seconds)):
            return Answer(Verdict.DEPENDS, witness)
        proven = yosys.never("miter.aig", seconds, cwd=folder)
        if proven is False:
            return Answer(Verdict.DEPENDS, _witness(core, field, folder))
    if proven:
        return Answer(Verdict.INDUCTION)
    witness = search(field, seconds) if through else None
    return Answer(Verdict.DEPENDS if witness else Verdict.OPEN, witness)


def _miter(core: Handshakes, field: str) -> str:
    """Write the Verilog of both copies and of what compares them."""
    widths = core.widths
    ports = {**widths, "other__": widths[field]}
    lines = [f"module miter__ (differ__, {', '.join(ports)});", "output differ__;"]
    lines += [f"input [{width - 1}:0] {yosys.word(name)};" for name, width in ports.items()]
    last = len(core.outputs) - 1
    for copy, value in (("one__", field), ("two__", "other__")):
        lines.append(f"wire [{last}:0] {copy};")
        pins = [f".{name}({value if name == field else name})" for name in widths]
        pins += [f".{name}({copy}[{number}])" for number, name in enumerate(core.outputs)]
        lines.append(f"{CORE} copy_{copy} ({', '.join(pins)});")
    broken = []
    for valid, ready in core.streams.items():
        lines += _rule(core, field, valid, core.outputs.index(ready))
        broken.append(f"broken_{valid}__")
    return "\n".join([
        *lines,
        f"wire broken__ = {' || '.join(broken) or 0};",
        "reg before__ = 0;",
        f"always @(posedge {core.clock}) before__ <= before__ || broken__;",
        "assign differ__ = !before__ && !broken__ && one__ != two__;",
        "endmodule\n",
    ])


def _rule(core: Handshakes, field: str, valid: str, ready: int) -> list[str]:
    """Check that a sender keeps what it offers until it is taken; `ready` is an output's place.

    Until handshakes differ, the second copy is ready when the first one is.
    """
    prefix = valid.removesuffix("valid")
    parts = [valid, *(name for name in core.reaching if name.startswith(prefix))]
    parts += ["other__"] if field in parts else []
    bits = sum(core.widths[field if part == "other__" else part] for part in parts)
    payload = f"{{{', '.join(parts)}}}"
    active = f"!{core.reset}" if core.reset.endswith("n") else core.reset
    waits, held = f"waits_{valid}__", f"held_{valid}__"
    return [
        f"reg [{bits - 1}:0] {held};\nreg {waits} = 0;",
        f"always @(posedge {core.clock}) {held} <= {payload};",
        f"always @(posedge {core.clock}) {waits} <= {valid} && !one__[{ready}] && !({active});",
        f"wire broken_{valid}__ = {waits} && {payload} != {held};",
    ]


def _witness(core: Handshakes, field: str, folder: Path) -> Witness:
    """Read ABC's counterexample: a line of bits for each cycle, after one of registers."""
    places = {
        int(position): (name, int(bit))
        for position, bit, name in re.findall(
            r"^input (\d+) (\d+) (\S+)$", (folder / "miter.map").read_text(), re.MULTILINE
        )
    }
    # The first line is of registers, and empty if none are left.
    lines = (folder / "cex").read_text().splitlines()[1:]
    cycles = []
    for line in (line for line in lines if re.fullmatch("[01x]+", line)):
        values = dict.fromkeys(core.widths | {"other__": 1}, 0)
        for position, (name, bit) in places.items():
            values[name] |= (line[position] == "1") << bit
        cycles.append(values)
    other = tuple(values.pop("other__") for values in cycles)
    for values in cycles:
        del values[core.clock]
    return Witness(tuple(cycles), other)

"""Two copies of a design with one input that differs: whether their handshakes ever do."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import ceil
from pathlib import Path

from carrysave.contract.copies import MITER, Second, in_run
from carrysave.contract.handshakes import Handshakes
from hw.emit import tools, yosys

__all__ = [
    "AIGER",
    "DEPTH",
    "Answer",
    "Verdict",
    "Witness",
    "compare",
    "read_witness",
    "shortest",
    "write_miter",
]

AIGER = "miter.aig"
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
    inputs : of each cycle, values by name, in the first run.
    other : of each cycle, values in the second run of those inputs that may differ.
    """

    inputs: tuple[Mapping[str, int], ...]
    other: tuple[Mapping[str, int], ...]

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
    second = Second((field,))
    with tools.workplace() as folder:
        write_miter(core, second, folder)
        witness, through = shortest(core, second, seconds, folder)
        if witness is None and not through:
            witness = search(field, seconds)
        if witness is not None:
            return Answer(Verdict.DEPENDS, witness)
        proven = yosys.never(AIGER, seconds, cwd=folder)
        if proven is False:
            return Answer(Verdict.DEPENDS, read_witness(core, second, folder))
    if proven:
        return Answer(Verdict.INDUCTION)
    witness = search(field, seconds) if through else None
    return Answer(Verdict.DEPENDS if witness else Verdict.OPEN, witness)


def write_miter(core: Handshakes, second: Second, folder: Path) -> None:
    """Write the gates of both copies to the file :data:`AIGER`."""
    (folder / "core.il").write_text(core.netlist)
    (folder / "atoms.il").write_text(second.logic(core))
    (folder / "miter.v").write_text(second.verilog(core))
    yosys.run(
        "read_rtlil core.il\nread_rtlil atoms.il\nread_verilog miter.v\n"
        f"hierarchy -top {MITER}\nproc\nflatten\n"
        "setundef -zero\nopt -full\nopt_clean -purge\nmemory_map\nopt -full\n"
        "techmap\nopt -full\ndffunmap\naigmap\nopt_clean -purge\n"
        f"write_aiger -zinit -map miter.map {AIGER}",
        cwd=folder,
    )


def shortest(
    core: Handshakes, second: Second, seconds: float, folder: Path
) -> tuple[Witness | None, bool]:
    """Look for the shortest counterexample; return it, and whether all of :data:`DEPTH` is."""
    script = f"read_aiger {AIGER}; bmc3 -F {DEPTH} -T {ceil(seconds)}; write_cex -a cex"
    # Not all of its commands look at the clock.
    output = yosys.run_abc(script, cwd=folder, deadline=seconds + 10)
    if "was asserted" in output:
        return read_witness(core, second, folder), False
    return None, f"No output asserted in {DEPTH} frames" in output


def read_witness(core: Handshakes, second: Second, folder: Path) -> Witness:
    """Read ABC's counterexample: a line of bits for each cycle, after one of registers.

    Of stages it is one of the first and the last.
    """
    places = {
        int(position): (name, int(bit))
        for position, bit, name in re.findall(
            r"^input (\d+) (\d+) (\S+)$", (folder / "miter.map").read_text(), re.MULTILINE
        )
    }
    free = [] if second.stages else [in_run(name, "two") for name in second.fields]
    # The first line is of registers, and empty if none are left.
    lines = (folder / "cex").read_text().splitlines()[1:]
    cycles, others = [], []
    for line in (line for line in lines if re.fullmatch("[01x]+", line)):
        values = dict.fromkeys([*core.widths, *free], 0)
        for position, (name, bit) in places.items():
            values[name] |= (line[position] == "1") << bit
        del values[core.clock]
        others.append([values.pop(name) for name in free])
        cycles.append(values)
    if second.stages is None:
        other = [dict(zip(second.fields, each, strict=True)) for each in others]
    else:
        other = second.examples(core, cycles)
    return Witness(tuple(cycles), tuple(other))

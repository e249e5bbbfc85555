"""Mutants of a design's Verilog: faults that its bench must find."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave import jobs
from carrysave.regress.deciding.equivalence import decide
from hw.catalog import Design
from hw.device import models_of
from hw.emit import tools, yosys
from hw.emit.verilog import verilog_of

__all__ = ["MOST", "Mutants", "decided", "decision_job", "mutants_job", "mutants_of"]

MOST = 255
"""Mutants of a netlist: the input that selects one has 8 bits."""


@dataclass(frozen=True)
class Mutants:
    """A netlist with faults, of which an input ``mutant`` selects one, so that it is built once.

    Members
    -------
    module : its name.
    changes : what each mutant changes, the first for mutant 1; mutant 0 changes nothing.
    verilog : the netlist.
    """

    module: str
    changes: list[str]
    verilog: str

    @classmethod
    def of(cls, design: Design, count: int, seed: int) -> "Mutants":
        """Draw mutants of a design: 1..:data:`MOST`, or fewer if it has not as many places."""
        module = yosys.word(design.module)
        with tools.workplace() as folder:
            _run(
                verilog_of(design),
                folder,
                # A mutant of what a register holds takes its initial value away, which is 0 of all.
                f"hierarchy -top {module}\nproc\nflatten\nmemory\nopt_clean\nzinit\n"
                # The first of the list is the one of no change.
                f"mutate -list {count + 1:d} -seed {seed:d} -none -ctrl mutant 8 0 -o mutate.ys\n"
                "script mutate.ys\nsetundef -init -zero\nopt_clean\n"
                "write_verilog -noattr mutants.v",
            )
            lines = (folder / "mutate.ys").read_text().splitlines()
            changes = [_change(line) for line in lines if line.startswith("mutate ")]
            return cls(module, changes[1:], (folder / "mutants.v").read_text())

    def one(self, number: int) -> str:
        """Return the Verilog of one mutant, with the ports of the design."""
        with tools.workplace() as folder:
            _run(
                self.verilog,
                folder,
                f"proc\ncd {self.module}\ndelete -port mutant\n"
                f"connect -set mutant 8'd{number:d}\ncd ..\nopt\nwrite_verilog -noattr one.v",
            )
            return (folder / "one.v").read_text()


def _run(verilog: str, folder: Path, script: str) -> None:
    """Run Yosys on Verilog in which blocks of devices stay as they are."""
    (folder / "design.v").write_text(verilog)
    (folder / "blocks.v").write_text("".join(path.read_text() for path in models_of(verilog)))
    yosys.run(f"read_verilog -lib blocks.v\nread_verilog design.v\n{script}", cwd=folder)


def _change(line: str) -> str:
    """Say in words what a command of Yosys's list changes."""
    facts = dict(re.findall(r" -(\w+) (\S+)", line))
    if "wire" in facts:
        return f"{facts['mode']} of {facts['wire']}[{facts['wirebit']}]"
    # The one of no change has no place.
    return f"{facts['mode']} of {facts.get('cell')}.{facts.get('port')}[{facts.get('portbit')}]"


def mutants_job(design: Design, count: int, seed: int) -> jobs.Job:
    """Return the job that makes mutants of a design."""
    parameters = dict(design.parameters)
    return jobs.Job(
        function=mutants_of,
        arguments={"name": design.name, "parameters": parameters, "count": count, "seed": seed},
        tools=[yosys.version],
        label=f"mutants of {design.module}",
        facts={"kind": "mutants", "design": design.name, "parameters": parameters},
    )


def mutants_of(name: str, parameters: dict[str, Any], count: int, seed: int) -> dict[str, Any]:
    """Make mutants by plain arguments: the job's function; the members of :class:`Mutants`."""
    return vars(Mutants.of(Design(name, parameters), count, seed))


def decision_job(design: Design, verilog: Path, number: int, seconds: int) -> jobs.Job:
    """Return the job that decides whether a mutant that its bench does not kill is a fault."""
    parameters = dict(design.parameters)
    return jobs.Job(
        function=decided,
        arguments={
            "name": design.name,
            "parameters": parameters,
            "verilog": jobs.File(verilog),
            "number": number,
            "seconds": seconds,
        },
        tools=[yosys.version, yosys.abc_version],
        label=f"decide mutant {number} of {design.module}",
        facts={"kind": "mutants", "design": design.name, "parameters": parameters},
    )


def decided(
    name: str, parameters: dict[str, Any], verilog: str, number: int, seconds: int
) -> dict[str, str]:
    """Decide by plain arguments: the job's function; the members of `Verdict`."""
    with tools.workplace() as folder:
        (folder / "mutants.v").write_bytes(Path(verilog).read_bytes())
        return vars(decide(Design(name, parameters), folder, number, seconds))

"""Decides of a mutant whether it is a fault: by proofs, or by inputs that show a difference."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from carrysave.regress.deciding.alike import always_same
from carrysave.regress.deciding.contract import exact, unwritten
from carrysave.regress.deciding.legal import Inputs, legal
from golden.npe.activation import ActivationSpec
from hw.catalog import Design
from hw.device import models_of
from hw.emit import yosys
from hw.emit.verilog import Emission

__all__ = [
    "SECONDS",
    "Verdict",
    "by_outputs",
    "by_reachability",
    "by_states",
    "decide",
    "equivalent",
    "proven",
]

PATIENCE = 400
"""Seconds for a proof by reachability."""
_PATIENT = 3
"""Times the seconds of a way that its other commands may take besides."""
SECONDS = 20
"""Seconds for each way to decide."""


@dataclass(frozen=True)
class Verdict:
    """What a mutant is that its bench does not kill.

    Members
    -------
    outcome : ``equivalent``: no output ever differs, whatever the inputs are. ``unreachable``: none
        does under legal inputs, but under others. ``alive``: an output differs under legal inputs;
        the bench lacks them. ``undecided``.
    why : in words.
    waves : VCD of the inputs by which an output differs, and of all outputs; empty if there is
        none.
    """

    outcome: str
    why: str
    waves: str = ""


def decide(design: Design, folder: Path, mutant: int, seconds: int = SECONDS) -> Verdict:
    """Decide whether a mutant that its bench does not kill is a fault.

    Parameters
    ----------
    folder : has all mutants, ``mutants.v``.
    seconds : for each way to decide; what does not look at the clock is ended after three times as
        many more.
    """
    # First, as it is soon done of a large design: most of it is the same in both.
    if by_reachability(design, folder, mutant, seconds):
        return Verdict("equivalent", "all that can be reached is made alike")
    free = by_outputs(design, folder, mutant, seconds, Inputs.ANY)
    if free:
        return Verdict("equivalent", "no output ever differs, whatever the inputs are")
    among = "" if free is False else "; whether others tell is not decided"
    if by_states(design, folder, mutant):
        return Verdict("unreachable", f"alike in all states that legal rows lead to{among}")
    if free is None and by_induction(design, folder, mutant, _PATIENT * seconds):
        return Verdict("equivalent", "alike by induction over all states")
    lacks = unwritten(design)
    certain = by_outputs(design, folder, mutant, seconds, Inputs.CERTAIN)
    if certain is False and not lacks:
        cycles, waves = replayed(design, folder, mutant, Inputs.CERTAIN)
        why = f"an output differs {cycles} cycles after power-up, by legal inputs that the bench"
        return Verdict("alive", f"{why} lacks", waves)
    no = f"no output ever differs under legal inputs{among}"
    if certain and not lacks and exact(design):
        return Verdict("unreachable", no)
    possible = by_outputs(design, folder, mutant, seconds, Inputs.POSSIBLE)
    if possible:
        return Verdict("unreachable", no)
    if possible is False:
        cycles, waves = replayed(design, folder, mutant, Inputs.POSSIBLE)
        why = f"an output differs {cycles} cycles after power-up, by inputs of which nothing says"
        return Verdict("undecided", f"{why} that they are legal{lacks and f': {lacks}'}", waves)
    tried = f"reachability of outputs and of registers, {seconds} s each, and induction"
    return Verdict("undecided", f"neither proven equal nor shown to differ by {tried}")


def replayed(design: Design, folder: Path, mutant: int, given: Inputs) -> tuple[int, str]:
    """Replay the counterexample of ABC's that was found last, in Yosys's simulator.

    Returns
    -------
    Cycles before the last one, in which an output differs, and the waves of a run, a VCD.
    """
    name = f"outputs{mutant}"
    # ABC's first line is of those registers that it kept, if any; all are 0 at power-up.
    _, *lines = (folder / "cex").read_text().splitlines()
    inputs = [line.replace("x", "0") for line in lines if line and set(line) <= set("01x")]
    named = (folder / f"{name}.aim").read_text()
    names = re.findall(r"^input \d+ (\d+) (\w+)$", named, re.MULTILINE)
    signals = [
        {"path": [f"\\{one}"], "offset": int(bit), "width": 1, "init_only": False}
        for bit, one in names
    ]
    clock = {"path": ["\\in_clk"], "edge": "posedge", "offset": 0}
    witness = {
        "format": "Yosys Witness Trace",
        "clocks": [clock],
        "signals": signals,
        # The last signal comes first.
        "steps": [{"bits": line[::-1]} for line in inputs],
    }
    (folder / f"{name}.yw").write_text(json.dumps(witness))
    yosys.run(
        f"{_both(design, folder, mutant, given)}hierarchy -top legal\nproc\nflatten\n"
        f"sim -zinit -r {name}.yw -vcd {name}.vcd",
        cwd=folder,
    )
    waves = (folder / f"{name}.vcd").read_text()
    [bad] = re.findall(r"^\$var wire 1 (\w+) bad \$end$", waves, re.MULTILINE)
    assert f"\nb1 {bad}\n" in waves, "ABC shows a difference, and Yosys's simulator does not"
    return len(inputs) - 1, waves


def equivalent(design: Design, folder: Path, mutant: int) -> bool:
    """Whether the mutant is proven equal to the design, over all states or from the first one."""
    # Any may be done at once where another takes minutes.
    return bool(
        by_states(design, folder, mutant)
        or by_outputs(design, folder, mutant, 20)
        or by_reachability(design, folder, mutant, 20)
        or by_induction(design, folder, mutant)
        or by_reachability(design, folder, mutant, PATIENCE)
        or by_outputs(design, folder, mutant, PATIENCE)
    )


def selected(design: Design, folder: Path, mutant: int) -> str:
    """Write a script that reads the design as `gold`, and as `gate` with this mutant.

    Blocks of a device are what their models are.
    """
    blocks = models_of((folder / "mutants.v").read_text())
    (folder / "blocks.v").write_text("".join(path.read_text() for path in blocks))
    read = "".join(
        f"read_verilog mutants.v\nproc\nrename {design.module} {name}\ncd {name}\n"
        f"delete -port mutant\nconnect -set mutant 8'd{number}\ncd ..\n"
        for name, number in (("gate", mutant), ("gold", 0))
    )
    return f"{read}read_verilog blocks.v\nhierarchy\nproc\nflatten\n" if blocks else read


def by_induction(design: Design, folder: Path, mutant: int, deadline: float = float("inf")) -> bool:
    """Whether Yosys proves the mutant equal, by induction over all states, in time."""
    try:
        yosys.run(
            f"{selected(design, folder, mutant)}opt -full\nwreduce\nopt -full\n"
            # Bit by bit, since what nobody reads may differ.
            "techmap\nopt -full\nsplitnets\nopt_clean -purge\n"
            "equiv_make gold gate equiv\nhierarchy -top equiv\nflatten\nopt_clean\n"
            "equiv_struct\nequiv_simple -undef\nequiv_induct -undef -seq 3\n"
            "equiv_status -assert",
            cwd=folder,
            deadline=deadline,
        )
    except yosys.YosysError as error:
        if "unproven" not in str(error) and "not done within" not in str(error):
            raise
        return False
    return True


def by_reachability(design: Design, folder: Path, mutant: int, seconds: int) -> bool:
    """Whether ABC proves that from the first state on, no register and no output ever differs.

    Both share the registers' values, so that what is proven is only that each next state that can
    be reached, and each output, is made alike.
    """
    name = f"reachable{mutant}"
    (folder / "same.v").write_text(
        '(* techmap_celltype = "$equiv" *)\n'
        "module same (input A, input B, output Y);\nassign Y = A;\n"
        "\\$assert check (.A(A ~^ B), .EN(1'b1));\nendmodule\n"
    )
    log = yosys.run(
        f"{selected(design, folder, mutant)}setundef -zero\nopt -full\nwreduce\nopt -full\n"
        "techmap\nopt -full\ndffunmap\nopt_clean\nsplitnets\nopt_clean -purge\n"
        # Of what is inside, registers alone are paired.
        "select -set registers t:$_DFF_* %co1:+[Q] w:* %i\nrename -hide w:* @registers %d\n"
        "equiv_make gold gate equiv\nhierarchy -top equiv\nflatten\nopt_clean\n"
        "techmap -map +/techmap.v -map same.v\nselect -assert-none t:$equiv\n"
        "delete -port o:*\nopt -full\n"
        f"techmap\ndffunmap\naigmap\nopt_clean\nstat\nwrite_aiger -zinit {name}.aig",
        cwd=folder,
    )
    _, counted, cells = log.rpartition("Printing statistics")
    assert counted, log
    if "$assert" not in cells:
        return True  # the two became the same circuit
    return proven(folder, name, seconds)


def by_outputs(
    design: Design, folder: Path, mutant: int, seconds: int, given: Inputs = Inputs.POSSIBLE
) -> bool | None:
    """Whether ABC proves that from the first state on no output ever differs; None: not decided.

    Registers may: those of which nobody reads what they have then. No tile or row is longer than
    the design allows: of longer ones sums may overflow. Tables from outside are of activations.
    What is offered to a stream stays until it is taken, unless there is a reset.
    """
    name = f"outputs{mutant}"
    yosys.run(
        f"{_both(design, folder, mutant, given)}"
        "hierarchy -top legal\nproc\nflatten\nopt -full\n"
        "memory_map\ntechmap\nopt -full\ndffunmap\naigmap\nopt_clean -purge\n"
        f"write_aiger -zinit -map {name}.aim {name}.aig",
        cwd=folder,
    )
    return yosys.never(f"{name}.aig", seconds, cwd=folder, patience=_PATIENT * seconds)


def _both(design: Design, folder: Path, mutant: int, given: Inputs) -> str:
    """Write a script that reads a design, its mutant, and what says if they differ, ``legal``."""
    (folder / "legal.v").write_text(legal(design, given))
    return (
        f"{selected(design, folder, mutant)}setundef -zero\nopt -full\n"
        "miter -equiv -make_outputs gold gate miter\nread_verilog legal.v\n"
    )


def by_states(design: Design, folder: Path, mutant: int) -> bool:
    """Whether a unit of rows and its mutant are alike in all states that rows lead to.

    Of other designs it is not known. Outputs are; registers may differ.
    """
    if not isinstance(design.spec, ActivationSpec):
        return False
    path = folder / "rows.aag"
    if not path.exists():
        ports = [port for port in Emission(design).ports if port["name"] != "clk"]
        heads = [f"{port['direction']} [{port['width'] - 1}:0] {port['name']}" for port in ports]
        pins = [f".{port['name']}({port['name']})" for port in ports]
        length = design.spec.length
        (folder / "rows.v").write_text(
            f"module rows(input clk, {', '.join(heads)}, input [7:0] mutant, output beyond);\n"
            f"{design.module} unit({', '.join(pins)}, .clk(clk), .mutant(mutant));\n"
            f"reg [{length.bit_length() - 1}:0] values = 0;\n"
            f"assign beyond = i_valid & i_ready & ~i_last & values == {length - 1};\n"
            "always @(posedge clk) if (rst | i_valid & i_ready & i_last) values <= 0;\n"
            "else if (i_valid & i_ready) values <= values + 1;\nendmodule\n"
        )
        yosys.run(
            "read_verilog mutants.v\nread_verilog rows.v\nhierarchy -top rows\nproc\nflatten\n"
            "setundef -zero\nopt -full\nmemory_map\ntechmap\nopt -full\ndffunmap\naigmap\n"
            "opt_clean -purge\nwrite_aiger -ascii -zinit -symbols rows.aag",
            cwd=folder,
        )
    return always_same(path, mutant)


def proven(folder: Path, name: str, seconds: int) -> bool:
    """Whether ABC proves that no output of a circuit is ever 1."""
    return yosys.never(f"{name}.aig", seconds, cwd=folder, patience=_PATIENT * seconds) is True

"""Runs Yosys (pyosys) scripts, each in its own process, and proofs by its ABC."""

import json
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version as package_version
from math import ceil
from pathlib import Path

from hw.emit import tools

__all__ = ["YosysError", "never", "run", "run_abc", "verilog_of_rtlil", "version", "word"]

# libyosys prints to C's stdout, aborts on errors and may crash while it is unloaded: the process
# exits without running destructors, so C's buffers are flushed by hand. Yosys itself prints the end
# marker, behind all else in the same buffer: a log that was cut off has none.
_END = "carrysave: end of script"
_RUNNER = f"""
import ctypes, json, os, sys
from pyosys import libyosys
design = libyosys.Design()
for command in [*json.load(sys.stdin), "log {_END}"]:
    libyosys.Pass.call(design, command)
os._exit(ctypes.CDLL(None).fflush(None) != 0)
"""

_ABC_FILE = re.compile(r"yosys-abc-\w+/")
_ABC_SAYS = re.compile(
    r"ABC: (?!\*\*|Reading )(?:.*(?=Assertion))?(.*(?:Assertion|cannot|has failed|[Ee]rror).*)"
)


class YosysError(RuntimeError):
    """A Yosys script failed; the text is Yosys's own ERROR line."""


def version() -> str:
    """Return the version of the installed Yosys, for example ``0.70``."""
    return package_version("pyosys").removesuffix(".0")


@cache
def abc() -> Path:
    """Return the program of the ABC that Yosys ships and was released with."""
    from pyosys import libyosys

    return next(Path(libyosys.__file__).parent.rglob("yosys-abc"))


@cache
def abc_version() -> str:
    """Return the name ABC gives itself."""
    with tools.workplace() as folder:
        done = tools.run([abc(), "-q", "version"], cwd=folder, deadline=30)
    lines = [line for line in done.output.splitlines() if "ABC" in line]
    return lines[0].strip() if lines else f"the one of Yosys {version()}"


def run_abc(script: str, *, cwd: Path | str, deadline: float = float("inf")) -> str:
    """Run commands of ABC, of this project's own text, and return the log.

    Parameters
    ----------
    deadline : seconds after which it is killed; the log is then what it had printed.

    Raises
    ------
    YosysError
        If it ends before its script does, as when memory runs out: its log then has no end.
    """
    done = tools.run([abc(), "-c", script], cwd=cwd, deadline=deadline)
    if done.code:
        tail = " / ".join(done.output.strip().splitlines()[-3:])
        raise YosysError(f"ABC ended with code {done.code}: {tail or 'no output'}")
    return done.output


def never(circuit: str, seconds: float, *, cwd: Path | str, patience: float = 10.0) -> bool | None:
    """Decide whether no output of a circuit is ever 1, from its first state on, by ABC.

    A counterexample is written to the file `cex`.

    Parameters
    ----------
    circuit : AIGER file, named by this project.
    seconds : for property-directed reachability, which holds for ever.
    patience : seconds more for all, as other commands do not look at the clock.

    Returns
    -------
    None if it is not decided in time.
    """
    # `sat` is for what has no registers left, which `pdr` does not decide, and fails otherwise.
    # What makes the circuit less may not end: then it is decided as it is.
    for less in ("scorr; dc2; ", ""):
        script = f"{less}pdr -T {ceil(seconds)}; write_cex -a cex; sat"
        proof = run_abc(f"read_aiger {circuit}; {script}", cwd=cwd, deadline=seconds + patience)
        proven = "Property proved" in proof or "UNSATISFIABLE" in proof
        refuted = "was asserted" in proof
        if proven != refuted:
            return proven
    return None


def word(name: str) -> str:
    """Return a name as a word of a script, which it must be already.

    Raises
    ------
    ValueError
        If it is not letters, digits and ``_`` alone, with which no script does anything else.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError(f"name must be letters, digits and _ in a script, not {name!r}")
    return name


def run(
    script: str | Sequence[str | Sequence[str]], *, cwd: Path | str, deadline: float = float("inf")
) -> str:
    """Run a script and return the log.

    Parameters
    ----------
    script : one command per line, all of it this project's own text; or a list of such commands,
        in which a command with words from outside is a list of its words. Yosys reads neither
        shell commands nor further commands out of those.
    cwd : a :func:`hw.emit.tools.workplace` if the script calls ABC, which is run by a shell.
    deadline : seconds after which it is killed.

    Raises
    ------
    YosysError
        If a command fails, or the script is not done in time.
    """
    lines = script.splitlines() if isinstance(script, str) else script
    commands = [line for line in lines if not isinstance(line, str) or line.strip()]
    done = tools.run(
        [sys.executable, "-c", _RUNNER], cwd=cwd, input=json.dumps(commands), deadline=deadline
    )
    if done.code is None:
        raise YosysError(f"ERROR: not done within {deadline:g} s")
    log, end, _ = done.output.rpartition(_END)
    if end and done.code == 0:
        return log
    lines = done.output.splitlines()
    errors = [line for line in lines if "ERROR:" in line]
    if errors and _ABC_FILE.search(errors[-1]):
        # Yosys names ABC's files; what ABC said before it stopped is what is wrong.
        said = [match[1] for line in lines if (match := _ABC_SAYS.match(line))]
        raise YosysError(f"ERROR: ABC stopped: {said[-1] if said else 'it does not say why'}")
    if not errors:
        errors = [line for line in lines if "Error" in line]
    if errors:
        raise YosysError(errors[-1].strip())
    tail = " / ".join(done.output.strip().splitlines()[-3:])
    raise YosysError(f"Yosys ended with code {done.code}: {tail or 'no output'}")


def verilog_of_rtlil(text: str) -> str:
    """Return the Verilog of what Amaranth made, without attributes."""
    with tools.workplace() as folder:
        (folder / "circuit.il").write_text(text)
        run("read_rtlil circuit.il\nproc\nopt_clean\nwrite_verilog -noattr circuit.v", cwd=folder)
        return (folder / "circuit.v").read_text()

"""Runs Yosys (pyosys) scripts, each in its own process."""

import subprocess
import sys
from functools import cache
from importlib.metadata import version as package_version
from pathlib import Path

__all__ = ["YosysError", "quote", "run", "version"]

# libyosys prints to the process's stdout, aborts on errors and may crash while it is unloaded: the
# end marker signals success, and the process exits without running destructors.
_END = "carrysave: end of script"
_RUNNER = f"""
import os, sys
from pyosys import libyosys
design = libyosys.Design()
for line in sys.stdin.read().splitlines():
    if line.strip():
        libyosys.run_pass(line, design)
sys.stdout.flush()
os.write(1, b"\\n{_END}\\n")
os._exit(0)
"""


class YosysError(RuntimeError):
    """A Yosys script failed; the text is Yosys's own ERROR line."""


def version() -> str:
    """Return the version of the installed Yosys, for example ``0.70``."""
    return package_version("pyosys").removesuffix(".0")


@cache
def abc_version() -> str:
    """Return the name ABC gives itself; Yosys ships the ABC it was released with."""
    from pyosys import libyosys

    for tool in Path(libyosys.__file__).parent.rglob("yosys-abc"):
        done = subprocess.run(
            [tool, "-q", "version"], capture_output=True, text=True, check=False, timeout=30
        )
        lines = [line for line in done.stdout.splitlines() if "ABC" in line]
        if lines:
            return lines[0].strip()
    return f"the one of Yosys {version()}"


def quote(path: Path | str) -> str:
    """Return a path as one word of a Yosys script.

    Raises
    ------
    ValueError
        If the path has a quotation mark or a line break, which a script cannot quote.
    """
    text = str(path)
    if any(mark in text for mark in '"\n\r'):
        raise ValueError(f"path must be without quotation marks and line breaks, not {text!r}")
    return f'"{text}"' if " " in text or ";" in text else text


def run(script: str, *, cwd: Path | str) -> str:
    """Run a script, one command per line, and return the log.

    Raises
    ------
    YosysError
        If a command fails.
    """
    done = subprocess.run(
        [sys.executable, "-c", _RUNNER],
        input=script, cwd=cwd, check=False, text=True, errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    log, end, _ = done.stdout.rpartition(_END)
    if end:
        return log
    errors = [line for line in done.stdout.splitlines() if "ERROR:" in line]
    if not errors:
        errors = [line for line in done.stdout.splitlines() if "Error" in line]
    if errors:
        raise YosysError(errors[-1].strip())
    tail = " / ".join(done.stdout.strip().splitlines()[-3:])
    raise YosysError(f"Yosys ended with code {done.returncode}: {tail or 'no output'}")

"""Icarus Verilog with cocotb: an event-driven simulator with unknown values, built and cached.

Slower than Verilator's, and of another kind: a register without a value is x, and so is what
follows from it.
"""

import functools
from collections.abc import Sequence
from pathlib import Path

from carrysave import cache
from carrysave.sim.verilator import Build, source_text
from carrysave.sim.verilator_install import libraries
from hw.emit import tools
from hw.emit.naming import renamed

__all__ = ["build", "version"]

_DUMP = """\
module dump;
initial begin
  $dumpfile("dump.vcd");
  $dumpvars(1, {top});
end
endmodule
"""


def build(verilog_files: Sequence[Path], top: str, *, waves: bool = False) -> Build:
    """Build a simulator of module `top`, or take it from the cache.

    The parameters are those of :func:`carrysave.sim.verilator.build`.

    Raises
    ------
    RuntimeError : if Icarus refuses the sources; says why.
    hw.emit.tools.MissingToolError : if it is not installed.
    """
    # The Verilog that we write says nothing of time.
    texts = [b"`timescale 1ns/1ps\n", *map(source_text, verilog_files)]
    known = {f"source{number}.v": file for number, file in enumerate(verilog_files, 1)}
    tops = [top]
    if waves:
        texts.append(_DUMP.format(top=top).encode())
        tops.append("dump")

    def make(folder: Path) -> None:
        with tools.workplace() as work:
            names = []
            for number, text in enumerate(texts):
                names.append(f"source{number}.v")
                (work / names[-1]).write_bytes(text)
            words = [word for one in tops for word in ("-s", one)]
            done = tools.run(["iverilog", "-g2005", *words, "-o", folder / top, *names], cwd=work)
            if done.code:
                said = renamed(done.output.strip(), known)
                raise RuntimeError(f"cannot build {top}: {said or 'no output'}")

    directory = cache.entry("simulate", ["icarus", version(), *tops, *texts], make)
    program = ("vvp", "-n", "-m", str(libraries() / "libcocotbvpi_icarus.so"))
    return Build(top=top, directory=directory, waves=waves, program=program, names=known)


@functools.cache
def version() -> str:
    """Name the version of the Icarus that is installed.

    Raises
    ------
    hw.emit.tools.MissingToolError
        If none is.
    """
    tools.find("vvp")
    with tools.workplace() as folder:
        return tools.run(["iverilog", "-V"], cwd=folder).output.splitlines()[0]

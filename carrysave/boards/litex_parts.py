"""What programs that run LiteX share: SDRAM's AXI4 port, its commands, pins, a run of one."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hw.emit import tools

__all__ = ["COMMANDS", "axi_to_sdram", "pins", "run_litex", "with_inouts", "without_comments"]

_READS = 32
"""Beats that may wait to be read from SDRAM."""

COMMANDS = {
    "DFII_COMMAND_CS": 1,
    "DFII_COMMAND_WE": 2,
    "DFII_COMMAND_CAS": 4,
    "DFII_COMMAND_RAS": 8,
}
"""Bits of commands, as LiteDRAM's own C header has them."""


def run_litex(program: str, folder: Path, facts: str) -> dict[str, Any]:
    """Run a program on the ``request.json`` of a folder; return the facts that it writes there.

    Raises
    ------
    RuntimeError
        It fails; says why.
    """
    # It reads its own modules only, and would warn of what other packages do.
    root = str(Path(__file__).parents[2])
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([root, *filter(None, sys.path)]),
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-B", "-m", program, "request.json"]
    done = tools.run(command, cwd=folder, environment=environment)
    if done.code or not (folder / facts).exists():
        lines = done.output.strip().splitlines() or ["it says nothing"]
        raise RuntimeError(f"LiteX: {lines[-1]}")
    read: dict[str, Any] = json.loads((folder / facts).read_text())
    return read


def without_comments(verilog: str) -> str:
    """Drop comments, which name the time and the folder."""
    return re.sub(r"^//.*\n", "", verilog, flags=re.MULTILINE)


def with_inouts(verilog: str, names: Iterable[str]) -> str:
    """Make ports both ways, which buffers of an FPGA drive, and Migen takes for inputs."""
    for name in names:
        verilog = re.sub(rf"\binput  wire( .*\b{name}\b)", r"inout  wire\1", verilog, count=1)
    return verilog


def axi_to_sdram(module: Any, axi: Any, port: Any, base: int) -> None:
    """Connect an AXI4 bus to a port of SDRAM's crossbar, as wide as the memory.

    Bursts are narrowed or widened as such: LiteDRAM's own converters take them apart, at a cycle
    more for each beat, and at several.
    """
    from litedram.frontend.axi import LiteDRAMAXI2Native
    from litex.soc.interconnect.axi.axi_full import AXIConverter, AXIInterface

    from carrysave.boards.litedram_axi import Widener

    inside = AXIInterface(data_width=port.data_width, address_width=32)
    convert = Widener if port.data_width > axi.data_width else AXIConverter
    module.submodules += convert(axi, inside)
    module.submodules += LiteDRAMAXI2Native(inside, port, r_buffer_depth=_READS, base_address=base)


def pins(platform: Any, output: Any, prefix: str | tuple[str, ...] = "") -> Iterator[str]:
    """List the constraints of the pins of resources, as nextpnr takes them for ECP5."""
    from litex.build.generic_platform import IOStandard, Misc

    for signal, sites, others, (name, _, _) in platform.constraint_manager.get_sig_constraints():
        if not name.startswith(prefix) or sites[0] == "X":
            continue
        for number, site in enumerate(sites):
            port = output.ns.get_name(signal)
            port = f'"{port}[{number}]"' if len(sites) > 1 else f'"{port}"'
            yield f'LOCATE COMP {port} SITE "{site}";'
            for one in others:
                if isinstance(one, IOStandard):
                    yield f"IOBUF PORT {port} IO_TYPE={one.name};"
                elif isinstance(one, Misc):
                    yield f"IOBUF PORT {port} {one.misc};"

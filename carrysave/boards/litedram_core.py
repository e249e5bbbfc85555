"""Writes an SDRAM controller with an AXI4 port, which starts the memory by itself, by LiteDRAM.

A program of its own, ``python -m carrysave.boards.litedram_core REQUEST``, as LiteX keeps state in
its modules, prints, and writes where it stands. Beside the Verilog are the pins' constraints, and
what the board's top needs to know.
"""

import importlib
import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from carrysave.boards.litex_parts import COMMANDS, axi_to_sdram, pins, without_comments

__all__ = ["CORE", "FACTS", "Request", "main"]

CORE = "carrysave_sdram"
FACTS = "sdram.json"
_SPACE = 16
"""Cycles between commands of the start, at least: more than each of them takes."""
_POWER_UP = 200e-6
"""Seconds that SDRAM must have a clock before its first command."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be written.

    Parameters
    ----------
    platform, arguments : module of litex_boards.platforms, and of its Platform.
    memory : LiteDRAM's name of the SDRAM.
    data_width : bits of the AXI4 port.
    clock_hz : of the controller.
    simulated : pins of data are three, ``split_i``, ``split_o`` and ``split_oe``, and the memory is
        started at once.
    """

    platform: str
    arguments: dict[str, str]
    memory: str
    data_width: int
    clock_hz: float
    simulated: bool = False

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self)))


def main(path: Path) -> None:
    """Write ``carrysave_sdram.v``, ``pins.lpf`` and :data:`FACTS` into the folder."""
    from litex.build.generic_platform import GenericPlatform

    request = Request(**json.loads(path.read_text()))
    module = importlib.import_module(f"litex_boards.platforms.{request.platform}")
    platform = module.Platform(**request.arguments, toolchain="trellis")
    core = _core(platform, request)
    if request.simulated:
        overrides = _split(platform, core.pads)
        output = GenericPlatform.get_verilog(platform, core, name=CORE, special_overrides=overrides)
    else:
        output = platform.get_verilog(core, name=CORE)
    assert not output.data_files
    text = without_comments(output.main_source)
    data = output.ns.get_name(core.pads.dq)
    if not request.simulated:
        # Buffers of an FPGA drive what Migen takes for an input.
        text = re.sub(rf"\binput  wire( .*\b{data}\b)", r"inout  wire\1", text, count=1)
    Path(f"{CORE}.v").write_text(text)
    signals = platform.constraint_manager.get_sig_constraints()
    ports = {
        output.ns.get_name(signal): [len(signal), _direction(name, part)]
        for signal, _, _, (name, _, part) in signals
        if name.startswith(("sdram", "split")) and not (request.simulated and part == "dq")
    }
    Path("pins.lpf").write_text("\n".join(pins(platform, output, "sdram")) + "\n")
    Path(FACTS).write_text(json.dumps({"pads": ports}, indent=2) + "\n")


def _direction(name: str, part: str | None) -> str:
    """Return the direction of a pin of the memory, or of a part of those of data."""
    if name == "split":
        return "input" if part == "i" else "output"
    return "inout" if part == "dq" else "output"


def _core(platform: Any, request: Request) -> Any:
    """Put the controller, what starts it, and the AXI4 port together."""
    from litedram import modules
    from litedram.init import get_sdram_phy_init_sequence
    from litedram.phy import GENSDRPHY
    from litex.build.generic_platform import Pins
    from litex.gen import LiteXModule
    from migen import ClockDomain, If

    names = ("core_clk", "core_rst", "core_shifted", "core_started")
    platform.add_extension([(name, 0, Pins(1)) for name in names])
    clock, reset, shifted, started = map(platform.request, names)
    memory = getattr(modules, request.memory)(request.clock_hz, "1:1")
    core = LiteXModule()
    core.pads = platform.request("sdram")
    core.cd_sys, core.cd_user = ClockDomain("sys"), ClockDomain("user")
    core.comb += [
        core.cd_sys.clk.eq(clock),
        core.cd_sys.rst.eq(reset),
        core.cd_user.clk.eq(clock),
        # Nothing is asked of a memory that is not started, and nothing refreshes it.
        core.cd_user.rst.eq(reset | ~started),
    ]
    if not request.simulated:
        _give_clock(core, platform, shifted)
    core.phy = GENSDRPHY(core.pads, request.clock_hz)
    controller = _add_controller(core, platform, request, memory)
    sequence, _ = get_sdram_phy_init_sequence(core.phy.settings, memory.timing_settings)
    _start(core, request, sequence, started)
    core.comb += If(started, controller.dfi.connect(core.phy.dfi))
    return core


def _give_clock(core: Any, platform: Any, shifted: Any) -> None:
    """Give the memory its clock."""
    from litex.build.io import DDROutput
    from migen import ClockDomain, ClockSignal

    core.cd_shifted = ClockDomain("shifted", reset_less=True)
    core.comb += core.cd_shifted.clk.eq(shifted)
    pin = platform.request("sdram_clock")
    core.specials += DDROutput(1, 0, pin, ClockSignal("shifted"))


def _add_controller(core: Any, platform: Any, request: Request, memory: Any) -> Any:
    """Add the controller, with an AXI4 port; return it."""
    from litedram.core.controller import ControllerSettings, LiteDRAMController
    from litedram.core.crossbar import LiteDRAMCrossbar
    from litex.gen import LiteXModule
    from litex.soc.interconnect.axi.axi_full import AXIInterface
    from migen import ClockDomainsRenamer

    axi = AXIInterface(data_width=request.data_width, address_width=32)
    platform.add_extension(axi.get_ios("s_axi"))
    inside = LiteXModule()
    inside.controller = LiteDRAMController(
        phy_settings=core.phy.settings,
        geom_settings=memory.geom_settings,
        timing_settings=memory.timing_settings,
        clk_freq=request.clock_hz,
        controller_settings=ControllerSettings(),
    )
    inside.crossbar = LiteDRAMCrossbar(inside.controller.interface)
    axi_to_sdram(inside, axi, inside.crossbar.get_port(), 0)
    core.inside = ClockDomainsRenamer("user")(inside)
    core.comb += axi.connect_to_pads(platform.request("s_axi"), mode="slave")
    return inside.controller


def _start(core: Any, request: Request, sequence: Any, started: Any) -> None:
    """Give the commands of a sequence, each after the time of the one before."""
    from migen import Array, If, Signal

    power_up = 1 if request.simulated else round(_POWER_UP * request.clock_hz)
    rows = [
        (
            address,
            bank,
            0 if "CONTROL" in text else sum(COMMANDS[one] for one in text.split("|")),
            power_up if "CKE" in text else max(delay, _SPACE),
        )
        for _, address, bank, text, delay in sequence
    ]
    step, left = Signal(max=len(rows) + 1), Signal(max=max(row[3] for row in rows) + 1)
    address, bank, bits, wait = (Array(row[column] for row in rows)[step] for column in range(4))
    command, phase = Signal(4), core.phy.dfi.phases[0]
    # Clock enable is high from the reset on, and a command is for one cycle.
    core.comb += [
        phase.cke.eq(1),
        phase.odt.eq(0),
        phase.reset_n.eq(1),
        phase.address.eq(address),
        phase.bank.eq(bank),
        phase.cs_n.eq(~command[0]),
        phase.we_n.eq(~command[1]),
        phase.cas_n.eq(~command[2]),
        phase.ras_n.eq(~command[3]),
        If(~started & (left == 0), command.eq(bits)),
    ]
    core.sync += If(
        ~started,
        left.eq(left + 1),
        If(left == wait, left.eq(0), step.eq(step + 1), started.eq(step == len(rows) - 1)),
    )


def _split(platform: Any, pads: Any) -> dict[Any, Any]:
    """Give pins of data three ports each; return by what their buffers are replaced."""
    from litex.build.generic_platform import Pins, Subsignal
    from litex.build.io import Tristate
    from migen import Module

    parts = [Subsignal(name, Pins(len(pads.dq))) for name in ("i", "o", "oe")]
    platform.add_extension([("split", 0, *parts)])
    split = platform.request("split")

    class Buffers:
        @staticmethod
        def lower(buffer: Any) -> Any:
            module, pin = Module(), buffer.target.start
            module.comb += [
                split.o[pin].eq(buffer.o),
                split.oe[pin].eq(buffer.oe),
                buffer.i.eq(split.i[pin]),
            ]
            return module

    return {Tristate: Buffers}


if __name__ == "__main__":
    main(Path(sys.argv[1]))

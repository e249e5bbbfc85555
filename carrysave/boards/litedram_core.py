"""Writes an SDRAM controller with an AXI4 port, which starts the memory by itself, by LiteDRAM.

A program of its own, ``python -m carrysave.boards.litedram_core REQUEST``, as LiteX keeps state in
its modules, prints, and writes where it stands. Beside the Verilog are the pins' constraints, and
what the board's top needs to know.
"""

import importlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from carrysave.boards.litedram_attached import Attached, Clocks
from carrysave.boards.litex_parts import axi_to_sdram, pins, with_inouts, without_comments

__all__ = ["CORE", "FACTS", "Request", "main"]

CORE = "carrysave_sdram"
FACTS = "sdram.json"
_RESOURCES = ("sdram", "split", "ddram", "dfi", "O_sdram", "IO_sdram")
"""How names of resources begin that are the memory's, or in the place of it."""

_PHYSICAL = ("ddram", "O_sdram", "IO_sdram")
"""Those in whose place a simulator has others."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be written.

    Parameters
    ----------
    platform, arguments : module of litex_boards.platforms, and of its Platform.
    kind : of memory, `sdr` or `ddr3`.
    memory : LiteDRAM's name of it.
    data_width : bits of the AXI4 port.
    clock_hz : of the controller.
    simulated : what no simulator has is left out, and the memory is started at once: pins of data
        of SDR are three, ``split_i``, ``split_o`` and ``split_oe``; of DDR3, DFI is at pins.
    packaged : see :class:`carrysave.boards.sdram.Sdram`.
    bridged, swapped_masks, late_commands, termination : of DDR3, see
        :class:`carrysave.boards.sdram.Ddr3`.
    """

    platform: str
    arguments: dict[str, str]
    kind: str
    memory: str
    data_width: int
    clock_hz: float
    simulated: bool = False
    packaged: bool = False
    bridged: bool = False
    swapped_masks: bool = False
    late_commands: bool = False
    termination: str = ""

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self)))


def main(path: Path) -> None:
    """Write ``carrysave_sdram.v``, ``pins.lpf`` and :data:`FACTS` into the folder."""
    from litex.build.generic_platform import GenericPlatform

    request = Request(**json.loads(path.read_text()))
    module = importlib.import_module(f"litex_boards.platforms.{request.platform}")
    platform = module.Platform(**{"toolchain": "trellis", **request.arguments})
    core, attached = _core(platform, request)
    writer = GenericPlatform if request.simulated else type(platform)
    output = writer.get_verilog(platform, core, name=CORE, special_overrides=attached.overrides)
    assert not output.data_files
    inouts = {output.ns.get_name(signal) for signal in attached.inouts}
    text = with_inouts(without_comments(output.main_source), inouts)
    Path(f"{CORE}.v").write_text(text)
    ports = {}
    for signal, _, _, (resource, _, part) in platform.constraint_manager.get_sig_constraints():
        gone = request.simulated and (resource.startswith(_PHYSICAL) or part == "dq")
        if resource.startswith(_RESOURCES) and not gone:
            name = output.ns.get_name(signal)
            way = "inout" if name in inouts else "input" if part in attached.inputs else "output"
            ports[name] = [len(signal), way]
    Path("pins.lpf").write_text("\n".join(pins(platform, output, _RESOURCES)) + "\n")
    Path(FACTS).write_text(json.dumps({"pads": ports}, indent=2) + "\n")


def _core(platform: Any, request: Request) -> tuple[Any, Attached]:
    """Put the controller, what starts the memory, and the AXI4 port together."""
    from litex.build.generic_platform import Pins
    from litex.gen import LiteXModule
    from migen import ClockDomain, If

    names = ("first", "second", "locked", "rst", "clk", "anew", "started")
    platform.add_extension([(f"core_{name}", 0, Pins(1)) for name in names])
    *given, clock, anew, started = (platform.request(f"core_{name}") for name in names)
    core = LiteXModule()
    core.cd_sys, core.cd_user = ClockDomain("sys"), ClockDomain("user")
    kind = importlib.import_module(f"carrysave.boards.litedram_{request.kind}")
    attached = kind.attach(core, platform, request, Clocks(*given))
    core.comb += [
        core.cd_user.clk.eq(core.cd_sys.clk),
        # Nothing is asked of a memory that is not started, and nothing refreshes it.
        core.cd_user.rst.eq(core.cd_sys.rst | ~attached.started),
        clock.eq(core.cd_sys.clk),
        anew.eq(core.cd_sys.rst),
        started.eq(attached.started),
    ]
    controller = _add_controller(core, platform, request, attached)
    core.comb += If(attached.started, controller.dfi.connect(attached.phy.dfi))
    return core, attached


def _add_controller(core: Any, platform: Any, request: Request, attached: Attached) -> Any:
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
        phy_settings=attached.phy.settings,
        geom_settings=attached.timings.geom_settings,
        timing_settings=attached.timings.timing_settings,
        clk_freq=request.clock_hz,
        controller_settings=ControllerSettings(),
    )
    inside.crossbar = LiteDRAMCrossbar(inside.controller.interface)
    axi_to_sdram(inside, axi, inside.crossbar.get_port(), 0)
    core.inside = ClockDomainsRenamer("user")(inside)
    outside = axi
    if attached.failed is not None:
        from carrysave.boards.litedram_axi import Refusal

        outside = AXIInterface(data_width=request.data_width, address_width=32)
        core.refusal = Refusal(outside, axi, attached.failed)
    core.comb += outside.connect_to_pads(platform.request("s_axi"), mode="slave")
    return inside.controller


if __name__ == "__main__":
    main(Path(sys.argv[1]))

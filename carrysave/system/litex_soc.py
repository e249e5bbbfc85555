"""Writes a system's Verilog: processor, SDRAM, a serial line and the co-processor, by LiteX.

A program of its own, ``python -m carrysave.system.litex_soc REQUEST``, as LiteX keeps state in its
modules, prints, and writes where it stands. What it writes beside the Verilog is what firmware and
build need to know.
"""

import importlib
import importlib.util
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from carrysave.boards.litex_parts import COMMANDS, axi_to_sdram, pins, with_inouts, without_comments

__all__ = ["FACTS", "PINS", "REGISTERS", "TOP", "Request", "main"]

TOP = "carrysave_soc"
FACTS = "soc.json"
PINS = "pins.lpf"
REGISTERS = 0x9000_0000
"""Address of the co-processor."""
_RAM = 0x2000
"""Bytes of block RAM for the firmware's data."""
_FIFO = 64
"""Bytes that the serial line keeps for the processor."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is to be written.

    Parameters
    ----------
    module : of the co-processor; ``MODULE_litex.py`` and ``MODULE.v`` are in the folder.
    data_width, address_width : of its memory bus, bits.
    window : bytes of its registers.
    platform, arguments : module of litex_boards.platforms, and of its Platform.
    memory, memory_bits, phase : LiteDRAM's name of SDRAM, bits of its bus, degrees its clock lags.
    ddr3 : facts of :class:`carrysave.boards.sdram.Ddr3`; None: the memory is SDR.
    clock_hz, baud : of the system, and of its serial line.
    cpu, bus : LiteX's names of the processor, and of the standard of its bus.
    rom : bytes of block RAM for the firmware's code.
    simulated : the pins are ``clk``, ``rst``, ``rx`` and ``tx``, and SDRAM is LiteDRAM's model.
    """

    module: str
    data_width: int
    address_width: int
    window: int
    platform: str
    arguments: dict[str, str]
    memory: str
    memory_bits: int
    phase: int
    ddr3: dict[str, Any] | None
    clock_hz: float
    baud: float
    cpu: str
    bus: str
    rom: int
    simulated: bool

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self)))


def main(path: Path) -> None:
    """Write ``carrysave_soc.v``, files for its memories, and :data:`FACTS` into the folder."""
    request = Request(**json.loads(path.read_text()))
    platform = _simulated_platform() if request.simulated else _platform(request)
    soc = _system(platform, request)
    soc.finalize()
    if not request.simulated:
        platform.finalize(soc)
    output = platform.get_verilog(soc, name=TOP)
    inouts = {output.ns.get_name(signal) for signal in soc.inouts}
    Path(f"{TOP}.v").write_text(with_inouts(without_comments(output.main_source), inouts))
    for name, content in output.data_files.items():
        Path(name).write_text(content)
    if not request.simulated:
        Path(PINS).write_text(_constraints(platform, output))
    facts = _facts(soc, platform, output, request)
    if request.simulated:
        facts["banks"] = _banks(soc, request, output)
    Path(FACTS).write_text(json.dumps(facts, indent=2) + "\n")


def _simulated_platform() -> Any:
    from litex.build.generic_platform import Pins
    from litex.build.sim import SimPlatform

    return SimPlatform("SIM", [(name, 0, Pins(1)) for name in ("clk", "rst", "rx", "tx")])


def _platform(request: Request) -> Any:
    module = importlib.import_module(f"litex_boards.platforms.{request.platform}")
    return module.Platform(**request.arguments, toolchain="trellis")


def _system(platform: Any, request: Request) -> Any:
    """Put the system together."""
    from litedram import modules
    from litex.soc.integration.soc import SoCRegion
    from litex.soc.integration.soc_core import SoCCore

    soc = SoCCore(
        platform,
        request.clock_hz,
        cpu_type=request.cpu,
        cpu_variant="standard",
        ident="",
        bus_standard=request.bus,
        bus_data_width=32,
        bus_bursting=request.bus == "wishbone",
        integrated_rom_size=request.rom,
        integrated_rom_init=[0] * (request.rom // 4),
        integrated_sram_size=_RAM,
        with_uart=False,
        with_timer=True,
        timer_uptime=True,  # VexRiscv's own counter cannot be read
    )
    soc.inouts = ()
    if request.cpu == "picorv32":
        # A line that is up until the driver has read why must not be kept after that.
        soc.cpu.cpu_params.update(p_LATCHED_IRQ=0)
    kind = importlib.import_module(f"carrysave.system.litex_{'ddr3' if request.ddr3 else 'sdr'}")
    memory = getattr(modules, request.memory)(request.clock_hz, kind.RATE)
    if request.simulated:
        soc.crg, line = _simulated(platform)
        words = _first_words(memory, request.memory_bits)
        soc.sdrphy = phy = kind.simulated(request, memory, words)
    else:
        soc.crg, line, phy = kind.placed(soc, platform, request)
    soc.add_uart("uart", uart_pads=line, baudrate=request.baud, fifo_depth=_FIFO)
    # No cache of LiteX's, which the co-processor would have to look into.
    soc.add_sdram("sdram", phy=phy, module=memory, l2_cache_size=0)

    spec = importlib.util.spec_from_file_location("block", f"{request.module}_litex.py")
    assert spec is not None
    assert spec.loader is not None
    block = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(block)
    soc.matmul = block.MatmulCoprocessor(platform, address_width=min(request.address_width, 32))
    region = SoCRegion(origin=REGISTERS, size=request.window, cached=False)
    soc.bus.add_slave("matmul", soc.matmul.bus, region)
    soc.irq.add("matmul")
    # Not by the bus, on which LiteX's bridges from AXI wait for each beat, but at SDRAM itself.
    port, main = soc.sdram.crossbar.get_port(), soc.bus.regions["main_ram"]
    axi_to_sdram(soc, soc.matmul.master, port, main.origin)
    return soc


def _simulated(platform: Any) -> tuple[Any, Any]:
    """Return clock and reset, and the serial line."""
    from litex.gen import LiteXModule
    from migen import ClockDomain, Record

    crg = LiteXModule()
    crg.rst, crg.cd_sys = None, ClockDomain("sys")
    crg.comb += [
        crg.cd_sys.clk.eq(platform.request("clk")),
        crg.cd_sys.rst.eq(platform.request("rst")),
    ]
    line = Record([("rx", 1), ("tx", 1)])
    line.rx, line.tx = platform.request("rx"), platform.request("tx")
    return crg, line


def _first_words(memory: Any, bits: int) -> list[int]:
    """Return words of row 0 that say their bank, so that each has a file, which is written anew."""
    return [bank for bank in range(memory.nbanks) for _ in range(memory.ncols * bits // 32)]


def _constraints(platform: Any, output: Any) -> str:
    """Return the constraints of all pins, as nextpnr takes them for ECP5."""
    lines = ["BLOCK RESETPATHS;", "BLOCK ASYNCPATHS;", *pins(platform, output)]
    mhz = 1e3 / platform.default_clk_period
    lines.append(f'FREQUENCY PORT "{platform.default_clk_name}" {mhz:g} MHZ;')
    return "\n".join(lines) + "\n"


def _facts(soc: Any, platform: Any, output: Any, request: Request) -> dict[str, Any]:
    """Return addresses, how software starts SDRAM, and the files that belong to the Verilog."""
    from litedram.init import get_sdram_phy_init_sequence
    from litex.soc.integration.export import get_csr_json

    known = json.loads(get_csr_json(soc.csr_regions, soc.constants, soc.mem_regions))
    settings = soc.sdram.controller.settings
    steps, _ = get_sdram_phy_init_sequence(settings.phy, settings.timing)
    return {
        "registers": {name: one["addr"] for name, one in known["csr_registers"].items()},
        "memories": {name: [one["base"], one["size"]] for name, one in known["memories"].items()},
        "interrupt": soc.irq.locs["matmul"],
        "sdram": [
            {"address": address, "bank": bank, "command": _command(command), "delay": delay}
            for _, address, bank, command, delay in ([] if request.ddr3 else steps)
        ],
        "sources": [str(source[0]) for source in platform.sources],
        "data": sorted(output.data_files),
        "rom": next(name for name in output.data_files if "rom" in name),
    }


def _banks(soc: Any, request: Request, output: Any) -> dict[str, Any]:
    """Return the files of the SDRAM's banks, in their order, and the size of rows and words."""
    settings = soc.sdram.controller.settings
    geometry, phy = settings.geom, settings.phy
    width = phy.dfi_databits * phy.nphases
    size = (1 << geometry.colbits) * request.memory_bits // width
    by_bank = {}
    for name, content in output.data_files.items():
        words = [int(word, 16) for word in content.split()]
        if len(words) == size and set(words) <= {words[0], 0}:
            by_bank[max(words) & 0xFFFFFFFF] = name
    assert sorted(by_bank) == list(range(1 << geometry.bankbits)), by_bank
    return {
        "files": [by_bank[bank] for bank in sorted(by_bank)],
        "columns": size,
        "width": width // 8,
        # LiteDRAM's model has room for bursts of half as many words as this PHY's.
        "every": 2 if request.ddr3 else 1,
    }


_CONTROLS = {
    "DFII_CONTROL_SEL": 1,
    "DFII_CONTROL_CKE": 2,
    "DFII_CONTROL_ODT": 4,
    "DFII_CONTROL_RESET_N": 8,
}
"""Bits of LiteDRAM's register, as its own C header has them."""


def _command(text: str) -> dict[str, Any]:
    """Return the register's value, and whether it is of the controller, not of a phase."""
    words = text.split("|")
    return {
        "control": words[0].startswith("DFII_CONTROL"),
        "value": sum((COMMANDS | _CONTROLS)[word] for word in words),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))

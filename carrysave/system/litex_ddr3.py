"""DDR3 of a system: it starts and is levelled by a machine, as for :mod:`carrysave.boards`.

Of the program :mod:`carrysave.system.litex_soc`. The firmware, which is not LiteX's, has nothing to
do with it: the system is in reset until the memory is ready, and for ever if a byte of it does not
answer.
"""

import importlib
from types import SimpleNamespace
from typing import Any

from litedram.phy import ECP5DDRPHY
from litedram.phy.dfi import Interface
from litedram.phy.model import SDRAMPHYModel
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from migen import ClockDomain, ClockDomainsRenamer, If, Signal

from carrysave.boards.litedram_attached import Clocks
from carrysave.boards.litedram_ddr3 import attach

__all__ = ["RATE", "placed", "simulated"]

RATE = "1:2"
"""Clocks of the controller and of the memory."""
_SLOW_HZ, _MARGIN = 24e6, 0.05
"""Clock by which the FPGA's delay line is started, and how far it may be off."""


def simulated(request: Any, memory: Any, words: list[int]) -> Any:
    """Return LiteDRAM's model of the memory, of the latencies that the PHY has; it is started.

    Parameters
    ----------
    memory : LiteDRAM's description.
    words : with which its banks begin.
    """
    module = importlib.import_module(f"litex_boards.platforms.{request.platform}")
    pads = module.Platform(**request.arguments, toolchain="trellis").request("ddram")
    settings = ECP5DDRPHY(pads, sys_clk_freq=request.clock_hz).settings
    return SDRAMPHYModel(memory, settings=settings, clk_freq=request.clock_hz, init=words)


def placed(soc: Any, platform: Any, request: Any) -> tuple[Any, Any, Any]:
    """Return the system's clock, its serial line, and the memory's PHY, once that is levelled.

    Machine, memory and PHY have a domain `phy`, which is the system's clock with another reset.
    """
    crg = LiteXModule()
    crg.rst, crg.cd_sys = Signal(name="crg_rst"), ClockDomain("sys")
    for name in ("edges", "slow"):
        setattr(crg, f"cd_{name}", ClockDomain(name, reset_less=True))
    crg.pll = pll = ECP5PLL()
    crg.comb += pll.reset.eq(crg.rst)
    period = platform.default_clk_period
    pll.register_clkin(platform.request(platform.default_clk_name), 1e9 / period)
    pll.create_clkout(crg.cd_edges, 2 * request.clock_hz, with_reset=False)
    pll.create_clkout(crg.cd_slow, _SLOW_HZ, margin=_MARGIN, with_reset=False)
    core = LiteXModule()
    core.cd_sys = ClockDomain("sys")
    clocks = Clocks(crg.cd_edges.clk, crg.cd_slow.clk, pll.locked, Signal())
    needed = {"memory": request.memory, "clock_hz": request.clock_hz, "simulated": False}
    attached = attach(core, platform, SimpleNamespace(**request.ddr3, **needed), clocks)
    clock, reset = core.cd_sys.clk, core.cd_sys.rst
    ready = attached.started & (attached.failed == 0)
    crg.comb += [crg.cd_sys.clk.eq(clock), crg.cd_sys.rst.eq(reset | ~ready)]
    phases = attached.phy.dfi.phases
    widths = len(phases[0].address), len(phases[0].bank)
    settings = attached.phy.settings
    dfi = Interface(*widths, settings.nranks, settings.dfi_databits, settings.nphases)
    # Behind what the machine drives, in the same module: the last one that drives has its way.
    core.comb += If(ready, dfi.connect(attached.phy.dfi))
    # Without a name: registers of the PHY are the machine's, and not on the processor's bus.
    soc.submodules += ClockDomainsRenamer({"sys": "phy"})(core)
    soc.inouts = attached.inouts
    if not any(name == "serial" for name, *_ in platform.constraint_manager.available):
        # OrangeCrab's is at pins that may be others' as well.
        platform.add_extension(importlib.import_module(type(platform).__module__).feather_serial)
    return crg, platform.request("serial"), SimpleNamespace(dfi=dfi, settings=settings)

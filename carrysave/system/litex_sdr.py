"""SDRAM of one data rate of a system, which the firmware starts.

Of the program :mod:`carrysave.system.litex_soc`.
"""

from typing import Any

from litedram.common import PhySettings, get_default_cl
from litedram.phy import GENSDRPHY
from litedram.phy.model import SDRAMPHYModel
from litex.build.io import DDROutput
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from migen import ClockDomain, ClockSignal, Signal

__all__ = ["RATE", "placed", "simulated"]

RATE = "1:1"
"""Clocks of the controller and of the memory."""


def simulated(request: Any, memory: Any, words: list[int]) -> Any:
    """Return LiteDRAM's model of the memory, of the latency that the PHY has.

    Parameters
    ----------
    memory : LiteDRAM's description.
    words : with which its banks begin.
    """
    latency = get_default_cl(memtype="SDR", tck=1 / request.clock_hz)
    settings = PhySettings(
        phytype="SDRAMPHYModel",
        memtype="SDR",
        databits=request.memory_bits,
        dfi_databits=request.memory_bits,
        nphases=1,
        rdphase=0,
        wrphase=0,
        cl=latency,
        read_latency=latency + 1,
        write_latency=0,
    )
    return SDRAMPHYModel(memory, settings=settings, clk_freq=request.clock_hz, init=words)


def placed(soc: Any, platform: Any, request: Any) -> tuple[Any, Any, Any]:
    """Return the PLL, the serial line, and the PHY of the board's SDRAM."""

    class Crg(LiteXModule):  # type: ignore[misc]
        def __init__(self) -> None:
            self.rst = Signal()
            self.cd_sys, self.cd_sys_ps = ClockDomain("sys"), ClockDomain("sys_ps")
            self.pll = ECP5PLL()
            self.comb += self.pll.reset.eq(self.rst)
            self.pll.register_clkin(
                platform.request(platform.default_clk_name), 1e9 / platform.default_clk_period
            )
            self.pll.create_clkout(self.cd_sys, request.clock_hz)
            self.pll.create_clkout(self.cd_sys_ps, request.clock_hz, phase=request.phase)
            late = ClockSignal("sys_ps")
            self.specials += DDROutput(1, 0, platform.request("sdram_clock"), late)

    crg = Crg()
    soc.sdrphy = phy = GENSDRPHY(platform.request("sdram"), request.clock_hz)
    return crg, platform.request("serial"), phy

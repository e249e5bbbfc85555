"""SDR SDRAM behind LiteDRAM: its clock, its PHY, and how it is started."""

from types import SimpleNamespace
from typing import Any

from litedram import modules
from litedram.init import get_sdram_phy_init_sequence
from litedram.phy import GENSDRPHY
from litex.build.generic_platform import Pins, Subsignal
from litex.build.gowin.common import Gw5ATristate
from litex.build.io import DDROutput, Tristate
from migen import ClockDomain, ClockSignal, Module

from carrysave.boards.litedram_attached import Attached, Clocks
from carrysave.boards.litedram_start import SPACE, play, steps_of

__all__ = ["POWER_UP", "attach"]

POWER_UP = 200e-6
"""Seconds that SDRAM must have a clock before its first command."""


def attach(core: Any, platform: Any, request: Any, clocks: Clocks) -> Attached:
    """Attach the memory; its pins have three ports each for data, if it is simulated."""
    pads = _packaged(platform, request) if request.packaged else platform.request("sdram")
    timings = getattr(modules, request.memory)(request.clock_hz, "1:1")
    core.comb += [core.cd_sys.clk.eq(clocks.first), core.cd_sys.rst.eq(clocks.reset)]
    # Gowin's tools take a buffer for each pin; of its own, Migen writes high impedance.
    overrides = {Tristate: Gw5ATristate} if request.packaged else {}
    if request.simulated:
        overrides = _split(platform, pads)
    elif request.packaged:
        core.specials += DDROutput(0, 1, pads.clk, ClockSignal("sys"))
    else:
        core.cd_shifted = ClockDomain("shifted", reset_less=True)
        core.comb += core.cd_shifted.clk.eq(clocks.second)
        pin = platform.request("sdram_clock")
        core.specials += DDROutput(1, 0, pin, ClockSignal("shifted"))
    core.phy = GENSDRPHY(pads, request.clock_hz)
    sequence, _ = get_sdram_phy_init_sequence(core.phy.settings, timings.timing_settings)
    power_up = 1 if request.simulated else round(POWER_UP * request.clock_hz)
    steps = steps_of(sequence, lambda text, delay: power_up if "CKE" in text else max(delay, SPACE))
    started = play(core, core.phy.dfi.phases, steps)
    return Attached(
        phy=core.phy,
        timings=timings,
        started=started,
        inouts=() if request.simulated else (pads.dq,),
        inputs=frozenset({"i"}),
        overrides=overrides,
    )


_PACKAGED = {
    **{part: f"O_sdram_{part}" for part in ("clk", "cke", "cs_n", "ras_n", "cas_n", "ba")},
    "we_n": "O_sdram_wen_n",
    "dm": "O_sdram_dqm",
    "a": "O_sdram_addr",
    "dq": "IO_sdram_dq",
}
"""Pins of memory in Gowin's packages, whose places its tools know by their names."""


def _packaged(platform: Any, request: Any) -> Any:
    """Return the pins of memory in the package; in simulation they are called as those of others.

    Its clock is that of the controller, half a period behind.
    """
    pads = {part: platform.request(name) for part, name in _PACKAGED.items()}
    if not request.simulated:
        return SimpleNamespace(**pads)
    parts = [Subsignal(part, Pins(len(pad))) for part, pad in pads.items()]
    platform.add_extension([("sdram", 0, *parts)])
    return platform.request("sdram")


def _split(platform: Any, pads: Any) -> dict[Any, Any]:
    """Give pins of data three ports each; return by what their buffers are replaced."""
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

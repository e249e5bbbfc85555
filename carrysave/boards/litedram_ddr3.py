"""DDR3 behind LiteDRAM's PHY for ECP5, two commands a cycle: its clocks, its start, its levelling.

Clocks are stopped and begun anew in step with the delay line of the FPGA, as the PHY asks for; the
memory is started by a list, and once the delay line has locked read delays are found by
:class:`ReadLevelling`.
"""

from collections.abc import Sequence
from typing import Any

from litedram import modules
from litedram.init import get_sdram_phy_init_sequence
from litedram.phy import ECP5DDRPHY
from litedram.phy.dfi import Interface
from litedram.phy.model import DFITimingsChecker
from litex.build.generic_platform import Pins, Subsignal
from litex.gen import LiteXModule
from migen import ClockDomain, If, Instance, Signal
from migen.genlib.cdc import MultiReg
from migen.genlib.resetsync import AsyncResetSynchronizer

from carrysave.boards.litedram_attached import Attached, Clocks
from carrysave.boards.litedram_start import IDLE, SPACE, Step, play, steps_of
from carrysave.boards.read_levelling import ReadLevelling

__all__ = ["attach", "start"]

_RESET, _UNRESET = 200e-6, 500e-6
"""Seconds in reset, and from that to the clock's enable; of the standard, at least."""
_ENABLED = 1e-6
"""Seconds from the clock's enable to the first command, at least; more than a refresh takes."""
_LOCK = 512
"""Cycles in which the memory's delay line locks, and its drivers are calibrated: twice as long."""
_SLOW_HZ, _LATE = 64e6, 100
"""Below this clock commands leave later, by steps of a delay; as LiteX has it for OrangeCrab."""
_MOVES = {
    "delay_reset": "rdly_dq_rst",
    "delay_next": "rdly_dq_inc",
    "slip_reset": "rdly_dq_bitslip_rst",
    "slip_next": "rdly_dq_bitslip",
}
"""Registers of the PHY that do so when they are written."""
_TIMES = ("tRP", "tRCD", "tWR", "tRFC", "tFAW", "tRAS", "tWTR", "tCCD", "tRRD", "tZQCS")


def attach(core: Any, platform: Any, request: Any, clocks: Clocks) -> Attached:
    """Attach the memory; if it is simulated, the PHY's side of DFI is at pins."""
    timings = getattr(modules, request.memory)(request.clock_hz, "1:2")
    pads = platform.request("ddram")
    late = _LATE if request.late_commands and request.clock_hz <= _SLOW_HZ else 0
    phy = ECP5DDRPHY(
        pads,
        sys_clk_freq=request.clock_hz,
        cmd_delay=late,
        dm_remapping={0: 1, 1: 0} if request.swapped_masks else {},
    )
    if request.termination:
        phy.settings.rtt_nom = request.termination
    if request.simulated:
        core.comb += [core.cd_sys.clk.eq(clocks.first), core.cd_sys.rst.eq(clocks.reset)]
        phy = _Simulated(phy)
    else:
        _give_clocks(core, phy, request, clocks)
        for name, value in (("vccio", -1), ("gnd", 0)):
            if hasattr(pads, name):
                core.comb += getattr(pads, name).eq(value)
    core.phy = phy
    steps = start(phy.settings, timings, 0.0 if request.simulated else request.clock_hz)
    taken = play(core, phy.dfi.phases, steps)
    locked = Signal()
    core.levelling = levelling = ReadLevelling(phy.dfi, phy.settings, taken & locked)
    core.comb += If(taken, levelling.dfi.connect(phy.dfi))
    inputs: frozenset[str] = frozenset()
    if request.simulated:
        inputs = _expose(core, platform, phy, levelling, locked)
        core.checker = _checker(phy, timings, request.clock_hz)
    else:
        _connect(core, phy, levelling)
        _wait(core, phy, locked)
    return Attached(
        phy=phy,
        timings=timings,
        started=levelling.done,
        failed=levelling.failed,
        inouts=() if request.simulated else (pads.dq, pads.dqs_p),
        inputs=inputs,
    )


def start(settings: Any, timings: Any, clock_hz: float) -> Sequence[Step]:
    """List how the memory is started.

    Parameters
    ----------
    clock_hz : of the controller; 0: what has no effect but to take time is left out.
    """
    sequence, _ = get_sdram_phy_init_sequence(settings, timings.timing_settings)

    def wait(text: str, delay: int) -> int:
        control = "DFII_CONTROL" in text
        seconds = (_ENABLED if "CKE" in text else _UNRESET) if control else 0
        return max(round(seconds * clock_hz), _LOCK if delay and not control else SPACE)

    first = IDLE._replace(wait=max(round(_RESET * clock_hz), SPACE))
    return first, *steps_of(sequence, wait)


def _give_clocks(core: Any, phy: Any, request: Any, clocks: Clocks) -> None:
    """Divide the PLL's clock, which is twice that of the controller."""
    core.cd_sys2x = ClockDomain("sys2x", reset_less=True)
    core.cd_init = ClockDomain("init")
    edges = clocks.first
    if request.bridged:
        # Its pins are on both sides of the chip.
        edges = Signal()
        core.specials += Instance("ECLKBRIDGECS", i_CLK0=clocks.first, i_SEL=0, o_ECSOUT=edges)
    core.comb += core.cd_init.clk.eq(clocks.second)
    core.specials += [
        Instance("ECLKSYNCB", i_ECLKI=edges, i_STOP=phy.init.stop, o_ECLKO=core.cd_sys2x.clk),
        Instance(
            "CLKDIVF",
            p_DIV="2.0",
            i_ALIGNWD=0,
            i_CLKI=core.cd_sys2x.clk,
            i_RST=phy.init.reset,
            o_CDIVX=core.cd_sys.clk,
        ),
        AsyncResetSynchronizer(core.cd_init, ~clocks.locked),
        AsyncResetSynchronizer(core.cd_sys, ~clocks.locked | phy.init.reset),
    ]


def _connect(core: Any, phy: Any, levelling: ReadLevelling) -> None:
    """Move the delays of the PHY, as software does by its registers."""
    registers = {register.name: register for register in phy.get_csrs()}
    core.comb += [
        registers["dly_sel"].storage.eq(levelling.select),
        registers["burstdet_clr"].re.eq(levelling.burst_clear),
        levelling.burst_seen.eq(registers["burstdet_seen"].status),
        *(registers[name].re.eq(getattr(levelling, move)) for move, name in _MOVES.items()),
    ]


def _wait(core: Any, phy: Any, locked: Any) -> None:
    """Wait for the FPGA's delay line, behind whose lock the PHY begins its clocks anew."""
    paused, done = Signal(), Signal()
    core.sync.init += [
        paused.eq(phy.init.pause),
        If(paused & ~phy.init.pause, done.eq(1)),
    ]
    core.specials += MultiReg(done, locked)


class _Simulated(LiteXModule):  # type: ignore[misc]
    """A PHY with the settings of another one, and nothing behind it."""

    def __init__(self, phy: Any) -> None:
        self.settings = phy.settings
        first = phy.dfi.phases[0]
        widths = len(first.address), len(first.bank), phy.settings.nranks, len(first.wrdata)
        self.dfi = Interface(*widths, phy.settings.nphases)


def _expose(
    core: Any, platform: Any, phy: Any, levelling: ReadLevelling, locked: Any
) -> frozenset[str]:
    """Make pins of DFI, and of the delays; return which are inputs."""
    ins = {"burst_seen": levelling.burst_seen, "locked": locked}
    outs = {name: getattr(levelling, name) for name in ("select", "burst_clear", *_MOVES)}
    for number, phase in enumerate(phy.dfi.phases):
        for name, _, _ in phase.layout:
            side = ins if name in ("rddata", "rddata_valid") else outs
            side[f"p{number}_{name}"] = getattr(phase, name)
    parts = [Subsignal(name, Pins(len(signal))) for name, signal in (ins | outs).items()]
    platform.add_extension([("dfi", 0, *parts)])
    pads = platform.request("dfi")
    core.comb += [getattr(pads, name).eq(signal) for name, signal in outs.items()]
    core.comb += [signal.eq(getattr(pads, name)) for name, signal in ins.items()]
    return frozenset(ins)


def _checker(phy: Any, timings: Any, clock_hz: float) -> Any:
    """Return LiteDRAM's check of the times between commands, which prints what it finds.

    It takes refreshes that come too early for late ones: these are left to the memory's model.
    """
    named = {name: timings.get(name) for name in _TIMES} | {"tREFI": None}
    named["tCK"] = 1e9 / clock_hz / phy.settings.nphases
    return DFITimingsChecker(
        phy.dfi, timings.nbanks, phy.settings.nphases, named, None, phy.settings.memtype
    )

"""Measures how often the nets of a synthesised design switch.

The design's Verilog is simulated on a stimulus, its results are checked, and what its ports do is
replayed on the netlist with the delays of its gates. Its outputs must be the same in every cycle
that counts.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from carrysave import cache
from carrysave.asic.power.delays import Delays
from carrysave.asic.power.flat_netlist import UNKNOWN, Flat, Ids
from carrysave.asic.power.replay import Switching, Trace, replay
from carrysave.asic.power.stimulus import WARM_UP, Stimulus, Sum
from carrysave.asic.sta import Conditions
from carrysave.sim import runner
from carrysave.sim.parameters import describe
from carrysave.sim.verilator import build
from hw.catalog import Design
from hw.emit import tools
from hw.emit.verilog import verilog_of

__all__ = ["Activity", "annotated", "assume", "key", "measure", "record"]

ASSUMED = 0.2  # transitions per cycle
_SEED = 1
_FORMAT = 1  # of what is cached; raise it with any change of it


@dataclass(frozen=True)
class Activity:
    """What the nets of a netlist do on a stimulus.

    Members
    -------
    annotated : share of the cells' pins whose nets were simulated.
    stimulus : in words.
    cycles : simulated cycles; 0 if the activity is assumed.
    products_per_cycle : multiply-accumulates per cycle; 0 if unknown.
    """

    flat: Flat
    switching: Switching
    annotated: float
    stimulus: str
    cycles: int
    products_per_cycle: float

    @property
    def glitches(self) -> float:
        """Share of the transitions that there would not be without delays."""
        every, functional = self.switching.density.sum(), self.switching.functional.sum()
        return float(1 - functional / every) if every else 0.0

    def describe(self) -> str:
        """Return the activity in words."""
        if not self.cycles:
            return self.stimulus
        return (
            f"{self.stimulus}, {self.cycles} cycles simulated with gate delays: "
            f"{self.switching.density[UNKNOWN + 1 :].mean():.3f} transitions per cycle and net, "
            f"{self.glitches:.0%} of them glitches, {self.annotated:.1%} of the pins annotated"
        )


def measure(design: Design, stimulus: str, flat: Flat, delays: Delays) -> Activity:
    """Measure the activity of a netlist of a design.

    Parameters
    ----------
    stimulus : as :meth:`carrysave.asic.power.stimulus.Stimulus.parse`.
    delays : of the netlist's cells, in ns.

    Raises
    ------
    ValueError
        If the design cannot take the stimulus.
    RuntimeError
        If the simulation fails; SimulationError if that of the netlist does.
    """
    trace = record(design, stimulus)
    switching, driven = replay(flat, trace, "clk", delays)
    return Activity(
        flat=flat,
        switching=switching,
        annotated=annotated(flat, driven),
        stimulus=Stimulus.parse(design, stimulus).describe(),
        cycles=trace.end - trace.first,
        products_per_cycle=trace.products / (trace.end - trace.first),
    )


def assume(flat: Flat, conditions: Conditions) -> Activity:
    """Return the activity that is assumed where none is measured."""
    clock = conditions.clock
    density, duty = np.full(flat.nets, ASSUMED), np.full(flat.nets, 0.5)
    density[: UNKNOWN + 1] = 0
    duty[: UNKNOWN + 1] = [0, 1, 0]
    if clock is not None:
        density[flat.port(clock)] = 2
    for name, module in flat.modules.items():
        for group in module.groups:
            if group.cell.gate:
                density[flat.nets_of[name][:, group.pins[group.cell.gate["out"]]]] = 2
            for pin in group.cell.asynchronous if conditions.ideal_resets else ():
                density[flat.nets_of[name][:, group.pins[pin]]] = 0
    for port in conditions.resets:
        density[flat.port(port)] = 0
    words = f"{ASSUMED:g} transitions per cycle assumed on every net, 2 on clocks"
    if conditions.ideal_resets:
        words += ", 0 on resets"
    return Activity(
        flat=flat,
        switching=Switching(density, density, duty),
        annotated=1.0,
        stimulus=words,
        cycles=0,
        products_per_cycle=0.0,
    )


def record(design: Design, stimulus: str) -> Trace:
    """Simulate a design's Verilog on a stimulus, everything flowing; cached by content."""
    sums, operands, parts = _job(design, stimulus)

    def make(folder: Path) -> None:
        with tools.workplace() as work:
            source = cache.write(work / f"{design.module}.v", verilog_of(design))
            cache.write(work / "run" / "operands.npz", operands)
            result = runner.run(
                build([source], design.module),
                "carrysave.sim.cocotb.job_record_ports",
                seed=_SEED,
                parameters=describe(design),
                directory=work / "run",
            )
            if not result.ok:
                log = cache.folder() / "activity" / f"{design.module}.log"
                cache.write(log, result.log.read_bytes())
                raise RuntimeError(f"no activity: {', '.join(result.failed)}; see {log}")
            with np.load(work / "run" / "ports.npz") as recorded:
                np.savez_compressed(folder / "ports.npz", **recorded)

    with np.load(cache.entry("activity", parts, make) / "ports.npz") as stored:
        ports = dict(stored)
    starts = ports.pop("starts")
    products = sum(a.shape[0] * a.shape[1] * b.shape[1] for a, b in sums[WARM_UP:-1])
    return Trace(ports=ports, first=int(starts[WARM_UP]), end=int(starts[-1]), products=products)


def key(design: Design, stimulus: str) -> str:
    """Return what a measured activity of a design depends on, the netlist apart."""
    return cache.digest(_job(design, stimulus)[2])


def _job(design: Design, stimulus: str) -> tuple[list[Sum], bytes, list[str | bytes]]:
    """Return the operands, the same packed, and all that the activity of the ports depends on."""
    chosen = Stimulus.parse(design, stimulus)
    sums = chosen.sums()
    packed = chosen.pack(sums)
    job = (files("carrysave.sim.cocotb") / "job_record_ports.py").read_bytes()
    parts: list[str | bytes] = [str(_FORMAT), verilog_of(design), design.key, job, packed]
    return sums, packed, parts


def annotated(flat: Flat, driven: Ids) -> float:
    """Return the share of the cells' pins whose nets were simulated."""
    known = np.zeros(flat.nets, bool)
    known[driven[driven < flat.nets]] = True
    pins = annotated = 0
    for name, module in flat.modules.items():
        for group in module.groups:
            for ids in group.pins.values():
                nets = flat.nets_of[name][:, ids]
                pins += nets.size
                annotated += int(known[nets].sum())
    return annotated / pins if pins else 0.0

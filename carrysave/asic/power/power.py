"""Power of a netlist from the activity of its nets and the energies of its cells.

OpenSTA 2.0 cannot do this: it overwrites the activities set on pins by its own propagation, takes
gated clocks as running, and counts the energy of a rise and of a fall for every transition, once
for each input that may have caused it. Transition times are OpenSTA's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carrysave import cache
from carrysave.asic import sta
from carrysave.asic.liberty.cells import Cell, Library
from carrysave.asic.liberty.energies import Energies, Internal, LibertyError, energies
from carrysave.asic.liberty.functions import compile_function
from carrysave.asic.mapping import Flow
from carrysave.asic.power import activity
from carrysave.asic.power.activity import Activity
from carrysave.asic.power.clock_tree import Wires, clock_tree_fj
from carrysave.asic.power.delays import timing
from carrysave.asic.power.flat_netlist import CellGroup, Flat, SimulationError, flatten
from carrysave.asic.power.replay import Switching
from hw.catalog import Design

__all__ = ["LEAST_ANNOTATED", "PARTS", "Energy", "cell_energy", "estimate", "report"]

Floats = NDArray[np.float64]
Slews = dict[str, Floats]  # per module and net, mean of rise and fall transition time in ns

_FORMAT = 7  # of what is cached; raise it with any change of it
LEAST_ANNOTATED = 0.95  # share of the pins below which there is no power

PARTS = ("flip_flops", "clock_pins", "clock_gates", "clock_tree", "logic", "glitches", "leakage")
"""Where energy goes: in flip-flops, with the nets that they drive; in their clock pins; in clock
gates, with their nets; in the clock tree of a placed netlist; in all else, with its nets; in what
there would not be without delays; in what leaks in a period."""


def report(
    netlist: Path,
    flow: Flow,
    *,
    period_ns: float,
    operations: float | None,
    design: Design | None,
    stimulus: str,
    wires: Wires | None = None,
) -> dict[str, Any]:
    """Return the power of a netlist, as :func:`estimate` does; cached by content.

    Parameters
    ----------
    flow : what the netlist is of, its library and conditions.
    operations : operations (2 per multiply-accumulate) per cycle, if they are known.
    design : what the netlist is of; None if that is no design of the catalogue.
    stimulus : see :meth:`carrysave.asic.power.stimulus.Stimulus.parse`; or ``assumed``; or
        ``none``: no power.
    wires : of the netlist, if it is placed.
    """
    if stimulus == "none":
        return {**_NOTHING, "notes": []}
    top, library, conditions = flow.design.top, flow.library, flow.conditions
    measured = design is not None and stimulus != "assumed"
    parts: list[str | bytes] = [str(_FORMAT), netlist.read_bytes(), library.key]
    parts += [str(library.load_ff), repr(conditions), repr(period_ns), repr(operations)]
    parts += [sta.version(), stimulus]
    parts += [activity.key(design, stimulus) if measured and design else ""]
    parts += [wires.spef, repr(wires.clock)] if wires else []

    def make() -> dict[str, Any]:
        flat = flatten(netlist, top, library)
        spef = wires.spef if wires else None
        times = timing(flat, netlist, library, conditions, period_ns, spef)
        try:
            if measured and design:
                rates = activity.measure(design, stimulus, flat, times.delays)
            else:
                rates = replace(
                    activity.assume(flat, conditions), products_per_cycle=(operations or 0.0) / 2
                )
            return estimate(
                rates,
                times.slews,
                library=library,
                period_ns=period_ns,
                wires=wires,
                clock=conditions.clock,
            )
        except (SimulationError, LibertyError) as error:
            return {**_NOTHING, "notes": [f"{error}: no power"]}

    return cache.remembered("power", parts, make)


_NOTHING: dict[str, Any] = dict.fromkeys((
    "power_mw",
    "pj_per_mac",
    "activity",
    "annotated",
    "glitches",
    "energy_parts",
))


def estimate(
    activity: Activity,
    slews: Slews,
    *,
    library: Library,
    period_ns: float,
    wires: Wires | None = None,
    clock: str | None = None,
) -> dict[str, Any]:
    """Return the power of a netlist at a period, and what it rests on.

    Parameters
    ----------
    slews : per module, transition time of its nets in ns.
    wires, clock : of a placed netlist, and the port that drives the trunk of its clock tree.

    Returns
    -------
    ``power_mw``, ``activity``, ``annotated``, ``pj_per_mac``, ``energy_parts`` as in a result of
    synthesis, ``glitches`` (share of the transitions; None where the activity is assumed) and
    ``notes``.
    """
    facts = {
        **_NOTHING,
        "activity": activity.describe(),
        "annotated": activity.annotated,
        "notes": [],
        "glitches": activity.glitches if activity.cycles else None,
    }
    if activity.annotated < LEAST_ANNOTATED:
        note = f"only {activity.annotated:.1%} of the pins have a known activity: no power"
        return {**facts, "notes": [note]}
    rates, flat = activity.switching, activity.flat
    energy = cell_energy(flat, rates, slews, library, wires.farads if wires else {})
    parts = energy.parts(period_ns)
    if wires is not None:
        parts["clock_tree"] = clock_tree_fj(wires.clock, flat, rates.density, library, clock)
    cycle = sum(parts.values())
    facts["power_mw"] = cycle / period_ns * 1e-3
    facts["energy_parts"] = {name: parts[name] * 1e-3 for name in PARTS}
    if activity.products_per_cycle:
        facts["pj_per_mac"] = cycle * 1e-3 / activity.products_per_cycle
    return facts


@dataclass(frozen=True)
class Energy:
    """Energy of all cells and of what they drive, fJ per cycle.

    Attributes
    ----------
    internal, switching : in the cells; in the nets that these drive. By part, of :data:`PARTS`.
    leakage_nw : power.
    """

    internal: Mapping[str, float]
    switching: Mapping[str, float]
    leakage_nw: float

    def parts(self, period_ns: float) -> dict[str, float]:
        """Return all of it by part, fJ in a cycle of this period."""
        both = {name: self.internal[name] + self.switching[name] for name in PARTS}
        return {**both, "leakage": self.leakage_nw * period_ns * 1e-3}


def cell_energy(
    flat: Flat,
    rates: Switching,
    slews: Slews,
    library: Library,
    farads: Mapping[tuple[str, str], float] = MappingProxyType({}),
) -> Energy:
    """Return what the cells of a netlist take.

    Parameters
    ----------
    rates : transitions of each net.
    slews : per module, transition time of its nets in ns.
    farads : of the wires that a cell's output drives, fF, by cell and pin.

    Raises
    ------
    LibertyError
        If the library's energies are not understood, or it states no voltage.
    """
    voltage = library.corner["voltage"]
    if not isinstance(voltage, float):
        raise LibertyError(f"{library.name} states no voltage")
    load = _loads(flat, library.load_ff, farads)
    kinds = sorted({group.cell.name for m in flat.modules.values() for group in m.groups})
    known = energies(library, kinds)
    internal, switching, leakage = dict.fromkeys(PARTS, 0.0), dict.fromkeys(PARTS, 0.0), 0.0
    # Of each net the share of its transitions that there would be without delays.
    needed = np.minimum(rates.functional / np.where(rates.density > 0, rates.density, 1), 1)
    for name, module in flat.modules.items():
        for group in module.groups:
            nets = {pin: flat.nets_of[name][:, ids] for pin, ids in group.pins.items()}
            density = {pin: rates.density[net] for pin, net in nets.items()}
            ones = {pin: rates.duty[net] for pin, net in nets.items()}
            own_slews = {pin: slews[name][ids] for pin, ids in group.pins.items()}
            loads = {pin.name: load[nets[pin.name]] for pin in group.cell.outputs}
            inside = _internal(known[group.cell.name], group, density, ones, own_slews, loads)
            driven = {
                pin: 0.5 * load * voltage * voltage * density[pin] for pin, load in loads.items()
            }
            for total, parts in ((internal, inside), (switching, driven)):
                for pin, energy in parts.items():
                    useful = needed[nets[pin]] * energy
                    total[_part(group.cell, pin)] += float(useful.sum())
                    total["glitches"] += float((energy - useful).sum())
            leakage += _leakage(known[group.cell.name], group.cell, ones)
    return Energy(internal, switching, leakage)


def _part(cell: Cell, pin: str) -> str:
    """Name the part that the energy of a cell's pin belongs to."""
    if cell.gate:
        return "clock_gates"
    if not cell.sequential:
        return "logic"
    clocks = {each.name for each in cell.inputs if each.clock}
    if cell.register:
        clocks |= set(re.findall(r"[A-Za-z_]\w*", cell.register.clocked_on))
    return "clock_pins" if pin in clocks else "flip_flops"


def _loads(flat: Flat, load_ff: float, farads: Mapping[tuple[str, str], float]) -> Floats:
    load = np.zeros(flat.nets)
    for name, module in flat.modules.items() if farads else ():
        for group in module.groups:
            for pin in group.cell.outputs:
                wires = [farads.get((cell, pin.name), 0.0) for cell in group.names]
                load[flat.nets_of[name][0, group.pins[pin.name]]] += wires
    for name, module in flat.modules.items():
        for group in module.groups:
            for pin in group.cell.inputs:
                np.add.at(load, flat.nets_of[name][:, group.pins[pin.name]], pin.capacitance)
    for port, (direction, _) in flat.modules[flat.top].ports.items():
        if direction == "output":
            np.add.at(load, flat.port(port), load_ff)
    return load


def _internal(
    known: Energies,
    group: CellGroup,
    rates: dict[str, Floats],
    ones: dict[str, Floats],
    slews: dict[str, Floats],
    loads: dict[str, Floats],
) -> dict[str, Floats]:
    """Return the internal energy of a group of cells per cycle, fJ, by pin.

    An output's transition is due to its inputs in proportion to how often each switches while the
    others let it through; an input's own energy is by the states in which it switches.
    """
    energies: dict[str, Floats] = {}
    for pin, rate in rates.items():
        parts: list[tuple[Internal, Floats]] = []
        every = [entry for entry in known.internal if entry.pin == pin]
        for supply in {entry.supply for entry in every}:
            entries = [entry for entry in every if entry.supply == supply]
            weights = [_weight(entry, entries, group.cell, rates, ones) for entry in entries]
            if pin in loads:
                weights = _shares(weights)
            parts += zip(entries, weights, strict=True)
        energies[pin] = np.zeros(rate.shape)
        for entry, weight in parts:
            slew = np.broadcast_to(slews.get(entry.related or pin, np.zeros(1)), rate.shape)
            load = loads.get(pin, np.zeros(rate.shape))
            energies[pin] += weight * entry.energy(slew, load) * rate
    return energies


def _shares(weights: list[Floats]) -> list[Floats]:
    """Scale weights to a sum of 1, even ones where all are 0."""
    whole = np.sum(weights, axis=0)
    even = whole <= 0
    return [
        np.where(even, 1 / len(weights), weight / np.where(even, 1, whole)) for weight in weights
    ]


def _weight(
    entry: Internal,
    entries: list[Internal],
    cell: Cell,
    rates: dict[str, Floats],
    ones: dict[str, Floats],
) -> Floats:
    if entry.related is None:
        if entry.when is not None:
            return _probability(entry.when, cell, ones)
        others = [e.when for e in entries if e.when is not None and e.related is None]
        return 1.0 - sum(
            (_probability(when, cell, ones) for when in others), np.zeros(rates[entry.pin].shape)
        )
    rate = rates.get(entry.related, np.zeros(rates[entry.pin].shape))
    if entry.when is not None:
        return rate * _probability(entry.when, cell, ones)
    return rate * _sensitivity(cell, entry.pin, entry.related, ones)


def _probability(when: str, cell: Cell, ones: dict[str, Floats]) -> Floats:
    """Return how likely a condition holds, were the pins independent."""
    some = next(iter(ones.values()))
    names = sorted(set(re.findall(r"[A-Za-z_]\w*", when)))
    states = {}
    if cell.register:
        for pin in cell.outputs:
            states[pin.function or ""] = ones[pin.name]
        if cell.register.inverse in states and cell.register.state not in states:
            states[cell.register.state] = 1 - states[cell.register.inverse]
        if cell.register.state in states:
            states.setdefault(cell.register.inverse, 1 - states[cell.register.state])
    chances = [ones[n] if n in ones else states.get(n, np.full(some.shape, 0.5)) for n in names]
    evaluate = compile_function(when, frozenset(names))
    if evaluate is None or len(names) > 8:
        return np.full(some.shape, 0.5)
    total = np.zeros(some.shape)
    for point in range(1 << len(names)):
        values = {name: point >> i & 1 for i, name in enumerate(names)}
        if evaluate(values):
            parts = [c if values[n] else 1 - c for n, c in zip(names, chances, strict=True)]
            total += np.prod(parts, axis=0) if parts else 1.0
    return total


def _sensitivity(cell: Cell, pin: str, related: str, ones: dict[str, Floats]) -> Floats:
    """Return how likely an output follows an input, were the inputs independent."""
    some = next(iter(ones.values()))
    table = cell.table(next(p for p in cell.outputs if p.name == pin))
    names = [p.name for p in cell.inputs]
    if table is None or related not in names:
        return np.ones(some.shape)
    bit = 1 << names.index(related)
    total = np.zeros(some.shape)
    for point in range(len(table)):
        if not point & bit and table[point] != table[point | bit]:
            parts = [
                ones[n] if point >> i & 1 else 1 - ones[n]
                for i, n in enumerate(names)
                if n != related
            ]
            total += np.prod(parts, axis=0) if parts else 1.0
    return total


def _leakage(known: Energies, cell: Cell, ones: dict[str, Floats]) -> float:
    """Return the leakage of a group of cells, nW."""
    states = [(when, value) for when, value in known.leakage if when is not None]
    if not states:
        return known.leakage[0][1] * next(iter(ones.values())).size
    chances = [_probability(when, cell, ones) for when, _ in states]
    whole = np.sum(chances, axis=0)
    total = sum(chance * value for chance, (_, value) in zip(chances, states, strict=True))
    rest = next((value for when, value in known.leakage if when is None), None)
    if rest is not None:
        return float((total + (1 - whole) * rest).sum())
    return float((total / np.where(whole > 0, whole, 1)).sum())

"""Places a mapped netlist, repairs it with its wires in view, and times it with them.

The order is that of OpenROAD's flow: place, buffer for load, size for slack, place anew with short
wires on the longest paths, size, take out buffers that are of no use there, legal again, a clock
tree, buffers behind ports for hold, then timing with the capacitance and resistance of every net.
Places are rough until all is placed anew for the last time. There is no router: a net is the
shortest tree of Manhattan wires through the middles of its cells, and wires do not disturb each
other.
"""

import copy
import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.asic.liberty.cells import Library
from carrysave.asic.placement.buffers import Limits, add_buffers, bypass, isolate
from carrysave.asic.placement.clock_timing import balance, delay_early
from carrysave.asic.placement.clock_tree import grow
from carrysave.asic.placement.die import Die
from carrysave.asic.placement.floorplan import Floorplan
from carrysave.asic.placement.hold import delay_ports
from carrysave.asic.placement.netlist import Netlist
from carrysave.asic.placement.placer import PlacementError
from carrysave.asic.placement.pulls import pulls
from carrysave.asic.placement.resize import PRICE, Product, resize
from carrysave.asic.placement.sizes import Sizes
from carrysave.asic.placement.technology import Technology
from carrysave.asic.placement.timing import Timing
from carrysave.asic.placement.written import timing_of, write
from carrysave.asic.power.clock_tree import Branch, Wires
from carrysave.asic.sta import Conditions
from carrysave.errors import needs

__all__ = ["Placed", "place"]

_PLAN = Floorplan()
_LIMITS = Limits(pins=20, wire=600.0, load=150.0)
_ROUNDS, _ANEW, _LAST = 30, (20, 40), (30, 20, 20, 20, 20, 20, 20)
"""Rounds of sizing: before, after each time that all is placed anew, and when places are legal; of
these the one of the least period is kept."""
_SPREADS, _TOGETHER = (0.85, 0.8), 9000
"""Shares of the die that cells take while they are spread, of which each makes another placement:
so many tries for a netlist of few cells, as far as they have so many cells together."""
_BYPASSES, _AFTER = 3, 10
"""Times that buffers are taken out of long paths, at most, and rounds of sizing after each."""
_FORMAT = 19  # of what is cached; raise it with any change of it


@dataclass(frozen=True)
class Placed:
    """A netlist on a die.

    Attributes
    ----------
    netlist : file.
    places : JSON file; its ``cells`` have of each the kind, the modules that it was in, x and y of
        its middle (um), and its slack at the least period (ns).
    logic : file; the same without the buffers of the clock tree, which ``wires`` has.
    spef : of all nets, those of the clock, too.
    wires : for power.
    latency : of the clock to the flip-flops, in the mean, ns.
    facts : ``area_um2`` of the cells, ``utilisation`` and ``wire_um`` are with the clock tree;
        ``die_um``; ``rows``, ``tap_cells``; ``buffers``, ``clock_buffers``, ``hold_buffers``;
        ``clock_skew_ns`` of all flip-flops; ``congestion`` (um of wire by um2 of die, in the mean
        and in the fullest of squares of 20 um); ``cell_areas`` of the kinds used (um2).
    """

    netlist: Path
    places: Path
    logic: Path
    spef: str
    wires: Wires
    latency: float
    facts: dict[str, Any]


def place(
    netlist: Path,
    *,
    top: str,
    library: Library,
    conditions: Conditions,
    technology: Technology,
    plan: Floorplan = _PLAN,
    say: Callable[[str], None] = lambda text: None,
) -> Placed:
    """Place and repair a netlist; cached by content.

    Parameters
    ----------
    plan : how large the die is.

    Raises
    ------
    ModuleNotFoundError
        If Coloquinte is not installed.
    ValueError
        If the netlist has a loop of gates, or no cells.
    ArgumentError
        If cells do not fit on the die.
    PlacementError, StaError
        If the placer, or OpenSTA, fails.
    """
    needs("coloquinte")
    parts: list[str | bytes] = [
        str(_FORMAT),
        netlist.read_bytes(),
        library.key,
        str(library.load_ff),
        repr(conditions),
        repr(technology),
        repr(plan),
        version("coloquinte"),
    ]

    def make(folder: Path) -> None:
        mapped = Netlist.read(netlist, top, library)
        write(*_best(mapped, conditions, technology, plan, say), folder)

    folder = cache.entry("synth/placed", parts, make)
    places = json.loads((folder / "places.json").read_text())
    wires = Wires(
        (folder / "wires.spef").read_text(),
        {(cell, pin): farads for cell, pin, farads in places["wires"]},
        [Branch(*branch) for branch in places["clock"]],
    )
    return Placed(
        folder / "netlist.v",
        folder / "places.json",
        folder / "logic.v",
        (folder / "all.spef").read_text(),
        wires,
        places["latency"],
        places["facts"],
    )


def _best(
    netlist: Netlist,
    conditions: Conditions,
    technology: Technology,
    plan: Floorplan,
    say: Callable[[str], None],
) -> tuple[Die, Sizes]:
    """Place a netlist; a small one several times, for the least period times area to a power."""
    mapped = netlist.area
    if not mapped:
        raise ValueError(f"{netlist.top} must have cells to place, not only wires")
    netlist.remove_buffers(netlist.clock_nets(conditions.clock))
    tries = list[tuple[float, Die, Sizes]]()
    for spread in _SPREADS[: max(_TOGETHER // len(netlist.cells), 1)]:
        die = Die.of(copy.deepcopy(netlist), conditions, technology, plan, mapped)
        die.spread = spread
        try:
            sizes, period = _repaired(die, say)
        except PlacementError:
            if tries:
                continue
            raise
        tries.append((Product(PRICE).cost(period, die.netlist.area), die, sizes))
    _, die, sizes = min(tries, key=lambda each: each[0])
    if added := delay_ports(die, sizes):
        say(f"put {added} buffers behind ports, for hold")
    return die, sizes


def _repaired(die: Die, say: Callable[[str], None]) -> tuple[Sizes, float]:
    """Place a die's netlist; buffers and sizes are those that its wires ask for."""
    netlist, library = die.netlist, die.netlist.library
    say(f"place {len(netlist.cells):,} cells")
    die.place(rough=True)
    add_buffers(die, _LIMITS)
    kinds = {cell.kind for cell in netlist.cells.values()} | {library.driver.name}
    sizes = Sizes(library, kinds)
    least, best = math.inf, (die.places, die.taps, [""])

    def sized(rounds: int, keep: bool = False) -> Timing:
        nonlocal least, best
        timing = timing_of(die, sizes, list(die.wires()))
        period = timing.times().period
        if keep and period < least:
            kinds_now = [cell.kind for cell in netlist.cells.values()]
            least, best = period, (die.places, die.taps, kinds_now)
        say(f"size with wires, {period:.3f} ns")
        resize(timing, rounds)
        timing.adopt()
        return timing

    timing = sized(_ROUNDS)
    pulled = pulls(die, timing)
    isolate(die, timing)
    for turn, rounds in enumerate(_ANEW, 1):
        say("place for time")
        die.place(pulled, anew=True, rough=turn < len(_ANEW))
        timing = sized(rounds)
        pulled = sorted((Counter(pulled) | Counter(pulls(die, timing))).elements())
    for _ in range(_BYPASSES):
        gone = bypass(die, timing)
        if not gone:
            break
        say(f"take out {gone:,} buffers")
        timing = sized(_AFTER)
    pulled = [pull for pull in pulled if all(end in netlist.cells for end in pull)]
    say(f"put {grow(die)} buffers into the clock, and make legal")
    delay_early(die, sizes)
    die.place(pulled)
    for rounds in _LAST:
        timing = sized(rounds, keep=True)
        balance(die, sizes)
        die.place(pulls(die, timing))
    sized(0, keep=True)
    die.places, die.taps, chosen = best
    for cell, kind in zip(netlist.cells.values(), chosen, strict=True):
        cell.kind = kind
    return sizes, least

"""Places the best points of a search, times them with wires, and records the best of these."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave.asic import propagated
from carrysave.asic.placement.floorplan import Floorplan
from carrysave.asic.placement.flow import Placed, place
from carrysave.asic.placement.technology import Technology, rows_and_sites
from carrysave.asic.result import rates_of
from carrysave.asic.search import Search

__all__ = ["FINALISTS", "Timed", "best", "record"]

FINALISTS = 4
"""Points of a sweep that are placed, each of another recipe, hierarchy or way to be built."""


@dataclass(frozen=True)
class Timed:
    """A point of a search, placed, and what :func:`carrysave.asic.propagated.analyse` found."""

    point: dict[str, Any]
    placed: Placed
    timing: dict[str, Any]


def best(
    search: Search,
    finalists: int,
    technology: Technology,
    plan: Floorplan,
    say: Callable[[str], None],
) -> Timed:
    """Place the best points of a search; return the best of them with wires.

    Raises
    ------
    ArgumentError
        If cells do not fit on a die.
    PlacementError
        If the placer fails.
    StaError
        If OpenSTA fails.
    """
    kinds: dict[tuple[int, str], dict[str, Any]] = {}
    for point in sorted(search.points, key=search.cost):
        kinds.setdefault((point["variant"], point["recipe"]), point)
    timed = []
    for point in list(kinds.values())[:finalists]:
        flow = search.variants[point["variant"]].flow
        placed = place(
            Path(search.netlist(point)),
            top=flow.design.top,
            library=flow.library,
            conditions=flow.conditions,
            technology=technology,
            plan=plan,
            say=say,
        )
        text = placed.netlist.read_text()
        timings = [
            propagated.analyse(
                text,
                top=flow.design.top,
                library=corner,
                conditions=flow.conditions,
                start_ns=point["period_ns"],
                wires=placed.spef,
                latency_ns=placed.latency,
            )
            for corner in (flow.library, *flow.library.corners)
        ]
        timing = max(timings, key=lambda each: each["period_ns"])
        timed.append(Timed(point, placed, timing))
        say(
            f"placed {point['recipe']}: {placed.facts['area_um2']:.0f} um2,"
            f" {timing['period_ns']:.3f} ns"
        )
    return min(
        timed,
        key=lambda each: search.worth(each.timing["period_ns"], each.placed.facts["area_um2"]),
    )


def record(
    timed: Timed,
    technology: Technology,
    plan: Floorplan,
    operations: float | None,
    power: dict[str, Any],
) -> dict[str, Any]:
    """Return what a result has under ``placed``."""
    facts, period = timed.placed.facts, timed.timing["period_ns"]
    wide, high = facts["die_um"]
    rates = rates_of(operations, period, facts["area_um2"], power["pj_per_mac"])
    on_die = rates_of(operations, period, wide * high, None)
    return {
        "period_ns": period,
        "fmax_mhz": 1e3 / period,
        **facts,
        "die_um2": wide * high,
        "power_mw": power["power_mw"],
        "pj_per_mac": power["pj_per_mac"],
        "glitches": power["glitches"],
        "energy_parts": power["energy_parts"],
        **rates,
        "gops_per_mm2_die": on_die["gops_per_mm2"],
        "critical_path": timed.timing["critical_path"],
        "technology": technology.describe(),
        "utilisation_mapped": plan.utilisation,
        "rows_and_sites": rows_and_sites(technology),
        "conditions": (
            "global and detailed placement, buffers and sizes by wires; a net is the shortest tree"
            " of Manhattan wires between the middles of its cells; no routing, no coupling; the"
            " clock goes through the buffers of its tree, in timing, area, wire and energy;"
            f" {propagated.conditions_of_ports(timed.placed.latency)}"
        ),
        "clock": timed.timing["clock"],
        "notes": [*timed.timing["notes"], *power["notes"]],
        "netlist": str(timed.placed.netlist),
        "places": str(timed.placed.places),
    }

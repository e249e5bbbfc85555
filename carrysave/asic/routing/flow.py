"""Routes a placed netlist, checks what came of it, and times it with its own wires."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from carrysave import cache
from carrysave.asic import propagated
from carrysave.asic.liberty.cells import Library
from carrysave.asic.mapping import Flow
from carrysave.asic.placement.flow import Placed
from carrysave.asic.placement.netlist import Netlist, Sink
from carrysave.asic.placement.technology import Technology
from carrysave.asic.result import rates_of
from carrysave.asic.routing.abstract import write_abstract
from carrysave.asic.routing.antenna import check_antennas
from carrysave.asic.routing.check import check
from carrysave.asic.routing.def_file import write_def
from carrysave.asic.routing.lef import read_routing_lef
from carrysave.asic.routing.lvs import compare
from carrysave.asic.routing.problem import Problem, problem_of
from carrysave.asic.routing.router import Route, route
from carrysave.asic.routing.shapes import shapes_of
from carrysave.asic.routing.wires import spef, wiring_of
from carrysave.asic.sta import Conditions, version

__all__ = ["Routed", "record", "route_placed", "sdc"]

_FORMAT = 3  # of what is cached; raise it with any change of it
_RULES = ("open", "short", "track", "spacing", "area", "antenna", "lvs")
_SHOWN = 20


@dataclass(frozen=True)
class Routed:
    """A routed netlist.

    Attributes
    ----------
    folder : has ``netlist.v``, ``routed.def``, ``routed.spef``, ``routed.lef``, ``shapes.json``.
    facts : ``wire_um``, ``vias``, ``nets``, ``unrouted`` (names of nets that could not be routed),
        ``violations`` by rule, and ``where``: the first of these.
    """

    folder: Path
    facts: dict[str, Any]


def route_placed(
    placed: Placed,
    lef: Sequence[Path],
    *,
    top: str,
    library: Library,
    technology: Technology,
    say: Callable[[str], None] = lambda text: None,
) -> Routed:
    """Route a placed netlist; cached by content.

    Nets that cannot be routed are named in what is returned; they have no wires in the files.

    Raises
    ------
    ArgumentError
        If LEF lacks what routing needs, or does not agree with Liberty.
    RuntimeError
        If the router cannot be built.
    """
    parts: list[str | bytes] = [
        str(_FORMAT),
        Path(__file__).with_name("router.cpp").read_bytes(),
        placed.netlist.read_bytes(),
        placed.places.read_bytes(),
        library.key,
        repr(technology),
        *(path.read_bytes() for path in lef),
    ]

    def make(folder: Path) -> None:
        netlist = Netlist.read(placed.netlist, top, library, named=True)
        places = json.loads(placed.places.read_text())
        problem = problem_of(netlist, places, read_routing_lef(lef), technology.tap)
        say(f"route {len(problem.nets):,} nets")
        routes = route(problem, harm=partial(_harm, problem, technology))
        _write(problem, routes, technology, folder)

    folder = cache.entry("synth/routed", parts, make)
    facts = json.loads((folder / "facts.json").read_text())
    broken = sum(facts["violations"].values())
    lost = len(facts["unrouted"])
    say(f"routed {facts['nets'] - lost:,} of {facts['nets']:,} nets, {broken} violations")
    return Routed(folder, facts)


def _harm(
    problem: Problem, technology: Technology, routes: dict[int, Route]
) -> list[tuple[int, str]]:
    """Return nets of some routes with antennas, and the layers of these."""
    names = problem.netlist.net_names()
    numbers = {names[net]: net for net in routes}
    wiring = {net: wiring_of(one, problem.grid) for net, one in routes.items()}
    text = write_def(problem, routes, wiring, names, technology.site_width)
    return [(numbers[one.net], one.layer) for one in check_antennas(text, problem.lef)]


def _write(
    problem: Problem, routes: dict[int, Route], technology: Technology, folder: Path
) -> None:
    """Write netlist, DEF and SPEF, and the facts, into a folder."""
    netlist, names = problem.netlist, problem.netlist.net_names()
    wiring = {net: wiring_of(one, problem.grid) for net, one in routes.items()}
    text = write_def(problem, routes, wiring, names, technology.site_width)
    violations = [
        *check(text, problem.lef),
        *check_antennas(text, problem.lef),
        *compare(text, problem.lef, netlist),
    ]
    words = {
        names[net]: ([_word(netlist, pin.sink) for pin in one.pins], one)
        for net, one in routes.items()
        if one.routed
    }
    netlist.write(folder / "netlist.v")
    (folder / "routed.def").write_text(text)
    wires = spef(netlist.top, words, problem.grid, technology.capacitance)
    (folder / "routed.spef").write_text(wires)
    shapes = shapes_of(problem, routes, wiring)
    (folder / "shapes.json").write_text(json.dumps(shapes))
    (folder / "routed.lef").write_text(write_abstract(shapes))
    unrouted = {names[net] for net, one in routes.items() if not one.routed}
    broken = [
        one
        for one in violations
        if not (one.rule in ("open", "lvs") and one.net in unrouted and not one.other)
    ]
    rules = Counter(one.rule for one in broken)
    facts = {
        "nets": len(routes),
        "unrouted": sorted(unrouted),
        "wire_um": sum(wiring[net].length for net, one in routes.items() if one.routed),
        "vias": sum(len(wiring[net].vias) for net, one in routes.items() if one.routed),
        "layers": [one.layer.name for one in problem.grid.layers],
        "straps": len(problem.straps),
        "violations": {rule: rules[rule] for rule in _RULES},
        "where": [asdict(one) for one in broken[:_SHOWN]],
    }
    (folder / "facts.json").write_text(json.dumps(facts))


def _word(netlist: Netlist, sink: Sink) -> str:
    if sink.cell:
        return f"{sink.cell}:{sink.pin}"
    bits = netlist.ports[sink.pin][1]
    return f"{sink.pin}[{sink.bit}]" if len(bits) > 1 else sink.pin


def sdc(conditions: Conditions, library: Library, period_ns: float, latency_ns: float) -> str:
    """Return the constraints that a netlist was timed with, as SDC, in the library's units."""
    unit = library.time_unit / 1e-9
    if conditions.clock is None:
        clocks = [f"create_clock -name ports -period {period_ns / unit:.6g}"]
        inputs = "[all_inputs]"
    else:
        clocks = [
            f"create_clock -name clock -period {period_ns / unit:.6g}"
            f" [get_ports {{{conditions.clock}}}]",
            "set_propagated_clock [get_clocks clock]",
            f"create_clock -name ports -period {period_ns / unit:.6g}",
            f"set_clock_latency {latency_ns / unit:.6g} [get_clocks ports]",
        ]
        inputs = f"[remove_from_collection [all_inputs] [get_ports {{{conditions.clock}}}]]"
    return "\n".join([
        *clocks,
        f"set_input_delay 0 -clock ports {inputs}",
        f"set_driving_cell -lib_cell {library.driver.name} {inputs}",
        "set_output_delay 0 -clock ports [all_outputs]",
        f"set_load {library.load_ff * 1e-15 / library.capacitance_unit:.6g} [all_outputs]",
        *(f"set_false_path -from [get_ports {{{reset}}}]" for reset in conditions.resets),
        "",
    ])


def _write_sdc(text: str, folder: Path) -> None:
    (folder / "routed.sdc").write_text(text)


def record(
    routed: Routed,
    placed: Placed,
    *,
    flow: Flow,
    operations: float | None,
    start_ns: float,
) -> dict[str, Any]:
    """Return what a result has under ``routed``; without times if a net could not be routed."""
    facts, folder, library = routed.facts, routed.folder, flow.library
    area = placed.facts["area_um2"]
    notes = [f"nets without a way: {', '.join(facts['unrouted'])}: partial, and not timed"]
    timing: dict[str, Any] = {"period_ns": None, "clock": None, "critical_path": [], "notes": notes}
    if not facts["unrouted"]:
        corners = [
            propagated.analyse(
                (folder / "netlist.v").read_text(),
                top=flow.design.top,
                library=corner,
                conditions=flow.conditions,
                start_ns=start_ns,
                wires=(folder / "routed.spef").read_text(),
                latency_ns=placed.latency,
            )
            for corner in (library, *library.corners)
        ]
        timing = max(corners, key=lambda each: each["period_ns"])
    period = timing["period_ns"]
    text = sdc(flow.conditions, library, period or start_ns, placed.latency)
    # Not beside the others: what is in the cache must stay as it was made.
    constraints = cache.entry("synth/sdc", [text], partial(_write_sdc, text))
    rates = rates_of(operations, period, area, None)
    return {
        "complete": not facts["unrouted"] and not any(facts["violations"].values()),
        "period_ns": period,
        "fmax_mhz": 1e3 / period if period else None,
        "area_um2": area,
        **facts,
        "clock": timing["clock"],
        "gops": rates["gops"],
        "gops_per_mm2": rates["gops_per_mm2"],
        "critical_path": timing["critical_path"],
        "conditions": (
            "wires on tracks of LEF, with the resistance of layers and vias; capacitance by um,"
            " the same on all layers; checked: opens, shorts, tracks, spacing, area of metal,"
            " antennas by layer, layout against netlist; not: wide metal, cuts, density, wells."
            " No coupling between wires"
        ),
        "opensta": version(),
        "notes": timing["notes"],
        "shapes": str(folder / "shapes.json"),
        "files": {
            "netlist": str(folder / "netlist.v"),
            "def": str(folder / "routed.def"),
            "spef": str(folder / "routed.spef"),
            "sdc": str(constraints / "routed.sdc"),
            "lef": str(folder / "routed.lef"),
        },
    }

"""Transition times and delays in a netlist, as OpenSTA finds them."""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from carrysave.asic import sta
from carrysave.asic.liberty.cells import Library
from carrysave.asic.power.flat_netlist import UNKNOWN, CellGroup, Flat

__all__ = ["Delays", "Timing", "timing"]

DELAYS_WHOLE = 1_500_000
"""Cells up to which a netlist is asked for as a whole: 1.3 million take a minute and 1.6 GB. Of
modules by themselves, cells behind those that they hold have no delays, and there is no power."""

Floats = NDArray[np.float64]
Delays = dict[tuple[str, str, str], Floats]


@dataclass(frozen=True)
class Timing:
    """Transition times and delays in ns, in the first instance of each module.

    Members
    -------
    slews : per module and net, mean of rise and fall transition time; 0 where no edge comes.
    delays : per module, type of cell and output: cells x inputs x edge of the input (0 falls, 1
        rises) x edge of the output; NaN where there is no such arc. The delay of the wire to the
        input is in it, if the library has wires, but none of the clock's.
    """

    slews: dict[str, Floats]
    delays: Delays


# A line per pin: rise and fall transition time; then port, edge, edge and delay (s) of each arc to
# it. Pins that no edge reaches, those of constant nets among them, have no transition time. OpenSTA
# reads a script in a time that is quadratic in the lines of a command, so the pins have a file.
_PINS = """
make_clock {period}
constrain_inputs
constrain_outputs
find_slack
set corner [::sta::cmd_corner]
set file [open pins]
foreach name [split [read -nonewline $file]] {{
  set pin [::sta::find_pin $name]
  set found {{}}
  foreach edge {{rise fall}} {{
    if {{[catch {{get_property $pin actual_${{edge}}_transition_max}} slew]}} {{ set slew 0 }}
    lappend found $slew
  }}
  foreach vertex [$pin vertices] {{
    set edges [$vertex in_edge_iterator]
    while {{[$edges has_next]}} {{
      set edge [$edges next]
      set port [[[$edge from] pin] port_name]
      set arcs [$edge timing_arc_iterator]
      while {{[$arcs has_next]}} {{
        set arc [$arcs next]
        lappend found $port [$arc from_trans] [$arc to_trans] [$edge arc_delay $arc $corner max]
      }}
      $arcs finish
    }}
    $edges finish
  }}
  puts "carrysave pin $found"
}}
"""
_EDGES = {"v": 0, "^": 1}


def timing(
    flat: Flat,
    netlist: Path,
    library: Library,
    conditions: sta.Conditions,
    period_ns: float,
    wires: str | None = None,
) -> Timing:
    """Ask OpenSTA for the transition times and delays of a netlist, with its wires as SPEF.

    Raises
    ------
    StaError
        If OpenSTA is missing or fails, or finds no such netlist.
    """
    cells = {name: sum(len(g.names) for g in m.groups) for name, m in flat.modules.items()}
    whole = sum(len(flat.instances[name]) * count for name, count in cells.items()) <= DELAYS_WHOLE
    pins = {name: _pins(flat, name, whole) for name in flat.modules}
    rows: list[list[str]] = []
    text = netlist.read_text()
    if whole:
        every = [pin for cell_pins in pins.values() for pin in cell_pins]
        rows = _ask(text, flat.top, library, conditions, period_ns, every, wires)
    else:
        # Each module by itself: what it holds is unknown to OpenSTA, which then gives those nets 0.
        bodies = dict(re.findall(r"(?ms)^(?=module (\w+))(.*?^endmodule)", text))
        alone = replace(conditions, clock=None, resets=())
        for name, cell_pins in pins.items():
            rows += _ask(bodies[name] + "\n", name, library, alone, period_ns, cell_pins)
    times = Timing(slews={}, delays={})
    at = 0
    for name, module in flat.modules.items():
        slews = times.slews[name] = np.zeros(module.nets)
        for group in module.groups:
            own_rows = {}
            for pin, ids in group.pins.items():
                own_rows[pin] = rows[at : at + len(ids)]
                at += len(ids)
                slews[ids] = [_slew(row, library) for row in own_rows[pin]]
            for output in group.cell.outputs:
                key = (name, group.cell.name, output.name)
                times.delays[key] = _delays(group, output.name, own_rows)
        slews[: UNKNOWN + 1] = 0
    return times


def _pins(flat: Flat, name: str, whole: bool) -> list[str]:
    """Return every pin of every cell of a module, by its path in the netlist or the module."""
    path = flat.instances[name][0] if whole else ""
    return [
        f"{path}/{cell}/{pin}" if path else f"{cell}/{pin}"
        for group in flat.modules[name].groups
        for pin in group.pins
        for cell in group.names
    ]


def _ask(
    netlist: str,
    top: str,
    library: Library,
    conditions: sta.Conditions,
    period_ns: float,
    pins: list[str],
    wires: str | None = None,
) -> list[list[str]]:
    body = _PINS.format(period=period_ns / (library.time_unit / 1e-9))
    log = sta.run(netlist, top, library, conditions, body, wires=wires, pins="\n".join(pins))
    rows = re.findall(r"(?m)^carrysave pin (.*)$", log)
    if len(rows) != len(pins):
        raise sta.StaError(f"OpenSTA gave times of {len(rows)} pins, not {len(pins)}")
    return [row.split() for row in rows]


def _slew(row: list[str], library: Library) -> float:
    """Return the mean transition time of a pin; edges that never come are left out."""
    slews = (float(text) for text in row[:2])
    return sum(s for s in slews if 0 <= s < 1e6) / 2 * library.time_unit / 1e-9


def _delays(group: CellGroup, output: str, rows: dict[str, list[list[str]]]) -> Floats:
    """Return the delays to an output of a group of cells."""
    index_of = {pin.name: index for index, pin in enumerate(group.cell.inputs)}
    delays = np.full((len(group.names), len(index_of), 2, 2), math.nan)
    for cell, row in enumerate(rows[output]):
        for port, start, end, delay in _arcs(row):
            if port not in index_of:  # from another output
                continue
            at = cell, index_of[port], _EDGES[start], _EDGES[end]
            delays[at] = np.fmax(delays[at], delay)
    if group.cell.register:  # the clock is ideal
        return delays
    for port, index in index_of.items():
        for cell, row in enumerate(rows[port]):
            for _, start, end, delay in _arcs(row):
                if start == end:
                    delays[cell, index, _EDGES[end]] += delay
    return delays


def _arcs(row: list[str]) -> list[tuple[str, str, str, float]]:
    arcs = zip(row[2::4], row[3::4], row[4::4], row[5::4], strict=True)
    return [(port, start, end, float(delay) * 1e9) for port, start, end, delay in arcs]

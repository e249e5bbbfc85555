"""Timing of a placed or routed netlist with its clock tree, by OpenSTA: setup, hold, skew."""

import re
from typing import Any

from carrysave.asic import sta
from carrysave.asic.liberty.cells import Library
from carrysave.asic.sta import Conditions
from hw.emit.yosys import word

__all__ = ["analyse", "conditions_of_ports", "early_inputs"]

# Ports are of registers elsewhere, at the end of a tree that is as long as this one in the mean.
_CONSTRAIN = """
proc constrain {{period}} {{
  global inputs
  make_clock $period
  set_propagated_clock [get_clocks carrysave_clock]
  create_clock -name carrysave_ports -period $period
  set_clock_latency {latency} [get_clocks carrysave_ports]
  if {{[llength $inputs]}} {{
    set_input_delay 0 -clock carrysave_ports $inputs
    set_driving_cell -lib_cell {driver} $inputs
  }}
  set_output_delay 0 -clock carrysave_ports [all_outputs]
  set_load {load} [all_outputs]
}}
set period {period}
"""
_BODY = """
for {{set i 0}} {{$i < 12}} {{incr i}} {{
  constrain $period
  set slack [find_slack]
  if {{$slack eq ""}} {{ fail "no timing path" }}
  if {{abs($slack) < 0.00005}} break
  set period [expr {{$period - $slack}}]
}}
puts "carrysave period $period"
report_checks -path_delay max -sort_by_slack -format full_clock_expanded -digits 5
puts "carrysave setup"
check_setup -no_clock -unconstrained_endpoints
puts "carrysave hold"
proc hold {{title args}} {{
  set bad 0; set worst ""
  set each "-path_delay min -endpoint_count 1 -group_count 1000000"
  foreach path [eval find_timing_paths $each $args] {{
    set slack [get_property $path slack]
    if {{![string is double -strict $slack]}} continue
    if {{$worst eq "" || $slack < $worst}} {{ set worst $slack }}
    if {{$slack < 0}} {{ incr bad }}
  }}
  puts "carrysave hold of $title: $bad $worst"
}}
if {{[llength [all_registers -clock_pins]]}} {{
  set clocks [all_registers -clock_pins]
  hold registers -from $clocks -to [all_registers -data_pins]
  if {{[llength $inputs]}} {{ hold inputs -from $inputs -to [all_registers -data_pins] }}
  puts "carrysave clocks"
  foreach pin $clocks {{ puts "clock pin [get_property $pin full_name]" }}
  report_checks -path_delay min -endpoint_count 1 -group_count 1000000 -from $clocks \
    -to [all_registers -data_pins] -format full_clock_expanded -digits 5
}}
"""
_EARLY = """
constrain $period
set each "-path_delay min -endpoint_count 1 -group_count 1000000"
if {{[llength $inputs] && [llength [all_registers -data_pins]]}} {{
  set ends [all_registers -data_pins]
  foreach path [eval find_timing_paths $each -from {{$inputs}} -to {{$ends}}] {{
    set slack [get_property $path slack]
    if {{![string is double -strict $slack] || $slack >= {margin}}} continue
    set port [get_property [get_property $path startpoint] full_name]
    puts "carrysave early $port [get_property [get_property $path endpoint] full_name]"
  }}
}}
"""
_ARRIVAL = re.compile(r"^\s*-?[\d.]+\s+(-?[\d.]+) [\^v] (\S+) \(")


def conditions_of_ports(latency_ns: float) -> str:
    """Say what ports are timed for."""
    return (
        "inputs change at the clock, through a driving cell, and outputs are taken at it, of"
        f" registers whose clock comes {latency_ns:.3f} ns after that of the port, as it does to"
        " those inside in the mean"
    )


def analyse(
    netlist: str,
    *,
    top: str,
    library: Library,
    conditions: Conditions,
    start_ns: float,
    wires: str,
    latency_ns: float,
) -> dict[str, Any]:
    """Time a netlist with the clock as its tree brings it; see :func:`carrysave.asic.sta.analyse`.

    Parameters
    ----------
    wires : of all nets, the clock's too, as SPEF.
    latency_ns : of the clock of what is at the ports.

    Returns
    -------
    ``period_ns``, ``critical_path`` and ``notes``, as there, and ``clock``: ``skew_ns``, between
    the first and the last flip-flop that the clock comes to, of all that have a path between them;
    ``hold_slack_ns`` and ``hold_violations`` from register to register,
    ``hold_slack_inputs_ns`` and ``hold_violations_inputs`` from ports. None of what is not there.

    Raises
    ------
    StaError
        If OpenSTA is missing or fails; the text is its own.
    """
    if conditions.clock is None:
        facts = sta.analyse(
            netlist, top=top, library=library, conditions=conditions, start_ns=start_ns, wires=wires
        )
        return {**facts, "clock": None}
    unit = library.time_unit / 1e-9
    body = _constrain(library, start_ns, latency_ns) + _BODY.format()
    log = sta.run(netlist, top, library, conditions, body, (), wires)
    whole, _, rest = log.partition("carrysave setup")
    setup, _, hold = rest.partition("carrysave hold")
    timing = whole.partition("carrysave period")[2]
    return {
        "period_ns": float(timing.split()[0]) * unit,
        "critical_path": sta.path_of(timing, unit),
        "notes": [line.strip() for line in setup.splitlines() if line.startswith("Warning")],
        "clock": {**_hold(hold, unit), "skew_ns": _skew(hold, unit), "latency_ns": latency_ns},
    }


def early_inputs(
    netlist: str,
    *,
    top: str,
    library: Library,
    conditions: Conditions,
    wires: str,
    latency_ns: float,
    margin_ns: float,
) -> list[tuple[str, str, str]]:
    """Return where data from a port have less hold slack than a margin.

    Parameters are those of :func:`analyse`. One entry for each pin at most, of the port whose data
    are the first there: port, cell, pin.

    Raises
    ------
    StaError
        If OpenSTA is missing or fails; the text is its own.
    """
    if conditions.clock is None:
        return []
    unit = library.time_unit / 1e-9
    # Hold does not look at the period.
    body = _constrain(library, 100.0, latency_ns) + _EARLY.format(margin=margin_ns / unit)
    log = sta.run(netlist, top, library, conditions, body, (), wires).replace("\\", "")
    lines = re.findall(r"^carrysave early (\S+) (\S+)/(\S+)$", log, re.M)
    return [(port, cell, pin) for port, cell, pin in lines]


def _constrain(library: Library, period_ns: float, latency_ns: float) -> str:
    unit = library.time_unit / 1e-9
    return _CONSTRAIN.format(
        period=period_ns / unit,
        latency=latency_ns / unit,
        driver=word(library.driver.name),
        load=library.load_ff * 1e-15 / library.capacitance_unit,
    )


def _hold(text: str, unit: float) -> dict[str, Any]:
    """Return violations and worst slacks from what was printed."""
    facts: dict[str, Any] = {}
    for title, suffix in (("registers", ""), ("inputs", "_inputs")):
        match = re.search(rf"hold of {title}: (\d+) ?(\S*)", text)
        slack = float(match[2]) * unit if match and match[2] else None
        facts[f"hold_slack{suffix}_ns"] = slack
        facts[f"hold_violations{suffix}"] = int(match[1]) if match else None
    return facts


def _skew(text: str, unit: float) -> float | None:
    """Return between which times the clock comes to the pins of a report of shortest paths."""
    pins = set(re.findall(r"^clock pin (\S+)$", text, re.M))
    steps = filter(None, map(_ARRIVAL.match, text.splitlines()))
    times = [float(step[1]) for step in steps if step[2] in pins]
    return (max(times) - min(times)) * unit if times else None

"""Static timing of a mapped netlist, by OpenSTA."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from carrysave.asic.liberty.cells import LIB, Library
from hw.emit import tools
from hw.emit.naming import naming
from hw.emit.yosys import word

__all__ = ["Conditions", "StaError", "analyse", "path_of", "run", "sanitise", "version"]


class StaError(RuntimeError):
    """OpenSTA is missing, or could not read, link or time a netlist."""


@dataclass(frozen=True)
class Conditions:
    """What surrounds a design in timing analysis; part of every result.

    Attributes
    ----------
    clock : the clock port; None for a design without one (paths from inputs to outputs).
    resets : ports that are ideal: no path from them is timed.
    asynchronous : what drives asynchronous set and reset pins, in words.
    ideal_resets : whether these pins are ideal, whatever drives them.
    """

    clock: str | None = "clk"
    resets: tuple[str, ...] = ()
    asynchronous: tuple[str, ...] = ()
    ideal_resets: bool = True

    def describe(self, library: Library) -> dict[str, Any]:
        """Return the conditions as plain values, for a result."""
        return {
            "input_delay_ns": 0.0,
            "output_delay_ns": 0.0,
            "driving_cell": library.driver.name,
            "output_load_ff": library.load_ff,
            "clock_network": "ideal, clock gates included",
            "resets": self._resets(),
            "wires": "the library's default wire load, if it has one; power leaves it out",
        }

    def _resets(self) -> str:
        if not self.ideal_resets:
            return "timed"
        parts = [", ".join(self.resets)] if self.resets else []
        if self.asynchronous:
            parts.append(f"asynchronous pins, set or reset by {', '.join(self.asynchronous)}")
        return f"ideal: {'; '.join(parts)}" if parts else "none"


_SCRIPT = """
proc fail {{text}} {{ puts "Error: $text"; exit 1 }}
if {{[catch {{
foreach liberty {{{liberties}}} {{ read_liberty $liberty }}
read_verilog netlist.v
link_design {top}
{wires}
set clock_port {{{clock}}}
if {{{ideal}}} {{ ::sta::set_recovery_removal_checks_enabled 0 }}
foreach port {{{resets}}} {{ set_disable_timing [get_ports $port] }}
set inputs {{}}
foreach port [all_inputs] {{
  if {{[get_property $port full_name] ne $clock_port}} {{ lappend inputs $port }}
}}
proc make_clock {{period}} {{
  global clock_port
  if {{$clock_port eq ""}} {{
    create_clock -name carrysave_clock -period $period
  }} else {{
    create_clock -name carrysave_clock -period $period [get_ports $clock_port]
  }}
}}
proc constrain_inputs {{}} {{
  global inputs
  if {{[llength $inputs]}} {{
    set_input_delay 0 -clock carrysave_clock $inputs
    set_driving_cell -lib_cell {driver} $inputs
  }}
}}
proc constrain_outputs {{}} {{
  set_output_delay 0 -clock carrysave_clock [all_outputs]
  set_load {load} [all_outputs]
}}
proc find_slack {{args}} {{
  # By slack, over all groups: a clock, clock gates and asynchronous pins have one each.
  set paths [eval find_timing_paths -path_delay max -sort_by_slack $args]
  if {{![llength $paths]}} {{ return "" }}
  return [get_property [lindex $paths 0] slack]
}}
{body}
puts "carrysave end"
}} text]}} {{ fail $text }}
"""

# Half-cycle paths do not move with the period one to one: analyse at the period found.
_WHOLE = """
set period {period}
for {{set i 0}} {{$i < 12}} {{incr i}} {{
  make_clock $period
  constrain_inputs
  constrain_outputs
  set slack [find_slack]
  if {{$slack eq ""}} {{ fail "no timing path" }}
  if {{abs($slack) < 0.00005}} break
  set period [expr {{$period - $slack}}]
}}
puts "carrysave period $period"
report_checks -path_delay max -sort_by_slack -format full -digits 5
puts "carrysave setup"
check_setup -no_clock -unconstrained_endpoints
"""


@functools.cache
def version() -> str:
    """Return OpenSTA's version, for example ``2.0.17``.

    Raises
    ------
    StaError
        If the program is missing.
    """
    with tools.workplace() as work:
        said = _sta(work, "-version") + _sta(work, "-exit", "/dev/null")
    match = re.search(r"OpenSTA (\S+)", said)
    return match[1] if match else "unknown"


def _sta(work: Path, *arguments: str) -> str:
    try:
        done = tools.run(["sta", *arguments], cwd=work)
    except tools.MissingToolError:
        raise StaError("OpenSTA (sta) not found: run `sudo apt-get install opensta`") from None
    if done.code is not None and done.code < 0:
        return f"{done.output}\nOpenSTA ended by signal {-done.code}\n"
    return done.output


def sanitise(netlist: str) -> str:
    """Return a Verilog netlist as OpenSTA 2.0 reads it: it refuses ``signed``."""
    return re.sub(r"(?m)^(\s*)(wire|input|output|reg) signed ", r"\1\2 ", netlist)


def analyse(
    netlist: str,
    *,
    top: str,
    library: Library,
    conditions: Conditions,
    start_ns: float = 10.0,
    models: Sequence[str] = (),
    wires: str | None = None,
) -> dict[str, Any]:
    """Time a netlist, given by its text.

    The minimum period is that of the longest path between registers and ports, setup (also of
    clock gates) included, with the surroundings of ``conditions``. `wires` are its nets as SPEF, in
    place of the library's wire load.

    Returns
    -------
    ``period_ns``, ``critical_path`` (point, cell, delay_ns, arrival_ns per step) and ``notes``
    (what OpenSTA warns about the constraints).

    Raises
    ------
    StaError
        If OpenSTA is missing or fails; the text is its own.
    """
    unit = library.time_unit / 1e-9
    body = _WHOLE.format(period=start_ns / unit)
    log = run(netlist, top, library, conditions, body, models, wires)
    period = float(_find(r"carrysave period (\S+)", log)) * unit
    timing, _, setup = log.partition("carrysave period")[2].partition("carrysave setup")
    notes = [line.strip() for line in setup.splitlines() if line.startswith("Warning")]
    return {
        "period_ns": period,
        "critical_path": path_of(timing, unit),
        "notes": notes,
    }


def run(
    netlist: str,
    top: str,
    library: Library,
    conditions: Conditions,
    body: str,
    models: Sequence[str] = (),
    wires: str | None = None,
    **files: str,
) -> str:
    """Run Tcl commands on a linked netlist, with the procedures of ``_SCRIPT``; return the log.

    Parameters
    ----------
    netlist, models, wires : texts, of Verilog, of Liberty and of SPEF.
    body : the commands, of our own text and of plain names.
    files : texts of files that the commands read, by their names.

    Raises
    ------
    StaError
        If OpenSTA is missing or fails.
    """
    ours = {"netlist.v": f"netlist of {top}", "wires.spef": f"wires of {top}"}
    with tools.workplace() as work, naming(ours), library.placed(work):
        texts = {"netlist.v": netlist, "wires.spef": wires or "", **files}
        liberties = [LIB]
        for number, model in enumerate(models):
            liberties.append(f"model{number}.lib")
            texts[liberties[-1]] = model
        texts["script.tcl"] = _SCRIPT.format(
            liberties=" ".join(liberties),
            top=word(top),
            clock=word(conditions.clock) if conditions.clock else "",
            resets=" ".join(map(word, conditions.resets)),
            ideal=int(conditions.ideal_resets),
            wires="read_spef wires.spef" if wires else "",
            driver=word(library.driver.name),
            body=body,
            load=library.load_ff * 1e-15 / library.capacitance_unit,
        )
        for name, text in texts.items():
            (work / name).write_text(text)
        log = _sta(work, "-exit", "script.tcl")
        _check(log)
    return log


def _check(log: str) -> None:
    for line in log.splitlines():
        if line.startswith("Error") and "no timing path" in line:
            raise StaError("netlist has no path between registers or ports to time")
        if line.startswith("Error"):
            raise StaError(f"OpenSTA: {line}")
    if "carrysave end" not in log:
        last = log.strip().splitlines()[-1:]
        raise StaError(f"OpenSTA stopped: {''.join(last) or 'no output'}")


def _find(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if match is None:
        raise StaError(f"OpenSTA's report has no {pattern!r}")
    return match[1]


_STEP = re.compile(r"^\s*(-?[\d.]+)\s+(-?[\d.]+) [\^v] (\S+) \((\S+)\)$")


def path_of(report: str, unit: float) -> list[dict[str, Any]]:
    """Return the steps of the first path of a report."""
    steps: list[dict[str, Any]] = []
    for line in report.splitlines():
        if "data arrival time" in line:
            break
        if step := _STEP.match(line):
            steps.append({
                "point": step[3],
                "cell": step[4],
                "delay_ns": float(step[1]) * unit,
                "arrival_ns": float(step[2]) * unit,
            })
    return steps

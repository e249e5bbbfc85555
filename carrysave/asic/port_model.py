"""A module's ports as a Liberty model, for the timing of what holds the module."""

import re
from collections.abc import Mapping, Sequence

from carrysave.asic.liberty.cells import Library
from carrysave.asic.sta import Conditions, run

__all__ = ["FORMAT", "model"]

FORMAT = 3  # of what is cached; raise it with any change of what a model says

_SLEW = 0.1
"""ns; the delays of models are scalars and cannot carry one through."""

# The worst delay from and to every port, for a model of a module: first between registers and to
# outputs, then from inputs to registers and to outputs (2.0 cannot take a constraint back).
_FROM_REGISTERS = """
make_clock {period}
puts "carrysave inside [find_slack]"
constrain_outputs
foreach out {{{outs}}} {{ puts "carrysave out $out [find_slack -to [get_ports $out]]" }}
"""
_FROM_INPUTS = """
make_clock {period}
set_input_delay 0 -clock carrysave_clock $inputs
set_input_transition {slew} $inputs
foreach in {{{ins}}} {{ puts "carrysave in $in [find_slack -from [get_ports $in]]" }}
constrain_outputs
foreach in {{{ins}}} {{
  foreach out {{{outs}}} {{
    puts "carrysave through $in $out [find_slack -from [get_ports $in] -to [get_ports $out]]"
  }}
}}
"""


def model(
    netlist: str,
    *,
    top: str,
    conditions: Conditions,
    ports: Sequence[tuple[str, str, int]],
    loads: Mapping[str, Sequence[float]],
    library: Library,
    models: Sequence[str] = (),
) -> tuple[float, str]:
    """Return a module's period between its own registers (ns) and a Liberty model of its ports.

    The model has, for every port, the worst setup or clock-to-output delay over its bits, and for
    every pair of ports the worst delay through, all under the conditions of
    :func:`carrysave.asic.sta.analyse`. It is of interface timing: an input with a setup time and a
    way through to an output that a register drives, too, is no data input of a latch, which
    OpenSTA would open for half of the period.

    Parameters
    ----------
    ports : (direction, name, width in bits) of every port.
    loads : capacitance of every input, of each of its bits, in fF.
    models : Liberty models of the modules inside, as this returns them.
    """
    unit, start = library.time_unit / 1e-9, 10.0
    clock = conditions.clock
    ideal = {clock, *conditions.resets}
    ins = [name for direction, name, _ in ports if direction == "input" and name not in ideal]
    outs = [name for direction, name, _ in ports if direction == "output"]
    shape = {name: f"{name}[*]" if width > 1 else name for _, name, width in ports}
    facts = {
        "period": start / unit,
        "ins": " ".join(shape[name] for name in ins),
        "outs": " ".join(shape[name] for name in outs),
        "slew": _SLEW / unit,
    }
    log = "".join(
        run(netlist, top, library, conditions, body.format(**facts), models)
        for body in (_FROM_REGISTERS, _FROM_INPUTS)
    )
    delays: dict[tuple[str, ...], float] = {}
    for kind, names, slack in re.findall(r"(?m)^carrysave (\w+) (.*?) ?(-?[\d.e+-]+)$", log):
        delays[kind, *names.replace("[*]", "").split()] = start - float(slack) * unit
    inside = delays.get(("inside",), 0.0)
    return inside, _model_text(top, clock, ports, loads, delays)


def _table(kind: str, value: float) -> str:
    return f'{kind}(scalar) {{ values("{value:.6f}"); }}'


def _delay(related: str, kind: str, value: float) -> str:
    return (
        f'timing() {{ related_pin : "{related}"; timing_type : {kind}; '
        "timing_sense : non_unate; "
        + " ".join(_table(f"cell_{edge}", value) for edge in ("rise", "fall"))
        + " ".join(_table(f"{edge}_transition", _SLEW) for edge in ("rise", "fall"))
        + " }"
    )


def _arcs(name: str, clock: str | None, delays: dict[tuple[str, ...], float]) -> list[str]:
    """Return what times a port."""
    arcs = ["clock : true;"] if name == clock else []
    if clock and ("in", name) in delays:
        constraints = " ".join(
            _table(f"{edge}_constraint", delays["in", name]) for edge in ("rise", "fall")
        )
        arcs.append(
            f'timing() {{ related_pin : "{clock}"; timing_type : setup_rising; {constraints} }}'
        )
    if clock and ("out", name) in delays:
        arcs.append(_delay(clock, "rising_edge", delays["out", name]))
    for key, value in delays.items():
        if key[0] == "through" and key[2] == name:
            arcs.append(_delay(key[1], "combinational", value))
    return arcs


def _model_text(
    top: str,
    clock: str | None,
    ports: Sequence[tuple[str, str, int]],
    loads: Mapping[str, Sequence[float]],
    delays: dict[tuple[str, ...], float],
) -> str:
    thresholds = [
        f"{edge}_threshold_pct_{way} : 50;"
        for edge in ("input", "output")
        for way in ("rise", "fall")
    ] + [
        f"slew_{level}_threshold_pct_{way} : {percent};"
        for level, percent in (("lower", 20), ("upper", 80))
        for way in ("rise", "fall")
    ]
    lines = []
    for direction, name, width in ports:
        arcs = _arcs(name, clock, delays)
        behind = [f"capacitance : {load * 1e-3:.6f};" for load in loads.get(name, ())]
        capacitance = behind[0] if behind and width == 1 else ""
        if behind and width > 1:
            arcs += [f"pin({name}[{bit}]) {{ {load} }}" for bit, load in enumerate(behind)]
        kind, bus = ("pin", "") if width == 1 else ("bus", f"bus_type : bits{width};")
        lines.append(f"{kind}({name}) {{ {bus} direction : {direction}; {capacitance}")
        lines += [f"  {arc}" for arc in arcs] + ["}"]
    widths = sorted({width for _, _, width in ports if width > 1})
    return "\n".join([
        f"library({top}_model) {{",
        'delay_model : table_lookup; time_unit : "1ns"; capacitive_load_unit(1, pf);',
        *thresholds,
        *(
            f"type(bits{width}) {{ base_type : array; data_type : bit; bit_width : {width}; "
            f"bit_from : {width - 1}; bit_to : 0; downto : true; }}"
            for width in widths
        ),
        f"cell({top}) {{",
        "area : 0; interface_timing : true;",
        *lines,
        "}",
        "}",
        "",
    ])

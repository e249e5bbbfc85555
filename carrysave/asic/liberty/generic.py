"""A cell library of no technology: areas in gate equivalents, delays in FO4, by logical effort.

A gate of one stage is a network of transistors that pulls its output down, and the dual of it that
pulls up. Transistors in series are as much wider as there are of them, and p-channel ones twice as
wide, so that every path is as strong as an inverter's (Sutherland, Sproull, Harris, "Logical
Effort", 1999). From the widths follow an input's capacitance, in those of an inverter, and the
parasitic delay, in an inverter's; a delay is `parasitic + load / size`, and a fifth of it in FO4.
An area is the number of transistors by the four of a NAND2; half of it grows with the size. Delays
do not depend on transition times, edges are alike, and there are no wires and no energies.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["NAME", "text"]

NAME = "generic"
FO4 = 5.0  # delay of an inverter that drives four: 1 * 4 + 1
_MOST = 20.0  # load of a cell of size 1, in inverters' inputs
_LOADS = (0.0, _MOST / 2, _MOST)  # a line, but ABC needs three points

Net = str | tuple["Net", ...]
"""An input, or networks in series (the first element is ``*``) or in parallel (``+``)."""


@dataclass(frozen=True)
class Stage:
    """One gate of a cell: its output is 1 where the network does not conduct."""

    output: str
    network: Net
    size: float = 1.0


def _all(*networks: Net) -> Net:
    return ("*", *networks)


def _any(*networks: Net) -> Net:
    return ("+", *networks)


def _xor(output: str, inner: str, *, inverse: bool) -> tuple[Stage, ...]:
    if inverse:
        return Stage(inner, _all("A", "B")), Stage(output, _all(_any("A", "B"), inner))
    return Stage(inner, _any("A", "B")), Stage(output, _any(_all("A", "B"), inner))


_AB_CD = _all("A", "B"), _all("C", "D")
_GATES: dict[str, tuple[Stage, ...]] = {
    "INV": (Stage("Y", "A"),),
    "BUF": (Stage("n", "A"), Stage("Y", "n")),
    "NAND2": (Stage("Y", _all("A", "B")),),
    "NAND3": (Stage("Y", _all("A", "B", "C")),),
    "NAND4": (Stage("Y", _all("A", "B", "C", "D")),),
    "NOR2": (Stage("Y", _any("A", "B")),),
    "NOR3": (Stage("Y", _any("A", "B", "C")),),
    "AND2": (Stage("n", _all("A", "B")), Stage("Y", "n")),
    "OR2": (Stage("n", _any("A", "B")), Stage("Y", "n")),
    "AOI21": (Stage("Y", _any(_all("A", "B"), "C")),),
    "AOI22": (Stage("Y", _any(*_AB_CD)),),
    "AOI211": (Stage("Y", _any(_all("A", "B"), "C", "D")),),
    "OAI21": (Stage("Y", _all(_any("A", "B"), "C")),),
    "OAI22": (Stage("Y", _all(_any("A", "B"), _any("C", "D"))),),
    "OAI211": (Stage("Y", _all(_any("A", "B"), "C", "D")),),
    "XOR2": _xor("Y", "n", inverse=False),
    "XNOR2": _xor("Y", "n", inverse=True),
    "MUXI2": (Stage("n", "S"), Stage("Y", _any(_all("A", "n"), _all("B", "S")))),
}
_SIZES = {"INV": (1, 2, 4, 8), "BUF": (2, 4, 8, 16)}

# Clock-to-q 2 FO4 without its load, setup 1 FO4; areas as transistors of usual circuits: 24, with
# set and reset 28, the latch 16, the clock gate that latch and an AND2 without its inverter.
_LAUNCH, _SETUP = 2 * FO4, FO4
_FLIP_FLOP, _FLIP_FLOP_SR, _LATCH, _CLOCK_GATE = 6.0, 7.0, 4.0, 5.0


def _dual(network: Net) -> Net:
    if isinstance(network, str):
        return network
    kind, *parts = network
    return ("+" if kind == "*" else "*", *map(_dual, parts))


def _widths(network: Net, scale: float = 1.0) -> Iterator[tuple[str, float]]:
    """Yield each transistor's input and width."""
    if isinstance(network, str):
        yield network, scale
        return
    kind, *parts = network
    for part in parts:
        yield from _widths(part, scale * len(parts) if kind == "*" else scale)


def _diffusion(network: Net, scale: float = 1.0) -> float:
    """Return the width of the transistors at the output, the narrowest of those in series there."""
    if isinstance(network, str):
        return scale
    kind, *parts = network
    if kind == "*":
        return min(_diffusion(part, scale * len(parts)) for part in parts)
    return sum(_diffusion(part, scale) for part in parts)


def _efforts(stage: Stage) -> dict[str, float]:
    """Return the capacitance of each input, in inverters' inputs."""
    efforts: dict[str, float] = {}
    for network, factor in ((stage.network, 1), (_dual(stage.network), 2)):
        for name, width in _widths(network):
            efforts[name] = efforts.get(name, 0.0) + factor * width * stage.size / 3
    return efforts


def _parasitic(stage: Stage) -> float:
    return (_diffusion(stage.network) + 2 * _diffusion(_dual(stage.network))) / 3


def _formula(network: Net, inner: Mapping[str, str]) -> str:
    if isinstance(network, str):
        return inner.get(network, network)
    kind, *parts = network
    return "(" + ("&" if kind == "*" else "|").join(_formula(part, inner) for part in parts) + ")"


def _table(kind: str, fixed: float, size: float) -> str:
    row = ", ".join(f"{(fixed + load / size) / FO4:.6f}" for load in _LOADS)
    return f'{kind}(delays) {{ values("{row}", "{row}"); }}'


def _arc(related: str, kind: str, fixed: float, size: float) -> str:
    tables = [_table(f"cell_{edge}", fixed, size) for edge in ("rise", "fall")]
    tables += [_table(f"{edge}_transition", 1.0, size) for edge in ("rise", "fall")]
    return f'timing() {{ related_pin : "{related}"; {kind} {" ".join(tables)} }}'


def _input(name: str, farads: float, more: str = "") -> str:
    return f"pin({name}) {{ direction : input; capacitance : {farads:.4f}; {more} }}"


def _output(name: str, function: str, size: float, arcs: list[str]) -> str:
    return (
        f'pin({name}) {{ direction : output; function : "{function}";'
        f" max_capacitance : {_MOST * size:g};\n    " + "\n    ".join(arcs) + " }"
    )


def _gate(name: str, stages: tuple[Stage, ...], size: int) -> str:
    """Write a cell of gates, the last of them of the size, those before a third of it or 1."""
    *first, last = stages
    small = max(1.0, size / 3)
    sized = [
        *(Stage(stage.output, stage.network, small) for stage in first),
        Stage(last.output, last.network, size),
    ]
    farads: dict[str, float] = {}
    for stage in sized:
        for pin, value in _efforts(stage).items():
            farads[pin] = farads.get(pin, 0.0) + value
    late: dict[str, dict[str, float]] = {}  # of each net, from each input
    inner: dict[str, str] = {}
    transistors, function = 0, ""
    for stage in sized:
        parasitic = _parasitic(stage)
        if stage is not sized[-1]:
            parasitic += farads[stage.output] / stage.size
        names = list(dict(_widths(stage.network)))
        transistors += 2 * len(list(_widths(stage.network)))
        late[stage.output] = {}
        for pin in names:
            for source, delay in late.get(pin, {pin: 0.0}).items():
                before = late[stage.output].get(source, 0.0)
                late[stage.output][source] = max(before, delay + parasitic)
        function = f"!{_formula(stage.network, inner)}"
        inner[stage.output] = f"({function})"
    sense = (
        "non_unate"
        if name[0] in "XM"
        else ("negative_unate" if len(stages) % 2 else "positive_unate")
    )
    arcs = [
        _arc(pin, f"timing_sense : {sense};", delay, size)
        for pin, delay in late[last.output].items()
    ]
    pins = [_input(pin, farads[pin]) for pin in late[last.output]]
    pins.append(_output(last.output, function, size, arcs))
    area = transistors / 4 * (1 + size) / 2
    return _cell(f"{name}X{size}", area, pins)


def _cell(name: str, area: float, lines: list[str]) -> str:
    return f"cell({name}) {{ area : {area:g};\n  " + "\n  ".join(lines) + "\n}"


def _edges(kind: str, related: str, value: float) -> str:
    tables = " ".join(
        f'{edge}_constraint(scalar) {{ values("{value / FO4:.6f}"); }}' for edge in ("rise", "fall")
    )
    return f'timing() {{ related_pin : "{related}"; timing_type : {kind}; {tables} }}'


def _registers() -> Iterator[str]:
    clock = _input("CK", 1.0, "clock : true;")
    checks = _edges("setup_rising", "CK", _SETUP) + " " + _edges("hold_rising", "CK", 0.0)
    launch = "timing_type : rising_edge; timing_sense : non_unate;"
    data = _input("D", 1.0, checks)
    for name, area, state, pins in (
        ("DFFX1", _FLIP_FLOP, "", []),
        (
            "DFFSRX1",
            _FLIP_FLOP_SR,
            'clear : "!RN"; preset : "!SN"; clear_preset_var1 : L; clear_preset_var2 : L;',
            ["RN", "SN"],
        ),
    ):
        arcs = [_arc("CK", launch, _LAUNCH, 1)]
        for pin, kind in zip(pins, ("clear", "preset"), strict=False):
            sense = "positive_unate" if kind == "clear" else "negative_unate"
            arcs.append(_arc(pin, f"timing_type : {kind}; timing_sense : {sense};", _LAUNCH, 1))
        yield _cell(
            name,
            area,
            [
                f'ff(IQ, IQN) {{ next_state : "D"; clocked_on : "CK"; {state} }}',
                clock,
                data,
                *(_input(pin, 1.0, _edges("recovery_rising", "CK", _SETUP)) for pin in pins),
                _output("Q", "IQ", 1, arcs),
            ],
        )
    open_ = _edges("setup_falling", "G", _SETUP)
    yield _cell(
        "LATCHX1",
        _LATCH,
        [
            'latch(IQ, IQN) { data_in : "D"; enable : "G"; }',
            _input("G", 1.0, "clock : true;"),
            _input("D", 1.0, open_),
            _output(
                "Q",
                "IQ",
                1,
                [_arc("G", launch, FO4, 1), _arc("D", "timing_sense : positive_unate;", FO4, 1)],
            ),
        ],
    )
    arc = _arc("CK", "timing_sense : positive_unate;", FO4, 4)
    out = 'clock_gate_out_pin : true; state_function : "CK*EQ";'
    gated = _output("GCK", "", 4, [arc]).replace('function : "";', out)
    yield _cell(
        "CLKGATEX4",
        _CLOCK_GATE,
        [
            'clock_gating_integrated_cell : "latch_posedge";',
            'statetable("CK E", "EQ") { table : "L L : - : L, L H : - : H, H - : - : N"; }',
            'pin(EQ) { direction : internal; internal_node : "EQ"; }',
            _input("CK", 1.0, "clock : true; clock_gate_clock_pin : true;"),
            _input("E", 1.0, "clock_gate_enable_pin : true; " + checks),
            gated,
        ],
    )


def text() -> str:
    """Return the library as Liberty: 1 of area is a gate equivalent, 1 ns stands for an FO4."""
    gates = [
        _gate(name, stages, size)
        for name, stages in _GATES.items()
        for size in _SIZES.get(name, (1, 2, 4))
    ]
    ties = [
        _cell(f"TIE{value}", 0.5, [f'pin(Y) {{ direction : output; function : "{value}"; }}'])
        for value in "01"
    ]
    head = [
        f"library({NAME}) {{",
        'delay_model : table_lookup; time_unit : "1ns"; capacitive_load_unit(1, ff);',
        *(
            f"{edge}_threshold_pct_{way} : 50;"
            for edge in ("input", "output")
            for way in ("rise", "fall")
        ),
        *(
            f"slew_{level}_threshold_pct_{way} : {percent};"
            for level, percent in (("lower", 20), ("upper", 80))
            for way in ("rise", "fall")
        ),
        "lu_table_template(delays) { variable_1 : input_net_transition;"
        " variable_2 : total_output_net_capacitance;"
        f' index_1("0, 100"); index_2("{", ".join(map(str, _LOADS))}"); }}',
    ]
    return "\n".join([*head, *gates, *_registers(), *ties, "}", ""])

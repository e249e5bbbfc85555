"""Glitches of circuits that can be worked out by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from carrysave.asic.power.activity import Activity
from carrysave.asic.power.delays import Delays
from carrysave.asic.power.flat_netlist import Flat, SimulationError
from carrysave.asic.power.replay import Switching, Trace, replay
from verif.asic.test_delays import flat_of, library_of

CYCLES = 16  # of which the second half counts

# An XOR of a signal and its copy through two inverters.
LATE = """
module top(clk, a, q); input clk, a; output q; wire n, d;
  INVX1 first(.A(a), .Y(n));
  INVX1 second(.A(n), .Y(d));
  XOR2X1 cmp(.A(a), .B(d), .Y(q));
endmodule
"""
# A pulse generator: both inputs of the NAND are 1 while a rise is on its way through the inverter.
PULSE = """
module top(clk, a, q); input clk, a; output q; wire n;
  INVX1 late(.A(a), .Y(n));
  NAND2X1 gate(.A(a), .B(n), .Y(q));
endmodule
"""
# Compares when the output of a gate changes with when that of an inverter does.
RACE = """
module top(clk, a, b, q); input clk, a, b; output q; wire x, y;
  NAND2X1 gate(.A({a}), .B({b}), .Y(x));
  INVX1 watch(.A(a), .Y(y));
  XOR2X1 cmp(.A(x), .B(y), .Y(q));
endmodule
"""
# The same for the two outputs of a flip-flop that toggles.
OUTPUTS = """
module top(clk, q); input clk; output q; wire r, n;
  DFFT one(.CLK(clk), .D(n), .Q(r), .QN(n));
  XOR2X1 cmp(.A(r), .B(n), .Y(q));
endmodule
"""


def delays_of(flat: Flat, picoseconds: dict[str, Any]) -> Delays:
    """Return the delays of a netlist of one module, given those of each cell or of its outputs.

    They are a number, or an array that broadcasts to inputs x edge in x edge out.
    """
    found: Delays = {}
    for group in flat.modules["top"].groups:
        for pin in group.cell.outputs:
            own = np.empty((len(group.names), len(group.cell.inputs), 2, 2))
            for cell, name in enumerate(group.names):
                given = picoseconds[name]
                own[cell] = given[pin.name] if isinstance(given, dict) else given
            found["top", group.cell.name, pin.name] = own * 1e-3
    return found


def switching(flat: Flat, picoseconds: dict[str, Any], **ports: Any) -> Switching:
    """Replay bits of ports per cycle, a list for a port of one bit."""
    bits = {name: np.array(own, np.uint8).reshape(CYCLES, -1) for name, own in ports.items()}
    trace = Trace(ports=bits, first=CYCLES // 2, end=CYCLES, products=0)
    return replay(flat, trace, "clk", delays_of(flat, picoseconds))[0]


def transitions(flat: Flat, found: Switching, port: str) -> list[tuple[float, float]]:
    """Return all and functional transitions of each bit of a port over the cycles that count."""
    nets, cycles = flat.port(port), CYCLES // 2
    return list(
        zip(
            (found.density[nets] * cycles).tolist(),
            (found.functional[nets] * cycles).tolist(),
            strict=True,
        )
    )


TOGGLE = [0, 1] * (CYCLES // 2)


@pytest.mark.parametrize(("late", "passes"), [(29, False), (30, True), (31, True), (200, True)])
def test_pulse_passes_a_gate_that_is_not_slower(tmp_path: Path, late: int, passes: bool) -> None:
    """The XOR takes 30 ps; its inputs differ for as long as the two inverters take."""
    flat = flat_of(tmp_path, LATE)
    found = switching(flat, {"first": 10, "second": late - 10, "cmp": 30}, a=TOGGLE, q=[0] * CYCLES)
    assert transitions(flat, found, "q") == [(16 if passes else 0, 0)]
    assert transitions(flat, found, "a") == [(8, 8)]


def test_share_of_glitches_is_that_worked_out_by_hand(tmp_path: Path) -> None:
    flat = flat_of(tmp_path, LATE)
    found = switching(flat, {"first": 10, "second": 20, "cmp": 30}, a=TOGGLE, q=[0] * CYCLES)
    own = Activity(
        flat=flat,
        switching=found,
        annotated=1.0,
        stimulus="a toggles",
        cycles=CYCLES // 2,
        products_per_cycle=0.0,
    )
    # In each cycle the clock has two transitions, three nets have one, q has its pulse.
    assert own.glitches == pytest.approx(2 / 7)
    assert own.describe() == (
        "a toggles, 8 cycles simulated with gate delays: 1.400 transitions per cycle and net, "
        "29% of them glitches, 100.0% of the pins annotated"
    )


@pytest.mark.parametrize(
    ("late", "fall", "rise", "passes"),
    [(40, 40, 5, True), (39, 40, 5, False), (40, 5, 300, True), (4, 5, 3, False)],
)
def test_nand_makes_a_pulse_of_each_rise(
    tmp_path: Path, late: int, fall: int, rise: int, passes: bool
) -> None:
    """It is as long as the inverter takes to fall, and passes if that is not less than the fall."""
    flat = flat_of(tmp_path, PULSE)
    delays = {"late": [[[late, 700]] * 2], "gate": [[[fall, rise]] * 2] * 2}
    found = switching(flat, delays, a=TOGGLE, q=[1] * CYCLES)
    # Four rises in eight cycles, each with two transitions.
    assert transitions(flat, found, "q") == [(8 if passes else 0, 0)]


# Delays of the NAND: A falls, A rises, B falls, B rises; a NAND is inverting. What cannot happen
# has another one, which must not be taken.
A_FALLS, A_RISES, B_FALLS, B_RISES = 50, 80, 60, 70
ARCS = [[[999, A_FALLS], [A_RISES, 999]], [[999, B_FALLS], [B_RISES, 999]]]


@pytest.mark.parametrize(
    ("a", "b", "falls", "rises"),
    [
        ("a", "1'b1", A_FALLS, A_RISES),
        ("1'b1", "a", B_FALLS, B_RISES),
        # Either input lets the output rise, so the first one does; both must be there for a fall.
        ("a", "a", min(A_FALLS, B_FALLS), max(A_RISES, B_RISES)),
    ],
)
def test_delay_is_that_of_the_arc(tmp_path: Path, a: str, b: str, falls: int, rises: int) -> None:
    flat = flat_of(tmp_path, RACE.format(a=a, b=b))

    def pulses(watch_rises: int, watch_falls: int) -> float:
        delays = {"gate": ARCS, "watch": [[[0, watch_rises], [watch_falls, 0]]], "cmp": 1}
        found = switching(flat, delays, a=TOGGLE, b=TOGGLE, q=[0] * CYCLES)
        return transitions(flat, found, "q")[0][0]

    assert pulses(falls, rises) == 0
    for off in (-1, 1):
        assert pulses(falls + off, rises) == 8
        assert pulses(falls, rises + off) == 8


def test_flip_flops_have_delays_of_either_edge(tmp_path: Path) -> None:
    """One output rises when the other falls: nothing to see only if those delays are the same."""
    flat = flat_of(tmp_path, OUTPUTS, library_of(tmp_path))

    def pulses(falls: int, rises: int) -> float:
        q, qn = np.zeros((2, 2, 2, 2))
        q[:, 1], qn[:, 1] = [120, 130], [falls, rises]  # from the rising edge of the clock
        found = switching(flat, {"one": {"Q": q, "QN": qn}, "cmp": 1}, q=[1] * CYCLES)
        return transitions(flat, found, "q")[0][0]

    assert (pulses(130, 120), pulses(129, 120), pulses(130, 121)) == (0, 8, 8)


@pytest.mark.parametrize(("to_sum", "glitching"), [(50, 1), (40, 2), (21, 2), (20, 3)])
def test_ripple_carry_adder(tmp_path: Path, to_sum: int, glitching: int) -> None:
    """0000 + 0000, then 1111 + 0001: bit i of the sum is 1 until the carry has come.

    That takes i carries of 20 ps, and is seen in the sum if that is not less than its own delay.
    Back at 0000 + 0000, all carries go at once after 20 ps.
    """
    width = 4
    cells = "".join(
        f"FAX1 f{i}(.A(a[{i}]), .B(b[{i}]), .C(c[{i}]), .YS(s[{i}]), .YC(c[{i + 1}]));\n"
        for i in range(width)
    )
    flat = flat_of(
        tmp_path,
        f"""
module top(clk, a, b, s, t); input clk; input [{width - 1}:0] a, b; output [{width - 1}:0] s;
  output t; wire [{width}:0] c; assign c[0] = 1'b0; assign t = c[{width}];
{cells} endmodule
""",
    )
    delays = {f"f{i}": {"YS": to_sum, "YC": 20} for i in range(width)}
    on = np.arange(CYCLES)[:, None] % 2
    a, b, zero = on * [1, 1, 1, 1], on * [1, 0, 0, 0], np.zeros((CYCLES, width))
    found = switching(flat, delays, a=a, b=b, s=zero, t=on)
    # Four times there, two transitions a pulse, and four times back.
    pulse = 16 if to_sum <= 20 else 8
    expected = [(0, 0)] * (width - glitching) + [(pulse, 0)] * glitching
    assert transitions(flat, found, "s") == expected
    assert transitions(flat, found, "t") == [(8, 8)]


def test_cell_without_delay_is_refused(tmp_path: Path) -> None:
    flat = flat_of(tmp_path, LATE)
    delays = {"first": 10, "second": 10, "cmp": [[[5, np.nan]] * 2] * 2}
    with pytest.raises(SimulationError, match="no delay of cell XOR2X1"):
        switching(flat, delays, a=TOGGLE, q=[0] * CYCLES)

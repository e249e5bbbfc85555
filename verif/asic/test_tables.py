"""Tables, wire loads and energies of a Liberty file: exact figures of files written by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from carrysave.asic.liberty.energies import Energies, Internal, energies
from carrysave.asic.liberty.tables import LibertyError, Table, read_cells, read_table
from carrysave.asic.liberty.wire_load import WireLoad


def library(text: str) -> Any:
    """Return what is read of a library with units of 10 ps and 2 fF."""
    return SimpleNamespace(
        text=f"library (hand) {{ {text} }}", name="hand", time_unit=1e-11, capacitance_unit=2e-15
    )


PLANE = Table(
    np.array([1.0, 2.0, 4.0]),
    np.array([10.0, 30.0, 40.0]),
    np.array([[5.0, 9.0, 10.0], [6.0, 14.0, 24.0], [20.0, 40.0, 42.0]]),
)


@pytest.mark.parametrize(
    ("slew", "load", "value"),
    [
        # On points, between them on each axis, on both, and beyond each end.
        (1, 10, 5), (2, 30, 14), (4, 10, 20), (4, 30, 40), (2, 10, 6), (1, 20, 7), (3, 10, 13),
        (1.25, 15, 6.5), (3, 25, 23.5), (0, 10, 4), (5, 10, 27), (1, 0, 3), (1, 50, 11),
        (6, 50, 54), (2.5, 30, 20.5), (1, 35, 9.5), (2, 40, 24), (3, 35, 30),
    ],
)  # fmt: skip
def test_tables_are_linear_between_points_and_beyond(
    slew: float, load: float, value: float
) -> None:
    found = PLANE.look_up(np.array([slew, 1.0]), np.array([load, 10.0]))
    assert found.tolist() == pytest.approx([value, 5.0])


def test_tables_of_one_point_on_an_axis() -> None:
    one = np.zeros(1)
    row = Table(one, np.array([2.0, 4.0]), np.array([[1.0, 2.0]]))
    assert row.look_up(np.array([7.0, -3.0]), np.array([3.0, 6.0])).tolist() == [1.5, 3.0]
    column = Table(np.array([2.0, 4.0]), one, np.array([[1.0], [2.0]]))
    assert column.look_up(np.array([3.0, 6.0]), np.array([7.0, -3.0])).tolist() == [1.5, 3.0]
    point = Table(one, one, np.array([[8.0]]))
    assert point.look_up(np.array([3.0]), np.array([7.0])).tolist() == [8.0]


TEMPLATES = """
lu_table_template (by_slew) { variable_1 : input_transition_time; variable_2 :
  total_output_net_capacitance; index_1 ("1, 2"); index_2 ("1, 3, 5"); }
lu_table_template ("by_load") { variable_1 : total_output_net_capacitance; variable_2 :
  input_net_transition; index_1 ("1, 2"); index_2 ("1, 3, 5"); }
lu_table_template (limits) { variable_1 : related_pin_transition; variable_2 :
  constrained_pin_transition; index_1 ("1, 2"); index_2 ("1, 3, 5"); }
power_lut_template (alone) { variable_1 : input_transition_time; index_1 ("1, 2"); }
"""


def table_of(kind: str, inside: str) -> Table:
    """Return the table in a cell."""
    text = f"{TEMPLATES} cell (X) {{ cell_rise ({kind}) {{ {inside} }} }} cell (Y) {{ area : 1; }}"
    made = library(text)
    cells, templates = read_cells(made, {"X"}, frozenset())
    assert (list(cells), sorted(templates)) == (["X"], ["alone", "by_load", "by_slew", "limits"])
    return read_table(cells["X"].groups[0], templates, made, 3.0)


VALUES = 'values ("1, 2, 3", "4, 5, 6");'


@pytest.mark.parametrize(
    ("kind", "inside", "slews", "loads", "values"),
    [
        ("by_slew", VALUES, [0.01, 0.02], [2, 6, 10], [[3, 6, 9], [12, 15, 18]]),
        (
            "by_slew",
            f'index_1 ("1, 4"); {VALUES}',
            [0.01, 0.04],
            [2, 6, 10],
            [[3, 6, 9], [12, 15, 18]],
        ),
        ("by_load", VALUES, [0.01, 0.03, 0.05], [2, 4], [[3, 12], [6, 15], [9, 18]]),
        # A clock's transition is the load of a constraint, a time.
        ("limits", VALUES, [0.01, 0.03, 0.05], [0.01, 0.02], [[3, 12], [6, 15], [9, 18]]),
        ("alone", 'values ("1, 2");', [0.01, 0.02], [0], [[3], [6]]),
        ("scalar", 'values ("7");', [0], [0], [[21]]),
    ],
)
def test_tables_are_read_by_their_axes(
    kind: str, inside: str, slews: list[float], loads: list[float], values: list[list[float]]
) -> None:
    found = table_of(kind, inside)
    assert found.slews.tolist() == pytest.approx(slews)
    assert found.loads.tolist() == pytest.approx(loads)
    assert found.values.tolist() == values


@pytest.mark.parametrize(
    ("kind", "inside", "says"),
    [
        ("by_slew", f'index_1 ("1, 1"); {VALUES}', "index of by_slew must be .* ascending"),
        ("by_slew", f'index_2 ("1, 5, 3"); {VALUES}', "index of by_slew must be .* ascending"),
        ("by_slew", 'values ("1, 2");', "table of by_slew must be 2 x 3"),
        ("scalar", 'values ("1, 2");', "table of scalar must be 1 x 1"),
        ("scalar", "", "table of scalar must be 1 x 1"),
    ],
)
def test_tables_that_are_not_right_are_refused(kind: str, inside: str, says: str) -> None:
    with pytest.raises(LibertyError, match=says):
        table_of(kind, inside)


def test_cells_end_with_their_brace() -> None:
    """What comes behind a cell is not looked at, even where the library is cut off."""
    cut = SimpleNamespace(text="library (hand) { cell (X) { pin (A) { } } cell (Y) { ")
    cells, _ = read_cells(cut, {"X"}, frozenset())  # type: ignore[arg-type]
    assert [pin.name for pin in cells["X"].groups] == ["A"]


def test_cells_without_an_end_are_refused() -> None:
    broken = SimpleNamespace(text="library (hand) { cell (X) { pin (A) { } ")
    with pytest.raises(LibertyError, match="closing brace for every opening one"):
        read_cells(broken, {"X"}, frozenset())  # type: ignore[arg-type]


WIRES = """
pulling_resistance_unit : "10ohm"; default_wire_load : "some";
wire_load (other) { capacitance : 9; fanout_length (1, 9); }
wire_load ("some") { capacitance : 0.5; resistance : 3; slope : 4; area : 0;
  fanout_length (4, 13); fanout_length (1, 1); fanout_length (2, 5); }
"""


def test_wire_load_is_exact() -> None:
    wires = WireLoad.of(library(WIRES))
    assert wires == WireLoad(1.0, 30.0, (1.0, 5.0, 9.0, 13.0), 4.0)
    pins = np.array([0, 1, 2, 3, 4, 5, 7])
    lengths = [0.0, 1.0, 5.0, 9.0, 13.0, 17.0, 25.0]
    assert wires.length(pins).tolist() == lengths
    double = WireLoad(2.0, 30.0, wires.lengths, 4.0)
    assert double.farads(pins).tolist() == [2 * length for length in lengths]
    # Ohm by fF are 1e-6 ns; each pin has as much of the wire as any other.
    due = [
        30 * own / max(pin, 1) * (2 * own / max(pin, 1) + 3) * 1e-6
        for own, pin in zip(lengths, pins, strict=True)
    ]
    assert double.delay(pins, np.full(7, 3.0)).tolist() == pytest.approx(due)


@pytest.mark.parametrize(
    ("unit", "ohms"),
    [("1ohm", 3.0), ("10ohm", 30.0), ("100Ohm", 300.0), ("1kohm", 3e3), ("7ohm", 3e3)],
)
def test_wire_load_has_the_unit_of_the_library(unit: str, ohms: float) -> None:
    wires = WireLoad.of(library(WIRES.replace("10ohm", unit)))
    assert wires is not None
    assert wires.resistance == ohms


def test_wire_load_of_what_the_library_leaves_out() -> None:
    assert WireLoad.of(library("")) is None
    assert WireLoad.of(library('default_wire_load : "some";')) is None
    assert WireLoad.of(library("default_wire_load : w; wire_load (w) { slope : 1; }")) is None
    small = WireLoad.of(library("default_wire_load : w; wire_load (w) { fanout_length(2, 6); }"))
    assert small == WireLoad(0.0, 0.0, (6.0, 6.0), 0.0)
    for wrong in (
        "fanout_length(0, 1)",
        "fanout_length(1001, 1)",
        "fanout_length(1, -1)",
        "slope : -1; fanout_length(1, 1)",
    ):
        with pytest.raises(ValueError, match="must be"):
            WireLoad.of(library(f"default_wire_load : w; wire_load (w) {{ {wrong}; }}"))
    edges = "fanout_length(1, 0); fanout_length(1000, 999)"
    most = WireLoad.of(library(f"default_wire_load : w; wire_load (w) {{ {edges}; }}"))
    assert most is not None
    assert most.lengths == tuple(map(float, range(1000)))


ENERGY = """
voltage_unit : "2V"; leakage_power_unit : "1uW"; {}
cell (X) {{ {} pin ("A, B") {{ internal_power () {{ related_pin : "C D"; when : "!C";
    related_pg_pin : VDD;
    rise_power (scalar) {{ values ("1"); }} fall_power (scalar) {{ values ("4"); }} }} }}
  pin (C) {{ internal_power () {{ power (scalar) {{ values ("5"); }} }} }} }}
cell (Y) {{ cell_leakage_power : 0.5; voltage_unit : "9V"; }}
cell (Z) {{ area : 1; }}
"""


def leakage(cell: Energies) -> list[tuple[str | None, float]]:
    return [(when, round(nanowatts, 9)) for when, nanowatts in cell.leakage]


def test_energies_are_exact() -> None:
    """In fJ, by capacitance times the square of voltage; leakage in nW."""
    leak = 'leakage_power () { when : "A"; value : 3; } leakage_power () { value : 2; }'
    found = energies(library(ENERGY.format("", leak)), {"X", "Y", "Z"})
    x = found["X"]
    where = [(one.pin, one.related, one.when, one.supply) for one in x.internal]
    assert where == [
        ("A", "C", "!C", "VDD"),
        ("A", "D", "!C", "VDD"),
        ("B", "C", "!C", "VDD"),
        ("B", "D", "!C", "VDD"),
        ("C", None, None, None),
    ]
    at = np.zeros(2)
    energy = [one.energy(at, at).tolist() for one in x.internal]
    # 2 fF by 4 V^2 is 8 fJ; the mean of both edges.
    assert energy == [[20.0, 20.0]] * 4 + [[40.0, 40.0]]
    assert leakage(x) == [("A", 3000), (None, 2000)]
    assert leakage(found["Y"]) == [(None, 500)]
    assert leakage(found["Z"]) == [(None, 0)]
    assert (found["Y"].internal, found["Z"].internal) == ((), ())
    assert Internal("A", None, None, None, ()).energy(at, at).tolist() == [0.0, 0.0]


def test_units_of_energies_have_defaults() -> None:
    text = (
        "cell (X) { cell_leakage_power : 2; pin (A) { internal_power () { power (scalar) {"
        ' values ("5"); } } } }'
    )
    (x,) = energies(library(text), {"X"}).values()
    at = np.zeros(1)
    assert leakage(x) == [(None, 2)]
    assert x.internal[0].energy(at, at).tolist() == pytest.approx([10.0])
    with pytest.raises(LibertyError, match="energies of hand are not understood"):
        energies(library('voltage_unit : "1X"; cell (X) { }'), {"X"})

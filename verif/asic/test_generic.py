"""The library of gate equivalents and FO4, corners of a real one, and which library is taken."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic import elaborate, mapping, sta
from carrysave.asic.liberty import cells
from carrysave.asic.liberty.cells import Library
from carrysave.cli.libraries import target_of
from verif.asic.test_clocking import RESETS
from verif.asic.test_synthesis import MAC, MAC_PORTS, mismatches
from verif.support.command import Run
from verif.support.schemas import check

SMALL = ("mac", "-p", "a_width=2", "-p", "b_width=2", "-p", "accumulator_width=6")

# Capacitance of each input and parasitic delay, in those of an inverter; transistors. From
# "Logical Effort", tables 1.1 and 1.2, and by hand for the asymmetric ones.
BOOK: dict[str, tuple[dict[str, float], float, int]] = {
    "INVX1": ({"A": 1}, 1, 2),
    "NAND2X1": ({"A": 4 / 3, "B": 4 / 3}, 2, 4),
    "NAND3X1": (dict.fromkeys("ABC", 5 / 3), 3, 6),
    "NOR2X1": ({"A": 5 / 3, "B": 5 / 3}, 2, 4),
    "NOR3X1": (dict.fromkeys("ABC", 7 / 3), 3, 6),
    "AOI21X1": ({"A": 2, "B": 2, "C": 5 / 3}, 7 / 3, 6),
    "OAI21X1": ({"A": 2, "B": 2, "C": 4 / 3}, 8 / 3, 6),
    "AOI22X1": (dict.fromkeys("ABCD", 2), 4, 8),
}
COMPUTES: dict[str, Callable[..., Any]] = {
    "INV": lambda a: not a,
    "BUF": lambda a: a,
    "AND2": lambda a, b: a and b,
    "OR2": lambda a, b: a or b,
    "NAND2": lambda a, b: not (a and b),
    "NAND3": lambda a, b, c: not (a and b and c),
    "NAND4": lambda a, b, c, d: not (a and b and c and d),
    "NOR2": lambda a, b: not (a or b),
    "NOR3": lambda a, b, c: not (a or b or c),
    "AOI21": lambda a, b, c: not ((a and b) or c),
    "AOI22": lambda a, b, c, d: not ((a and b) or (c and d)),
    "AOI211": lambda a, b, c, d: not ((a and b) or c or d),
    "OAI21": lambda a, b, c: not ((a or b) and c),
    "OAI22": lambda a, b, c, d: not ((a or b) and (c or d)),
    "OAI211": lambda a, b, c, d: not ((a or b) and c and d),
    "XOR2": lambda a, b: a != b,
    "XNOR2": lambda a, b: a == b,
    "MUXI2": lambda a, b, s: not (b if s else a),
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take Debian's library away."""
    monkeypatch.setattr(cells, "OSU018", [tmp_path / "none.lib"])


def delay(name: str, pin: str) -> tuple[float, float]:
    """Delay of a cell without load, and for one inverter's input more, in an inverter's."""
    text = cells.generic().text
    cell = text[text.index(f"cell({name})") :].partition("\n}")[0]
    arc = cell[cell.index(f'related_pin : "{pin}"') :]
    row = arc[arc.index("cell_rise") :].split('"')[1].split(", ")
    low, middle, high = (5 * float(value) for value in row)
    assert middle == pytest.approx((low + high) / 2)
    return low, (high - low) / 20


@pytest.mark.parametrize("name", BOOK)
def test_gates_are_as_in_the_book(name: str) -> None:
    farads, parasitic, transistors = BOOK[name]
    cell = cells.generic().cells[name]
    assert {pin.name: pin.capacitance for pin in cell.inputs} == pytest.approx(farads, abs=1e-4)
    assert cell.area == transistors / 4
    for pin in farads:
        assert delay(name, pin) == pytest.approx((parasitic, 1), abs=1e-4)


@pytest.mark.parametrize(
    ("name", "fixed", "slope"),
    [
        ("BUFX2", 1 + 2 + 1, 1 / 2),
        ("AND2X1", 2 + 1 + 1, 1),
        ("XOR2X1", 2 + 5 / 3 + 7 / 3, 1),
        ("XNOR2X4", 2 + 4 / (4 / 3) * 4 / 3 + 8 / 3, 1 / 4),
    ],
)
def test_gates_of_two_stages_have_the_load_between_them(name, fixed, slope) -> None:
    """The last one has the size, the first a third of it."""
    assert delay(name, "A") == pytest.approx((fixed, slope), abs=1e-3)


def test_every_gate_computes_what_its_name_says() -> None:
    seen = set()
    for cell in cells.generic().cells.values():
        name = cell.name.rpartition("X")[0] or cell.name
        if name not in COMPUTES:
            assert cell.sequential or cell.name.startswith("TIE")
            continue
        seen.add(name)
        pins = sorted(pin.name for pin in cell.inputs)
        order = [pin.name for pin in cell.inputs]
        table = cell.table(cell.outputs[0])
        assert table is not None
        for point, value in enumerate(table):
            states = {pin: point >> order.index(pin) & 1 for pin in pins}
            assert value == int(COMPUTES[name](*(states[pin] for pin in pins))), cell.name
    assert seen == set(COMPUTES)


def test_an_inverter_that_drives_four_takes_one_fo4() -> None:
    chain = "".join(
        f"  INVX1 i{i}(.A(n[{i}]), .Y(n[{i + 1}]));\n"
        + "".join(f"  INVX1 l{i}_{j}(.A(n[{i + 1}]));\n" for j in range(3))
        for i in range(8)
    )
    netlist = f"module ring(input clk);\n  wire [8:0] n;\n{chain}" + (
        "  INVX1 l0(.A(n[0])); INVX1 l1(.A(n[0])); INVX1 l2(.A(n[0]));\n"
        "  DFFX1 f(.CK(clk), .D(n[8]), .Q(n[0]));\nendmodule\n"
    )
    found = sta.analyse(netlist, top="ring", library=cells.generic(), conditions=sta.Conditions())
    # Clock-to-q 2 and its load of 4 inverters 0.8; 8 inverters; setup 1.
    assert found["period_ns"] == pytest.approx(2.8 + 8 + 1, abs=1e-3)


def test_netlists_compute_the_same(tmp_path: Path) -> None:
    library = cells.generic()
    assert (library.nand2.name, library.nand2.area) == ("NAND2X1", 1)
    for text, top in ((MAC, "mac"), (RESETS, "taps")):
        path = tmp_path / f"{top}.v"
        path.write_text(text)
        flow = mapping.Flow(elaborate.elaborate([path], top), (), library, sta.Conditions())
        found = mapping.point(flow, mapping.Recipe("tree", "amap"), 1.0)
        netlist = Path(found["netlist"]).read_text()
        if top == "mac":
            assert "CLKGATEX4" in netlist
            assert mismatches(tmp_path, top, text, netlist, library, MAC_PORTS) == (480, 0)
        else:
            assert netlist.count("DFFSRX1 ") == 202


@pytest.mark.usefixtures("nothing", "short_sweep")
def test_synth_works_without_any_library(run: Run, tmp_path: Path) -> None:
    found = check("synthesis", run("synth", *SMALL, "--json").out)
    assert found["target"] == "generic"
    assert found["area_um2"] is found["period_ns"] is found["power_mw"] is found["gops"] is None
    assert found["kge"] == pytest.approx(found["area_ge"] / 1e3)
    assert found["operations_per_fo4"] == pytest.approx(2 / found["period_fo4"])
    assert 5 < found["period_fo4"] < 30
    named = run("synth", *SMALL, "--target", "osu018")
    assert named.code == 1  # something is not installed
    assert "qflow-tech-osu018" in named.err


@pytest.mark.prove
@pytest.mark.usefixtures("nothing", "short_sweep")
def test_sweeps_and_comparisons_without_any_library(run: Run, tmp_path: Path) -> None:
    outcome = run("synth", *SMALL, "--sweep")
    for word in (" GE ", " FO4 ", "gate equivalents (GE: a NAND2 is 1), times in FO4"):
        assert word in outcome.out
    assert " um2" not in outcome.out + outcome.err
    assert " ns" not in outcome.out + outcome.err
    (picture,) = (tmp_path / "build" / "synth").glob("*.sweep.svg")
    assert "minimum period, FO4" in picture.read_text()
    compared = run("compare", f"mac({','.join(SMALL[2::2])})", "opt1(a_width=2)")
    assert "period, FO4" in (tmp_path / "build" / "compare" / "compare.generic.svg").read_text()
    assert compared.code == 0


def corner(tmp_path: Path, name: str, unit: str) -> Path:
    """osu018 at another speed."""
    text = cells.osu018().text
    assert text.count('time_unit : "1ns"') == 1
    path = tmp_path / f"{name}.lib.gz"
    text = text.replace('time_unit : "1ns"', f'time_unit : "{unit}"')
    path.write_bytes(gzip.compress(text.replace("osu018_stdcells", name).encode()))
    return path


def named(*files: Path) -> list[str]:
    return [word for file in files for word in ("--liberty", str(file))]


@pytest.mark.prove
@pytest.mark.usefixtures("short_sweep")
def test_the_slowest_corner_sets_the_period_the_first_all_else(run: Run, tmp_path: Path) -> None:
    typical, slow, fast = (
        corner(tmp_path, *which) for which in (("typ", "1ns"), ("slow", "2ns"), ("fast", "0.5ns"))
    )
    one, found = (
        check("synthesis", run("synth", *SMALL, *named(*files), "--json").out)
        for files in ([typical], [typical, slow, fast])
    )
    assert [entry["name"] for entry in found["corners"]] == ["typ", "slow", "fast"]
    periods = [entry["period_ns"] for entry in found["corners"]]
    assert found["period_ns"] == max(periods) == periods[1]
    assert periods[0] == one["period_ns"]
    assert periods[1] == pytest.approx(2 * periods[0], rel=0.1)
    assert found["area_um2"] == one["area_um2"]
    assert (found["target"], found["library"]) == (one["target"], one["library"])
    # Energy is that of the typical corner, at the slower clock.
    energy, slower = (result["power_mw"] * result["period_ns"] for result in (one, found))
    assert slower == pytest.approx(energy, rel=0.1)
    said = run("synth", *SMALL, *named(typical, slow, fast)).out  # from the cache
    corners = zip(("typ", "slow", "fast"), periods, strict=True)
    assert "by corner: " + ", ".join(f"{name} {ns:.3f} ns" for name, ns in corners) in said


def test_corners_must_have_the_same_cells(run: Run, tmp_path: Path) -> None:
    typical, slow = (corner(tmp_path, *which) for which in (("typ", "1ns"), ("slow", "2ns")))
    text = gzip.decompress(slow.read_bytes()).decode().replace("INVX8", "INVX9")
    slow.write_bytes(gzip.compress(text.encode()))
    outcome = run("synth", *SMALL, *named(typical, slow))
    assert outcome.code == 2
    assert "corners must have the same cells, not 'slow' beside 'typ'" in outcome.err
    assert "INVX8" in outcome.err


def test_settings_name_the_library(run: Run, tmp_path: Path) -> None:
    (tmp_path / "libs").mkdir()
    corner(tmp_path / "libs", "mine", "1ns")
    settings = tmp_path / "carrysave.toml"
    settings.write_text('library = "libs/mine.lib.gz"\n')
    ask = ("synth", *SMALL, "--activity", "none", "--json")
    assert json.loads(run(*ask).out)["target"] == "mine"
    assert json.loads(run(*ask, "--target", "generic").out)["target"] == "generic"
    found = target_of(None, None)
    assert isinstance(found, Library)
    assert found.name == "mine"
    settings.write_text('library = "generic"\n')
    assert json.loads(run(*ask).out)["target"] == "generic"
    other = tmp_path / "libs" / "other.toml"
    other.write_text('library = ["mine.lib.gz", "mine.lib.gz"]\n')
    assert len(json.loads(run(*ask, "--config", str(other)).out)["corners"]) == 2
    for text, says in (
        ("library = 5", "library must be a string, or a list of them, not 5"),
        ("library = [5]", "library must be a string, or a list of them, not [5]"),
        ('library = "tsmc"', "library must be osu018, generic, sky130, gf180"),
        ('library = "none.lib"', "none.lib: Liberty file not found"),
    ):
        settings.write_text(text)
        outcome = run(*ask)
        assert outcome.code == 2
        assert says in outcome.err.splitlines()[-1]

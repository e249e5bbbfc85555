"""Liberty files: parsing, the facts that synthesis needs, the models of cells."""

import gzip
from pathlib import Path

import pytest

from carrysave.asic.liberty import cells as liberty
from carrysave.asic.liberty.cells import Library

SMALL = """
/* a library by hand; units differ from the usual ones on purpose */
library (small) {
  time_unit : "10ps"; capacitive_load_unit (10, ff);
  nom_process : 1.5; nom_voltage : 0.9; nom_temperature : -40
  operating_conditions ("cold") { process : 1.5; voltage : 0.9; temperature : -40; }
  default_operating_conditions : "cold";
  cell ("NAND") { area : 2; // two-input
    pin (A) { direction : input; capacitance : 0.2; }
    pin (B) { direction : input; capacitance : 0.1; }
    pin (Y) { direction : output; function : "(A B)'"; max_capacitance : 10; }
  }
  cell (NOR) { area : 2;
    pin (A) { direction : input; capacitance : 0.3; } pin (B) { direction : input; }
    pin (Y) { direction : output; function : "!(A+B)";
      leakage_power () { when : "A"; sizes (t) { values ("1, 2", \\
        "3, 4"); } } }
  }
  cell (INV1) { area : 1;
    pin (A) { direction : input; capacitance : 0.1; }
    pin (Y) { direction : output; function : "A'"; max_capacitance : 5; } }
  cell (BUF1) { area : 1.5;
    pin (A) { direction : input; } pin (Y) { direction : output; function : "A";
    max_capacitance : 5; } }
  cell (BUF2) { area : 2.5;
    pin (A) { direction : input; } pin (Y) { direction : output; function : "A";
    max_capacitance : 11; } }
  cell (BUF2_LOW) { area : 2.0; dont_use : true;
    pin (A) { direction : input; } pin (Y) { direction : output; function : "A";
    max_capacitance : 10; } }
  cell (TIE) { area : 1;
    pin (H) { direction : output; function : "1"; }
    pin (L) { direction : output; function : "0"; } }
  cell (ADD) { area : 9;
    pin (A) { direction : input; } pin (B) { direction : input; } pin (C) { direction : input; }
    pin (S) { direction : output; function : "A^B^C"; }
    pin (CO) { direction : output; function : "A*B | C&(A^B)"; } }
  cell (GATE) { area : 6; clock_gating_integrated_cell : "latch_posedge";
    statetable ("CK E", "Q") { table : "L L : - : L, L H : - : H, H - : - : N"; }
    pin (CK) { direction : input; clock : true; clock_gate_clock_pin : true; }
    pin (E) { direction : input; clock_gate_enable_pin : true; }
    pin (GCK) { direction : output; clock_gate_out_pin : true; state_function : "CK*Q"; } }
  cell (DFF) { area : 8; ff (IQ, IQN) { next_state : "D"; clocked_on : "CK"; }
    pin (CK) { direction : input; clock : true; } pin (D) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; } }
}
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "small.lib"
    path.write_text(SMALL)
    return Library.load(path)


def test_liberty_units_and_corner(small):
    assert small.name == "small"
    assert small.time_unit == pytest.approx(10e-12)
    assert small.capacitance_unit == pytest.approx(10e-15)
    assert small.corner == {"name": "cold", "process": 1.5, "voltage": 0.9, "temperature": -40.0}
    assert small.cells["NAND"].inputs[0].capacitance == pytest.approx(2.0)  # fF


def test_liberty_cells_are_found_by_function(small):
    assert small.nand2.name == "NAND"
    assert small.driver.name == "BUF2"  # not BUF2_LOW, which is nearer but not to be used
    assert small.ties == (("TIE", "H"), ("TIE", "L"))
    assert small.full_adder.name == "ADD"
    assert small.clock_gate.name == "GATE"
    assert small.load_ff == pytest.approx(6.0)


def test_liberty_function_tables(small):
    cells = small.cells
    assert cells["NOR"].table(cells["NOR"].outputs[0]) == (1, 0, 0, 0)
    assert cells["ADD"].table(cells["ADD"].outputs[1]) == (0, 0, 0, 1, 0, 1, 1, 1)
    assert cells["DFF"].table(cells["DFF"].outputs[0]) is None


def test_liberty_areas_split_by_kind(small):
    assert small.areas({"DFF": 3, "GATE": 1, "NAND": 10}) == (30.0, 20.0)


def test_liberty_reads_gzip_alike(small, tmp_path):
    path = tmp_path / "small.lib.gz"
    path.write_bytes(gzip.compress(SMALL.encode()))
    packed = Library.load(path)
    assert (packed.sha, packed.cells) == (small.sha, small.cells)
    assert packed.text == SMALL


def test_liberty_models_gate_and_cells(small):
    text = liberty.cell_models(small)
    assert "module GATE(input CK, input E, output GCK);" in text
    assert "if (!CK) enabled = E;" in text
    assert "module ADD" in text
    assert text.count("endmodule") == len(small.cells)


@pytest.mark.parametrize(
    "broken", ["", "library (x) { cell (A) { area : 1; }", "module m; endmodule"]
)
def test_liberty_rejects_what_is_not_liberty(tmp_path, broken):
    path = tmp_path / "broken.lib"
    path.write_text(broken)
    with pytest.raises(ValueError, match="Liberty text must be one library group"):
        Library.load(path)


def test_liberty_rejects_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="Liberty file not found"):
        Library.load(tmp_path / "none.lib")


def test_osu018_facts():
    library = liberty.osu018()
    assert library.name == "osu018_stdcells"
    assert len(library.cells) == 32
    assert library.corner["voltage"] == 1.8
    assert library.nand2.name == "NAND2X1"
    assert library.nand2.area == 24
    assert library.driver.name == "BUFX2"
    assert library.full_adder is library.cells["FAX1"]
    assert library.ties is None
    assert library.clock_gate is None
    assert "CLKBUF1" in library.dont_use
    assert library.cells["DFFPOSX1"].sequential
    assert not library.cells["FAX1"].sequential


def test_osu018_missing_names_the_package(monkeypatch, tmp_path):
    monkeypatch.setattr(liberty, "OSU018", [tmp_path / "none.lib"])
    with pytest.raises(FileNotFoundError, match="sudo apt-get install qflow-tech-osu018"):
        liberty.osu018()

"""Broken Liberty files: read, or refused in one line."""

import gzip
from pathlib import Path

import pytest

from carrysave.asic.liberty.cells import Library
from carrysave.asic.liberty.energies import energies
from verif.support.fuzz import broken, budgets, fuzz

SMALL = b"""
library (small) {
  time_unit : "10ps"; capacitive_load_unit (10, ff); voltage_unit : "1V";
  leakage_power_unit : "1nW";
  nom_process : 1.5; nom_voltage : 0.9; nom_temperature : -40
  operating_conditions ("cold") { process : 1.5; voltage : 0.9; temperature : -40; }
  default_operating_conditions : "cold"; /* a comment */
  power_lut_template (t) { variable_1 : total_output_net_capacitance;
    variable_2 : input_transition_time; index_1 ("1, 2"); index_2 ("0.1, 0.2"); }
  cell ("NAND") { area : 2; // two-input
    cell_leakage_power : 3;
    pin (A) { direction : input; capacitance : 0.2; }
    pin (B) { direction : input; capacitance : 0.1; }
    pin (Y) { direction : output; function : "(A B)'"; max_capacitance : 10;
      internal_power () { related_pin : "A"; rise_power (t) { values ("1, 2", \\
        "3, 4"); } fall_power (t) { index_1 ("1, 3"); values ("1, 2", "3, 4"); } } }
  }
  cell (INV1) { area : 1; leakage_power () { when : "A"; value : 2; }
    pin (A) { direction : input; capacitance : 0.1; }
    pin (Y) { direction : output; function : "A'"; max_capacitance : 5; } }
  cell (BUF1) { area : 1.5;
    pin (A) { direction : input; } pin (Y) { direction : output; function : "A";
    max_capacitance : 5; } }
  cell (TIE) { area : 1;
    pin (H) { direction : output; function : "1"; }
    pin (L) { direction : output; function : "0"; } }
  cell (ADD) { area : 9; bundle (I) { pin (A, B) { direction : input; } }
    pin (C) { direction : input; }
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
WORDS = (
    b"cell (NAND) {", b"pin (A) {", b"/*", b"*/", b"//", b'"0ns"', b'"1 year"', b"(0, pf)",
    b"(1, zz)", b"area : ", b'function : "', b"!" * 600, b"(" * 600, b"A+" * 600, b"a(){" * 600,
    b'\\"' * 2000, b"/*/" * 2000, b"timing () {", b"internal_power () {", b"\\\n",
)  # fmt: skip
KNOWN = (
    SMALL.replace(b'"10ps"', b'"0ns"'),
    SMALL.replace(b'"10ps"', b'"1year"'),
    SMALL.replace(b"(10, ff)", b"(0, ff)"),
    SMALL.replace(b"(10, ff)", b"(1, zz)"),
    SMALL.replace(b"area : 2", b"area : 1e400"),
    SMALL.replace(b"area : 2", b"area : 0"),
    SMALL.replace(b"max_capacitance : 5", b"max_capacitance : 0"),
    SMALL.replace(b"(A B)'", b"(" * 5000 + b"A" + b")" * 5000),
    SMALL.replace(b"(A B)'", b"A" + b"+A" * 5000),
    SMALL.replace(b"1, 2", b""),
    SMALL.replace(b'"0.1, 0.2"', b'"0.2, 0.2"'),
    SMALL.replace(b"cell (", b"cell /**/ ("),
    SMALL.replace(b"value : 2", b"value : x"),
    b"library (x) {" + b"a () {" * 100_000 + b"}" * 100_001,
    b"library (x) { timing () {" + b"a () {" * 100_000 + b"}" * 100_002,
    b'library (x) { "' + b'\\"' * 1_000_000,
    b'library (x) { a : "' + b'\\"' * 1_000_000 + b"\\",
    b"library (x) { " + b"/*/" * 1_000_000,
    b"library (x) { a (" + b"b" * 4_000_000,
    b"library (x) { " + b"cell (a) {" * 400_000 + b"}",
    b"library (x) { " + b"cell (a) { = }\n" * 300_000 + b"}",
    b"library (x) { " + b"cell (a) { pin (b) { } }\n" * 100_000 + b"}",
    SMALL.replace(b"area : 2", b"area ="),
    SMALL.replace(b"area : 2", b"} area : 2"),
)
"""Files that once gave a traceback, or took minutes or gigabytes."""


@pytest.mark.sample(1)
@budgets
@pytest.mark.parametrize("suffix", [".lib", ".lib.gz"])
def test_broken_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, seconds: float
) -> None:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / f"file{suffix}"
    good = [SMALL] if suffix == ".lib" else [gzip.compress(SMALL, mtime=0), SMALL[:99]]

    def read(data: bytes) -> None:
        file.write_bytes(data)
        library = Library.load(file)
        energies(library, library.cells)
        for name in ("dont_use", "ties", "clock_gate", "full_adder"):
            getattr(library, name)
        assert library.load_ff >= 0
        assert library.driver.area >= 0

    if suffix == ".lib.gz":
        fuzz(read, broken(good), seconds, [good[0][:n] for n in range(2, len(good[0]), 7)])
    else:
        fuzz(read, broken(good, WORDS), seconds, KNOWN)

"""An odd cell of a Liberty file is left out and named, for all tools; the others stay."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from carrysave.asic.liberty import cells
from carrysave.asic.liberty.arcs import arcs
from carrysave.asic.liberty.cells import Library
from carrysave.asic.liberty.energies import energies
from carrysave.asic.probe import probe
from hw.emit.user_files import FileError
from verif.support.command import Run

_CELL = re.compile(r"^cell \((\w+)\) \{.*?(?=^cell \(|^/\* -|\Z)", re.M | re.S)
Change = Callable[[str], str]


def swap(pattern: str, text: str) -> Change:
    """Return what changes the first match in a cell."""

    def change(cell: str) -> str:
        changed, count = re.subn(pattern, text, cell, count=1)
        assert count == 1
        return changed

    return change


FUNCTION = r'function *: *"[^"]*"'
VALUES = r"values *\([^)]*\)"
DIRECTION = r"direction *: *input;"
ODD: dict[str, tuple[str, Change, str]] = {
    "unknown name": ("AOI22X1", swap(FUNCTION, 'function : "(A Q)"'), "its pins, not of Q"),
    "no expression": ("AOI21X1", swap(FUNCTION, 'function : "(A &"'), "a Boolean expression"),
    "of an output": ("HAX1", swap(FUNCTION, 'function : "YS"'), "one of inputs, not of YS"),
    "no area": ("AND2X1", swap(r"area *: *[^;]*;", ""), "must have an area"),
    "area": ("AND2X2", swap(r"area *: *[^;]*;", "area : big;"), "area must be 0..1e+30"),
    "infinite": ("OR2X1", swap(r"area *: *[^;]*;", "area : 1e400;"), "area must be 0..1e+30"),
    "capacitance": (
        "OR2X2",
        swap(r"\bcapacitance *: *[^;]*;", "capacitance : -1;"),
        "capacitance of pin A",
    ),
    "direction": ("OAI21X1", swap(DIRECTION, "direction : inptu;"), "internal, not 'inptu'"),
    "no direction": ("OAI22X1", swap(DIRECTION, ""), "internal, not none"),
    "pin twice": ("NAND3X1", swap(r"pin *\(B\)", "pin (A)"), "pin A must be there once"),
    "values": ("XOR2X1", swap(VALUES, 'values ("1, 2")'), "values must be 5 x 5 numbers, not 2"),
    "no number": ("XNOR2X1", swap(VALUES, 'values ("x")'), "not 'x'"),
    "template": ("MUX2X1", swap(r"cell_rise *\([^)]*\)", "cell_rise(z)"), "library's, not 'z'"),
    "index": ("BUFX4", swap(r'index_1 *\("[^"]*"', 'index_1 ("5,4,3,2,1"'), "must ascend"),
    "related": ("FAX1", swap(r'related_pin *: *"A"', 'related_pin : "Z"'), "delay from A"),
    "register": ("DFFNEGX1", swap(r'clocked_on *: *"[^"]*"', 'clocked_on : "Z"'), "not of Z"),
    "latch": ("LATCH", swap(r'data_in *: *"[^"]*"', 'data_in : "("'), "data_in of latch"),
    "statement": ("INVX4", swap(r"area *:", "area ="), "is not Liberty"),
    "name": ("INVX8", swap(r"INVX8", "INV-8"), "letters, digits and _, not 'INV-8'"),
    "no end": ("CLKBUF3", lambda cell: cell.rstrip()[:-1] + "\n", "no end before the next cell"),
    "two ends": ("INVX2", swap(r"area *:", "} area :"), "a brace too many"),
    "end of a pin": ("NOR2X1", swap(r"direction", "} direction"), "a brace too many"),
    "twice": ("TBUFX2", swap(r"TBUFX2", "INVX1"), "a cell of its name is at line"),
}
LEGAL = """
cell (FILL) { pin (A) { capacitance : 0.1; } }
cell (KEEPER) { area : 3; pin (A) { direction : inout; } }
cell (PAD) { area : 9; pin (P) { direction : inout; function : "A"; three_state : "E"; }
  pin (A) { direction : input; } pin (E) { direction : input; }
  pin (Y) { direction : output; function : "P"; } }
cell (HOLD) { area : 3; pin (P) { direction : inout; driver_type : bus_hold; function : "P"; } }
cell (INPAD) { area : 9; pin (P) { direction : inout; is_pad : true; }
  pin (Y) { direction : output; function : "P"; } }
cell (HALF) { area : 3; pin (A) { direction : input; } pin (Y) { direction : output;
  function : "A"; } pin (Z) { direction : output; } }
cell (PAIR) { area : 3; bundle (D) { direction : input; pin (A) { } pin (B) { } }
  pin (Y) { direction : output; function : "A & B"; } }
cell (MEMORY) { area : 9; bus (D) { direction : input; pin (D[1:0]) { capacitance : 0.1; } }
  bus (Q) { direction : output; pin (Q[1:0]) { } } }
cell (SCAN) { area : 9; statetable ("C D", "I") { table : "R H : - : H, R L : - : L"; }
  pin (C) { direction : input; clock : true; } pin (D) { direction : input; }
  pin (I) { direction : internal; internal_node : "I"; }
  pin (Q) { direction : output; state_function : "I"; } test_cell () { pin (C) { } } }
"""


@pytest.fixture(scope="module")
def whole() -> str:
    return cells.osu018().text


def changed(whole: str, names: list[str]) -> str:
    by_cell = {ODD[name][0]: ODD[name][1] for name in names}
    found = _CELL.sub(lambda cell: by_cell.pop(cell[1], lambda text: text)(cell[0]), whole)
    assert not by_cell, f"no such cells: {', '.join(by_cell)}"
    return found


@pytest.mark.parametrize("name", ODD)
def test_odd_cell_is_named(name: str, whole: str) -> None:
    """It has its line and a reason in a note, and is in no text that a tool gets."""
    cell, _, reason = ODD[name]
    text = changed(whole, [name])
    library = Library.of(text.encode())
    (note,) = library.notes
    assert reason in note
    line = int(re.findall(r"\(line (\d+)\)", note)[0])
    assert cell in whole.splitlines()[line - 1]
    assert set(library.cells) == set(cells.osu018().cells) - {cell}
    assert {key: cells.osu018().cells[key] for key in library.cells} == library.cells
    # Lines keep their numbers, so that those of tools are the user's.
    assert library.text.count("\n") == text.count("\n")
    assert not re.search(rf"cell *\({cell}\)", library.text)
    assert library.key != library.sha


def test_tools_take_the_rest(whole: str, tmp_path: Path, run: Run) -> None:
    """With odd cells of every kind, and legal ones that no tool maps to, which are no notes."""
    path = tmp_path / "mine.lib"
    path.write_text(changed(whole, list(ODD)).rstrip().removesuffix("}") + LEGAL + "}\n")
    library = Library.load(path)
    assert len(library.odd) == len(ODD)
    assert {"FILL", "KEEPER", "PAD", "MEMORY", "SCAN"} <= set(library.cells)
    assert library.others == ("HOLD", "INPAD", "HALF", "PAIR")
    assert sum("legal" in note for note in library.notes) == 1
    assert 0.2 < probe(library) < 0.8
    assert "module DFFPOSX1" in cells.cell_models(library)
    assert repr(energies(library, ["INVX1"])) == repr(energies(cells.osu018(), ["INVX1"]))
    assert len(arcs(library, library.cells)) == len(library.cells)
    outcome = run("synth", "lmul", "--liberty", path, "--json")
    assert outcome.code == 0, outcome.err
    notes = json.loads(outcome.out)["notes"]
    for _, _, reason in ODD.values():
        assert any(note.startswith(f"{path}: cell") and reason in note for note in notes), reason


def test_odd_in_one_corner(whole: str, tmp_path: Path) -> None:
    """No corner has a cell that is odd in another; a second of its name takes none away."""
    good, slow = tmp_path / "good.lib", tmp_path / "slow.lib"
    good.write_text(whole)
    again = "cell (INVX1) { area : 1; }"
    slow.write_text(changed(whole, ["values"]).rstrip().removesuffix("}") + again + "}\n")
    library = Library.load(good, slow)
    (corner,) = library.corners
    left = set(cells.osu018().cells) - {"XOR2X1"}
    assert set(library.cells) == set(corner.cells) == left
    assert not re.search(r"cell *\(XOR2X1\)", library.text)
    assert all(note.startswith(f"{slow}: cell") for note in library.notes)
    in_job = cells._loaded(tuple(library.plain(lambda path: path)["files"]), False)
    assert in_job.text == library.text
    assert [one.text for one in in_job.corners] == [corner.text]


def test_nothing_is_left(whole: str, tmp_path: Path) -> None:
    path = tmp_path / "none.lib"
    path.write_text(re.sub(r"area *: *[^;]*;", "", whole))
    with pytest.raises(FileError, match=r"none\.lib: library must have cells.*AND2X1 at line 133"):
        Library.load(path)
    path.write_text(re.sub(r"(?<=cell \(NAND2X1\) {)\s*area *: *[^;]*;", "", whole))
    with pytest.raises(ValueError, match=r"usable two-input NAND.*NAND2X1 \(line \d+\) left out"):
        _ = Library.load(path).nand2


def test_what_is_behind_the_end(whole: str) -> None:
    """It is refused with its line, and never read as nothing; a brace alone is the last cell's."""
    for text in ("module m; endmodule", "pin (A) { }", "library (other) { }", "area : 1;"):
        line = whole.rstrip().count("\n") + 2
        with pytest.raises(ValueError, match=f"one library group, not broken at line {line}"):
            Library.of(f"{whole.rstrip()}\n{text}\n".encode())
    with pytest.raises(ValueError, match="one library group, not broken at line 1"):
        Library.of(f"area : 1; {whole}".encode())
    for end in ("}", "} }", "}\n}\n"):
        library = Library.of((whole + end).encode())
        (note,) = library.notes
        assert re.search(r"cell XOR2X1 \(line \d+\) left out: it has a brace too many", note), note
        assert Library.of(library.text.encode()).cells == library.cells

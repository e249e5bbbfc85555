"""Names and paths of any kind: nothing of them is run, and none is lost."""

import gzip
import json
from pathlib import Path

import pytest

from carrysave.asic import synthesis
from carrysave.asic.liberty import cells
from carrysave.asic.options import Verilog
from hw.emit import tools, yosys
from hw.emit.sources import Sources
from verif.support.command import Run
from verif.support.names import MARK, NAMES, TOUCH

FILES = [name.replace("/", "_") for name in NAMES if name not in {"~", "-"}]
VERILOG = """\
module {top} (input {clock}, input [1:0] a, output reg [1:0] {port});
  wire [1:0] n;
  {sub} {instance} (.{pin}(a), .y(n));
  always @(posedge {clock}) {port} <= n ^ {port};
endmodule
module {sub} (input [1:0] {pin}, output [1:0] y);
  assign y = ~{pin};
endmodule
"""
PLAIN = {"top": "t", "clock": "clk", "port": "o", "sub": "s", "instance": "i", "pin": "p"}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def verilog(**names: str) -> Path:
    path = Path("names.v")
    path.write_text(VERILOG.format(**PLAIN | names))
    return path


def nothing_ran(tmp_path: Path) -> bool:
    return not list(tmp_path.rglob(MARK)) and not Path("/tmp", MARK).exists()


def test_there_are_enough_names() -> None:
    assert len(set(NAMES)) >= 60


# What Verilog can write: `\`, all but white space, and a space.
ESCAPED = [name for name in NAMES if not any(c.isspace() or ord(c) < 33 for c in name)]


@pytest.mark.prove
def test_names_of_verilog(tmp_path: Path) -> None:
    """Each name for all that has one: what the flows read has plain names, and a map back."""
    for name in ESCAPED:
        own = {part: f"{name}{number}" for number, part in enumerate(PLAIN)}
        source = verilog(**{part: f"\\{text} " for part, text in own.items()})
        with tools.workplace() as work:
            design = Sources.read([source]).design(own["top"], work, "memory", "opt_clean")
            modules = json.loads((work / "design.json").read_text())["modules"]
        for module, facts in modules.items():
            for word in (module, *facts["ports"]):
                yosys.word(word)
        for part in ("top", "clock", "port", "sub", "pin"):
            plain = own[part].isascii() and own[part].isidentifier()
            assert plain or own[part] in design.names.values(), own[part]
        assert design.ports[design.port(own["clock"])]["direction"] == "input"
        assert design.ports[design.port(own["port"])]["direction"] == "output"
    assert nothing_ran(tmp_path)


@pytest.mark.sample(2)
@pytest.mark.parametrize("part", PLAIN)
@pytest.mark.parametrize(
    "name", [f"c}};{{*}}exec\\x20{TOUCH.replace(' ', '$IFS')}", f"`{MARK}`[0]"]
)
def test_hostile_verilog_is_synthesised(part: str, name: str, tmp_path: Path) -> None:
    escaped = {part: f"\\{name} "}
    found = synthesis.synthesise(
        Verilog(
            [verilog(**escaped)],
            name if part == "top" else "t",
            clock=name if part == "clock" else "clk",
        ),
        "osu018",
        hierarchy="flat",
    )
    expected = synthesis.synthesise(Verilog([verilog()], "t"), "osu018", hierarchy="flat")
    assert (found["area_um2"], found["period_ns"]) == (expected["area_um2"], expected["period_ns"])
    assert name in found["names"].values()
    assert part in {"top"} or any(repr(name) in note for note in found["notes"])
    assert nothing_ran(tmp_path)


@pytest.mark.prove
@pytest.mark.parametrize("target", ["osu018", "ecp5"])
def test_files_of_any_name(target: str, tmp_path: Path) -> None:
    """They are read, whatever matches their name as a pattern, and all to the same result."""
    decoy = "module t(input clk, output o); assign o = clk; endmodule\n"
    text = verilog().read_text()
    results = []
    for name in FILES if target == "osu018" else FILES[::6]:
        folder = tmp_path / "of" / name
        folder.mkdir(parents=True)
        (folder / "g1.v").write_text(decoy)
        source = folder / f"{name} g[1].v"
        source.write_text('`include "part of it.vh"\n')
        (folder / "part of it.vh").write_text(text)
        with tools.workplace() as work:
            design = Sources.read([source]).design("t", work)
            results.append(design.ports)
    assert all(ports == results[0] and "p" not in ports and "a" in ports for ports in results)
    found = synthesis.synthesise(Verilog([source], "t"), target, place=False)
    assert found["cells"] >= 4  # of the decoy there would be none
    assert nothing_ran(tmp_path)


def liberty(cell: str = "", pin: str = "") -> str:
    text = cells.osu018().text.rstrip().removesuffix("}")
    if cell:
        quoted = cell.replace("\\", "\\\\").replace('"', '\\"')
        text += f'cell("{quoted}") {{ dont_use : true; area : 1; pin(A) {{ direction : input; }} }}'
    if pin:
        quoted = pin.replace("\\", "\\\\").replace('"', '\\"')
        text += f'cell(X) {{ dont_use : true; area : 1; pin("{quoted}") {{ direction : input; }} }}'
    return text + "}\n"


@pytest.mark.parametrize("place", ["cell", "pin"])
@pytest.mark.parametrize(
    "name", [f"x ; exec -- {TOUCH} ; #", f"x\n!{TOUCH}", "a b", f"$({TOUCH})", "a}b", "ä"]
)
def test_names_of_liberty_are_left_out(place: str, name: str) -> None:
    """No tool sees them."""
    text = liberty(**{place: name})
    library = cells.Library.of(text.encode())
    assert list(library.cells) == list(cells.osu018().cells)
    (note,) = library.notes
    assert "must be letters, digits and _" in note
    assert note.isprintable()
    assert repr(name)[1:-1] in text.replace("\n", "\\n")
    assert name not in library.text


@pytest.mark.parametrize(
    "name",
    [f"$({TOUCH}).lib", f"`{TOUCH}`.lib.gz", f"a}} {{}}; exec {TOUCH}; {{.lib", "Größe 1.lib"],
)
def test_libraries_of_any_name(name: str, tmp_path: Path) -> None:
    data = cells.osu018().data
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = synthesis.synthesise(Verilog([verilog()], "t"), cells.Library.load(name))
    assert found["area_um2"] > 0
    assert nothing_ran(tmp_path)


@pytest.mark.sample(2)
@pytest.mark.parametrize("variable", ["TMPDIR", "HOME", "CARRYSAVE_CACHE", "XDG_CACHE_HOME"])
@pytest.mark.parametrize("name", [f"$({TOUCH})", "a b", f"'{TOUCH}\"; #", "Größe{[*?]}"])
def test_folders_of_any_name(
    variable: str, name: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    if variable != "TMPDIR":
        monkeypatch.delenv("CARRYSAVE_CACHE", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv(variable, str(folder))
    outcome = run(
        "synth", "--verilog", verilog(), "--top", "t", "-o", tmp_path / f"{name} out", "--json"
    )
    assert outcome.code == 0, outcome.err
    assert all(Path(file).exists() for file in json.loads(outcome.out)["files"])
    assert nothing_ran(tmp_path)

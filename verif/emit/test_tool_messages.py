"""What tools say reaches the user with the user's names of files, and none of a temporary folder.

All programs are started in one place, so that the walk over them is a walk over what that starts.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest

from carrysave import cache
from carrysave.api import network
from carrysave.asic import sta
from carrysave.asic.liberty import cells, facts
from carrysave.asic.liberty.cells import Library
from carrysave.asic.probe import probe
from carrysave.sim import icarus, verilator
from carrysave.sim.runner import run as simulate
from hw.catalog import Design
from hw.emit import tools
from hw.emit.naming import hidden, naming, renamed
from hw.emit.verilog import verilog_of
from verif.support.command import Run

ROOT = Path(__file__).parents[2]
OURS = re.compile(r"carrysave-work-|source\d+\.|cells\.lib|netlist\.v|model\.onnx|yosys-abc-|/tmp/")
BAD = "module t(input clk, input a, output reg q);\n  always @(posedge clk) q <= ~a &;\nendmodule\n"
MISSING = "module t(input clk, input a, output q);\n  nothing_known n(.a(a), .q(q));\nendmodule\n"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in a folder of the user, where names of files are short."""
    monkeypatch.chdir(tmp_path)


def clean(text: str, *, name: str) -> None:
    """Check that a message names the user's file alone."""
    assert name in text, text
    assert not OURS.search(of_others(text)), text


def of_others(text: str) -> str:
    """Leave out folders of the user, which may be below the one for temporary files."""
    for own in (cache.folder(), sys.prefix, ROOT):
        text = text.replace(str(own), "")
    return text


def write(name: str, text: str) -> Path:
    Path(name).write_text(text)
    return Path(name)


def test_names() -> None:
    with tools.workplace() as folder:
        said = f"{folder}/a.v:3: no, see '{folder}/b/c.v'; {folder} is full"
        assert hidden(said) == "a.v:3: no, see 'b/c.v'; a temporary folder is full"
        names = {"a.v": "mine.v", "b.v": "a.v", str(folder / "m"): "model"}
        said = f"a.v:3 b.v. {folder}/m: xa.v a.vh a.v.x"
        assert renamed(said, names) == "mine.v:3 a.v. model: xa.v a.vh a.v.x"
        with pytest.raises(OSError, match="7"), naming({"a.v": "x"}):
            raise OSError(7, "a.v")
        with pytest.raises(KeyError, match=r"mine\.v"), naming(names):
            raise KeyError("a.v")


STARTS = re.compile(
    r"\bsubprocess\.(?:run|Popen|call|check_\w+)\(|\bos\.(?:exec|spawn|popen|system)"
)
RUNS = re.compile(r"\btools\.run\(\s*\[?([^,\])]+)")
PROGRAMS = {
    '"sta"': "test_libraries, test_netlists",
    '"iverilog"': "test_sources",
    '"vvp"': "as run",
    "abc(": "test_libraries",
    '"c++"': "our own text",
    '"ar"': "our own text",
    "path": "versions",
    '"git"': "versions",
    "loader_of(board": "a board",
    "sys.executable": "test_sources",
    "command": "test_sources",
}
"""What is started, as it is written, and what here has it fail."""


def written() -> Iterator[tuple[str, str]]:
    """Yield the programs of this project, by their paths."""
    for folder in ("carrysave", "hw"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_programs_start_in_one_place() -> None:
    """There the folder is taken out of what they print, whatever they are."""
    texts = dict(written())
    assert {path for path, text in texts.items() if STARTS.search(text)} == {
        "hw/emit/tools.py",
        "carrysave/jobs/children.py",  # processes of ours
    }
    assert {found for text in texts.values() for found in RUNS.findall(text)} == set(PROGRAMS)
    with tools.workplace() as folder:
        done = tools.run(["ls", "-d", folder, f"{folder}/."], cwd=folder)
    assert done.output == "a temporary folder\n.\n"


def in_yosys(run: Run) -> str:
    return run("synth", "--verilog", write("mine.v", BAD), "--top", "t").err


def in_yosys_for_fpga(run: Run) -> str:
    return run("synth", "--verilog", write("mine.v", BAD), "--top", "t", "--target", "ecp5").err


def in_elaboration(run: Run) -> str:
    source = write("mine.v", MISSING.replace("nothing_known", "t"))
    return f"mine.v {run('synth', '--verilog', source, '--top', 't').err}"


def in_nextpnr(run: Run) -> str:
    source = write(
        "mine.v", MISSING.replace("endmodule", "reg r; always @(posedge clk) r <= a;\nendmodule")
    )
    return f"mine.v {run('synth', '--verilog', source, '--top', 't', '--target', 'ecp5').err}"


def in_verilator(run: Run) -> str:
    return run("verify", "mac", "--verilog", write("mine.v", BAD)).err


def in_icarus(run: Run) -> str:
    return run("verify", "mac", "--simulator", "icarus", "--verilog", write("mine.v", BAD)).err


@pytest.mark.parametrize(
    "fail",
    [in_yosys, in_yosys_for_fpga, in_elaboration, in_nextpnr, in_verilator, in_icarus],
    ids=lambda fail: fail.__name__,
)
def test_sources(fail: Callable[[Run], str], run: Run) -> None:
    text = fail(run)
    clean(text, name="mine.v")
    assert fail in (in_elaboration, in_nextpnr) or re.search(r"mine\.v:2\b", text), text


ZEROS = re.compile(r"(?<=values \()[^;]*(?=\))|(?<=values\()[^;]*(?=\))")


def in_abc(text: str) -> str:
    return ZEROS.sub(lambda values: re.sub(r"-?\d+(\.\d*)?(e-?\d+)?", "0.0", values[0]), text)


def in_opensta(text: str) -> str:
    changed = text.replace('clocked_on : "CLK"', 'clocked_on : "NONE"')
    assert changed != text
    return changed


@pytest.mark.parametrize(
    ("change", "says"),
    [(in_abc, "ABC stopped: Assertion"), (in_opensta, r"OpenSTA: Error: my\.lib, line \d+")],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_libraries(
    change: Callable[[str], str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What our reader lets pass and a tool does not take: here, since it does not check."""
    monkeypatch.setattr(facts, "check", lambda *arguments: None)
    monkeypatch.setenv("CARRYSAVE_CACHE", str(Path("cache").resolve()))
    path = write("my.lib", change(cells.osu018().text))
    with pytest.raises(ValueError, match=says) as found:
        probe(Library.load(path))
    clean(str(found.value), name="my.lib")


def test_netlists() -> None:
    with pytest.raises(sta.StaError) as found:
        sta.analyse(
            "module t(input a, output y);\n  NOTHING n(.A(a), .Y(y) ;\nendmodule\n",
            top="t",
            library=cells.osu018(),
            conditions=sta.Conditions(clock=None),
        )
    clean(str(found.value), name="netlist of t")


def test_models_in_memory() -> None:
    graph = onnx.helper.make_graph([], "g", [], [])
    with pytest.raises(ValueError, match="model") as found:
        network.run(onnx.helper.make_model(graph), {})
    clean(str(found.value), name="model")


@pytest.mark.parametrize("simulator", [verilator, icarus], ids=["verilator", "icarus"])
def test_what_a_simulation_says(simulator, tmp_path: Path) -> None:
    """Its log names the user's file, also of a build of the same text that was there before."""
    text = "module t(input clk);\n  initial\n    $stop;\nendmodule\n"
    for name in ("first.v", "second.v"):
        source = write(name, text)
        build = simulator.build([source], "t")
        result = simulate(
            build, "verif.sim.benches.tb_unknown", seed=1, directory=tmp_path / f"run {name}"
        )
        said = result.log.read_text(errors="replace").replace(str(tmp_path), "")
        assert simulator is icarus or f"{name}:3" in said, said
        assert not OURS.search(of_others(said)), said


@pytest.mark.parametrize("simulator", ["verilator", "icarus"])
def test_byte_order_mark(simulator: str, run: Run) -> None:
    design = Design("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 6})
    source = Path("marked.v")
    source.write_bytes(b"\xef\xbb\xbf" + verilog_of(design).encode())
    words = [f"-p{name}={value}" for name, value in design.parameters.items()]
    outcome = run(
        "verify",
        "mac",
        *words,
        "--verilog",
        source,
        "--simulator",
        simulator,
        "--test",
        "test_reset_forgets",
    )
    assert outcome.code == 0, outcome.err

"""The page of vendors' tools: its programs run in plain Tcl and in Yosys, on the files it makes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import carrysave
from hw.emit import yosys
from verif.ip.vivado import Call, calls_of
from verif.support.snippets import blocks, sessions

ROOT = Path(carrysave.__file__).parents[1]
PAGE = ROOT / "docs/tutorials/vendor_tools.md"
ARTIX, PLAIN = "systolic_os_m12_n13_target_xilinx7", "systolic_os_m4_n4"
VIVADO = {
    "read_verilog": 0,
    "read_xdc": {"-unmanaged"},
    "synth_design": {"-top", "-part", "-mode"},
    "opt_design": 0,
    "place_design": 0,
    "route_design": 0,
    "report_utilization": {"-file"},
    "report_timing_summary": {"-file"},
    "write_checkpoint": {"-force"},
}
"""Commands and options, of UG835."""
QUARTUS = {
    "load_package": 0,
    "project_new": {"-overwrite"},
    "set_global_assignment": {"-name"},
    "set_instance_assignment": {"-name", "-to"},
    "execute_flow": {"-compile"},
    "project_close": 0,
}
"""Those of Quartus' Tcl packages ``project`` and ``flow``."""
TIMING = ("create_clock", "set_input_delay", "set_output_delay", "get_ports")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the reader's folder: files that the page has, and what its commands write."""
    made = tmp_path_factory.mktemp("vendor")
    design = carrysave.Design("systolic_os", m=12, n=13, target="artix7")
    design.generate(made / "build", period_ns=5, outside=0.3)
    carrysave.Design("systolic_os", m=4, n=4).generate(made / "build")
    typed = [line for one in blocks(PAGE) if one.language == "console" for line, _ in sessions(one)]
    for block in blocks(PAGE):
        if block.mark == "file":
            (made / block.detail).write_text(block.text)
    assert sum("generate" in line for line in typed) == 2
    assert any("--period 5 --outside 0.3" in line for line in typed)
    return made


def run(program: Path, commands: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    monkeypatch.chdir(program.parent)
    calls, error = calls_of(program, commands=commands)
    assert not error
    for name, *words in calls:
        options = {word for word in words if word.startswith("-")}
        assert options <= (commands[name] or set()), (name, options)  # type: ignore[operator]
    return calls


def test_vivado(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = run(folder / "vivado.tcl", dict(VIVADO), monkeypatch)
    assert [call[0] for call in calls] == list(VIVADO)
    by_name = {name: words for name, *words in calls}
    (verilog,) = by_name["read_verilog"]
    assert re.search(rf"^module {ARTIX}\b", (folder / verilog).read_text(), re.M)
    assert (folder / by_name["read_xdc"][-1]).exists()
    assert by_name["synth_design"][:2] == ["-top", ARTIX]
    assert "-part xc7a100t" in " ".join(by_name["synth_design"])


def test_quartus(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = run(folder / "quartus.tcl", dict(QUARTUS), monkeypatch)
    assert calls[-2:] == [["execute_flow", "-compile"], ["project_close"]]
    global_ = {call[2]: call[3] for call in calls if call[0] == "set_global_assignment"}
    assert global_["TOP_LEVEL_ENTITY"] == PLAIN
    assert re.search(rf"^module {PLAIN}\b", (folder / global_["VERILOG_FILE"]).read_text(), re.M)
    assert (folder / global_["SDC_FILE"]).exists()
    patterns = [call[-1] for call in calls if call[0] == "set_instance_assignment"]
    ports = {
        port["name"] for port in json.loads((folder / f"build/{PLAIN}.json").read_text())["ports"]
    }
    virtual = {one for one in ports if any(Path(one).match(pattern) for pattern in patterns)}
    assert virtual == ports - {"clk"}


def outside(calls: list[Call]) -> Iterator[tuple[str, float, set[str]]]:
    """Pair each delay with the ports it is for, which Tcl looks up first."""
    ports: set[str] = set()
    for name, *words in calls:
        if name == "get_ports":
            ports = {one.removesuffix("[*]") for one in words[0].split()}
        elif name != "create_clock":
            yield name, float(words[0]), ports


@pytest.mark.parametrize(("name", "period", "budget"), [(ARTIX, 5, 1.5), (PLAIN, 10, 0.0)])
def test_constraints(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, period: int, budget: float
) -> None:
    monkeypatch.delenv("CARRYSAVE_PERIOD_NS", raising=False)
    calls, error = calls_of(folder / f"build/{name}.sdc", commands=TIMING)
    assert not error
    assert ["create_clock", "-name", "clk", "-period", f"{period}", "get_ports"] in calls
    ports = json.loads((folder / f"build/{name}.json").read_text())["ports"]
    inward = {one["name"] for one in ports if one["direction"] == "input"} - {"clk"}
    assert list(outside(calls)) == [
        ("set_input_delay", budget, inward),
        ("set_output_delay", budget, {one["name"] for one in ports} - inward - {"clk"}),
    ]


@pytest.mark.prove
def test_yosys(folder: Path) -> None:
    said = yosys.run((folder / "block.ys").read_text(), cwd=folder)
    assert re.search(r"156\s+DSP48E1|DSP48E1\s+156", said)
    assert ARTIX in json.loads((folder / "block.json").read_text())["modules"]

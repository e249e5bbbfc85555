"""The command line: what it prints, writes, refuses, and with which exit code it ends."""

import json
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from xml.etree import ElementTree

import pytest

from carrysave.api.design import Design as Public
from carrysave.api.device import for_device
from carrysave.cli import _COMMANDS
from carrysave.cli import list as list_module
from carrysave.sim import runner
from hw.catalog import CATALOG, Design
from hw.emit.verilog import verilog_of
from verif.docs.test_snippets import check as check_words
from verif.docs.test_snippets import touch
from verif.support.cases import long
from verif.support.command import Outcome, Run
from verif.support.schemas import check
from verif.support.snippets import arguments

COMMAND = (sys.executable, "-c", "from carrysave.cli import main; main()")
COMMANDS = tuple(name for name, _, _ in _COMMANDS)
SMALL = ("mac", "-p", "a_width=2", "-p", "b_width=2", "-p", "accumulator_width=6")
MODULE = Design("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 6}).module
KEYS = {
    *("design", "target", "area_um2", "cells", "period_ns", "fmax_mhz", "power_mw", "activity"),
    *("gops", "gops_per_mm2", "gops_per_w", "versions", "luts", "ffs", "dsps", "brams"),
}

COUNTER = """
module counter(input clk, input rst, input en, output [3:0] q);
  step step_i(.clk(clk), .rst(rst), .en(en), .q(q));
endmodule
"""
STEP = """
module step(input clk, input rst, input en, output reg [3:0] q);
  always @(posedge clk) if (rst) q <= 0; else if (en) q <= q + 1;
endmodule
"""


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """Start the real command."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_cli_as_a_process(tmp_path: Path) -> None:
    good, bad = start(tmp_path, "list", "--json"), start(tmp_path, "generate", "nothing")
    out, err = good.communicate(timeout=60)
    assert (good.returncode, err) == (0, "")
    assert [row["design"] for row in json.loads(out)] == list(CATALOG)
    out, err = bad.communicate(timeout=60)
    assert (bad.returncode, out) == (2, "")
    assert err == f"carrysave: unknown design 'nothing'; known: {', '.join(CATALOG)}\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", COMMANDS)
def test_cli_help_has_examples(run: Run, command: str) -> None:
    outcome = run(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    examples = re.findall(r"• (carrysave .*(?:\n   .+)*)", outcome.out.partition("Example")[2])
    assert examples
    for example in examples:
        (words,) = arguments(example.replace("\n", " "))
        assert words[:2] == ["carrysave", command]
        touch(words)
        check_words(words)


def test_cli_help_names_every_command(run: Run) -> None:
    outcome = run("--help")
    assert outcome.code == 0
    assert all(f" {command} " in outcome.out for command in COMMANDS)


@pytest.mark.parametrize("columns", ["50", "160"])
def test_cli_list_shows_every_parameter_whole(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    outcome = run("list", *CATALOG)
    assert outcome.code == 0
    for name, entry in CATALOG.items():
        assert name in outcome.out
        assert all(f" {key} " in outcome.out for key in entry.parameters)


def test_cli_list_is_a_line_for_each_design(run: Run) -> None:
    lines = run("list").out.splitlines()
    for name, entry in CATALOG.items():
        assert [line.split()[1:] for line in lines if line.split()[:1] == [name]] == [
            entry.summary.split()
        ]
    outcome = run("list", "systolic")
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean systolic_ws or systolic_os" in outcome.err


def test_cli_list_json_is_complete(run: Run) -> None:
    for row in json.loads(run("list", "--json").out):
        assert row["summary"]
        assert row["verified_by"]
        assert list(row["parameters"]) == list(CATALOG[row["design"]].parameters)
        assert all(set(p) == {"default", "legal", "meaning"} for p in row["parameters"].values())


def test_cli_list_sees_changes_in_packages_of_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of all designs depends on the files of theirs, too."""
    file = tmp_path / "mine_for_list" / "hw" / "mine.py"
    file.parent.mkdir(parents=True)
    points = [EntryPoint("mine", "mine_for_list.hw.mine:Mine", "carrysave.designs")]
    monkeypatch.setattr(list_module, "entry_points", lambda group: points)
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for text in ("one = 1\n", "one = 1\ntwo = 2\n"):
        file.write_text(text)
        found.append(list_module._sources())
    assert len(found[0]) == len(found[1])
    assert set(found[0]) ^ set(found[1]) == {
        one for each in found for one in each if one.startswith(f"{file} ")
    }
    assert "mine_for_list" not in sys.modules


def test_cli_generate_writes_the_same_bytes(run: Run, tmp_path: Path) -> None:
    first, second = (run("generate", *SMALL, "-o", folder) for folder in ("one", "two"))
    assert first.code == second.code == 0
    for ending in ("v", "json", "sdc", "f", "core"):
        name = f"{MODULE}.{ending}"
        assert f"one/{name} " in first.out
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_cli_generate_json(run: Run, tmp_path: Path) -> None:
    outcome = run("generate", *SMALL, "--period", "2.5", "--json")
    manifest = json.loads(outcome.out)
    assert manifest["module"] == MODULE
    assert manifest["parameters"]["accumulator_width"] == 6
    assert all((tmp_path / file).exists() for file in manifest["files"])
    assert "set period 2.5\n" in (tmp_path / "build" / f"{MODULE}.sdc").read_text()


def test_cli_config_yields_to_the_command_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        'design = "mac"\noutput = "there"\n'
        "[parameters]\na_width = 3\nb_width = 2\na_signed = false\nencoding = 'none'\n"
    )
    said = json.loads(run("generate", "--config", "a.toml", "--json").out)
    chosen = {"a_width": 3, "b_width": 2, "a_signed": False, "encoding": "none"}
    assert said["files"][0] == f"there/{Design('mac', chosen).module}.v"
    over = run("generate", "opt1", "--config", "a.toml", "-p", "a_width=5", "-o", "here", "--json")
    manifest = json.loads(over.out)
    assert manifest["design"] == "opt1"
    assert manifest["parameters"]["a_width"] == 5
    assert manifest["parameters"]["a_signed"] is False
    assert manifest["files"][0].startswith("here/")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("desing = 'mac'", "keys must be design, output, parameters, library, not desing"),
        ("design = ", "Invalid value"),
        ("design = 3", "design must be a string, not 3"),
        ("design = 'mac'\noutput = 3", "output must be a string, not 3"),
        ("design = 'mac'\nparameters = 3", "parameters must be a table, not 3"),
        ("design = 'mac'\nparameters.a_width = 1.5", "a_width must be 2..16 bits, not '1.5'"),
        ("design = 'mac'\nparameters.a_widht = 4", "did you mean a_width"),
    ],
)
def test_cli_refuses_config(run: Run, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    refused(run("generate", "--config", "a.toml"), says)
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]


def refused(outcome: Outcome, says: str) -> None:
    """Check that the command ended as wrong usage, with one line that says why."""
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("carrysave: ")
    assert outcome.err.count("\n") == 1
    assert says in outcome.err


@pytest.mark.sample(25)
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("genrate mac", 'Did you mean "generate"'),
        ("generate", f"a design must be named: {', '.join(CATALOG)}"),
        ("generate systolic", "unknown design 'systolic'; did you mean systolic_ws or systolic_os"),
        ("generate mac opt1", "opt1"),
        ("generate mac -p a_widht=4", "unknown parameter of mac 'a_widht'; did you mean a_width"),
        ("generate mac -p a_width=17", "a_width must be 2..16 bits, not 17"),
        ("generate mac -p a_width=", "a_width must be 2..16 bits, not ''"),
        ("generate mac -p a_width=wide", "a_width must be 2..16 bits, not 'wide'"),
        ("generate mac -p a_width", "--parameter must be KEY=VALUE, not 'a_width'"),
        ("generate mac -p k=2 -p k=3", "--parameter k must be given once, not twice"),
        (
            "generate coprocessor -p engine=systolic_os(m=2,n=2,m=3)",
            "m of engine must be given once, not twice, in 'systolic_os(m=2,n=2,m=3)'",
        ),
        (
            "generate coprocessor -p engine=systolic_os(m=2,n=2) -p m=3",
            "m of engine must be given once, not twice: in 'systolic_os(m=2,n=2)' and as 3",
        ),
        ("generate coprocessor -p sums=1048576", "sums must be 1..65536, not 1048576"),
        (
            "generate coprocessor -p a_bytes=4194304",
            "a_bytes must be 64..1048576 bytes, not 4194304",
        ),
        ("generate mac -p a_signed=yes", "a_signed must be true or false, not 'yes'"),
        (
            "generate mac -p encoding=boot",
            "encoding must be one of booth, ent, none, operator, not",
        ),
        ("generate systolic_os -p m=0", "m must be 1..256 rows, not 0"),
        ("generate mac --docs", "--docs is for a co-processor, not for mac"),
        ("generate mac --perod 3", "--perod. Did you mean --period?"),
        ("generate mac --period 0", "--period must be greater than 0 ns, and finite, not 0"),
        ("generate mac --period nan", "--period must be greater than 0 ns, and finite, not nan"),
        ("generate mac --period x", 'Invalid value for --period: unable to convert "x"'),
        ("generate mac --config none.toml", "--config none.toml: No such file"),
        ("generate mac -o file", "--output must be a folder, not the file 'file'"),
        ("verify mac -o file/below", "--output must be a folder, not the file 'file'"),
        ("verify mac --seed -1", "--seed must be 0..2147483647, not -1"),
        ("verify mac --seed 2147483648", "--seed must be 0..2147483647, not 2147483648"),
        ("verify mac --seed x", 'Invalid value for --seed: unable to convert "x"'),
        ("verify mac --simulator vcs", "--simulator must be one of verilator, icarus, not 'vcs'"),
        ("verify mac --transactions 0", "--transactions must be 1 or more, not 0"),
        ("verify mac --transactions 1", "--transactions is for one --test"),
        (
            "verify mac --test test_latencies",
            "--test must be one of test_operand_pairs, test_few_digits, "
            "test_extremes_do_not_overflow, test_matches_golden/source=flowing/sink=flowing,",
        ),
        ("verify mac --verilog none.v", '"none.v" does not exist'),
        ("verify mac --verilog file --netlist osu018", "--verilog is in place of a --netlist"),
        ("verify mac --netlist ecp5", "--netlist must be osu018, generic, sky130, gf180"),
        ("verify mac --netlist none.lib", "--netlist: no such file: none.lib"),
        (
            "synth mac --target ecp4",
            "must be one of osu018, generic, ecp5, ice40, gowin, nexus, xilinx7, ultrascale,"
            " not 'ecp4'",
        ),
        ("synth mac --liberty none.lib", '"none.lib" does not exist'),
        ("synth mac --liberty file", "Liberty text must be one library group"),
        ("synth mac --liberty file --target ecp5", "--target and --liberty exclude each other"),
        ("synth mac --period -1", "--period must be greater than 0 ns, and finite, not -1"),
        ("synth mac --wire-cap 0.3", "--wire-cap needs --place"),
        ("synth mac --place --row-height 0", "--row-height must be greater than 0 um, and finite"),
        ("synth mac --target ecp5 --place", "--place is for cell libraries"),
        ("synth mac --period 2 --sweep", "--period and --sweep exclude each other"),
        ("synth mac --objective energy --sweep", "--objective energy needs --period"),
        (
            "synth mac -p target=ecp5 --target generic",
            "parameter target must be generic on cells, not 'ecp5'",
        ),
        (
            "synth mac -p target=ecp5 --target ice40",
            "parameter target must be one of generic, ice40 on ice40, not 'ecp5'",
        ),
        ("synth mac --target xilinx7 --sweep", "are for cell libraries, not for xilinx7"),
        ("synth mac --hierarchy deep", "--hierarchy must be one of auto, coarse, flat, not 'deep'"),
        (
            "synth mac --objective speed",
            "must be one of density, period, area, energy, not 'speed'",
        ),
        (
            "synth mac --activity much",
            "must be one of none, assumed, normal, uniform, digits, not 'much'",
        ),
        ("synth mac --target ecp5 --activity normal", "--activity is for designs of the catalogue"),
        ("synth mac --seeds 3", "--part and --seeds need --target ecp5|ice40|"),
        ("synth mac --target ecp5 --seeds 0", "--seeds must be 1 to 100, not 0"),
        ("synth mac --target ice40 --part iCE40UP5", "did you mean iCE40UP5K-SG48"),
        ("synth mac --target xilinx7 --part x", "part must be none for xilinx7, which is not"),
        ("synth mac --top mac", "--top, -P, --clock and --operations need --verilog"),
        ("synth --verilog none.v --top a", '"none.v" does not exist'),
        ("synth --verilog file", "--verilog needs --top"),
        ("synth mac --verilog file --top a", "no design"),
        ("synth --verilog file --top a --operations 0", "--operations must be greater than 0"),
        ("demo -o file", "--output must be a folder, not the file 'file'"),
    ],
)
def test_cli_refuses(run: Run, tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "file").touch()
    refused(run(*line.split()), says)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_cli_verify_reports(run: Run, tmp_path: Path) -> None:
    outcome = run("verify", *SMALL, "--seed", "7")
    assert outcome.code == 0
    assert outcome.out.startswith(f"passed  {MODULE}: ")
    assert outcome.out.splitlines()[0].endswith("seed 7")
    junit = tmp_path / "build" / "runs" / f"{MODULE}-1" / "results.xml"
    assert str(junit) in outcome.out
    assert len(list(ElementTree.parse(junit).getroot().iter("testcase"))) > 10


def test_cli_verify_json_and_waves(run: Run) -> None:
    outcome = run("verify", *SMALL, "--waves", "--json")
    found = json.loads(outcome.out)
    assert found["ok"]
    assert found["failures"] == []
    assert found["tests"] > 10
    assert 0 <= found["seed"] < 1 << 31
    assert "o_sum" in Path(found["waves"]).read_text()


def test_cli_verify_fails_on_wrong_hardware(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(design: Design) -> str:
        verilog = verilog_of(design)
        assert " + " in verilog
        return verilog.replace(" + ", " - ")

    monkeypatch.setattr(runner, "verilog_of", wrong)
    outcome = run("verify", *SMALL, "-p", "adder=operator")
    assert outcome.code == 1
    assert outcome.out.startswith("FAILED  mac_")
    assert re.search(r"\n  failed: test_\w+: \d+ of \d+ sums differ; sum \d+ is ", outcome.out)


@pytest.mark.parametrize(
    "design",
    long(
        [
            "opt1 -p a_width=4 -p b_width=4 -p accumulator_width=12",
            "systolic_os -p m=2 -p n=2 -p a_width=3 -p b_width=3 -p k_max=16",
        ],
        1,
    ),
)
def test_cli_verify_netlist(run: Run, design: str) -> None:
    outcome = run("verify", *design.split(), "--netlist", "osu018", "--json")
    found = json.loads(outcome.out)
    assert (outcome.code, found["ok"], found["of"]) == (0, True, "netlist osu018")


@pytest.mark.prove
def test_cli_verify_in_parallel(tmp_path: Path) -> None:
    both = [start(tmp_path, "verify", *SMALL, "--json") for _ in range(2)]
    found = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert all(one["ok"] for one in found)
    assert found[0]["junit"] != found[1]["junit"]


def test_cli_synth_json(run: Run, tmp_path: Path) -> None:
    outcome = run("synth", *SMALL, "--json")
    found = check("synthesis", outcome.out)
    assert outcome.code == 0
    assert set(found) >= KEYS
    assert (found["design"], found["target"]) == ("mac", "osu018")
    assert found["fmax_mhz"] == pytest.approx(1e3 / found["period_ns"])
    assert found["gops"] == pytest.approx(2 / found["period_ns"])
    assert found["gops_per_mm2"] == pytest.approx(found["gops"] / found["area_um2"] * 1e6)
    assert found["luts"] is None
    assert {"carrysave", "yosys", "abc", "opensta", "library"} <= set(found["versions"])
    assert found["command"].startswith("carrysave synth mac -p a_width=2")
    written = tmp_path / "build" / "synth" / f"{MODULE}.osu018.json"
    assert check("synthesis", written) == found


@pytest.mark.prove
def test_cli_synth_reaches_a_period(run: Run) -> None:
    slow = json.loads(run("synth", *SMALL, "--period", "4", "--json").out)
    fast = json.loads(run("synth", *SMALL, "--json").out)
    assert slow["period_ns"] <= 4
    assert slow["area_um2"] < fast["area_um2"]


@pytest.mark.parametrize("columns", ["50", "160"])
def test_cli_synth_prints_a_table(run: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    outcome = run("synth", *SMALL)
    assert outcome.code == 0
    for text in (" um2 ", " ns ", " MHz ", " mW ", " GOPS ", " GOPS/mm2 ", " GOPS/W "):
        assert text in outcome.out
    assert "\u2026" not in outcome.out  # nothing is cut off
    versions = next(line for line in outcome.out.splitlines() if line.startswith("versions: "))
    assert "opensta" in versions


@pytest.mark.prove
@pytest.mark.usefixtures("short_sweep")
def test_cli_synth_sweep_writes_results(run: Run, tmp_path: Path) -> None:
    outcome = run("synth", *SMALL, "--sweep", "-o", "out")
    assert outcome.code == 0
    (path,) = (tmp_path / "out" / "synth").glob("mac_*.osu018.json")
    stem, found = path.with_suffix(""), check("synthesis", path)
    best = max(found["sweep"], key=lambda point: point["gops_per_mm2"])
    assert found["gops_per_mm2"] == best["gops_per_mm2"]
    picture = stem.with_name(f"{stem.name}.sweep.svg").read_text()
    for text in ("minimum period, ns", "cell area, um2", "GOPS/mm2", "chosen: ", found["recipe"]):
        assert text in picture
    module = found["module"]
    assert stem.name == f"{module}.osu018"
    assert f"module {module}(" in stem.with_name(f"{stem.name}.netlist.v").read_text()
    assert all((tmp_path / file).exists() for file in found["files"])


@pytest.mark.parametrize(
    ("line", "config", "free"),
    [
        ((), "", ["encoding", "adder"]),
        (("-p", "adder=sklansky"), "", ["encoding"]),
        ((), "adder = 'sklansky'\nencoding = 'booth'", []),
    ],
)
def test_cli_synth_searches_what_no_parameter_says(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line, config, free
) -> None:
    asked: dict[str, object] = {}

    def synthesise(*given: object, **options: object) -> dict[str, object]:
        asked.update(options)
        raise RuntimeError("enough")

    monkeypatch.setattr("carrysave.asic.synthesis.synthesise_design", synthesise)
    (tmp_path / "own.toml").write_text(f"[parameters]\n{config}\n")
    assert run("synth", "mac", *line, "--config", "own.toml", "--sweep").code == 1
    assert asked["search_parameters"] == free
    assert run("synth", "mac", *line, "--config", "own.toml").code == 1
    assert asked["search_parameters"] == ()


def test_cli_synth_takes_foreign_verilog(run: Run, tmp_path: Path) -> None:
    (tmp_path / "counter.v").write_text(COUNTER)
    (tmp_path / "step.v").write_text(STEP)
    files = ("synth", "--verilog", "counter.v", "step.v", "--top", "counter")
    found = check("synthesis", run(*files, "--operations", "1", "--json").out)
    assert (found["design"], found["target"]) == ("counter", "osu018")
    assert found["gops"] == pytest.approx(1 / found["period_ns"])
    assert json.loads(run(*files, "--json").out)["gops"] is None
    wrong = run(*files, "--clock", "clock")
    assert wrong.code == 2
    says = "clock must be an input of counter (clk, rst, en), not 'clock'"
    assert says in wrong.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("top", "text", "says"),
    [
        ("a", "module a(input clk; endmodule\n", "syntax error"),
        ("b", "module a(input clk); endmodule\n", "Module `b' not found"),
    ],
)
def test_cli_synth_says_what_yosys_says(
    run: Run, tmp_path: Path, top: str, text: str, says: str
) -> None:
    (tmp_path / "a.v").write_text(text)
    outcome = run("synth", "--verilog", "a.v", "--top", top)
    assert outcome.code == 2
    assert says in outcome.err.splitlines()[-1]
    assert not (tmp_path / "build").exists()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("said", "target"),
    [("", "xilinx7"), ("-p target=generic", "generic"), ("-p encoding=operator", "generic")],
)
def test_cli_synth_for_an_fpga_builds_for_it_unless_told_otherwise(
    run: Run, tmp_path: Path, said: str, target: str
) -> None:
    outcome = run("synth", *SMALL, *said.split(), "--target", "xilinx7")
    assert outcome.code == 0
    (path,) = (tmp_path / "build" / "synth").iterdir()
    found = check("synthesis", path)
    assert found["parameters"]["target"] == target
    assert found["luts"] or found["dsps"]
    assert "LUTs" in outcome.out
    assert f"note on {found['module']}: no open place and route: no Fmax" in outcome.out


@pytest.mark.parametrize(("name", "texts", "expected"), [
    ("requantiser", {}, {"encoding": "operator", "adder": "operator"}),
    ("requantiser", {"encoding": "ent"}, {"encoding": "ent", "adder": "operator"}),
    ("sl8", {"adder": "ripple"}, {"accumulation": "resolved", "adder": "ripple"}),
    ("lut_core", {}, {"sign": "subtracted", "adder": "operator"}),
    ("lut_core", {"table": "half"}, {"sign": "corrected", "adder": "operator"}),
    ("mac", {}, {"target": "ecp5", "adder": "sklansky"}),
    ("mac", {"target": "generic"}, {"target": "generic", "adder": "sklansky"}),
    ("coprocessor", {"engine": "npe"},
     {"engine": "npe(accumulation=resolved,adder=operator)", "vector": "none"}),
    ("coprocessor", {"engine": "npe", "adder": "ripple", "vector": "vector_unit(lanes=2)"},
     {"engine": "npe(accumulation=resolved,adder=ripple)",
      "vector": "vector_unit(lanes=2,adder=operator,exponential=table)"}),
])  # fmt: skip
def test_a_design_for_a_device(name: str, texts: dict[str, str], expected: dict[str, str]) -> None:
    """Of its blocks, else in the form that is best on FPGAs; what is told stays."""
    found = for_device("ecp5", Public.parse(name, texts))
    assert {key: found.parameters[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("unit", "adder", "exponential"),
    [
        ("vector_unit", "operator", "table"),
        ("vector_unit(width=9)", "operator", "logic"),
        ("vector_unit(adder=sklansky)", "sklansky", "table"),
        ("vector_unit(adder=ripple, exponential=logic)", "ripple", "logic"),
    ],
)
def test_a_vector_unit_beside_an_engine_of_a_device(
    unit: str, adder: str, exponential: str
) -> None:
    """As is best on FPGAs, if nothing else is said; beside another engine as ever."""
    for design in (
        Public.parse("coprocessor", {"target": "ecp5", "vector": unit}),
        for_device("ecp5", Public.parse("coprocessor", {"vector": unit})),
        Public("coprocessor", {"engine": "systolic_os(target=ecp5)", "vector": unit}),
    ):
        assert design.vector is not None
        found = design.vector.parameters
        assert (found["adder"], found["exponential"]) == (adder, exponential)
    plain = Public.parse("coprocessor", {"vector": unit}).vector
    assert plain is not None
    assert plain.parameters["exponential"] == "logic"

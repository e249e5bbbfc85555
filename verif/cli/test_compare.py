"""``carrysave compare``: ours and others' in one run, with one search and ratios to the first."""

import json
from pathlib import Path

import pytest

from verif.support.command import Run
from verif.support.schemas import check

SMALL = "a_width=2,b_width=2,accumulator_width=6"
OURS = f"mac({SMALL})"
THEIRS = """
module mac(input ck, input rst_n, input signed [1:0] a, b, output reg signed [5:0] sum);
  always @(posedge ck or negedge rst_n) if (!rst_n) sum <= 0; else sum <= sum + a * b;
endmodule
"""
RIVAL = "mac(verilog=their mac.v,clock=ck,operations=2)"
PROBE = "module probe(input clk, input d, output reg q); always @(posedge clk) q <= ~d; endmodule\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "their mac.v").write_text(THEIRS)
    (tmp_path / "probe.v").write_text(PROBE)


def test_ours_and_others_in_one_table(run: Run, tmp_path: Path) -> None:
    outcome = run("compare", RIVAL, OURS, "probe", "--verilog", "probe.v", "--json")
    assert outcome.code == 0, outcome.err
    found = check("comparison", outcome.out)
    assert [entry["name"] for entry in found["designs"]] == [RIVAL, OURS, "probe"]
    first, second, third = (entry["result"] for entry in found["designs"])
    assert first["conditions"]["resets"].startswith("ideal: rst_n; asynchronous")
    for entry in found["designs"]:
        for key in ("area_um2", "period_ns", "power_mw"):
            assert entry["ratios"][key] == pytest.approx(entry["result"][key] / first[key])
    assert found["designs"][1]["ratios"]["gops_per_mm2"] == pytest.approx(
        second["gops_per_mm2"] / first["gops_per_mm2"]
    )
    assert third["gops"] is None
    assert found["designs"][2]["ratios"]["gops"] is None
    # One activity and one search for all, and no recipe of ours that is kept.
    assert len({entry["result"]["activity"] for entry in found["designs"]}) == 1
    assert not any("kept" in note for note in second["notes"])
    assert first["recipe"] == second["recipe"].replace("tree+", f"{first['recipe'].split('+')[0]}+")
    picture = (tmp_path / "build" / "compare" / "compare.osu018.svg").read_text()
    for text in (RIVAL, OURS, "probe", "GOPS/mm2", "1.00x"):
        assert text in picture
    written = check("comparison", tmp_path / "build" / "compare" / "compare.osu018.json")
    assert written["files"] == found["files"]


def test_best_for_a_period_and_a_memory(run: Run) -> None:
    """The question is answered in text and JSON; no design that meets it is a failure."""
    other = f"opt1({SMALL})"
    line = ("compare", OURS, other, "--activity", "none", "--objective", "area", "--period", "1.5")
    outcome = run(*line, "--memory", "1GB/s", "--json")
    assert outcome.code == 0, outcome.err
    answer = check("comparison", outcome.out)["answer"]
    first, last = answer["ranking"]
    assert (answer["best"], first["name"], first["rank"]) == (other, other, 1)
    assert first["bytes_needed"] == 0.5  # two codes of two bits
    assert first["bytes_available"] == pytest.approx(1.5)
    assert first["value"] < last["value"]
    outcome = run(*line, "--memory", "0.2GB/s")
    assert outcome.code == 1
    assert "for 1.5 ns and 0.2GB/s: no design" in outcome.out
    assert f"{OURS} misses that: bandwidth-bound: its operands are 0.5 bytes a cycle" in outcome.out
    assert "0.2GB/s brings 0.3 at 1.5 ns: 60.0% of its speed" in outcome.out


def test_designs_are_compared_on_the_operands_they_can_have(run: Run) -> None:
    outcome = run("compare", OURS, f"opt1({SMALL})")
    assert outcome.code == 0
    assert "power at: normal" in outcome.out
    assert f"critical path of opt1({SMALL})" in outcome.out
    assert "x " in outcome.out
    assert "[1/2] synthesise mac(" in outcome.err


@pytest.mark.prove
def test_on_an_fpga(run: Run) -> None:
    outcome = run("compare", RIVAL, OURS, "--target", "xilinx7", "--json")
    found = check("comparison", outcome.out)
    first, second = (entry["result"] for entry in found["designs"])
    assert second["parameters"]["target"] == "xilinx7"
    assert found["designs"][1]["ratios"]["ffs"] == pytest.approx(second["ffs"] / first["ffs"])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["mac"], "compare needs two designs or more, not 1"),
        (["mac", "mac"], "designs must differ"),
        (["mac", "mak"], "unknown design 'mak'; did you mean mac"),
        (["mac", "mac(m=2"], "design must be like NAME or NAME(KEY=VALUE,...), not 'mac(m=2'"),
        (["mac", "mac(a_width=99)"], "a_width must be"),
        (["mac", "mac(a_width=2,a_width=3)"], "a_width of a design must be given once"),
        (["mac", "mac(verilog=no.v)"], "no.v: source file not found"),
        (["mac", "mac(verilog=their mac.v)"], "clock must be an input of mac (ck, rst_n, a, b)"),
        (["mac", "mac(verilog=their mac.v,width=3)"], "must be verilog, clock, operations, not"),
        (["mac", f"{RIVAL[:-2]}x)"], "operations of mac must be a number, not 'x'"),
        (["mac", f"{RIVAL[:-2]}-1)"], "operations of mac must be greater than 0"),
        (["mac", RIVAL, "--activity", "normal"], "--activity must be none or assumed"),
        (["mac", "opt1", "--verilog", "probe.v"], "--verilog needs the name of a module in it"),
        (["mac", "other", "--verilog", "probe.v"], "Module `other' not found"),
        (["mac", "opt1", "--target", "ecp5", "--sweep"], "are for cell libraries"),
        (["mac", "opt1", "--memory", "fast"], "--memory must be a rate above 0, such as 0.8GB/s"),
        (["mac", "opt1", "--memory", "0GB/s"], "--memory must be a rate above 0, such as 0.8GB/s"),
        (["mac", "encoder", "--memory", "1GB/s"], "A and B alone, not for encoder"),
        (["mac", RIVAL, "--memory", "1GB/s"], f"A and B alone, not for {RIVAL}"),
        (
            ["probe", "mac(verilog=their mac.v,clock=ck)", "--verilog", "probe.v", "--period", "2"],
            "--objective density has no data: operations in a cycle are not known of probe and mac",
        ),
        (["mac", "opt1", "--period", "0"], "--period must be greater than 0"),
        (["mac", "opt1", "--target", "generic", "--period", "1"], "ask for ns, not for generic"),
        (["mac", "opt1", "--target", "xilinx7", "--memory", "1GB/s"], "which is mapped only"),
    ],
)
def test_what_is_wrong_ends_before_the_work(run: Run, tmp_path: Path, line, says) -> None:
    outcome = run("compare", *line)
    assert outcome.code == 2
    assert says in outcome.err.splitlines()[-1]
    assert "point 1" not in outcome.err
    assert not (tmp_path / "build").exists()


def test_json_is_all_that_is_printed(run: Run) -> None:
    outcome = run("compare", OURS, "probe", "--verilog", "probe.v", "--json", "--activity", "none")
    assert json.loads(outcome.out)["designs"][0]["result"]["power_mw"] is None

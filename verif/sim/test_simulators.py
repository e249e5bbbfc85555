"""Both simulators run the same bench, and see the same."""

import json
from pathlib import Path

import pytest

from carrysave.sim import icarus
from carrysave.sim.runner import named, run, verify
from hw.catalog import Design
from hw.emit.verilog import verilog_of

TINY = Design("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 6})


def test_icarus_sees_what_verilator_sees(tmp_path: Path) -> None:
    """The same transfers of the same stream; waves of both have the ports."""
    seen = []
    for simulator in ("verilator", "icarus"):
        result = verify(
            TINY,
            seed=3,
            simulator=simulator,
            waves=simulator == "icarus",
            tests=named("test_reset_forgets"),
            directory=tmp_path,
        )
        assert result.ok, result
        seen.append(json.loads((result.directory / "transfers.json").read_text()))
    assert seen[0] == seen[1]
    [cross] = seen[0][0]["crosses"]
    assert cross["points"] == ["stream", "taken", "offered"]
    assert {bins[0] for bins in cross["hits"]} == {"i", "o"}
    assert sum(bins[-1] for bins in cross["hits"]) > 100
    assert result.waves is not None
    assert "o_sum" in result.waves.read_text()


def test_streams_refuse_what_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "unknown.v").write_text(
        "module unknown(input clk, i_valid, i_data, o_ready, output i_ready, o_valid, o_data);\n"
        "assign i_ready = 1'bx;\nassign o_valid = 1'bx;\nassign o_data = 1'b0;\nendmodule\n"
    )
    built = icarus.build([tmp_path / "unknown.v"], "unknown")
    result = run(built, "verif.sim.benches.tb_unknown", seed=1, directory=tmp_path / "run")
    assert result.ok, result


def test_icarus_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "bad.v").write_text("module bad(input i);\nassign i = ;\nendmodule\n")
    with pytest.raises(RuntimeError, match=r"cannot build bad: .*syntax error"):
        icarus.build([tmp_path / "bad.v"], "bad")


def test_tests_after_a_failure_are_left_out(tmp_path: Path) -> None:
    """With `stop`, one test has failed, and none after it."""
    design = Design(TINY.name, {**TINY.parameters, "adder": "operator"})
    verilog = tmp_path / "wrong.v"
    verilog.write_text(verilog_of(design).replace(" + ", " - "))
    failed = verify(design, seed=1, directory=tmp_path, netlist=[verilog], stop=True)
    assert (failed.tests, failed.failures, failed.failed) == (1, 1, ("test_operand_pairs",))
    whole = verify(design, seed=1, directory=tmp_path, netlist=[verilog])
    assert whole.failures > 1

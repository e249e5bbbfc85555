"""Designs with blocks of FPGAs in their Verilog: read, mapped, counted; what is timed of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic.options import Verilog
from carrysave.asic.synthesis import synthesise
from hw.emit import yosys
from verif.fpga.blocks import ECP5, UP5K, XC7


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def synthesise_text(text: str, target: str, **options: Any) -> dict[str, Any]:
        source = tmp_path / "blocks.v"
        source.write_text(text)
        return synthesise(Verilog([source], "blocks"), target, seeds=1, **options)

    return synthesise_text


def test_blocks_with_parameters_are_mapped(run: Callable[..., dict[str, Any]]) -> None:
    found = run(ECP5, "ecp5", place=False)
    assert found["blocks"] == {"MULT18X18D": 1, "PDPW16KD": 1}
    assert (found["luts"], found["ffs"], found["carry"]) == (2, 4, 1)
    assert (found["dsps"], found["brams"]) == (1, 1)
    found = run(XC7, "xilinx7")
    assert found["blocks"] == {"DSP48E1": 1}
    assert (found["luts"], found["ffs"]) == (0, 0)


def test_blocks_within_are_not_timed(run: Callable[..., dict[str, Any]]) -> None:
    found = run(ECP5, "ecp5")
    assert found["notes"] == ["the paths between the registers inside a MULT18X18D are not timed"]
    assert 100 < found["fmax_mhz"] < 500
    ends = {end for step in found["critical_path"] for end in (step["from"], step["to"])}
    assert any(end.startswith("only.one.plus.") for end in ends), ends


@pytest.mark.prove
def test_blocks_that_are_not_timed_have_no_fmax(run: Callable[..., dict[str, Any]]) -> None:
    found = run(UP5K, "ice40")
    assert found["device"] == "iCE40UP5K-SG48"  # the only one with the block
    assert found["blocks"] == {"SB_MAC16": 1}
    for key in ("fmax_mhz", "fmax_best_mhz", "period_ns", "gops"):
        assert found[key] is None
    assert 20 < found["fmax_logic_mhz"] < 300
    (note,) = found["notes"]
    assert note.startswith("blocks not timed, no Fmax: nextpnr takes 0.1 ns for")
    assert "fmax_mhz" not in found["seeds"][0]


@pytest.mark.parametrize(
    ("text", "registers"),
    [
        (UP5K, "1"),
        ("module blocks(input [15:0] a, b, output [31:0] o); assign o = a * b; endmodule", "0"),
    ],
    ids=["named", "inferred"],
)
def test_named_blocks_keep_their_registers(
    run: Callable[..., dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    registers: str,
) -> None:
    """Where Yosys puts multiplications into blocks, it would take those of named ones away."""
    netlists = []
    run_yosys = yosys.run

    def watched(script: Any, *, cwd: Path) -> str:
        log = run_yosys(script, cwd=cwd)
        if (cwd / "mapped.json").exists():
            netlists.append(json.loads((cwd / "mapped.json").read_text())["modules"]["blocks"])
        return log

    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(yosys, "run", watched)
    run(text, "ice40", place=False, part="iCE40UP5K-SG48")
    cells = [cell for cell in netlists[-1]["cells"].values() if cell["type"] == "SB_MAC16"]
    assert [cell["parameters"]["A_REG"][-1] for cell in cells] == [registers]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("text", "target", "says"),
    [
        (UP5K, "ecp5", "the block SB_MAC16, as ice40 has, not 'ecp5', which has MULT18X18D"),
        (ECP5, "ice40", "the block PDPW16KD, as ecp5 has, not 'ice40', which has SB_MAC16"),
        (XC7, "ultrascale", "DSP48E1, as xilinx7 has, not 'ultrascale', which has DSP48E2"),
    ],
    ids=["ecp5", "ice40", "ultrascale"],
)
def test_blocks_of_another_family(
    run: Callable[..., dict[str, Any]], text: str, target: str, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        run(text, target)

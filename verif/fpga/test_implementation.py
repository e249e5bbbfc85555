"""Synthesis for FPGAs: plausible resources, place and route of whatever ports a design has."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from carrysave.asic.options import Verilog
from carrysave.asic.synthesis import synthesise, synthesise_design
from carrysave.fpga import implementation, place
from carrysave.jobs.child import MARK
from hw.catalog import Design
from hw.device import Family, family
from hw.device.description import Flow
from verif.support.cases import long

ARRAY = {"m": 4, "n": 4}
FOR_FPGA = {"pe": "mac", "encoding": "operator", "adder": "operator"}
TINY = Design(
    "mac",
    {
        "a_width": 3,
        "b_width": 3,
        "accumulator_width": 8,
        **{how: value for how, value in FOR_FPGA.items() if how != "pe"},
    },
)

ODD_PORTS = r"""
module odd(input clock, input [0:3] x, input [7:4] y, input \en.a[0] , output reg [3:0] sum);
  always @(posedge clock) if (\en.a[0] ) sum <= x + y;
endmodule
"""


def change_flows(monkeypatch: pytest.MonkeyPatch, change: Callable[[Flow], Flow]) -> None:
    """Let every family have other tools or devices."""

    def changed(name: str) -> Family:
        found = family(name)
        return replace(found, flow=change(found.flow))

    monkeypatch.setattr(implementation, "family", changed)
    monkeypatch.setattr(place, "family", changed)


@pytest.fixture
def unplaced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave out place and route, which takes most of the time."""
    change_flows(monkeypatch, lambda flow: replace(flow, nextpnr=None, parts=()))
    place.nextpnr_version.cache_clear()
    yield
    place.nextpnr_version.cache_clear()


def resources(parameters: dict[str, Any], target: str) -> dict[str, Any]:
    return synthesise_design(Design("systolic_os", parameters), target)


@pytest.mark.sample(1)
@pytest.mark.usefixtures("unplaced")
@pytest.mark.parametrize("target", ["ecp5", "xilinx7"])
def test_fpga_multipliers_go_to_dsp_blocks(target: str) -> None:
    found = resources(ARRAY | FOR_FPGA, target)
    assert (found["dsps"], found["brams"]) == (16, 0)
    # At least the sums of 32 bits, in flip-flops and on carry chains; no more than twice that and
    # the operands on their way, which a DSP block may hold itself.
    assert 16 * 32 <= found["ffs"] <= 2 * 16 * (32 + 16)
    assert found["carry"] >= 16 * 32 / (2 if target == "ecp5" else 4)
    assert 16 * 32 <= found["luts"] <= 16 * 128
    assert found["fmax_mhz"] is None
    assert found["area_um2"] is None
    assert found["notes"]


@pytest.mark.prove
@pytest.mark.usefixtures("unplaced")
def test_fpga_carry_save_form_needs_no_dsp_block() -> None:
    found = synthesise_design(Design("opt1"), "xilinx7")
    assert (found["dsps"], found["brams"]) == (0, 0)
    assert 32 < found["ffs"] < 150
    assert 64 < found["luts"] < 350


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", ["ecp5", "ice40", *long(["gowin", "nexus"])])
def test_fpga_places_and_routes(target: str) -> None:
    found = synthesise_design(TINY, target, seeds=2)
    assert 50 < found["fmax_mhz"] <= found["fmax_best_mhz"] < 1000
    assert sorted(each["fmax_mhz"] for each in found["seeds"]) == [
        found["fmax_mhz"],
        found["fmax_best_mhz"],
    ]
    assert found["period_ns"] == pytest.approx(1e3 / found["fmax_mhz"])
    assert found["gops"] == pytest.approx(2 / found["period_ns"])
    assert found["gops_per_1000_luts"] == pytest.approx(1000 * found["gops"] / found["luts"])
    dsps = found["dsps"]
    assert found["gops_per_dsp"] == (pytest.approx(found["gops"] / dsps) if dsps else None)
    assert found["device"]
    last = found["critical_path"][-1]
    assert last["kind"] == "setup"
    assert last["arrival_ns"] == pytest.approx(found["period_ns"], rel=0.01)
    assert found["versions"]["nextpnr"]
    assert 8 <= found["ffs"] < 100  # at least the sum; operands may be in a block
    assert 8 <= found["luts"] < 200


@pytest.mark.prove
def test_fpga_takes_any_port(tmp_path: Path) -> None:
    source = tmp_path / "odd.v"
    source.write_text(ODD_PORTS)
    found = synthesise(Verilog([source], "odd", clock="clock"), "ice40", seeds=1)
    assert found["ffs"] == 4
    assert found["fmax_mhz"] > 100
    with pytest.raises(ValueError, match=r"clock must be an input of odd \(clock, x, .*not 'clk'"):
        synthesise(Verilog([source], "odd"), "ice40")


def test_fpga_without_registers_is_counted_not_placed(tmp_path: Path) -> None:
    source = tmp_path / "gate.v"
    source.write_text("module gate(input a, input b, output y); assign y = a & b; endmodule\n")
    found = synthesise(Verilog([source], "gate"), "ecp5")
    assert (found["luts"], found["ffs"], found["fmax_mhz"]) == (1, 0, None)
    assert found["notes"] == ["no registers and no clock: not placed, no Fmax"]


def test_fpga_beyond_the_largest_device_is_not_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    def small(flow: Flow) -> Flow:
        return replace(
            flow,
            parts=tuple(
                replace(part, capacity={**part.capacity, "luts": 10}) for part in flow.parts
            ),
        )

    change_flows(monkeypatch, small)
    found = synthesise_design(TINY, "ice40")
    assert found["fmax_mhz"] is None
    assert found["luts"] > 10
    says = f"larger than iCE40UP5K-SG48, {found['luts']} luts of 10: not placed, no Fmax"
    assert found["notes"] == [says]


def test_fpga_large_designs_are_placed_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """From so many look-up tables on, nextpnr has further arguments."""
    given: list[Sequence[str]] = []

    def from_seeds(*arguments: Any) -> None:
        given.append(arguments[-1])
        raise place.FpgaError("seen")

    monkeypatch.setattr(implementation, "from_seeds", from_seeds)
    for luts in (5, 500):
        change_flows(monkeypatch, partial(replace, large=(luts, ("--placer", "static"))))
        with pytest.raises(place.FpgaError, match="seen"):
            synthesise_design(TINY, "ecp5", seeds=1)
    assert given == [("--placer", "static"), ()]


@pytest.mark.prove
def test_fpga_seeds_that_fail_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = {1}

    def nextpnr(flow: Flow, folder: Path, arguments: Sequence[str], seed: int) -> dict[str, Any]:
        if seed in failing:
            raise place.FpgaError(f"nextpnr: ERROR: {seed} is no good")
        return {"fmax": {"clk": {"achieved": {2: 90.0, 3: 80.0, 4: 100.0}[seed]}}}

    monkeypatch.setattr(place, "nextpnr", nextpnr)
    monkeypatch.setenv(MARK, "here")  # as within a job: no process that knows another nextpnr
    tiny = Design("mac", {**TINY.parameters, "a_width": 2})
    found = synthesise_design(tiny, "ecp5", seeds=4)
    assert (found["fmax_mhz"], found["fmax_best_mhz"]) == (90, 100)
    assert found["notes"] == ["seed 1: nextpnr: ERROR: 1 is no good"]
    assert [each["fmax_mhz"] for each in found["seeds"]] == [None, 90, 80, 100]
    failing |= {2, 3, 4}
    # What is done is kept.
    assert synthesise_design(tiny, "ecp5", seeds=3)["fmax_mhz"] == 80
    with pytest.raises(place.FpgaError, match="1 is no good"):
        synthesise_design(tiny, "ecp5", seeds=1)


@pytest.mark.parametrize("seeds", [0, -1, 101])
def test_fpga_seeds_out_of_range(seeds: int) -> None:
    with pytest.raises(ValueError, match=f"seeds must be 1 to 100, not {seeds}"):
        synthesise_design(TINY, "ecp5", seeds=seeds)


def test_fpga_parts_that_are_not_there() -> None:
    with pytest.raises(
        ValueError, match="unknown part of ice40 'iCE40UP5'; did you mean iCE40UP5K"
    ):
        synthesise_design(TINY, "ice40", part="iCE40UP5")
    with pytest.raises(ValueError, match="part must be none for xilinx7"):
        synthesise_design(TINY, "xilinx7", part="xc7a35t")

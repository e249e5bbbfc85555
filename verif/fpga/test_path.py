"""Critical paths in the words of the design."""

from typing import Any

import pytest

from carrysave.fpga.path import Words, critical_path

_NETS = {
    "design.pe0.sum": {"bits": [10, 11, 12]},
    "design.pe0.go": {"bits": [20]},
    "design.rev": {"bits": [30, 31, 32], "offset": 4, "upto": 1},
    "input_x": {"bits": [40, 41]},
    "output_y_": {"bits": [50]},
}
_CELLS = {
    "design.pe0.sum_TRELLIS_FF_Q_1": {"type": "TRELLIS_FF", "connections": {"Q": [11]}},
    "design.pe0.sum_TRELLIS_FF_Q_1_DI_LUT4_Z": {"type": "LUT4", "connections": {"Z": [99]}},
    "design.pe0.go_TRELLIS_FF_Q": {"type": "TRELLIS_FF", "connections": {"Q": [20]}},
    "design.rev_SB_DFF_Q": {"type": "SB_DFF", "connections": {"Q": [30]}},
    "design.rev_SB_DFF_Q_1": {"type": "SB_DFF", "connections": {"Q": [31]}},
    "design.rev_SB_DFF_Q_2": {"type": "SB_DFF", "connections": {"Q": [32]}},
    "design.pe0.times": {"type": "MULT18X18D", "connections": {}},
    "input_x_TRELLIS_FF_Q": {"type": "TRELLIS_FF", "connections": {"Q": [41]}},
    "output_y__TRELLIS_FF_Q": {"type": "TRELLIS_FF", "connections": {"Q": [50]}},
    "design.gen_0_.s_CCU2C_S0": {"type": "CCU2C", "connections": {"S0": [60]}},
}


def words() -> Words:
    return Words({"netnames": _NETS, "cells": _CELLS}, {"y_": "y", "gen_0_": "gen[0]"})


@pytest.mark.parametrize(
    ("cell", "port", "says"),
    [
        ("design.pe0.sum_TRELLIS_FF_Q_1", "DI", "pe0.sum[1]"),
        ("design.pe0.sum_TRELLIS_FF_Q_1_DI_LUT4_Z", "A", "pe0.sum[1]"),
        ("design.pe0.go_TRELLIS_FF_Q", "Q", "pe0.go"),
        ("design.rev_SB_DFF_Q_DFFLC", "O", "rev[6]"),
        ("design.rev_SB_DFF_Q_1", "Q", "rev[5]"),
        ("design.rev_SB_DFF_Q_2", "Q", "rev[4]"),
        ("design.pe0.times", "P3", "pe0.times.P3"),
        ("design.pe0.times/REG18_CORE_x2_z0", "PP2", "pe0.times.PP2"),
        ("input_x_TRELLIS_FF_Q", "Q", "input x[1]"),
        ("output_y__TRELLIS_FF_Q", "M", "output y"),
        ("design.gen_0_.s_CCU2C_S0$CCU2_COMB1", "FCO", "gen[0].s"),
        ("nextpnr$own", "A", "nextpnr$own"),
    ],
)
def test_cells_are_what_the_design_calls_them(cell: str, port: str, says: str) -> None:
    assert words().signal(cell, port) == says


def _step(kind: str, delay: float, source: tuple[str, str], to: tuple[str, str]) -> dict[str, Any]:
    ends = [{"cell": cell, "port": port} for cell, port in (source, to)]
    return {"type": kind, "delay": delay, "from": ends[0], "to": ends[1]}


def test_carry_chains_are_one_step() -> None:
    first, carry = "design.pe0.go_TRELLIS_FF_Q", "design.gen_0_.s_CCU2C_S0"
    path = [
        _step("clk-to-q", 0.5, (first, "Q"), (first, "Q")),
        _step("routing", 1.0, (first, "Q"), (carry, "A0")),
        _step("logic", 0.4, (carry, "A0"), (carry, "FCO")),
        _step("routing", 0.0, (carry, "FCO"), (f"{carry}$CCU2_COMB1", "FCI")),
        _step("logic", 0.1, (f"{carry}$CCU2_COMB1", "FCI"), (f"{carry}$CCU2_COMB1", "FCO")),
        _step("setup", 0.2, (first, "DI"), (first, "DI")),
    ]
    short = [_step("setup", 9.0, (first, "DI"), (first, "DI"))]
    fast = [_step("setup", 2.1, (first, "DI"), (first, "DI"))]
    report = {
        "critical_paths": [
            {"from": "posedge clk", "to": "negedge clk", "path": fast},
            {"from": "posedge clk", "to": "posedge clk", "path": path},
            {"from": "<async>", "to": "posedge clk", "path": short},
        ]
    }
    found = critical_path(report, words())
    assert [step["kind"] for step in found] == ["clk-to-q", "routing", "logic", "carry", "setup"]
    assert found[1]["from"] == "pe0.go"
    assert found[3]["delay_ns"] == pytest.approx(0.1)
    assert found[-1]["arrival_ns"] == pytest.approx(2.2)
    assert critical_path({"critical_paths": report["critical_paths"][2:]}, words()) == []

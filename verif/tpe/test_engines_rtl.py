"""The Verilog of the engines against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from hw.catalog import Design
from verif.support.cases import brief, case_name

CASES: list[tuple[str, dict[str, Any]]] = [
    ("systolic_os", {}),
    ("systolic_os", {"m": 1, "n": 1, "k_max": 100}),
    ("systolic_os", {"m": 1, "n": 5, "k_max": 7, "a_width": 4}),
    ("systolic_os", {"m": 6, "n": 1, "k_max": 64, "b_width": 3, "b_signed": False}),
    ("systolic_os", {"m": 3, "n": 2, "k_max": 1, "a_signed": False}),
    ("systolic_os", {"m": 2, "n": 4, "k_max": 300, "a_width": 16, "b_width": 16}),
    (
        "systolic_os",
        {"m": 9, "n": 2, "k_max": 40, "a_width": 2, "b_width": 5, "a_signed": False,
         "b_signed": False},
    ),
    ("systolic_os", {"m": 17, "n": 3, "k_max": 1000, "a_width": 3, "b_width": 2}),
    ("systolic_os", {"m": 3, "n": 3, "k_max": 50, "pe": "mac"}),
    ("systolic_os", {"m": 10, "n": 2, "k_max": 50, "a_width": 3, "pe": "mac", "pipeline": 1}),
    (
        "systolic_os",
        {"m": 4, "n": 3, "k_max": 50, "pipeline": 1, "encoding": "none", "adder": "ripple"},
    ),
    ("systolic_os", {"m": 3, "n": 4, "k_max": 500, "a_width": 4, "encoding": "ent",
                     "upper": "counter"}),
    ("cube", {"m": 2, "n": 2, "k": 3, "k_max": 900, "b_width": 4, "upper": "counter"}),
    ("adder_tree", {"m": 2, "n": 2, "k": 3, "k_max": 900, "a_width": 4, "pe": "opt2",
                    "a_signed": False, "upper": "counter"}),
    ("matrix_2d", {"m": 3, "n": 2, "k_max": 900, "a_width": 4, "b_width": 4, "pipeline": 1,
                   "upper": "counter", "together": True}),
    ("cube", {"m": 1, "n": 1, "k": 1, "k_max": 20}),
    ("cube", {"m": 2, "n": 3, "k": 5, "k_max": 77, "pe": "mac"}),
    ("cube", {"m": 9, "n": 1, "k": 2, "k_max": 100, "a_width": 4, "a_signed": False}),
    ("cube", {"m": 3, "n": 2, "k": 4, "k_max": 300, "pipeline": 1}),
    ("adder_tree", {"n": 2, "k": 16, "a_width": 4, "b_width": 4}),
    ("adder_tree", {"n": 1, "k": 7, "k_max": 21, "pe": "mac", "pipeline": 1, "encoding": "none"}),
    ("matrix_2d", {"m": 3, "n": 5, "k_max": 300}),
    ("matrix_2d", {"m": 1, "n": 1, "k_max": 30, "pe": "mac"}),
    ("matrix_2d", {"m": 3, "n": 2, "k_max": 50, "together": True}),
    (
        "adder_tree",
        {"m": 4, "n": 2, "k": 3, "k_max": 30, "pe": "mac", "pipeline": 2, "together": True},
    ),
    ("cube", {"m": 9, "n": 1, "k": 2, "k_max": 40, "pe": "opt2", "together": True}),
    ("cube", {"m": 1, "n": 2, "k": 3, "k_max": 40, "encoding": "ent", "together": True}),
    ("systolic_os", {"m": 3, "n": 3, "k_max": 50, "b_width": 4, "target": "ecp5"}),
    ("systolic_os", {"m": 1, "n": 2, "k_max": 20, "a_signed": False, "target": "ecp5"}),
    (
        "systolic_os",
        {"m": 9, "n": 2, "k_max": 3000, "a_width": 16, "b_width": 16, "target": "ecp5"},
    ),
    ("systolic_os", {"m": 5, "n": 3, "k_max": 40, "a_width": 2, "b_width": 2, "target": "ecp5"}),
    (
        "matrix_2d",
        {"m": 3, "n": 2, "k_max": 40, "a_width": 4, "b_signed": False, "together": True,
         "target": "ecp5"},
    ),
    ("cube", {"m": 2, "n": 2, "k": 3, "k_max": 40, "target": "ecp5"}),
    ("adder_tree", {"m": 1, "n": 2, "k": 5, "k_max": 30, "a_width": 5, "target": "ecp5"}),
    ("systolic_os", {"m": 3, "n": 3, "k_max": 50, "target": "ultrascale"}),
    ("systolic_os", {"m": 3, "n": 2, "k_max": 50, "target": "xilinx7"}),
    ("systolic_os", {"m": 2, "n": 4, "a_signed": False, "target": "ultrascale"}),
    ("systolic_os", {"m": 2, "n": 2, "a_width": 4, "b_width": 4, "target": "xilinx7",
                     "packing": "densest"}),
    ("systolic_os", {"m": 2, "n": 3, "k_max": 90, "target": "xilinx7", "packing": "pair"}),
    ("matrix_2d", {"m": 3, "n": 2, "k_max": 40, "together": True, "target": "ultrascale"}),
    ("cube", {"m": 2, "n": 2, "k": 3, "k_max": 40, "target": "ultrascale"}),
    ("adder_tree", {"m": 1, "n": 2, "k": 4, "k_max": 40, "target": "xilinx7"}),
    ("cube", {"m": 2, "n": 2, "k": 2, "k_max": 40, "target": "gowin"}),
    ("systolic_os", {"m": 2, "n": 3, "k_max": 40, "b_width": 2, "target": "ice40"}),
    ("matrix_2d", {"m": 3, "n": 2, "k_max": 40, "target": "nexus"}),
    ("cube", {"m": 3, "n": 2, "k": 4, "k_max": 40, "target": "ecp5", "packing": "winograd"}),
    (
        "cube",
        {"m": 3, "n": 2, "k": 3, "k_max": 50, "a_signed": False, "together": True,
         "target": "ultrascale", "packing": "winograd"},
    ),
    (
        "adder_tree",
        {"m": 1, "n": 2, "k": 5, "k_max": 30, "b_width": 5, "b_signed": False,
         "target": "gowin", "packing": "winograd"},
    ),
    ("systolic_os", {"m": 2, "n": 3, "k_max": 70000, "target": "ice40"}),
    ("matrix_2d", {"m": 3, "n": 1, "k_max": 90, "a_width": 12, "b_width": 14, "target": "ice40"}),
    ("cube", {"m": 2, "n": 3, "k": 3, "k_max": 40, "target": "ice40"}),
    ("adder_tree", {"m": 2, "n": 2, "k": 3, "k_max": 40, "a_signed": False, "target": "ice40"}),
    ("matrix_2d", {"m": 2, "n": 2, "k_max": 40, "a_signed": False, "together": True,
                   "target": "ice40"}),
    # Columns of logic beside those of blocks: rows packed, sums counted beside blocks, chains.
    (
        "systolic_os",
        {"m": 5, "n": 4, "k_max": 40, "a_width": 3, "b_width": 3, "target": "ecp5", "dsps": 3},
    ),
    ("systolic_os", {"m": 3, "n": 5, "k_max": 70000, "target": "ice40", "dsps": 6}),
    ("systolic_os", {"m": 2, "n": 5, "k_max": 90, "target": "xilinx7", "packing": "pair",
                     "dsps": 5}),
    ("adder_tree", {"m": 1, "n": 3, "k": 4, "k_max": 40, "target": "ultrascale", "dsps": 8}),
    ("adder_tree", {"m": 2, "n": 2, "k": 5, "k_max": 40, "a_width": 5, "b_signed": False,
                    "target": "xilinx7", "dsps": 10}),
    ("cube", {"m": 2, "n": 3, "k": 3, "k_max": 50, "a_signed": False, "target": "ecp5",
              "packing": "winograd", "dsps": 4}),
    ("cube", {"m": 2, "n": 2, "k": 3, "k_max": 40, "b_width": 4, "target": "ice40", "dsps": 0}),
    ("matrix_2d", {"m": 3, "n": 3, "k_max": 40, "a_width": 16, "b_width": 7, "together": True,
                   "target": "nexus", "dsps": 6}),
    # Nexus: sums in blocks, of four products or of one.
    ("cube", {"m": 3, "n": 2, "k": 4, "k_max": 40, "target": "nexus"}),
    ("adder_tree", {"m": 2, "n": 3, "k": 3, "k_max": 40, "a_signed": False, "target": "nexus",
                    "dsps": 4}),
    ("cube", {"m": 2, "n": 2, "k": 2, "k_max": 40, "b_width": 5, "together": True,
              "target": "nexus", "packing": "none"}),
    ("systolic_os", {"m": 3, "n": 3, "k_max": 70, "a_width": 12, "b_width": 10,
                     "target": "nexus", "packing": "none", "dsps": 3}),
    # Large: the clock enable is a register.
    ("systolic_os", {"m": 9, "n": 16, "k_max": 1 << 24, "a_width": 2, "b_width": 16}),
    ("matrix_2d", {"m": 9, "n": 16, "k_max": 1 << 24, "a_width": 2, "b_width": 16}),
    (
        "cube",
        {"m": 2, "n": 25, "k": 8, "k_max": 1 << 24, "a_width": 2, "b_width": 16, "pe": "mac",
         "pipeline": 1, "together": True},
    ),
    ("adder_tree", {"m": 1, "n": 11, "k": 45, "k_max": 1 << 20, "a_width": 2, "b_width": 16}),
    # N:M sparsity.
    ("adder_tree", {"n": 3, "k": 8, "k_max": 96, "sparsity": "2:4"}),
    ("adder_tree", {"m": 2, "n": 2, "k": 16, "k_max": 64, "a_width": 4, "a_signed": False,
                    "sparsity": "4:8", "pe": "mac", "together": True}),
    ("adder_tree", {"m": 1, "n": 2, "k": 4, "k_max": 4, "sparsity": "1:4", "pe": "opt2"}),
    ("cube", {"m": 3, "n": 2, "k": 8, "k_max": 80, "b_width": 5, "b_signed": False,
              "sparsity": "2:4", "upper": "counter"}),
    ("cube", {"m": 9, "n": 1, "k": 4, "k_max": 40, "sparsity": "1:4", "encoding": "booth"}),
    ("cube", {"m": 2, "n": 2, "k": 8, "k_max": 64, "sparsity": "4:8", "encoding": "operator"}),
    ("cube", {"m": 3, "n": 2, "k": 4, "k_max": 64, "sparsity": "2:4", "encoding": "none",
              "pipeline": 0, "together": True}),
    ("matrix_2d", {"m": 3, "n": 2, "k_max": 60, "sparsity": "1:4"}),
    ("matrix_2d", {"m": 2, "n": 3, "k_max": 64, "sparsity": "4:8", "together": True}),
    ("matrix_2d", {"m": 9, "n": 16, "k_max": 1 << 24, "a_width": 2, "b_width": 16,
                   "sparsity": "2:4"}),
    ("ternary_core", {"n": 3, "k": 8, "k_max": 64, "sparsity": "2:4"}),
    ("ternary_core", {"m": 3, "n": 2, "k": 4, "k_max": 40, "a_signed": False, "sparsity": "1:4",
                      "pipeline": 1, "together": True}),
    ("ternary_core", {"m": 2, "n": 2, "k": 16, "k_max": 64, "sparsity": "4:8", "chain": 4,
                      "pipeline": 1}),
]  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "parameters"),
    # Each kind of array, blocks that multiply or add, and sparsity.
    brief(CASES, 4, 12, 23, 30, -10),
    ids=[f"{name}-{case_name(how)}" for name, how in CASES],
)
def test_engine_rtl_matches_golden(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design(name, parameters), directory=tmp_path)
    assert result.ok, result

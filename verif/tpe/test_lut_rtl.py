"""The Verilog of the LUT core and of its rivals against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from golden.tpe.lut_core import LutCoreSpec
from golden.tpe.ternary_core import TernaryCoreSpec
from hw.catalog import Design
from hw.emit.verilog import Emission
from hw.tpe.bitserial_core import BitserialCore
from hw.tpe.lut_core import LutCore
from hw.tpe.shift_add_core import ShiftAddCore
from hw.tpe.ternary_core import TernaryCore
from verif.support.cases import brief, case_name

FEW: list[tuple[str, dict[str, Any]]] = [
    ("lut_core", {"m": 3, "n": 3, "lookups": 2, "k_max": 50, "b_width": 3}),
    (
        "lut_core",
        {"m": 2, "n": 3, "group": 3, "lookups": 2, "k_max": 41, "table": "half", "pipeline": 1},
    ),
    ("lut_core", {"m": 3, "n": 3, "lookups": 2, "k_max": 50, "b_width": 3, "order": "outer"}),
    (
        "lut_core",
        {
            "n": 3,
            "group": 3,
            "lookups": 2,
            "k_max": 31,
            "b_width": 2,
            "table": "half",
            "generator": "external",
        },
    ),
    ("lut_core", {"n": 3, "lookups": 2, "k_max": 20, "generator": "external", "pipeline": 1}),
    ("bitserial_core", {"m": 2, "n": 3, "k": 5, "k_max": 33, "a_width": 4, "slack": 64}),
    ("ternary_core", {"m": 2, "n": 3, "k": 6, "group": 3, "mode": "table", "k_max": 40}),
    ("lut_core", {"m": 3, "n": 3, "lookups": 2, "k_max": 50, "b_width": 3, "together": True}),
]
MORE: list[tuple[str, dict[str, Any]]] = [
    ("lut_core", {}),
    ("lut_core", {"m": 1, "n": 1, "lookups": 1, "k_max": 1, "b_width": 1}),
    ("lut_core", {"m": 1, "n": 2, "lookups": 3, "k_max": 300, "b_width": 8, "a_width": 5}),
    ("lut_core", {"m": 9, "n": 2, "lookups": 2, "k_max": 70, "b_width": 4, "folded": False}),
    ("lut_core", {"n": 3, "group": 3, "lookups": 3, "k_max": 1 << 16, "b_signed": False}),
    (
        "lut_core",
        {"n": 3, "group": 4, "lookups": 1, "k_max": 30, "a_signed": False, "a_width": 3,
         "b_width": 5, "pipeline": 2},
    ),
    ("lut_core", {"n": 2, "group": 5, "lookups": 1, "k_max": 20, "b_width": 1, "folded": False}),
    (
        "lut_core",
        {"n": 3, "lookups": 2, "k_max": 20, "b_width": 2, "a_signed": False, "b_signed": False,
         "folded": False},
    ),
    ("lut_core", {"n": 3, "lookups": 2, "k_max": 20, "symmetric": True, "a_width": 16}),
    (
        "lut_core",
        {"n": 3, "group": 2, "lookups": 3, "k_max": 45, "b_width": 1, "table": "half",
         "folded": False},
    ),
    (
        "lut_core",
        {"m": 1, "n": 3, "group": 4, "lookups": 2, "k_max": 300, "b_width": 4, "table": "half"},
    ),
    (
        "lut_core",
        {"m": 10, "n": 2, "group": 5, "lookups": 1, "k_max": 25, "b_width": 2, "table": "half",
         "b_signed": False, "symmetric": True},
    ),
    (
        "lut_core",
        {"n": 3, "group": 3, "lookups": 2, "k_max": 31, "b_width": 3, "table": "half",
         "a_signed": False, "b_signed": False, "a_width": 4, "folded": False},
    ),
    (
        "lut_core",
        {"n": 3, "group": 4, "lookups": 2, "k_max": 50, "b_width": 2, "table": "half",
         "weights": "odd", "b_signed": False, "negation": "constant"},
    ),
    (
        "lut_core",
        {"n": 3, "group": 2, "lookups": 4, "k_max": 50, "b_width": 1, "table": "half",
         "weights": "odd", "b_signed": False, "negation": "constant", "symmetric": True,
         "folded": False},
    ),
    (
        "lut_core",
        {"n": 3, "group": 3, "lookups": 1, "k_max": 50, "b_width": 3, "table": "half",
         "weights": "odd", "b_signed": False, "pipeline": 1},
    ),
    ("lut_core", {"n": 3, "lookups": 2, "k_max": 50, "b_width": 2, "parallel": True}),
    (
        "lut_core",
        {"n": 3, "group": 3, "lookups": 1, "k_max": 50, "b_width": 4, "parallel": True,
         "folded": False, "pipeline": 1},
    ),
    (
        "lut_core",
        {"n": 3, "group": 3, "lookups": 2, "k_max": 50, "b_width": 3, "parallel": True,
         "table": "half"},
    ),
    (
        "lut_core",
        {"n": 3, "group": 4, "lookups": 1, "k_max": 50, "b_width": 2, "parallel": True,
         "table": "half", "weights": "odd", "b_signed": False, "negation": "constant"},
    ),
    ("lut_core", {"n": 3, "lookups": 1, "k_max": 20, "b_width": 1, "order": "outer"}),
    (
        "lut_core",
        {"m": 1, "n": 2, "lookups": 2, "k_max": 300, "b_width": 8, "order": "outer",
         "folded": False, "pipeline": 1},
    ),
    (
        "lut_core",
        {"m": 9, "n": 2, "group": 3, "lookups": 1, "k_max": 40, "b_width": 2, "order": "outer",
         "table": "half", "pipeline": 2},
    ),
    (
        "lut_core",
        {"n": 3, "group": 4, "lookups": 2, "k_max": 50, "b_width": 3, "order": "outer",
         "table": "half", "b_signed": False, "a_signed": False, "folded": False},
    ),
    (
        "lut_core",
        {"n": 3, "group": 2, "lookups": 3, "k_max": 50, "b_width": 4, "order": "outer",
         "table": "half", "weights": "odd", "b_signed": False, "negation": "constant"},
    ),
    (
        "lut_core",
        {"n": 3, "group": 3, "lookups": 2, "k_max": 30, "a_signed": False, "a_width": 4,
         "b_width": 3, "generator": "external", "order": "outer"},
    ),
    (
        "lut_core",
        {"n": 2, "group": 5, "lookups": 1, "k_max": 30, "a_width": 5, "symmetric": True,
         "b_signed": False, "b_width": 2, "table": "half", "generator": "external",
         "order": "outer"},
    ),
    (
        "lut_core",
        {"n": 3, "group": 4, "lookups": 2, "k_max": 50, "b_width": 2, "table": "half",
         "weights": "odd", "b_signed": False, "negation": "constant", "generator": "external"},
    ),
    ("lut_core", {"n": 3, "lookups": 2, "k_max": 20, "b_width": 1, "generator": "in_array"}),
    (
        "lut_core",
        {"n": 3, "group": 4, "lookups": 2, "k_max": 50, "table": "half", "generator": "in_array",
         "adder": "ripple", "pipeline": 1},
    ),
    (
        "lut_core",
        {"n": 3, "group": 3, "lookups": 1, "k_max": 50, "b_width": 3, "generator": "in_array",
         "order": "outer", "weights": "odd", "b_signed": False, "table": "half"},
    ),
    (
        "lut_core",
        {"n": 2, "lookups": 2, "k_max": 50, "b_width": 3, "generator": "in_array",
         "parallel": True, "folded": False},
    ),
    (
        "lut_core",
        {"n": 2, "lookups": 2, "k_max": 50, "b_width": 3, "generator": "external",
         "parallel": True, "table": "half"},
    ),
    (
        "lut_core",
        {"n": 3, "lookups": 3, "k_max": 50, "b_width": 1, "b_signed": False, "slack": 4,
         "held": False},
    ),
    (
        "lut_core",
        {"m": 3, "n": 2, "lookups": 3, "k_max": 50, "b_width": 2, "table": "half", "slack": 2,
         "held": False, "pipeline": 1},
    ),
    (
        "lut_core",
        {"m": 1, "n": 2, "lookups": 2, "k_max": 50, "b_width": 3, "order": "outer", "slack": 64,
         "held": False},
    ),
    ("lut_core", {"m": 9, "n": 2, "lookups": 1, "k_max": 50, "slack": 1, "held": False}),
    (
        "lut_core",
        {"m": 1, "n": 2, "lookups": 2, "k_max": 50, "together": True, "table": "half",
         "pipeline": 1},
    ),
    (
        "lut_core",
        {"m": 9, "n": 2, "lookups": 1, "k_max": 50, "together": True, "order": "outer",
         "held": False},
    ),
    (
        "lut_core",
        {"m": 2, "n": 2, "group": 3, "lookups": 1, "k_max": 50, "together": True, "table": "half",
         "generator": "external", "held": False},
    ),
    (
        "lut_core",
        {"n": 2, "group": 4, "lookups": 1, "k_max": 50, "folded": False, "sign": "subtracted",
         "select": "tree"},
    ),
    (
        "lut_core",
        {"n": 2, "group": 4, "lookups": 1, "k_max": 50, "table": "half", "select": "tree"},
    ),
    ("lut_core", {"n": 2, "lookups": 2, "k_max": 50, "a_signed": False, "select": "tree"}),
    (
        "lut_core",
        {"n": 2, "lookups": 3, "k_max": 50, "b_width": 3, "a_signed": False, "sign": "subtracted",
         "pipeline": 1},
    ),
    ("bitserial_core", {"m": 2, "n": 2, "k": 3, "k_max": 30, "together": True, "held": False}),
    ("shift_add_core", {"m": 4, "n": 2, "k": 3, "k_max": 30, "together": True, "pipeline": 2}),
    (
        "ternary_core",
        {"m": 3, "n": 2, "k": 4, "k_max": 30, "mode": "two_plane", "together": True},
    ),
    ("bitserial_core", {"m": 1, "n": 2, "k": 1, "k_max": 300, "b_width": 1}),
    ("bitserial_core", {"m": 3, "n": 3, "k": 7, "k_max": 20, "b_width": 8, "pipeline": 1}),
    (
        "bitserial_core",
        {"n": 3, "k": 3, "k_max": 30, "b_width": 4, "b_signed": False, "a_signed": False},
    ),
    ("bitserial_core", {"n": 3, "k": 4, "k_max": 30, "b_width": 1, "b_signed": False}),
    ("shift_add_core", {"n": 3, "k": 5, "k_max": 40}),
    ("shift_add_core", {"m": 1, "n": 2, "k": 2, "k_max": 40, "b_width": 1, "pipeline": 1}),
    ("shift_add_core", {"n": 3, "k": 3, "k_max": 300, "b_width": 8, "b_signed": False}),
    (
        "shift_add_core",
        {"m": 9, "n": 2, "k": 1, "k_max": 9, "b_width": 3, "a_signed": False, "b_signed": False},
    ),
    ("ternary_core", {"n": 3, "k": 5, "k_max": 40}),
    ("ternary_core", {"n": 3, "k": 3, "k_max": 300, "a_signed": False, "pipeline": 1}),
    ("ternary_core", {"n": 3, "k": 6, "mode": "pair", "k_max": 50}),
    ("ternary_core", {"n": 3, "k": 2, "mode": "pair", "keys": True, "k_max": 9}),
    ("ternary_core", {"n": 3, "k": 4, "mode": "pair", "keys": True, "a_signed": False}),
    ("ternary_core", {"n": 3, "k": 4, "mode": "table", "k_max": 21, "a_width": 4}),
    (
        "ternary_core",
        {"n": 3, "k": 4, "group": 4, "mode": "table", "keys": True, "k_max": 50, "a_width": 3},
    ),
    (
        "ternary_core",
        {"n": 2, "k": 5, "group": 5, "mode": "table", "k_max": 50, "a_width": 2, "pipeline": 1},
    ),
    (
        "ternary_core",
        {"n": 3, "k": 6, "group": 3, "mode": "table", "keys": True, "a_signed": False, "k_max": 9},
    ),
    ("ternary_core", {"n": 3, "k": 5, "k_max": 40, "chain": 2}),
    ("ternary_core", {"n": 2, "k": 6, "a_signed": False, "chain": 4, "pipeline": 2, "k_max": 50}),
    ("ternary_core", {"m": 4, "n": 2, "k": 9, "chain": 4, "pipeline": 4, "together": True}),
    (
        "ternary_core",
        {"n": 2, "k": 10, "mode": "pair", "keys": True, "chain": 1, "pipeline": 2, "k_max": 50},
    ),
    (
        "ternary_core",
        {"n": 2, "k": 9, "group": 3, "mode": "table", "a_signed": False, "chain": 3, "k_max": 30},
    ),
    ("ternary_core", {"n": 3, "k": 4, "mode": "two_plane", "k_max": 50}),
    (
        "ternary_core",
        {"m": 1, "n": 3, "k": 8, "group": 4, "mode": "two_plane", "k_max": 50, "a_signed": False},
    ),
]  # fmt: skip
CASES = [*FEW, *MORE]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("name", "parameters"),
    brief(CASES, 3, 4, 5),
    ids=[f"{name}-{case_name(how)}" for name, how in CASES],
)
def test_lut_rtl_matches_golden(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design(name, {"m": 2, **parameters}), directory=tmp_path)
    assert result.ok, result


@pytest.mark.parametrize("component", [LutCore, BitserialCore, ShiftAddCore, TernaryCore])
def test_lut_rejects_wrong_kind(component: Any) -> None:
    with pytest.raises(TypeError, match=f"spec must be an? {component.__name__}Spec, not 8"):
        component(8)


def test_lut_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"generator must be one of shared, in_array, external"):
        Design("lut_core", {"generator": "none"})
    with pytest.raises(ValueError, match="engine must take codes as they are"):
        Design("coprocessor", {"engine": "lut_core(order=outer,folded=false)"})
    with pytest.raises(ValueError, match="engine must take codes as they are"):
        Design("coprocessor", {"engine": "lut_core(generator=external,folded=false)"})
    with pytest.raises(ValueError, match="pipeline must be 0"):
        LutCore(LutCoreSpec(), pipeline=9)
    with pytest.raises(ValueError, match="sign must be corrected but for full tables"):
        LutCore(LutCoreSpec(table="half"), sign="subtracted")
    with pytest.raises(ValueError, match="chain must be 0 where mode is two_plane, not 2"):
        TernaryCore(TernaryCoreSpec(mode="two_plane"), chain=2)
    with pytest.raises(ValueError, match=r"lookups must be 1\.\.32 groups, not 33"):
        Design("lut_core", {"lookups": 33})


@pytest.mark.parametrize("weights", ["integer", "odd"])
def test_correction_is_built_where_it_is_needed(weights: str) -> None:
    half = {"n": 2, "table": "half", "weights": weights, "b_signed": weights == "integer"}
    assert ("__correction(" in Emission(Design("lut_core", half)).verilog) == (weights == "integer")


@pytest.mark.parametrize(
    "engine",
    [
        "lut_core",
        "lut_core(folded=false,table=half,weights=odd,b_signed=false)",
        "ternary_core(mode=table,keys=true)",
    ],
)
def test_coprocessor_refuses_weights_that_are_no_codes(engine: str) -> None:
    with pytest.raises(ValueError, match="engine must take codes as they are, not"):
        Design("coprocessor", {"engine": engine})


@pytest.mark.parametrize("engine", ["lut_core(m=2,n=2,folded=false)", "ternary_core"])
def test_coprocessor_takes_weights_that_are_codes(engine: str) -> None:
    found = Design("coprocessor", {"engine": engine}).engine
    assert found is not None
    assert found.name == engine.partition("(")[0]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("generator", "places"),
    [("shared", {"": 4}), ("in_array", {"__lut_lane": 2}), ("external", {})],
)
def test_tables_are_made_where_they_should_be(generator: str, places: dict[str, int]) -> None:
    """Of two rows with two tables each: at the edge, in each lane, or nowhere."""
    design = Design("lut_core", {"m": 2, "n": 3, "lookups": 2, "generator": generator})
    found: dict[str, int] = {}
    module = ""
    for line in Emission(design).verilog.splitlines():
        if line.startswith("module "):
            module = line.split()[1].partition("(")[0].removeprefix(design.module)
        elif line.strip().startswith(f"{design.module}__table "):
            found[module] = found.get(module, 0) + 1
    assert found == places

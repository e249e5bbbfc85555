"""The Verilog of ternary cores with large tables, and of select trees, against golden."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from golden.tpe.ternary_core import TernaryCoreSpec
from hw.catalog import Design
from hw.tpe.ternary_core import TernaryCore
from verif.support.cases import case_name, long

KEYS = {"mode": "table", "keys": True, "k_max": 20}
CASES: list[dict[str, Any]] = [
    {"n": 3, "k": 8, "group": 4, "select": "tree"},
    {"n": 2, "k": 9, "group": 3, "select": "tree", "a_signed": False, "chain": 3},
    {"n": 2, "k": 4, "mode": "pair", "select": "tree"},
    {"m": 1, "n": 1, "k": 6, "group": 6, "a_width": 2, "select": "tree"},
    {"m": 1, "n": 1, "k": 7, "group": 7, "a_width": 2},
]


@pytest.mark.parametrize("parameters", long(CASES, 0, 1, 3, 4), ids=map(case_name, CASES))
def test_ternary_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("ternary_core", {"m": 2, **KEYS, **parameters}), directory=tmp_path)
    assert result.ok, result


def test_two_planes_have_smaller_tables() -> None:
    with pytest.raises(ValueError, match=r"group must be 2\.\.5 where mode is two_plane, not 6"):
        TernaryCoreSpec(mode="two_plane", group=6)
    with pytest.raises(ValueError, match=r"group must be 2\.\.7 weights, not 8"):
        TernaryCoreSpec(mode="table", group=8)


def test_select_tree_needs_keys() -> None:
    with pytest.raises(ValueError, match="select must be lines where B arrives as weights"):
        TernaryCore(TernaryCoreSpec(mode="table", group=4), select="tree")

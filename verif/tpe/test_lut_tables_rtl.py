"""The Verilog of the generator of tables against golden, on Verilator."""

from pathlib import Path
from typing import Any

import pytest

from carrysave.sim.runner import verify
from golden.lut.table import TableSpec
from golden.tpe.lut_core import LutCoreSpec
from golden.tpe.lut_tables import LutTablesSpec
from hw.catalog import Design
from hw.pe.lut_table import LutTable
from hw.tpe.lut_tables import LutTables
from verif.support.cases import brief, case_name

CASES: list[dict[str, Any]] = [
    {"group": 3, "lookups": 2, "a_width": 4},
    {"group": 4, "lookups": 1, "a_width": 4, "table": "half"},
    # A group of 64 bits.
    {"group": 4, "lookups": 4, "a_width": 16, "table": "half"},
    {},
    {"m": 1, "group": 5, "lookups": 3, "a_width": 3, "a_signed": False},
    {"m": 3, "group": 5, "lookups": 1, "a_width": 3, "table": "half", "adder": "ripple"},
    {"group": 2, "lookups": 2, "table": "half", "symmetric": True, "adder": "operator"},
    {"group": 3, "lookups": 1, "a_width": 16, "table": "half", "a_signed": False},
]


@pytest.mark.parametrize("parameters", brief(CASES, 0), ids=case_name)
def test_lut_tables_rtl_matches_golden(parameters: dict[str, Any], tmp_path: Path) -> None:
    result = verify(Design("lut_tables", parameters), directory=tmp_path)
    assert result.ok, result


@pytest.mark.parametrize("form", ["full", "half"])
def test_lut_tables_are_what_the_core_takes(form: str) -> None:
    """The generator's output stream is as wide as the core's input stream, for each shape."""
    for group in range(2, 6):
        core = LutCoreSpec(m=3, n=2, group=group, lookups=2, table=form, generator="external")
        made = LutTables(core.made).o.payload
        assert len(made.data) == core.m * core.a_codes * core.a_code_width


@pytest.mark.parametrize(
    ("form", "additions"), [("full", (1, 4, 11, 26)), ("half", (2, 6, 12, 24))]
)
def test_lut_tables_take_few_additions(form: str, additions: tuple[int, ...]) -> None:
    """As documented: of a full table one for each sum of two or more."""
    for group, count in enumerate(additions, start=2):
        assert LutTable(TableSpec(group=group), form).additions == count


def test_lut_tables_rejects_wrong_kind() -> None:
    with pytest.raises(TypeError, match="spec must be a LutTablesSpec, not 8"):
        LutTables(8)  # type: ignore[arg-type]


def test_lut_tables_rejects_out_of_range() -> None:
    with pytest.raises(ValueError, match=r"lookups must be 1\.\.32 groups, not 33"):
        Design("lut_tables", {"lookups": 33})
    with pytest.raises(ValueError, match="table must be one of full, half, not 'both'"):
        LutTablesSpec(table="both")

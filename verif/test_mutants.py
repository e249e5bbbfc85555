"""The benches find faults: mutants of the generated Verilog fail, unless they are no faults.

A mutant that passes its bench must be proven equal to the design. `make test` takes the same ones
each time; `make prove` takes others every day, and keeps the scores in build/mutants.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from hw.emit.verilog import Emission
from verif.support.cases import case_name, long
from verif.support.equivalence import by_outputs, by_reachability, longest
from verif.support.mutants import CASES, LONG, score
from verif.support.seeds import of_the_day

MUTANTS, SEED = 10, 1
MOST = 32
"""Mutants of the day."""
SCORES = Path(__file__).resolve().parents[1] / "build" / "mutants"


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=lambda one: _id(one))
def test_mutants_are_killed(name: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    found = score(Design(name, parameters), MUTANTS, SEED, tmp_path)
    assert len(found.changes) > MUTANTS // 2
    assert not found.faults, f"survived: {found.told()}"
    assert len(found.killed) > len(found.equal)


@pytest.mark.parametrize(("name", "parameters"), long([*CASES, *LONG]), ids=lambda one: _id(one))
def test_mutants_of_the_day_are_killed(
    name: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    """Which ones is told with what survives, and by `make prove` at its start."""
    design, seed = Design(name, parameters), of_the_day()
    found = score(design, MOST, seed, tmp_path)
    SCORES.mkdir(parents=True, exist_ok=True)
    told = {
        "design": name, "parameters": parameters, "seed": seed, "mutants": len(found.changes),
        "killed": len(found.killed), "equal": len(found.equal),
        "faults": [found.changes[number - 1] for number in found.faults],
    }  # fmt: skip
    (SCORES / f"{design.module}.json").write_text(json.dumps(told, indent=2) + "\n")
    assert len(found.changes) > MOST // 2
    assert not found.faults, f"survived, of seed {seed}: {found.told()}"
    # What the bench tells from the design is not proven equal.
    for proof in (by_outputs, by_reachability):
        assert not proof(design, tmp_path, found.killed[0], 20)


@pytest.mark.parametrize(("beyond", "equal"), [(0, True), (-1, False)])
def test_tiles_that_are_too_long_make_no_fault(beyond: int, equal: bool, tmp_path: Path) -> None:
    """The mutant of a stand-in gives a row after so many beats; a tile of `k_max` has some."""
    design = Design(*CASES[0])
    limit = longest(design)
    assert limit == ("i_a", 9)
    ports = Emission(design).ports
    heads = [f"{one['direction']} [{one['width'] - 1}:0] {one['name']}" for one in ports]
    outputs = {one["name"]: "0" for one in ports if one["direction"] == "output"}
    outputs |= {"i_a_ready": "1", "o_c_valid": f"mutant == 1 && beats > {limit[1] + beyond}"}
    lines = [
        f"module {design.module}({', '.join(heads)}, input [7:0] mutant);\nreg [7:0] beats = 0;",
        *(f"assign {name} = {value};" for name, value in outputs.items()),
        "always @(posedge clk)",
        "if (rst | i_a_valid & i_a_last) beats <= 0; else if (i_a_valid) beats <= beats + 1;",
    ]
    (tmp_path / "mutants.v").write_text("\n".join([*lines, "endmodule\n"]))
    assert by_outputs(design, tmp_path, 1, 20) is equal


def test_seed_of_the_day_is_the_date_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_the_day() == 1  # of all tests but those of make prove
    monkeypatch.delenv("CARRYSAVE_SEED")
    assert 20_261_124 < of_the_day() < 21_000_000
    monkeypatch.setenv("CARRYSAVE_SEED", "77")
    assert of_the_day() == 77


def _id(one: Any) -> str:
    """Name a case."""
    return one if isinstance(one, str) else case_name(one)

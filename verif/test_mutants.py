"""The benches find faults: mutants of the generated Verilog fail, unless they are no faults.

A mutant that passes its bench must be proven equal to the design. `make test` takes the same ones
each time; `make prove` takes others every day, and keeps the scores in build/mutants.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from hw.catalog import Design
from verif.support.cases import case_name, long
from verif.support.mutants import CASES, LONG, by_outputs, by_reachability, score
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


def test_seed_of_the_day_is_the_date_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_the_day() == 1  # of all tests but those of make prove
    monkeypatch.delenv("CARRYSAVE_SEED")
    assert 20_261_124 < of_the_day() < 21_000_000
    monkeypatch.setenv("CARRYSAVE_SEED", "77")
    assert of_the_day() == 77


def _id(one: Any) -> str:
    """Name a case."""
    return one if isinstance(one, str) else case_name(one)

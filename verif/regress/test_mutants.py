"""Mutants in a regression: killed and reduced, or listed; and of designs that no other test has."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from carrysave.regress import execution, plan
from carrysave.regress.mutants import Mutants
from hw.catalog import Design
from verif.support.command import Run
from verif.support.schemas import check

TINY = {"a_width": 2, "b_width": 2, "accumulator_width": 6}


def regress(run: Run, tmp_path: Path, *more: object) -> dict[str, Any]:
    found = run("regress", "-o", tmp_path, "--store", tmp_path / "store.sqlite", "--json", *more)
    assert found.code == 0, found.err
    return check("regress", found.out)


def repeat(run: Run, told: str) -> tuple[int, list[str]]:
    """Run a command that repeats a failure; return its code, and the tests that failed."""
    again = run(*shlex.split(told)[1:], "--json")
    return again.code, json.loads(again.out)["failures"]


@pytest.mark.prove
def test_mutants_are_killed_and_reduced(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "configurations", lambda name, seed: iter([Design(name, TINY)]))
    facts = regress(run, tmp_path, "--designs", "mac", "--mutants", "2", "--jobs", "1")
    assert facts["counts"]["passed"] == 1
    assert facts["counts"]["killed"] + facts["counts"]["equivalent"] == 2
    killed = [row for row in facts["runs"] if row["outcome"] == "killed"]
    assert killed
    assert [row["mutant"] for row in facts["reduced"]] == [row["mutant"] for row in killed]
    first = facts["reduced"][0]
    assert first["transactions"] is not None
    assert repeat(run, first["command"]) == (1, [first["test"]])
    # The same test of the design as it is.
    words = first["command"].split()
    at = words.index("--verilog")
    assert repeat(run, " ".join(words[:at] + words[at + 2 :])) == (0, [])


def test_a_mutant_alone_is_the_selected_one() -> None:
    mutants = Mutants.of(Design("mac", TINY), 4, 1)
    assert len(mutants.changes) == 4
    assert "[7:0] mutant;" in mutants.verilog
    whole = {mutants.one(number) for number in range(5)}
    assert len(whole) == 5
    assert not any("input [7:0] mutant" in text for text in whole)
    assert mutants == Mutants.of(Design("mac", TINY), 4, 1)
    assert mutants != Mutants.of(Design("mac", TINY), 4, 2)


def test_blocks_of_a_device_stay() -> None:
    design = Design("mac", {"target": "ecp5", "a_width": 4, "b_width": 4, "accumulator_width": 12})
    mutants = Mutants.of(design, 2, 1)
    assert all(" MULT18X18D " in text for text in (mutants.verilog, mutants.one(1)))


def test_a_mutant_that_lives_is_decided(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bench that finds nothing leaves alive what is a fault; that fails, and says why."""
    monkeypatch.setattr(plan, "configurations", lambda name, seed: iter([Design(name, TINY)]))
    monkeypatch.setattr(execution._Regression, "mutant_job", blind)
    arguments = ("regress", "-o", tmp_path, "--store", tmp_path / "store.sqlite", "--json",
                 "--designs", "mac", "--mutants", "4", "--jobs", "1")  # fmt: skip
    found = run(*arguments)
    assert found.code == 1, found.err
    facts = check("regress", found.out)
    assert facts["counts"]["killed"] == 0
    assert facts["counts"]["alive"] > 0
    assert facts["counts"]["alive"] + facts["counts"]["equivalent"] == 4
    row = next(row for row in facts["runs"] if row["outcome"] == "alive")
    assert "cycles after power-up, by legal inputs that the bench lacks" in row["why"]
    waves = Path(row["trace"]).read_text()
    assert all(f" {copy}_o_valid $end" in waves for copy in ("gold", "gate"))
    report = (tmp_path / "regress" / "junit.xml").read_text()
    assert report.count("<failure") == facts["counts"]["alive"]


def blind(self: execution._Regression, run: Any, file: Path, number: int, **more: Any) -> Any:
    """Return the job of the design as it is, in place of a mutant's."""
    del number
    told = {"constants": {"mutant": 0}, **more.pop("bench_parameters", {})}
    return self.job(run, verilog=file, bench_parameters=told, stop=True, **more)


@pytest.mark.prove
def test_thirty_mutants_of_designs_that_no_test_has(run: Run, tmp_path: Path) -> None:
    """Three mutants of each of ten drawn configurations: a fault that a bench misses is a hole.

    What lives is proven equal to the design: places of which nothing depends.
    """
    names = (
        "mac,opt1,opt3,opt4c,systolic_os,systolic_ws,digit_column,encoder,requantiser,lut_tables"
    )
    facts = regress(
        run,
        tmp_path,
        "--designs",
        names,
        "--configurations",
        "1",
        "--mutants",
        "3",
        "--seed",
        "42",
        "--jobs",
        "1",
    )
    counts = facts["counts"]
    assert counts["killed"] + counts["equivalent"] == 30
    assert counts["killed"] >= 24
    assert len(facts["reduced"]) == counts["killed"]
    for row in facts["reduced"]:
        assert repeat(run, row["command"]) == (1, [row["test"]])

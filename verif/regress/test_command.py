"""``carrysave regress``: what it runs, what it says, what it writes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from carrysave import jobs
from carrysave.regress import execution, plan
from carrysave.regress.plan import Request, planned
from carrysave.sim import icarus, runner
from hw.catalog import Design
from hw.emit.verilog import verilog_of
from verif.support.browser import Browser
from verif.support.command import Run
from verif.support.schemas import check

TINY = {"a_width": 2, "b_width": 2, "accumulator_width": 6}


def tell(parameters: dict[str, Any], seed: int, tests: str | None, count: int) -> dict[str, Any]:
    """Return what a bench finds, known without a simulator: the job's function in these tests.

    From 4 bits on one adder is wrong, as 8 transactions show; 5 bits cannot be built, of 6 there
    is too much.
    """
    width = parameters["a_width"]
    if width == 5:
        raise RuntimeError("cannot build it")
    wrong = width >= 4 and parameters["adder"] == "operator" and count >= 8
    found: dict[str, Any] = {
        "ok": not wrong,
        "tests": 2,
        "failed": [],
        "cases": [],
        "log": "said",
        "bench_seconds": 1.0,
        "skipped": "too much" if width == 6 else None,
    }
    cross = {
        "points": ["width", "seed"],
        "hits": [[str(width), str(seed), 1]],
        "holes": [["9", "9"]],
    }
    found["coverage"] = [{"title": "Told", "crosses": [cross]}]
    for name in ("test_operand_pairs", "test_latency"):
        bad = wrong and name == "test_operand_pairs"
        found["cases"].append({
            "name": name,
            "outcome": "failed" if bad else "passed",
            "seconds": 0.5,
            "start": 0.0,
            "stop": 10.0 * count,
            "why": f"{count} of 9 sums differ <&\x1b>" if bad else "",
        })
        found["failed"] += [name] * bad
    return found


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let benches be told, of configurations of 2, 3, ... bits."""

    def job(design: Design, seed: int, *, tests: str | None = None, **more: Any) -> jobs.Job:
        count = more.get("options", {}).get("transactions", 100)
        return jobs.Job(
            function=tell,
            arguments={
                "parameters": dict(design.parameters),
                "seed": seed,
                "tests": tests,
                "count": count,
            },
            content=[Path(__file__).read_bytes()],
        )

    def list_all(name: str, seed: int) -> Iterator[Design]:
        return (Design(name, TINY | {"a_width": width}) for width in range(2, 17))

    monkeypatch.setattr(execution, "bench_job", job)
    monkeypatch.setattr(plan, "configurations", list_all)


def options(tmp_path: Path, *more: object) -> list[object]:
    return ["regress", "-o", tmp_path, "--store", tmp_path / "store.sqlite", *more]


@pytest.mark.usefixtures("told")
def test_a_pass(run: Run, tmp_path: Path) -> None:
    """All of it, and once more: nothing is run again."""
    arguments = options(
        tmp_path,
        "--designs",
        "mac,opt1,mac",
        "--configurations",
        "2",
        "--json",
        "--seeds",
        "2",
        "--seed",
        "5",
    )
    found = run(*arguments)
    assert found.code == 0, found.err
    facts = check("regress", found.out)
    assert facts["counts"] == {
        "passed": 8,
        "failed": 0,
        "error": 0,
        "skipped": 0,
        "killed": 0,
        "equivalent": 0,
        "unreachable": 0,
        "alive": 0,
        "undecided": 0,
    }
    assert [row["seed"] for row in facts["runs"]] == [5, 6] * 4
    assert [row["design"] for row in facts["designs"]] == ["mac", "opt1"]
    drawn, told, *_ = facts["coverage"]
    assert (drawn["design"], drawn["points"]) == ("mac", ["parameter", "value"])
    assert ["a_width", "2", 4] not in drawn["hits"]
    assert ["a_width", "2", 2] in drawn["hits"]
    assert ["encoding", "none"] in drawn["holes"]
    assert (told["seen"], told["legal"], told["holes"]) == (4, 5, [["9", "9"]])
    saved = json.loads((tmp_path / "regress" / "regress.json").read_text())
    assert saved["runs"] == facts["runs"]
    again = check("regress", run(*arguments).out)
    assert [row["seconds"] for row in again["runs"]] == [row["seconds"] for row in facts["runs"]]


@pytest.mark.prove
def test_failures(
    run: Run, tmp_path: Path, told: None, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Widths of 4 to 7 bits: failed, error, skipped, failed; the first is reduced, with waves."""

    def wrong(design: Design) -> str:
        return verilog_of(design).replace(" + ", " - ")

    monkeypatch.setattr(runner, "verilog_of", wrong)
    monkeypatch.setattr(
        plan,
        "configurations",
        lambda name, seed: (
            Design(name, TINY | {"a_width": width, "adder": "operator"}) for width in range(3, 17)
        ),
    )
    page = tmp_path / "page.html"
    found = run(*options(tmp_path, "--designs", "mac", "--configurations", "5", "--html", page,
                         "--jobs", "2", "--json"))  # fmt: skip
    assert found.code == 1, found.err
    facts = check("regress", found.out)
    assert not facts["ok"]
    assert [row["outcome"] for row in facts["runs"]] == [
        "passed",
        "failed",
        "error",
        "skipped",
        "failed",
    ]
    [reduced] = facts["reduced"]
    assert reduced["of"] == facts["runs"][1]["label"]
    assert reduced["parameters"]["a_width"] == 4
    assert reduced["parameters"]["b_width"] == 2
    assert (reduced["test"], reduced["transactions"]) == ("test_operand_pairs", 8)
    assert reduced["command"] == (
        "carrysave verify mac -p accumulator_width=4 -p a_width=4 -p b_width=2 -p adder=operator"
        " --seed 1 --test test_operand_pairs --transactions 8"
    )
    text = browser.check(page, charts=0)
    assert "Regression: FAILED" in text
    assert "Waves before test_operand_pairs failed" in text
    names = "[...document.querySelectorAll('.waves .name')].map((n) => n.firstChild.data)"
    assert browser.ask(names)[:3] == ["clk", "rst", "i_valid"]
    # The command itself: the same failure.
    again = run(*reduced["command"].split()[1:], "--json")
    assert (again.code, json.loads(again.out)["failures"]) == (1, ["test_operand_pairs"])
    report = JUnitXml.fromfile(str(tmp_path / "regress" / "junit.xml"))
    assert (report.tests, report.failures, report.errors, report.skipped) == (8, 2, 1, 1)
    kinds = [[type(one) for case in suite for one in case.result] for suite in report]
    assert kinds == [[], [Failure], [Error], [Skipped], [Failure]]
    cases = [case for suite in report for case in suite]
    assert len({(case.classname, case.name) for case in cases}) == len(cases) == 8
    failure = next(one for case in cases for one in case.result)
    assert failure.message == r"100 of 9 sums differ <&\x1b>"
    assert f"repeat it: {facts['runs'][1]['command']}" in failure.text


@pytest.mark.usefixtures("told")
def test_a_run_of_which_every_job_failed_fails(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width, outcome in ((5, "error"), (6, "skipped")):
        wanted = Design("mac", TINY | {"a_width": width})
        monkeypatch.setattr(plan, "configurations", lambda name, seed, own=wanted: iter([own]))
        found = run(*options(tmp_path, "--designs", "mac", "--json"))
        assert found.code == 1
        assert check("regress", found.out)["counts"][outcome] == 1


def test_shards_are_a_partition() -> None:
    facts: dict[str, Any] = {
        "designs": ("encoder", "requantiser"),
        "configurations": 5,
        "seeds": 2,
        "seed": 3,
        "simulators": ("verilator", "icarus"),
    }
    whole = planned(Request(**facts))
    assert len(whole) == len(set(whole)) == 2 * 5 * 2 * 2
    parts = [planned(Request(**facts, shard=(part, 3))) for part in (1, 2, 3)]
    assert sorted(map(len, parts)) == [13, 13, 14]
    assert {one for part in parts for one in part} == set(whole)
    assert planned(Request(**facts, shard=(99, 99))) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--designs nac", "unknown design 'nac'; did you mean mac"),
        (
            "--designs mac,,opt1",
            "--designs must be names with commas between them, not 'mac,,opt1'",
        ),
        ("--configurations 0", "--configurations must be 1..1000000, not 0"),
        ("--seeds 0", "--seeds must be 1..1000000, not 0"),
        ("--seed -1", "--seed must be 0..2147483647, not -1"),
        ("--mutants 256", "--mutants must be 0..255, not 256"),
        ("--shard 9/8", "--shard must be 1/N..N/N, not 9/8"),
        ("--shard 0/8", "--shard must be 1/N..N/N, not 0/8"),
        ("--shard 8", "--shard must be K/N, such as 3/8, not '8'"),
        ("--simulators vcs", "--simulators must be one of verilator, icarus, not 'vcs'"),
        ("--netlist ecp5", "--netlist must be osu018, generic, sky130, gf180"),
        ("--html .", "--html must be a file, not the folder '.'"),
        ("--jobs 0", "--jobs must be at least 1, not 0"),
    ],
)
def test_what_is_refused(run: Run, tmp_path: Path, words: str, says: str) -> None:
    found = run("regress", *words.split())
    assert (found.code, found.out) == (2, "")
    assert says in found.err
    assert not list(tmp_path.iterdir())


def test_a_simulator_that_is_not_installed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    icarus.version.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    found = run("regress", "--simulators", "icarus")
    assert (found.code, found.out) == (2, "")
    assert "is not installed: run `sudo apt-get install iverilog`" in found.err

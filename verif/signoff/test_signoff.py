"""``carrysave signoff``: whole runs, evidence that is kept, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave import jobs
from carrysave.errors import UsageError
from carrysave.regress.mutants import Mutants
from carrysave.signoff import mutation
from carrysave.signoff.evidence import keep, known, read
from carrysave.signoff.netlist import constants, crossings
from carrysave.signoff.part import Part, plain
from carrysave.signoff.stage import PARTS, reached
from hw.catalog import Design
from verif.support.command import Run

TINY = {"a_width": 2, "b_width": 2, "accumulator_width": 6}
SETS = [word for key, value in TINY.items() for word in ("-p", f"{key}={value}")]


def told(number: int) -> dict[str, Any]:
    """Return what the bench finds of mutant `number`: the job's function in these tests."""
    return {"ok": number in (0, 2), "number": number}


def verdict(outcome: str) -> dict[str, str]:
    return {"outcome": outcome, "why": "said", "waves": ""}


def score(monkeypatch: pytest.MonkeyPatch, bench: Any, decided: str) -> Part:
    """Return the part of three mutants, of benches and decisions that are told."""

    def bench_job(design: Design, *, bench_parameters: Any, **more: Any) -> jobs.Job:
        number = bench_parameters["constants"]["mutant"]
        return jobs.Job(function=bench, arguments={"number": number}, content=[])

    def decision(*arguments: Any) -> jobs.Job:
        return jobs.Job(function=verdict, arguments={"outcome": decided}, content=[])

    monkeypatch.setattr(mutation, "bench_job", bench_job)
    monkeypatch.setattr(mutation, "decision_job", decision)

    def run(text: str, wanted: Any) -> list[jobs.Outcome]:
        return [jobs.Outcome(job=j, key="", value=j.function(**j.arguments)) for j in wanted]

    design = Design("mac", TINY)
    made = vars(Mutants(design.module, ["a", "b", "c"], "module m; endmodule\n"))
    job = jobs.Job(function=verdict, content=[])
    outcome = jobs.Outcome(job=job, key="", value=made)
    return mutation.mutants_part(design, outcome, asked=100, seed=1, seconds=1, run=run)


def stages(part: Part) -> tuple[str, str]:
    kinds = {"line": {"hit": 1, "total": 1}}
    parts = {name: Part(name, "passed") for name in PARTS}
    parts["coverage"] = Part("coverage", "passed", "", {"kinds": kinds, "open": 0})
    return reached(parts | {"mutants": part})


@pytest.mark.parametrize(
    ("decided", "stage"),
    [("equivalent", "V3"), ("unreachable", "V3"), ("alive", "V1"), ("undecided", "V1")],
)
def test_a_mutant_that_lives_keeps_v2_away(
    decided: str, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = score(monkeypatch, told, decided)
    assert part.facts["killed"] == 2
    assert [(row["mutant"], row["outcome"]) for row in part.facts["living"]] == [(2, decided)]
    assert stages(part) == ("D3", stage)


def nothing(number: int) -> dict[str, Any]:
    """Be a bench that asserts nothing."""
    return {"ok": True}


def everything(number: int) -> dict[str, Any]:
    """Be a bench that fails on whatever it is given, on what has no change too."""
    return {"ok": False}


def test_a_bench_that_asserts_nothing_does_not_reach_v1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever becomes of its mutants."""
    for decided in ("equivalent", "alive"):
        assert stages(score(monkeypatch, nothing, decided)) == ("D3", "V0")


def test_a_bench_that_fails_on_no_change_kills_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    part = score(monkeypatch, everything, "equivalent")
    assert "no change" in part.why
    assert stages(part) == ("D3", "V0")


def test_constants_are_what_the_netlist_ties() -> None:
    tied = constants("opt1", {})
    # A carry row that OPT1 keeps a third of; the sum's bits are all there.
    assert {"o_carry[0]", "o_carry[1]"} <= {*tied["opt1"]}
    assert not [bit for bit in tied["opt1"] if bit.startswith("o_sum")]
    assert {"opt1.pe", "opt1.feed"} <= tied.keys()


def test_one_clock_has_no_crossing() -> None:
    assert crossings("mac", TINY) == {"clocks": ["clk"], "related": True, "crossings": []}


@pytest.mark.prove
def test_two_clocks_are_listed() -> None:
    how = {"engine": "systolic_os(m=2,n=2)", "array_clock": 2, "data_width": 32, "sums": 64}
    found = crossings("coprocessor", how)
    assert len(found["clocks"]) == 2
    assert found["related"]
    assert {(one["from"], one["to"]) for one in found["crossings"]} <= {
        (one, two) for one in found["clocks"] for two in found["clocks"] if one != two
    }
    assert found["crossings"]


def kept(**changes: Any) -> dict[str, Any]:
    design = Design("mac", TINY)
    facts: dict[str, Any] = {
        "design": "mac",
        "module": design.module,
        "parameters": dict(design.parameters),
        "revision": "abc",
        "date": "2026-01-01",
        "parts": [plain(Part(name, "passed")) for name in PARTS],
        "stages": ["D3", "V3"],
    }
    return facts | changes


def test_stages_of_kept_evidence_are_computed_anew(tmp_path: Path) -> None:
    """A stage that somebody wrote into a file is none."""
    path = keep(tmp_path, kept())
    assert read(path)["stages"] == ["D3", "V0"]
    [row] = known(tmp_path)
    assert (row["design"], row["stages"]) == ("mac", ["D3", "V0"])
    assert known(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is no evidence"),
        ("[]", "must be an object"),
        (json.dumps(kept(parts=1)), "parts must be of type list"),
        (json.dumps(kept(design="macc")), "no design 'macc'"),
        (json.dumps(kept(parameters={"a": 1})), "unknown parameter"),
        (json.dumps(kept(parts=[{"name": "bench", "outcome": "good"}])), "a name and an outcome"),
        (json.dumps(kept(parts=[3])), "a name and an outcome"),
    ],
)
def test_broken_evidence_is_told(text: str, says: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "signoff" / "x.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(UsageError, match=says):
        read(path)
    done = run("regress", "-o", tmp_path, "--designs", "mac", "--configurations", "1")
    assert done.code == 2
    assert "x.json is no evidence" in done.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("opt11",), "did you mean opt1"),
        (("opt1", "-p", "a_widht=3"), "a_widht"),
        (("opt1", "--stage", "V4"), "--stage must be"),
        (("opt1", "--mutants", "256"), "--mutants must be 0..255, not 256"),
        (("opt1", "--seeds", "0"), "--seeds must be"),
        ((), "name a design"),
    ],
)
def test_bad_input(words: tuple[str, ...], says: str, run: Run, tmp_path: Path) -> None:
    done = run("signoff", *words)
    assert done.code == 2
    assert says in done.err
    assert not (tmp_path / "build").exists()


@pytest.mark.prove
def test_a_small_design_is_signed_off(run: Run, tmp_path: Path) -> None:
    """With ten mutants, V1; `regress` then shows it, and an argument for no hole is refused."""
    store = ["--store", tmp_path / "store.sqlite"]
    line = ["signoff", "opt1", *SETS, "-o", tmp_path, *store, "--mutants", "10", "--seeds", "1"]
    done = run(*line, "--json", "--html", tmp_path / "page.html")
    assert done.code == 0, done.err
    facts = json.loads(done.out)
    parts = {one["name"]: one for one in facts["parts"]}
    assert facts["stages"][1] == "V1"
    assert any("100 mutants" in text for text in facts["lacking"]["V2"])
    assert parts["coverage"]["facts"]["kinds"]["toggle"]["total"] > 100
    assert parts["proof"]["outcome"] == "passed"
    page = (tmp_path / "page.html").read_text()
    assert "covered by" in page
    assert "R1" in page
    assert run(*line, "--stage", "V2").code == 1
    assert run(*line, "--stage", "V1").code == 0
    more = ["--designs", "opt1", "--configurations", "1"]
    again = run("regress", "-o", tmp_path, *store, *more, "--json")
    assert [row["stages"] for row in json.loads(again.out)["stages"]] == [facts["stages"]]
    wrong = tmp_path / "arguments.toml"
    table = {"design": "opt1", "kind": "line", "at": "nowhere", "reason": "none"}
    values = ", ".join(f"{key} = {value}" for key, value in TINY.items())
    lines = [
        *(f'{key} = "{value}"' for key, value in table.items()),
        f"parameters = {{ {values} }}",
    ]
    wrong.write_text("\n".join(["[[argument]]", *lines, ""]))
    refused = run(*line, "--arguments", wrong)
    assert refused.code == 2
    assert "no hole is there" in refused.err

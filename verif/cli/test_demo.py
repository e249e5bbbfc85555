"""The main job: which recipes it takes, what it says, and that it works."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carrysave.asic import synthesis
from carrysave.asic.recipes import PROJECT
from carrysave.cli import demo
from carrysave.sim import runner
from hw.catalog import Design
from verif.support.command import Run


@pytest.mark.parametrize(
    ("more", "equal", "verdict"),
    [((), True, "proven"), (("--sweep",), True, "proven"), ((), False, "proven"), ((), True, "no")],
)
def test_demo_takes_kept_recipes_or_searches(
    run: Run, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], equal: bool, verdict: str
) -> None:
    asked: list[tuple[Design, dict[str, Any]]] = []

    def synthesise(design: Design, target: str, **options: Any) -> dict[str, Any]:
        assert target == "osu018"
        options.pop("progress")("a point")
        asked.append((design, options))
        return {"gops_per_mm2": 30.0 if design == demo.DESIGN else 20.0}

    checked = SimpleNamespace(tests=3, failures=0, xml="results.xml", ok=True)
    seen = {
        "images": 5,
        "accuracy": 1.0,
        "equal": equal,
        "cycles": 7,
        "cycles_by_model": 8,
        "timeline": "line.html",
    }
    proof = {"verdict": verdict, "parts": [{"claim": "2 = 1 + 1"}]}
    monkeypatch.setattr(synthesis, "synthesise_design", synthesise)
    monkeypatch.setattr(runner, "verify", lambda *_, **__: checked)
    monkeypatch.setattr(demo, "_classify", lambda folder, out: seen)
    monkeypatch.setattr(demo, "_facts", lambda *line: proof)
    monkeypatch.setattr(demo, "write_synthesis", lambda folder, result: [])
    monkeypatch.setattr(demo, "print_synthesis", lambda console, results: None)
    monkeypatch.setattr(demo, "verification", lambda *_: {})
    outcome = run("demo", *more)
    assert outcome.code == (0 if equal and verdict == "proven" else 1)
    assert [design for design, _ in asked] == [demo.DESIGN, demo.BASELINE]
    wanted = {"sweep": bool(more), "stored_recipes": () if more else (PROJECT,)}
    assert [options for _, options in asked] == [wanted] * 2
    assert "3 of 3 tests passed" in outcome.out
    assert "1.50x the GOPS/mm2 of plain MACs" in outcome.out
    assert "$ carrysave compare systolic_os 'systolic_os(pe=mac)'" in outcome.out
    assert ("DIFFERS" in outcome.out) == (not equal)
    lines = outcome.err.splitlines()
    assert lines[0].startswith("6 steps, about ")
    numbers = [line.partition(" ")[0] for line in lines if line.startswith("[")]
    assert numbers == [f"[{number}/6]" for number in range(1, 7)]


@pytest.mark.prove
def test_demo_works(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    outcome = run("demo", "--json", "-o", "out")
    assert outcome.code == 0
    found = json.loads(outcome.out)
    assert found["ok"]
    assert found["digits"]["equal"]
    assert found["digits"]["accuracy"] > 0.96
    assert Path(found["digits"]["timeline"]).exists()
    assert found["proof"]["verdict"] == "proven"
    ours, plain = found["synthesis"]
    assert ours["notes"][0].startswith("recipe kept in the project")
    assert ours["gops_per_mm2"] / plain["gops_per_mm2"] == pytest.approx(1.36, abs=0.01)
    assert ours["pj_per_mac"] < plain["pj_per_mac"]
    assert all(Path(file).exists() for each in (ours, plain) for file in each["files"])

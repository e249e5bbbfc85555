"""Searches by ``import carrysave``: the command's facts, as a typed result."""

import json
from pathlib import Path
from typing import Any

import pytest

import carrysave
from carrysave import jobs
from carrysave.asic.options import SynthesisOptions
from carrysave.errors import ArgumentError
from carrysave.exploration import run as runs
from verif.support.command import Run
from verif.support.schemas import check

SPACE: dict[str, Any] = {
    "designs": ["mac"],
    "parameters": {"a_width": [2, 3, 4], "b_width": [2, 3]},
    "constraints": {"all": ["a_width >= b_width"]},
}
FIGURES = ("gops", "area_um2")


def measure(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return figures that need no tool; wider is faster and larger, but for a of 3 bits."""
    a, b = parameters["a_width"], parameters["b_width"]
    return {"gops": 9.0 if a == 3 else 10.0 * a, "area_um2": 5.0 * a + b}


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    def job(design: Any, target: Any, options: SynthesisOptions, *, facts: Any) -> jobs.Job:
        arguments = {"parameters": dict(design.parameters)}
        return jobs.Job(function=measure, arguments=arguments, facts=facts)

    monkeypatch.setattr(runs, "design_job", job)


def test_a_search_is_that_of_the_command(run: Run, tmp_path: Path) -> None:
    with jobs.session(jobs.Options(jobs=1, store=tmp_path / "store.sqlite")):
        found = carrysave.explore(
            SPACE, objective=FIGURES, target="osu018", method="grid", verify="none"
        )
    # By hand: a of 2 and 4 bits with the narrowest b; a of 3 is beaten in both.
    assert [design.parameters["a_width"] for design in found.designs] == [4, 2]
    assert {design.parameters["b_width"] for design in found.designs} == {2}
    assert all(isinstance(design, carrysave.Design) for design in found.designs)
    assert (found.ok, found.wrong, found["space_points"]) == (True, [], 5)
    assert found.command.startswith("carrysave.explore({'designs': ['mac']")

    rows = found.records()
    assert list(rows[0]) == [
        "module",
        "design",
        "a_width",
        "b_width",
        *FIGURES,
        "front",
        "beaten_by",
        "verified",
        "allowed",
        "error",
    ]
    assert [bool(row["beaten_by"]) for row in rows] == [False, False, True, True, True]
    assert [row["front"] for row in rows] == [True, True, False, False, False]
    assert "Front on osu018" in str(found)
    assert "wrote" not in str(found)
    html = found._repr_html_()
    assert html.count("<img") == 1
    assert found.designs[0].module in html

    files = found.save(tmp_path / "saved")
    assert [file.name for file in files] == ["explore.svg", "explore.json"]
    assert check("explore", files[1]) == found.facts
    assert f"wrote {files[1]}"[:60] in str(found)
    assert found._repr_html_().count("<img") == 1  # not once more, of its file
    made = run("generate", "--from", files[1], "--json", "-o", tmp_path / "rtl")
    assert json.loads(made.out)["module"] == found.designs[0].module


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"macs": 0}, "macs must be 1..4096, not 0"),
        ({"macs": 4, "space": SPACE}, "macs is in place of a space"),
        ({"seed": -1}, "seed must be 0 or more, not -1"),
        ({"space": {"designs": ["mac"], "parameter": {}}}, "unknown key of a space 'parameter'"),
        ({"space": SPACE, "objective": ["gops", "gops"]}, "objective must name each figure once"),
        ({"space": SPACE, "objective": []}, "objective must be one or more of gops_per_mm2"),
        ({"space": SPACE, "trials": 0}, "trials must be 1 or more, not 0"),
        ({"space": SPACE, "verify": "no"}, "verify must be one of front, all, none, not 'no'"),
        (
            {"target": "xilinx7", "objective": "gops"},
            "objective must be one of luts, ffs, dsps, brams, latency on xilinx7, which is mapped",
        ),
        ({"target": "ecp5", "place": True}, "place is for cell libraries; ecp5 is placed"),
    ],
)
def test_what_cannot_be_searched(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{says}"):
        carrysave.explore(**{"target": "osu018", **options})

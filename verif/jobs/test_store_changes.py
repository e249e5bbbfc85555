"""``results diff``: what changed between two stores, or two revisions in one."""

import json
from pathlib import Path
from typing import Any

import pytest

from carrysave import jobs
from carrysave.cli.results import results
from carrysave.cli.results_form import Form
from carrysave.errors import UsageError
from verif.jobs import work
from verif.jobs.test_provenance import changed

OLD, NEW = "1" * 40, "2" * 40


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CARRYSAVE_STORE")
    return tmp_path


def measured(store: jobs.Store, width: int, area: float, revision: str, **more: Any) -> None:
    """Write what was found of a design at a revision."""
    value = {
        "module": f"mac_{width}",
        "design": "mac",
        "target": "osu018",
        "parameters": {"width": width},
        "area_um2": area,
        "period_ns": 2.0,
        "gops": 4.0,
        "placed": {"area_um2": 2 * area},
        **more,
    }
    job = jobs.Job(function=work.add, arguments={"a": width, "b": 0}, content=[revision])
    store.add(jobs.Outcome(job=job, key=job.key, value=value, revision=revision))


def stored(path: Path, *rows: tuple[int, float, str]) -> str:
    with jobs.Store(path) as store:
        for width, area, revision in rows:
            measured(store, width, area, revision)
    return str(path)


def compared(
    capsys: pytest.CaptureFixture[str], before: str, after: str, **options: Any
) -> tuple[int, dict[str, Any]]:
    code = results("diff", before, after, **options, form=Form(json=True))
    return code, json.loads(capsys.readouterr().out)


def test_two_stores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = stored(folder / "a.sqlite", (2, 100, OLD), (3, 200, OLD), (4, 300, OLD))
    after = stored(folder / "b.sqlite", (2, 100, NEW), (3, 206, NEW), (5, 400, NEW))
    code, found = compared(capsys, before, after)
    assert (code, found["compared"], found["worse"]) == (1, 2, 2)
    states = {row["module"]: row["state"] for row in found["reports"]}
    assert states == {"mac_3": "both", "mac_4": "gone", "mac_5": "new"}
    (both,) = (row for row in found["reports"] if row["state"] == "both")
    figures = [
        (row["figure"], row["placed"], row["before"], row["after"]) for row in both["figures"]
    ]
    assert figures == [("area_um2", False, 200, 206), ("area_um2", True, 400, 412)]
    assert both["figures"][0]["share"] == pytest.approx(0.03)
    assert (both["worse"], both["revisions"]) == (True, [OLD, NEW])
    assert results("diff", before, after) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "200 um2" in said
    assert "206 um2 │ +3.00% │ worse" in said
    assert f"only in {before}: mac_4 on osu018 width=4" in said
    assert f"only in {after}: mac_5 on osu018 width=5" in said
    assert "mac_2" not in said


@pytest.mark.parametrize(("threshold", "code"), [(2.9, 1), (3.1, 0)])
def test_threshold(
    folder: Path, capsys: pytest.CaptureFixture[str], threshold: float, code: int
) -> None:
    before = stored(folder / "a.sqlite", (3, 200, OLD))
    after = stored(folder / "b.sqlite", (3, 206, NEW), (4, 7, NEW))
    assert compared(capsys, before, after, threshold=threshold)[0] == code
    assert compared(capsys, after, before, threshold=threshold, where="p_width = 3")[0] == 0
    # What is better is never worse, and what is gone is, whatever the threshold.
    assert compared(capsys, after, before, threshold=threshold)[0] == 1


def test_two_revisions_of_a_store(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a change does not touch is not done again, so of revisions nothing is gone."""
    path = stored(folder / "a.sqlite", (2, 100, OLD), (3, 200, OLD), (3, 190, NEW))
    code, found = compared(capsys, "1111", NEW, store=path)
    assert (code, found["compared"], found["worse"]) == (0, 1, 0)
    assert {row["module"]: row["state"] for row in found["reports"]} == {
        "mac_2": "gone",
        "mac_3": "both",
    }
    code, found = compared(capsys, NEW, OLD, store=path)
    assert (code, found["worse"]) == (1, 1)


def test_the_last_result_for_a_question_counts(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(("2026-03", "2026-02", "2026-02", "2026-03"))
    monkeypatch.setattr("carrysave.jobs.rows.now", lambda: next(times))
    before = stored(folder / "a.sqlite", (3, 200, OLD), (3, 150, NEW))
    after = stored(folder / "b.sqlite", (3, 200, OLD), (3, 150, NEW))
    code, facts = compared(capsys, before, after)
    assert (code, facts["compared"]) == (0, 1)
    assert facts["reports"][0]["revisions"] == [OLD, NEW]


def test_a_row_that_is_not_ours_is_not_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stored(folder / "a.sqlite", (3, 200, OLD))
    after = stored(folder / "b.sqlite", (3, 200, OLD))
    changed(Path(after), "UPDATE results SET area_um2 = 100")
    assert results("diff", before, after) == 1
    said = capsys.readouterr()
    assert "1 rows are none of ours, and are not compared" in said.err
    assert "0 results in both; 1 are worse" in said.out


def test_what_cannot_be_compared_is_refused(folder: Path) -> None:
    path = stored(folder / "a.sqlite", (3, 200, OLD), (3, 150, f"{OLD[:20]}{NEW[:20]}"))
    for before, after, said in (
        ("1111", "1111", "a revision must be one of store, not 1111, with which"),
        (OLD, "3333", "store must have results of revision 3333, not none"),
        (OLD, "a'b--", "a side must be a store, or 4 or more characters of a revision, not"),
        (OLD, "none.sqlite", "none.sqlite: there is no such file"),
        (
            OLD,
            "mysql://here",
            "store must be a file, or postgresql://USER@HOST/DATABASE, not mysql",
        ),
    ):
        with pytest.raises(UsageError, match=said):
            results("diff", before, after, store=path)
    with pytest.raises(UsageError, match="diff needs two stores"):
        results("diff", path)
    with pytest.raises(UsageError, match="threshold must be a percentage"):
        results("diff", path, path, threshold=-1)
    with pytest.raises(UsageError, match="takes --where, --threshold, --json and --store alone"):
        results("diff", path, path, form=Form(csv=True))

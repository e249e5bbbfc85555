"""Stores and models of another version: refused before any work, by their versions."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from carrysave import jobs
from carrysave.exploration.estimate import shipped
from carrysave.jobs import rows
from verif.support.command import Run

SMALL = "mac(a_width=2,b_width=2,accumulator_width=6)"


@pytest.mark.parametrize(
    "line",
    [
        ["explore", "--space", "space.toml"],
        ["compare", SMALL, "mac", "--period", "2"],
        ["estimate", "--fit"],
    ],
    ids=lambda line: line[0],
)
def test_store_of_a_newer_version(run: Run, tmp_path: Path, line: list[str]) -> None:
    store = tmp_path / "new.sqlite"
    with jobs.session(jobs.Options(jobs=1, store=store)):
        pass
    with contextlib.closing(sqlite3.connect(store)) as database:
        database.execute(f"PRAGMA user_version = {rows.SCHEMA + 1}")
    (tmp_path / "space.toml").write_text('designs = ["mac"]\n')
    outcome = run(*line, "--store", store)
    assert (outcome.code, outcome.out) == (2, "")
    newer = f"version {rows.SCHEMA + 1}, of a newer carrysave; this one knows {rows.SCHEMA}"
    assert f"--store {store}: {newer}" in outcome.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.sqlite", "space.toml"]


def test_model_of_another_version(run: Run, tmp_path: Path) -> None:
    path = shipped("osu018")
    assert path is not None
    (tmp_path / "a.json").write_text(json.dumps({**json.loads(path.read_text()), "format": 3}))
    outcome = run("estimate", "systolic_os", "--model", "a.json")
    assert (outcome.code, outcome.out) == (2, "")
    assert "a.json: format must be 2, not 3" in outcome.err

"""Where figures come from: in each row, in all that is written, and rows that are none of ours."""

import csv
import io
import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

import carrysave
from carrysave import jobs
from carrysave.cli.results import results
from carrysave.cli.results_form import Form
from carrysave.errors import UsageError
from carrysave.jobs import provenance
from carrysave.jobs.provenance import TIERS, machine, tier_of
from verif.jobs.test_jobs import sums
from verif.jobs.test_store import add

_ORIGIN = ("revision", "machine", "tier", "library_sha256", "versions")


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CARRYSAVE_STORE")
    return tmp_path / "store.sqlite"


def changed(path: Path, statement: str) -> None:
    database = sqlite3.connect(path)
    with database:
        assert database.execute(statement).rowcount
    database.close()


def test_each_result_says_where_it_comes_from(path: Path) -> None:
    with jobs.session(jobs.Options(store=path)):
        list(jobs.run(sums(1)))
    with jobs.Store(path) as store:
        library = {"name": "osu018", "sha256": "ab" * 32}
        add(store, {"design": "mac", "area_um2": 7.0, "library": library}, 9)
    with jobs.reading(path) as reader:
        found = {row["kind"] + str(row["p_a"]): row for row, _ in reader.rows("p_a = 0")}
        (synthesised,) = (row for row, _ in reader.rows("area_um2 = 7"))
    row = found["add0"]
    assert row["machine"] == machine()
    assert "cores" in row["machine"]
    assert row["revision"] == provenance.revision()
    assert json.loads(row["versions"])["carrysave"] == carrysave.__version__
    assert (synthesised["tier"], synthesised["library_sha256"]) == ("mapped", "ab" * 32)
    assert (row["tier"], row["schema"]) == (None, 2)


def test_what_the_cache_knows_keeps_its_origin(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with jobs.session(jobs.Options(store=path)):
        list(jobs.run(sums(1)))
    path.unlink()
    monkeypatch.setattr("carrysave.jobs.child.revision", lambda: "another")
    with jobs.session(jobs.Options(store=path)):
        (outcome,) = jobs.run(sums(1))
    assert outcome.cached
    assert outcome.revision == provenance.revision()
    with jobs.reading(path) as reader:
        assert [(row["revision"], why) for row, why in reader.rows()] == [(outcome.revision, "")]


def test_a_revision_is_a_commit_and_says_if_source_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "carrysave" / "__init__.py"
    module.parent.mkdir()
    module.touch()
    monkeypatch.setattr(carrysave, "__file__", str(module))
    of = provenance.revision.__wrapped__
    assert of() == carrysave.__version__
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    commit = of()
    assert len(commit) == 40
    (tmp_path / "notes").write_text("none of the source")
    assert of() == commit
    module.write_text("changed = True")
    assert of().startswith(f"{commit}+")
    monkeypatch.setenv("PATH", str(tmp_path))  # without git
    assert of() == carrysave.__version__


def test_tiers() -> None:
    placed = {"area_um2": 1.0, "placed": {"period_ns": 2.0}}
    assert tier_of({"area_um2": 1.0, "placed": None}) == "mapped"
    assert tier_of(placed) == "placed"
    assert tier_of({**placed, "routed": {"drc": 0}}) == "routed"
    assert tier_of({"luts": 3, "fmax_mhz": 100.0}) == "timed"
    assert tier_of({"luts": 3, "fmax_mhz": None}) == "mapped"
    assert tier_of({"tier": "simulated", "luts": 3}) == "simulated"
    assert tier_of({"sum": 3, "tier": "guessed"}) is None
    assert set(TIERS) == {"mapped", "placed", "routed", "timed", "simulated", "bounded"}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE results SET p_a = 7",
        "UPDATE results SET value = '{\"sum\": 7}'",
        "UPDATE results SET revision = 'theirs'",
        "UPDATE results SET machine = 'theirs'",
        "UPDATE results SET tier = 'routed'",
        "UPDATE results SET seconds = seconds + 1",
        "UPDATE results SET digest = NULL",
        "UPDATE results SET schema = 1",
        "UPDATE results SET schema = 3",
    ],
)
def test_a_row_that_was_changed_is_not_ours(
    path: Path,
    statement: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with jobs.session(jobs.Options(store=path)):
        (before,) = jobs.run(sums(1))
    changed(path, statement)
    for form in (Form(), Form(csv=True), Form(json=True)):
        assert results(store=path, form=form) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert "1 of these rows are none of ours, and their jobs run again" in said
        assert before.key in said
        assert "store of version" in said if "schema" in statement else "digest" in said
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "empty"))
    with jobs.session(jobs.Options(store=path)):
        (after,) = jobs.run(sums(1))
    assert (after.cached, after.value) == (False, before.value)
    results(store=path)
    assert "none of ours" not in capsys.readouterr().err


def test_a_row_under_another_key_is_not_ours(path: Path) -> None:
    with jobs.session(jobs.Options(store=path)):
        second = list(jobs.run(sums(2), ordered=True))[1]
    changed(path, f"DELETE FROM results WHERE key = '{second.key}'")
    changed(path, f"UPDATE results SET key = '{second.key}'")
    with jobs.Store(path) as store:
        assert store.find(second.key) is None


def former(path: Path) -> None:
    """Make a store of version 1, with a row."""
    with jobs.session(jobs.Options(store=path)):
        list(jobs.run(sums(1)))
    database = sqlite3.connect(path)
    with database:
        columns = "key, kind, design, target, recipe, seconds, who, at, parameters, versions"
        database.execute(f"CREATE TABLE old AS SELECT {columns}, value, digest, p_a FROM results")
        database.execute("DROP TABLE results")
        database.execute("ALTER TABLE old RENAME TO results")
        database.execute("PRAGMA user_version = 1")
    database.close()


def test_a_store_of_a_former_version_is_read_and_taken_over(
    path: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    former(path)
    content = path.read_bytes()
    assert results(store=path, form=Form(columns="design,p_a")) == 0
    said = capsys.readouterr()
    assert "adder" in said.out
    assert "of a store of version 1" in " ".join(said.err.split())
    assert path.read_bytes() == content
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "empty"))
    with jobs.session(jobs.Options(store=path)):
        assert [outcome.cached for outcome in jobs.run(sums(2), ordered=True)] == [False, False]
    with jobs.reading(path) as reader:
        assert [why for _, why in reader.rows()] == ["", ""]


def test_origins_are_in_all_that_is_written(
    path: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with jobs.session(jobs.Options(store=path)):
        list(jobs.run(sums(2)))
    results(store=path, form=Form(csv=True))
    rows = list(csv.DictReader(io.StringIO(capfdbinary.readouterr().out.decode())))
    assert len(rows) == 2
    assert rows[0]["revision"] == provenance.revision()
    assert set(_ORIGIN) <= rows[0].keys()
    results(store=path, form=Form(json=True, columns="revision,machine,versions"))
    (row, _) = json.loads(capfdbinary.readouterr().out)
    assert row.keys() == {"revision", "machine", "versions"}
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "results.parquet"
    results(store=path, form=Form(parquet=True, output=file))
    table = parquet.read_table(file)
    assert set(_ORIGIN) <= set(table.column_names)
    assert table.column("machine").to_pylist() == [machine()] * 2
    assert [each.name for each in tmp_path.glob(".*")] == []
    with pytest.raises(UsageError, match="columns must be of the table, not 'none'"):
        results(store=path, form=Form(columns="design,none"))

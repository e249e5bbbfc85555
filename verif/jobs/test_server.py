"""Stores on a server, and several processes that write to one store."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carrysave import jobs
from carrysave.cli.results import results
from carrysave.cli.results_form import Form
from carrysave.errors import UsageError
from carrysave.jobs import server, sqlite_file
from carrysave.jobs.store import opened
from verif.jobs.test_jobs import sums
from verif.jobs.test_store import add
from verif.support.postgres import serving

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def address(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of an empty database."""
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CARRYSAVE_STORE")
    with contextlib.closing(opened(cluster)) as database:
        for table in ("results", "failures", "carrysave_store", "other"):
            database.execute(f"DROP TABLE IF EXISTS {table}")
    return cluster


def both_write(store: str, count: int) -> None:
    """Have two processes write, half of it the same rows."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "verif.jobs.writer", store, str(first), str(count)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
        )
        for first in (0, count // 2)
    ]
    assert [process.wait(120) for process in processes] == [0, 0]
    with jobs.reading(store) as reader:
        found = {row["key"]: row for row, why in reader.rows() if not why}
        assert reader.count() == len(found) == count + count // 2
    for number in range(count + count // 2):
        row = found[f"key{number}"]
        assert (row["number"], row[f"figure{number % 37}"]) == (number, number)


def test_two_processes_write_to_one_file(tmp_path: Path) -> None:
    both_write(str(tmp_path / "store.sqlite"), 500)


@pytest.mark.prove
def test_two_processes_write_to_one_server(address: str) -> None:
    both_write(address, 500)


@pytest.mark.prove
def test_jobs_are_done_once_by_a_server(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with jobs.session(jobs.Options(store=address)):
        first = list(jobs.run(sums(5), ordered=True))
    assert not any(outcome.cached for outcome in first)
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "of another machine"))
    monkeypatch.setenv("CARRYSAVE_STORE", address)
    again = list(jobs.run(sums(6), ordered=True))
    assert [outcome.cached for outcome in again] == [True] * 5 + [False]
    assert [outcome.value for outcome in again[:5]] == [outcome.value for outcome in first]
    assert again[0].machine == first[0].machine


def filled(address: str) -> None:
    with jobs.Store(address) as store:
        add(store, {"parameters": {"width": 3, 'odd %s "x" ?:y': 1.5}, "area_um2": 100}, 1)
        add(store, {"parameters": {"width": "auto"}, "area_um2": 200, "netlist": "a%b"}, 2)
        add(store, {"area_um2": float("inf"), "loss": -0.0, "x" * 70: 3, "nul": "a\0b"}, 3)
        failure = jobs.Failure("Crash", "it\0ended", "log\0")
        (job,) = sums(1)
        store.add(jobs.Outcome(job=job, key="key4", failure=failure, attempts=3))


@pytest.mark.prove
def test_rows_come_back_as_they_were(
    address: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    filled(address)
    with jobs.reading(address) as reader:
        rows = {row["key"]: (row, why) for row, why in reader.rows()}
    assert [why for _, why in rows.values()] == [""] * 3
    assert rows["key1"][0]['p_odd %s "x" ?:y'] == 1.5
    assert rows["key2"][0]["p_width_text"] == "auto"
    assert len(jobs.select(address, "netlist like 'a%' -- and a remark")[2]) == 1
    assert len(jobs.select(address, table="failures")[2]) == 1
    results(
        store=address, where="area_um2 < 150", form=Form(json=True, columns="key,area_um2,schema")
    )
    assert json.loads(capfdbinary.readouterr().out) == [
        {"key": "key1", "area_um2": 100.0, "schema": 2}
    ]
    assert results(store=address) == 0
    assert "3 rows" in capfdbinary.readouterr().out.decode()
    with jobs.Store(address) as store:  # a result replaces a failure, and what it had before
        add(store, {"loss": 1}, 4)
        add(store, {"loss": 1}, 1)
    assert jobs.select(address, table="failures")[2] == []
    assert len(jobs.select(address, "key = 'key1' and area_um2 is null and loss = 1")[2]) == 1


@pytest.mark.prove
def test_rows_are_read_a_part_at_a_time(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_BATCH", 2)
    filled(address)
    with jobs.reading(address) as reader:
        assert [len(rows) for rows in reader.batches("area_um2 > 0")] == [2, 1]


@pytest.mark.prove
@pytest.mark.parametrize(
    "where",
    [
        "true); DELETE FROM results; --",
        "true); COMMIT; DROP TABLE results; SELECT (true",
        "(DELETE FROM results RETURNING true)",
        "pg_read_file('/etc/passwd') > ''",
        "none > 1",
        "area_um2 >",
        "",
        "area_um2 / 0 > 1",
    ],
)
def test_where_can_only_read(address: str, where: str) -> None:
    filled(address)
    with pytest.raises(UsageError, match="where must be an SQL expression"):
        jobs.select(address, where)
    assert len(jobs.select(address)[2]) == 3


@pytest.mark.prove
def test_a_reader_may_not_write_where_it_could(address: str) -> None:
    """The second fence: an expression could not, and the connection of a reader may not either."""
    filled(address)
    with (
        contextlib.closing(opened(address, reading=True)) as database,
        pytest.raises(UsageError, match="read-only"),
        database.explained(),
    ):
        database.execute("DELETE FROM results")


@pytest.mark.prove
def test_where_has_a_time_limit(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(address)
    monkeypatch.setattr(server, "LIMIT", 0.5)
    with pytest.raises(UsageError, match=r"where must be done within 0.5 s, and is not"):
        jobs.select(address, "(SELECT count(*) FROM generate_series(1, 1000000000)) > 0")


@pytest.mark.prove
def test_a_row_that_was_changed_is_not_ours(address: str) -> None:
    filled(address)
    with contextlib.closing(opened(address)) as database:
        database.execute("UPDATE results SET area_um2 = 7 WHERE key = 'key1'")
    with jobs.Store(address) as store:
        assert store.find("key1") is None
        assert store.find("key2") is not None


def refused(address: str, text: str) -> None:
    """Check that a store is opened neither to write nor to read."""
    uses: list[Any] = [lambda: jobs.Store(address), lambda: jobs.select(address)]
    for use in uses:
        with pytest.raises(UsageError, match=text) as caught:
            use()
        password = address.split(":")[2].partition("@")[0]
        assert password not in str(caught.value)


@pytest.mark.prove
def test_what_is_no_store_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="there is none yet"):
        jobs.select(address)
    with contextlib.closing(opened(address)) as database:
        database.execute("CREATE TABLE results (theirs BIGINT)")
        refused(address, "no store, but another program's database")
        database.execute("DROP TABLE results")
        filled(address)
        database.set_version(3)
        refused(address, "version 3, of a newer carrysave; this one knows 2")
    refused(address.replace("carrysave:", "carrysave:wrong"), "password authentication failed")
    refused(address.replace("/carrysave", "/none").replace("//none", "//carrysave"), "not exist")
    refused("postgresql://me:secret@127.0.0.1:1/x", r"me:\*\*\*@127.0.0.1:1/x: .*refused")


@pytest.mark.prove
def test_a_store_that_is_locked_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(address)
    with contextlib.closing(opened(address)) as other, other.writing():
        for module in (server, sqlite_file):
            monkeypatch.setattr(module, "PATIENCE", 1.0)
        with pytest.raises(UsageError, match="locked by another program for more than 1 s"):
            jobs.Store(address)
        assert len(jobs.select(address)[2]) == 3  # readers do not wait


@pytest.mark.parametrize("address", ["mysql://me:secret@h/x", "postgresql+pg8000://h/x", "a://"])
def test_other_addresses_are_refused(address: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(UsageError, match="store must be a file, or postgresql://USER@HOST") as said:
        jobs.Store(address)
    assert "secret" not in str(said.value)


def test_drivers_are_named_where_they_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carrysave.errors.installed", lambda module: module != "psycopg")
    with pytest.raises(ModuleNotFoundError, match="psycopg"):
        jobs.Store("postgresql://here/x")

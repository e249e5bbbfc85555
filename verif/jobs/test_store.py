"""The store: read as a table, never written by a reader, refused where it is not ours."""

import contextlib
import csv
import io
import json
import platform
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import carrysave
from carrysave import jobs
from carrysave.cli.results import results
from carrysave.cli.results_form import Form
from carrysave.errors import UsageError
from carrysave.jobs import rows, sqlite_file
from verif.jobs import work
from verif.support.signals import heeding


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CARRYSAVE_STORE")
    return tmp_path / "store.sqlite"


def add(store: jobs.Store, value: Any, number: int = 0, **facts: Any) -> None:
    job = jobs.Job(
        function=work.add, arguments={"a": number, "b": 0}, facts=facts, tools=[work.version]
    )
    store.add(jobs.Outcome(job=job, key=f"key{number}", value=value, seconds=1.5, who="me@here"))


@pytest.fixture
def filled(path: Path) -> Path:
    with jobs.Store(path) as store:
        for number in range(3):
            add(
                store,
                {
                    "design": "mac",
                    "target": "osu018",
                    "recipe": "tree+amap",
                    "parameters": {"width": 2 + number, "encoding": "booth", "signed": True},
                    "area_um2": 100 * number,
                    "placed": {"period_ns": 2.5},
                    "path": [1, 2],
                    "versions": {"yosys": "0.70"},
                    "netlist": "n.v",
                    "power_mw": None,
                },
                number,
            )
    return path


def test_each_figure_has_a_column(filled: Path):
    names, kinds, rows = jobs.select(filled)
    types = dict(zip(names, kinds, strict=True))
    assert {types[name] for name in ("area_um2", "placed_period_ns", "seconds")} == {"REAL"}
    assert {types[name] for name in ("p_width", "p_signed")} == {"INTEGER"}
    assert {types[name] for name in ("p_encoding", "netlist", "design")} == {"TEXT"}
    row = dict(zip(names, sorted(rows)[2], strict=True))
    assert (row["area_um2"], row["p_width"], row["p_signed"]) == (200.0, 4, 1)
    assert (row["who"], row["seconds"], row["recipe"]) == ("me@here", 1.5, "tree+amap")
    assert json.loads(row["parameters"]) == {"encoding": "booth", "signed": True, "width": 4}
    assert json.loads(row["versions"]) == {
        "carrysave": carrysave.__version__,
        "python": platform.python_version(),
        "yosys": "0.70",
        "work": "1.0",
    }
    assert json.loads(row["value"])["path"] == [1, 2]
    assert not {"path", "power_mw"} & set(names)


def test_a_name_of_two_types_has_two_columns(filled: Path):
    """So that a column holds what its type says, which DuckDB insists on."""
    with jobs.Store(filled) as store:
        add(store, {"parameters": {"width": "auto"}, "netlist": 7}, 8)
        add(store, {"parameters": {"width": 2.5}}, 9)
    names, _, rows = jobs.select(filled, "p_width_text = 'auto' and netlist_real = 7")
    assert len(rows) == 1
    assert {"p_width", "p_width_text", "p_width_real"} <= set(names)
    assert len(jobs.select(filled, "typeof(p_width) not in ('integer', 'null')")[2]) == 0


def test_a_result_that_comes_again_replaces_what_was(filled: Path):
    with jobs.Store(filled) as store:
        add(store, {"design": "other"}, 1)
    _, _, rows = jobs.select(filled, "design = 'other' and area_um2 is null")
    assert len(rows) == 1
    assert len(jobs.select(filled)[2]) == 3


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("area_um2 > 50", 2),
        ("p_width in (2, 3) and design like 'm%' -- and a remark", 2),
        ("area_um2 = (select max(area_um2) from results)", 1),
        ("1) or (1", 3),
    ],
)
def test_where_selects(filled: Path, where: str, count: int):
    assert len(jobs.select(filled, where)[2]) == count


@pytest.mark.parametrize(
    "where",
    [
        "1); DELETE FROM results; --",
        "1; DROP TABLE results",
        "load_extension('x')",
        "none > 1",
        "(DELETE FROM results RETURNING 1)",
        "1) UNION SELECT * FROM pragma_wal_checkpoint; --",
        "area_um2 >",
        "",
        "writefile('x', 'y')",
        "\0",
        "1); ATTACH 'other.sqlite' AS other; --",
        "1); PRAGMA writable_schema = 1; --",
    ],
)
def test_where_can_only_read(
    filled: Path, where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError, match="where must be an SQL expression"):
        jobs.select(filled, where)
    assert len(jobs.select(filled)[2]) == 3
    assert sorted(tmp_path.iterdir()) == before


ENDLESS = (
    "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c) > 0",
    # A single step of SQLite's, which nothing ends but the process.
    "instr(zeroblob(20000000), cast(zeroblob(10000000) || 'a' as blob)) > 0",
)
ASKED = """
import sys
from pathlib import Path
from carrysave.jobs import reader, sqlite_file
sqlite_file.LIMIT = float(sys.argv[3])
reader.select(Path(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.parametrize("where", ENDLESS)
def test_where_has_a_time_limit(filled: Path, where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKED, filled, where, "0.5"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "where must be done within 0.5 s, and is not" in done.stderr.splitlines()[-1]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("where", "number"), list(zip(ENDLESS, (signal.SIGINT, signal.SIGTERM), strict=True))
)
def test_where_hears_signals(filled: Path, where: str, number: signal.Signals) -> None:
    process = subprocess.Popen(
        heeding("-m", "carrysave", "results", "--where", where, "--store", str(filled)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(2.5)
    process.send_signal(number)
    _, said = process.communicate(timeout=5)
    assert (process.returncode, said) == (128 + number, "carrysave: interrupted\n")


def test_where_makes_no_long_texts(filled: Path) -> None:
    with pytest.raises(UsageError, match="string or blob too big"):
        jobs.select(filled, "length(hex(zeroblob(200000000))) > 0")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM results",
        "DROP TABLE results",
        "UPDATE results SET key = 'x'",
        "ATTACH 'other.sqlite' AS other",
        "PRAGMA writable_schema = 1",
        "BEGIN",
        "CREATE TABLE other (a)",
        "SELECT load_extension('x')",
    ],
)
def test_a_reader_may_not_write_where_it_could(filled: Path, statement: str):
    """The second fence, should the first, a connection that is open to read only, ever fall."""
    with contextlib.closing(sqlite3.connect(filled)) as database:
        database.set_authorizer(sqlite_file._may_read)
        assert database.execute("SELECT count(*) FROM results WHERE upper(design) = 'MAC'")
        with pytest.raises(sqlite3.DatabaseError, match=r"not authorized|prohibited"):
            database.execute(statement)


def test_a_store_of_a_newer_version_is_refused(filled: Path):
    database = sqlite3.connect(filled)
    database.execute(f"PRAGMA user_version = {rows.SCHEMA + 1}")
    database.close()
    for use in (lambda: jobs.Store(filled), lambda: jobs.select(filled)):
        with pytest.raises(UsageError, match="version 3, of a newer carrysave; this one knows 2"):
            use()


def test_what_is_no_store_is_refused_and_left_alone(path: Path):
    path.write_text("a text, and longer than the header of a database is, so that it is read" * 9)
    text = path.read_bytes()
    with pytest.raises(UsageError, match="no store: not a SQLite database"):
        jobs.Store(path)
    assert path.read_bytes() == text
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE results (theirs)")
    with pytest.raises(UsageError, match="no store, but another program's database"):
        jobs.Store(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageError, match="unable to open"):
        jobs.Store(path)
    with pytest.raises(UsageError, match=r"there is no such file"):
        jobs.select(path)
    with pytest.raises(UsageError, match="store /proc/none"):
        jobs.Store(Path("/proc/none/store.sqlite"))


def test_a_store_that_is_locked_is_refused(filled: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite_file, "PATIENCE", 0.1)
    with contextlib.closing(sqlite3.connect(filled, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match=r"locked by another program for more than 0.1 s"):
            jobs.Store(filled)
        assert len(jobs.select(filled)[2]) == 3  # readers do not wait


def test_a_full_disk_is_told_and_leaves_the_store_whole(filled: Path):
    with jobs.Store(filled) as store:
        (row,) = store._database.execute("PRAGMA page_count")
        store._database.execute(f"PRAGMA max_page_count = {row['page_count']}")
        with pytest.raises(OSError, match=r"store .*full"):
            add(store, {"text": "x" * 100_000}, 7)
        store._database.execute("PRAGMA max_page_count = 1000000")
        add(store, {"text": "x" * 100_000}, 8)
    assert sorted(row[0] for row in jobs.select(filled)[2]) == ["key0", "key1", "key2", "key8"]


def test_several_drivers_write_to_one_store(path: Path):
    def write(first: int) -> None:
        with jobs.Store(path) as store:
            for number in range(first, first + 20):
                add(store, {f"figure{number % 7}": number}, number)

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 100, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names, _, rows = jobs.select(path)
    assert len(rows) == 60
    assert {f"figure{number}" for number in range(7)} <= set(names)
    place = names.index("figure3")
    found = {row[names.index("key")]: row[place] for row in rows if row[place] is not None}
    assert found == {
        f"key{n}": float(n) for f in (0, 100, 200) for n in range(f, f + 20) if n % 7 == 3
    }


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(A1)", "'=HYPERLINK(A1)"), ("+1+cmd|' /C calc'!A0", "'+1+cmd|' /C calc'!A0"),
        ("-1+1", "'-1+1"), ("@SUM(A1)", "'@SUM(A1)"), (" =1", "' =1"), ("\uff1d1", "'\uff1d1"),
        ("\t=1", "\\t=1"), ("\r=1", "\\r=1"), ("\n=1", "'\n=1"), ("\x1b[2Ja", "\\x1b[2Ja"),
        ("a\0b", "a\\x00b"), ("a\u202eb", "a\\u202eb"), ("-1.5", "-1.5"), ("+2e3", "+2e3"),
        ("a=b", "a=b"), ("two\nlines", "two\nlines"), ("", ""),
    ],
)  # fmt: skip
def test_csv_has_no_cell_that_is_run(
    path: Path, text: str, cell: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with jobs.Store(path) as store:
        add(store, {"note": text, "=1+1": 2.5, "loss": -3.5}, 1)
    assert results(store=path, form=Form(csv=True)) == 0
    out = capfdbinary.readouterr().out.decode()
    (row,) = csv.DictReader(io.StringIO(out, newline=""))
    assert row["note"] == cell
    assert (row["'=1+1"], row["loss"]) == ("2.5", "-3.5")


def test_command_prints_csv_json_and_parquet(
    filled: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
):
    options: dict[str, Any] = {"where": "area_um2 > 50", "store": filled}
    assert results(**options, form=Form(csv=True)) == 0
    rows = list(csv.DictReader(io.StringIO(capfdbinary.readouterr().out.decode())))
    assert [(row["p_width"], row["area_um2"]) for row in rows] == [("3", "100.0"), ("4", "200.0")]
    assert not {"value", "digest"} & rows[0].keys()
    assert results(**options, form=Form(json=True)) == 0
    found = json.loads(capfdbinary.readouterr().out)
    assert [row["value"]["area_um2"] for row in found] == [100, 200]
    assert found[0]["parameters"] == {"encoding": "booth", "signed": True, "width": 3}
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "results.parquet"
    assert results(**options, form=Form(parquet=True, output=file)) == 0
    table = parquet.read_table(file)
    assert table.column("p_width").to_pylist() == [3, 4]
    assert str(table.schema.field("area_um2").type) == "double"
    assert results(store=filled) == 0
    out = capfdbinary.readouterr().out.decode()
    assert "3 rows" in out
    assert "me@here" in out


def test_command_refuses_what_it_cannot_do(filled: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(UsageError, match="one of --csv, --json and --parquet is enough"):
        results(form=Form(csv=True, json=True))
    with pytest.raises(UsageError, match="--output needs --csv"):
        results(form=Form(output=Path("x")))
    monkeypatch.setattr("carrysave.errors.installed", lambda module: False)
    with pytest.raises(ModuleNotFoundError, match="pyarrow"):
        results(store=filled, form=Form(parquet=True))

"""Lists of jobs in this machine: kept at once, tried again, killed with all that they started."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carrysave import cache, jobs
from carrysave.errors import UsageError
from carrysave.jobs import children, runner
from carrysave.jobs.child import MARK, end_marked
from verif.jobs import work


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("CARRYSAVE_CACHE", str(folder))
    monkeypatch.delenv("CARRYSAVE_STORE")
    return folder


def job(function: Callable[..., Any], **arguments: Any) -> jobs.Job:
    return jobs.Job(function=function, arguments=arguments, content=["test"])


def sums(count: int) -> list[jobs.Job]:
    return [job(work.add, a=a, b=1) for a in range(count)]


def gone(process: int) -> bool:
    """Whether a process ends within seconds."""
    for _ in range(100):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def marked() -> list[int]:
    """List the processes of jobs of this test that are there."""
    found = []
    own = f"CARRYSAVE_CACHE={os.environ['CARRYSAVE_CACHE']}".encode()
    for entry in Path("/proc").iterdir():
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if own in variables and any(each.startswith(f"{MARK}=".encode()) for each in variables):
            found.append(int(entry.name))
    return found


def test_jobs_are_done_once_and_in_the_order_asked_for():
    tallies: list[jobs.Tally] = []
    with jobs.session(jobs.Options(jobs=2, progress=tallies.append)):
        found = list(jobs.run(sums(30), ordered=True))
        assert [outcome.get()["sum"] for outcome in found] == list(range(1, 31))
        assert not any(outcome.cached for outcome in found)
        last = tallies[-1]
        assert (last.done, last.failed, last.cached, last.total) == (30, 0, 0, 30)
        again = list(jobs.run(sums(31), ordered=True))
    assert [outcome.cached for outcome in again] == [True] * 30 + [False]
    assert [outcome.value for outcome in again[:30]] == [outcome.value for outcome in found]
    assert not children.CHILDREN.processes()


def test_a_store_that_was_lost_is_filled_from_the_cache():
    first = list(jobs.run(sums(3), ordered=True))
    jobs.default_path().unlink()
    second = list(jobs.run(sums(3), ordered=True))
    assert all(outcome.cached for outcome in second)
    assert [(o.value, o.seconds, o.who) for o in first] == [
        (o.value, o.seconds, o.who) for o in second
    ]
    _, _, rows = jobs.select(jobs.default_path())
    assert len(rows) == 3


def test_a_result_that_was_damaged_is_computed_again(own_cache: Path):
    list(jobs.run(sums(2)))
    database = sqlite3.connect(jobs.default_path())
    with database:
        database.execute("UPDATE results SET value = '{\"sum\": 7}'")
    database.close()
    for path in own_cache.glob("jobs/*/value.json"):
        path.unlink()
    found = list(jobs.run(sums(2), ordered=True))
    assert [outcome.get()["sum"] for outcome in found] == [1, 2]
    assert not any(outcome.cached for outcome in found)


def test_processes_that_are_killed_cost_nothing_but_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The same on a cluster is in test_cluster."""
    log = tmp_path / "log"
    wanted = [job(work.slow, a=a, seconds=0.02, log=str(log)) for a in range(40)]
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "undisturbed"))
    with jobs.session(jobs.Options(jobs=4)):
        assert len([outcome.get() for outcome in jobs.run(wanted)]) == len(wanted)
    expected = table(jobs.default_path())
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "disturbed"))
    log.unlink()
    killed = set()
    with jobs.session(jobs.Options(jobs=4)):
        for number, outcome in enumerate(jobs.run(wanted)):
            outcome.get()
            if number in {5, 15}:
                for process in children.CHILDREN.processes():
                    os.kill(process, signal.SIGKILL)
                    killed.add(process)
    assert killed
    assert table(jobs.default_path()) == expected
    began = [int(line.split()[0]) for line in log.read_text().splitlines()]
    assert set(began) == set(range(40))
    assert len(began) <= 40 + len(killed)


def table(path: Path) -> list[tuple[Any, ...]]:
    """Return what does not depend on who did it, and when."""
    names, _, rows = jobs.select(path)
    kept = [names.index(name) for name in names if name not in {"seconds", "who", "at", "digest"}]
    return sorted(tuple(row[place] for place in kept) for row in rows)


def test_a_job_with_a_limit_is_never_done_here(tmp_path: Path):
    for limited in (jobs.Options(seconds=0.5), jobs.Options(jobs=1)):
        seconds = 0.5 if limited.seconds != 0.5 else None
        alone = jobs.Job(
            function=work.slow,
            arguments={"a": 1, "seconds": 60, "log": str(tmp_path / "log")},
            seconds=seconds,
        )
        with jobs.session(limited):
            (found,) = jobs.run([alone])
        assert found.failure is not None
        assert found.failure.kind == "TimeLimit"


def test_the_same_job_twice_is_done_once(tmp_path: Path):
    log = tmp_path / "log"
    twice = [job(work.slow, a=a, seconds=0, log=str(log)) for a in (1, 2, 1, 2, 3)]
    found = list(jobs.run(twice, ordered=True))
    assert [outcome.get()["square"] for outcome in found] == [1, 4, 1, 4, 9]
    assert [outcome.job for outcome in found] == twice
    assert len(log.read_text().splitlines()) == 3


def test_keys_are_of_content(tmp_path: Path):
    one, two = tmp_path / "one" / "f.v", tmp_path / "two" / "f.v"
    for path in (one, two):
        path.parent.mkdir()
        path.write_text("module a; endmodule")
    same = [job(work.read, file=jobs.File(path)).key for path in (one, two)]
    assert same[0] == same[1]
    two.write_text("module b; endmodule")
    keys = {
        same[0],
        job(work.read, file=jobs.File(two)).key,
        job(work.add, a=1, b=2).key,
        job(work.add, a=2, b=1).key,
        jobs.Job(function=work.add, arguments={"a": 1, "b": 2}, content=["other"]).key,
        jobs.Job(function=work.add, arguments={"a": 1, "b": 2}).key,
        jobs.Job(
            function=work.add, arguments={"a": 1, "b": 2}, content=["test"], tools=[work.version]
        ).key,
    }
    assert len(keys) == 7
    assert job(work.add, b=2, a=1).key == job(work.add, a=1, b=2).key
    found = [
        outcome.get()
        for outcome in jobs.run(
            [job(work.read, file=jobs.File(path)) for path in (one, two)], ordered=True
        )
    ]
    assert found == ["module a; endmodule", "module b; endmodule"]


def test_what_cannot_be_a_job_is_refused(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(TypeError, match="function must be one of a module"):
        job(lambda: None)
    monkeypatch.setattr(work.leave, "__module__", "__main__")
    monkeypatch.setattr("__main__.leave", work.leave, raising=False)
    with pytest.raises(TypeError, match="function must be one of a module"):
        job(work.leave)
    with pytest.raises(TypeError, match="arguments must be plain data"):
        _ = job(work.add, a=Path(), b=1).key
    with pytest.raises(UsageError, match="jobs must be at least 1, not 0"):
        jobs.Options(jobs=0)
    with pytest.raises(UsageError, match="jobs is for this machine"):
        jobs.Options(jobs=2, scheduler="tcp://localhost:1")


def test_failures_are_reported_and_the_rest_goes_on(tmp_path: Path):
    tried = tmp_path / "tried"
    tried.mkdir()
    wanted = [
        *sums(3),
        job(work.end, how=signal.SIGSEGV),
        job(work.refuse, a=3),
        job(work.leave),
        job(work.sometimes, folder=str(tried)),
        *sums(8),
    ]
    found = list(jobs.run(wanted, ordered=True))
    died, refused, left, sometimes = found[3:7]
    assert all(outcome.failure is None for outcome in (*found[:3], *found[7:]))
    assert died.failure is not None
    assert (died.failure.kind, died.attempts) == ("Crash", jobs.ATTEMPTS)
    assert "SIGSEGV" in str(died.failure)
    assert "about to die" in died.failure.log
    assert refused.failure is not None
    assert (str(refused.failure), refused.attempts) == ("ValueError: a must be 0, not 3", 1)
    assert "in refuse" in refused.failure.log
    with pytest.raises(ValueError, match="a must be 0, not 3"):
        refused.get()
    with pytest.raises(RuntimeError, match="its process was ended by SIGSEGV"):
        died.get()
    assert left.failure is not None
    assert left.failure.kind == "TypeError"
    assert (sometimes.value, sometimes.attempts) == (2, 3)
    names, _, rows = jobs.select(jobs.default_path(), table="failures")
    kinds = {row[names.index("kind")]: row for row in rows}
    assert kinds.keys() == {"end", "refuse", "leave"}
    assert "about to die" in kinds["end"][names.index("log")]


def test_what_failed_is_tried_again_by_the_next_call(tmp_path: Path):
    tried = tmp_path / "tried"
    tried.mkdir()
    wanted = [job(work.sometimes, folder=str(tried)), *sums(1)]
    (tried / "blocked").touch()
    tried.chmod(0o000)
    if os.access(tried, os.R_OK):  # root sees through it
        tried.chmod(0o755)
        tried.rename(tmp_path / "away")
    failed, _ = jobs.run(wanted, ordered=True)
    assert failed.failure is not None
    assert failed.failure.kind in {"PermissionError", "FileNotFoundError"}
    if not tried.exists():
        (tmp_path / "away").rename(tried)
    tried.chmod(0o755)
    (tried / "again").touch()
    done, before = jobs.run(wanted, ordered=True)
    assert (done.get(), before.cached) == (2, True)
    assert jobs.select(jobs.default_path(), table="failures")[2] == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("limit", ["time", "memory", "memory of all"])
def test_limits_end_a_job_and_all_that_it_started(tmp_path: Path, limit: str):
    log = tmp_path / "log"
    if limit == "time":
        options = jobs.Options(jobs=2, seconds=1.0)
        wanted, kind = job(work.hang, log=str(log)), "TimeLimit"
    elif limit == "memory":
        options = jobs.Options(jobs=2, memory=1 << 30)
        wanted, kind = job(work.hoard, size=1 << 31), "MemoryError"
    else:
        options = jobs.Options(jobs=2, memory=1 << 30)
        wanted, kind = job(work.hoard_together, size=700 << 20, log=str(log)), "MemoryLimit"
    with jobs.session(options):
        start = time.monotonic()
        ended, *rest = jobs.run([wanted, *sums(3)], ordered=True)
        assert time.monotonic() - start < 30
    assert ended.failure is not None
    assert (ended.failure.kind, ended.failure.final) == (kind, True), ended.failure.log
    assert len([outcome.get() for outcome in rest]) == 3
    if log.exists():
        assert gone(int(log.read_text()))


def test_a_list_that_is_left_leaves_nothing_running(tmp_path: Path):
    log = tmp_path / "log"
    with jobs.session(jobs.Options(jobs=2)):
        for outcome in jobs.run([*sums(2), job(work.hang, log=str(log)), *sums(9)]):
            if outcome.value and log.exists() and log.read_text():
                assert marked()
                break
            while not log.exists() or not log.read_text():
                time.sleep(0.02)
        # Within the session, too.
        assert gone(int(log.read_text()))
        assert [outcome.get()["sum"] for outcome in jobs.run(sums(3), ordered=True)] == [1, 2, 3]
    assert not marked()


def test_jobs_of_a_job_are_done_by_itself(monkeypatch: pytest.MonkeyPatch):
    found = list(jobs.run([job(work.nested, count=3), job(work.nested, count=2)], ordered=True))
    assert [outcome.get() for outcome in found] == [[[1, 2, 3], True], [[1, 2], True]]


def test_one_job_alone_starts_no_worker(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runner.Session, "workers", lambda self: pytest.fail("started"))
    assert [outcome.get()["sum"] for outcome in jobs.run(sums(1))] == [1]
    assert [outcome.get()["sum"] for outcome in jobs.run(sums(2), ordered=True)] == [1, 2]


def test_processes_of_a_mark_are_ended():
    process = subprocess.Popen(["sleep", "1000"], env={MARK: "a-mark-of-its-own"})
    try:
        end_marked("another-mark")
        assert process.poll() is None
        end_marked("a-mark-of-its-own")
        assert process.wait(10) == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()


def test_processes_that_just_start_are_ended_too():
    """Between the start of a program and its first instruction its environment is empty."""
    for number in range(20):
        process = subprocess.Popen(["sleep", "1000"], env={MARK: f"mark-{number}"})
        try:
            end_marked(f"mark-{number}")
            assert process.wait(10) == -signal.SIGKILL
        finally:
            process.kill()
            process.wait()


def test_a_cache_that_cannot_be_written_is_only_slower(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
):
    access = os.access

    def elsewhere(path: Path | str, mode: int) -> bool:
        return own_cache not in (Path(path), *Path(path).parents) and access(path, mode)

    monkeypatch.setattr(os, "access", elsewhere)
    own_cache.mkdir()
    (own_cache / "results.sqlite").mkdir()
    assert [o.get()["sum"] for o in jobs.run(sums(2), ordered=True)] == [1, 2]
    monkeypatch.undo()
    monkeypatch.setenv("CARRYSAVE_CACHE", str(own_cache))
    with pytest.raises(UsageError, match=r"store .*unable to open"):
        list(jobs.run(sums(2)))
    assert cache.folder() == own_cache

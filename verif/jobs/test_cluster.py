"""Lists of jobs on a cluster that stands, of which workers die."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from carrysave import jobs
from carrysave.asic.synthesis import synthesise_design
from carrysave.errors import UsageError
from carrysave.jobs import cluster
from hw.catalog import Design
from hw.emit import tools
from verif.jobs import work
from verif.jobs.test_jobs import gone, job, sums, table

ROOT = Path(__file__).parents[2]
WORKERS = 4


@pytest.fixture(autouse=True)
def own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARRYSAVE_STORE")


@contextlib.contextmanager
def standing(folder: Path, **variables: str) -> Iterator[tuple[str, psutil.Process]]:
    """Start a scheduler and workers, as users do; yield its address and the workers' process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "CARRYSAVE_CACHE": str(folder / "theirs"),
        "PYTHONPATH": str(ROOT),
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20s",
        **variables,
    }
    commands = [
        ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"],
        [
            "worker",
            address,
            "--nworkers",
            str(WORKERS),
            "--nthreads",
            "1",
            "--no-dashboard",
            "--local-directory",
            str(folder),
        ],
    ]
    with contextlib.ExitStack() as stack:
        log = stack.enter_context((folder / "dask.log").open("w"))
        for command in commands:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                stdout=log,
                stderr=log,
                env=environment,
                cwd=folder,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
        for _ in range(2400):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield address, psutil.Process(process.pid)


def workers(nannies: psutil.Process) -> list[int]:
    """List the processes of workers, each of which has a nanny."""
    return [child.pid for child in nannies.children() if "spawn_main" in " ".join(child.cmdline())]


@pytest.mark.prove
def test_workers_that_are_killed_cost_the_jobs_that_they_were_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "undisturbed"))
    log, source = tmp_path / "log", tmp_path / "source.v"
    source.write_text("module a; endmodule")
    wanted = [
        *(job(work.slow, a=a, seconds=0.1, log=str(log)) for a in range(40)),
        job(work.read, file=jobs.File(source)),
    ]
    with jobs.session(jobs.Options(jobs=WORKERS)):
        assert len([outcome.get() for outcome in jobs.run(wanted)]) == len(wanted)
    expected = table(jobs.default_path())
    assert len(expected) == len(wanted)
    log.unlink()
    store = tmp_path / "store.sqlite"
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "ours"))
    with (
        standing(tmp_path) as (address, nannies),
        jobs.session(jobs.Options(scheduler=address, store=store)),
    ):
        killed = 0
        for number, outcome in enumerate(jobs.run(wanted)):
            outcome.get()
            if number in {8, 20}:
                for process in workers(nannies)[:2]:
                    os.kill(process, signal.SIGKILL)
                    killed += 1
    assert killed == 4
    assert table(store) == expected
    began = [line.split()[0] for line in log.read_text().splitlines()]
    assert len(set(began)) == 40
    # What a worker had done, or had not begun, is not done twice for its death.
    assert len(began) <= 40 + killed


@pytest.mark.prove
def test_a_sweep_on_a_cluster_is_that_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Workers have a cache of their own, so that all that they need has to reach them."""
    design = Design("mac", {"a_width": 3, "b_width": 3, "accumulator_width": 8})

    def sweep(cache: str, options: jobs.Options) -> tuple[dict[str, Any], list[str]]:
        monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / cache))
        said: list[str] = []
        with jobs.session(options):
            found = synthesise_design(
                design, "osu018", sweep=True, activity="none", progress=said.append
            )
        netlist = Path(found.pop("netlist")).read_text()
        return {**found, "text": netlist}, said

    here = sweep("here", jobs.Options())
    with standing(tmp_path) as (address, _):
        there = sweep("ours", jobs.Options(scheduler=address))
    assert there == here
    assert len(there[1]) == len(list((tmp_path / "theirs" / "jobs").iterdir()))


@pytest.mark.prove
def test_a_driver_that_is_killed_leaves_no_job_on_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "ours"))
    with standing(tmp_path) as (address, _):
        log = tmp_path / "log"
        driver = started(f"jobs.Options(scheduler={address!r})", f"work.hang, log={str(log)!r}")
        program = int(content(log))
        driver.kill()
        driver.wait()
        assert gone(program)
        # The same cluster serves the next one.
        with jobs.session(jobs.Options(scheduler=address)):
            assert [outcome.get()["sum"] for outcome in jobs.run(sums(4), ordered=True)] == [
                1,
                2,
                3,
                4,
            ]


@pytest.mark.prove
def test_a_scheduler_that_dies_ends_the_run_and_what_was_done_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "ours"))
    log = tmp_path / "log"
    wanted = [job(work.slow, a=a, seconds=0.2, log=str(log)) for a in range(99)]
    done: list[jobs.Outcome] = []
    with standing(tmp_path) as (address, _), jobs.session(jobs.Options(scheduler=address)):
        (scheduler,) = (
            each for each in psutil.Process().children() if "scheduler" in each.cmdline()
        )

        def run() -> None:
            for outcome in jobs.run(wanted):
                done.append(outcome)
                if len(done) == 5:
                    scheduler.kill()

        with pytest.raises(RuntimeError, match=f"the scheduler at {address} is gone"):
            run()
    assert 5 <= len(done) < 99
    assert len(jobs.select(jobs.default_path())[2]) == len(done)


@pytest.mark.prove
def test_files_of_many_jobs_do_not_stay_with_the_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "ours"))
    monkeypatch.setattr(cluster, "_FILES", 2)
    wanted = []
    for number in range(20):
        path = tmp_path / f"{number}.v"
        path.write_text(f"module m{number}; endmodule")
        wanted.append(job(work.read, file=jobs.File(path)))
    with standing(tmp_path) as (address, _), jobs.session(jobs.Options(scheduler=address)) as own:
        found = [outcome.get() for outcome in jobs.run(wanted, ordered=True)]
        assert found == [f"module m{number}; endmodule" for number in range(20)]
        assert len(cast(cluster.Cluster, own.workers())._files) == 2


@pytest.mark.prove
def test_workers_of_another_version_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "ours"))
    other = tmp_path / "other"
    for folder in ("carrysave", "golden", "hw", "verif/jobs"):
        shutil.copytree(ROOT / folder, other / folder)
    with (other / "golden" / "check.py").open("a") as file:
        file.write("\n# not the same\n")
    with (
        standing(tmp_path, PYTHONPATH=str(other)) as (address, _),
        pytest.raises(UsageError, match=r"versions differ: tcp://.* has carrysave 0.1.0 \("),
        jobs.session(jobs.Options(scheduler=address)),
    ):
        list(jobs.run(sums(2)))


def test_a_scheduler_that_does_not_answer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cluster, "_ANSWER", 0.5)
    for address, why in (("tcp://127.0.0.1:1", "does not answer"), ("nothing:at:all", "answer")):
        with (
            pytest.raises(UsageError, match=f"scheduler {address}: .*{why}"),
            jobs.session(jobs.Options(scheduler=address)),
        ):
            pytest.fail("taken")


@pytest.mark.sample(1)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_what_a_driver_had_done_is_kept_and_the_rest_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    log = tmp_path / "log"
    driver = started("jobs.Options(jobs=2)", f"work.hang, log={str(log)!r}")
    program = int(content(log))
    driver.send_signal(how)
    driver.wait(20)
    assert gone(program)
    known = [outcome.cached for outcome in jobs.run(sums(2), ordered=True)]
    assert known == [True, True]


def test_an_interrupt_that_python_drops_ends_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))  # what is known comes at once
    ending = threading.Event()
    monkeypatch.setattr(tools, "_ending", ending)
    log = tmp_path / "log"

    def stop(outcome: jobs.Outcome) -> None:
        assert content(log)
        ending.set()

    with pytest.raises(KeyboardInterrupt), jobs.session(jobs.Options(jobs=2)):
        list(map(stop, jobs.run([job(work.hang, log=str(log)), *sums(1)])))
    assert gone(int(content(log)))


def started(options: str, last: str) -> "subprocess.Popen[bytes]":
    """Start a driver that does two jobs, and one that never ends."""
    function, argument = last.split(", ", 1)
    code = f"""
import faulthandler, signal
from carrysave import jobs
from carrysave.asic.synthesis import synthesise_design
from carrysave.errors import UsageError
from carrysave.jobs import cluster
from hw.catalog import Design
from verif.jobs import work
from verif.jobs.test_jobs import job, sums

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background ignores
faulthandler.dump_traceback_later(15)  # says where it is, if it does not end
with jobs.session({options}):
    list(jobs.run(sums(2)))
    list(jobs.run([*sums(3), job({function}, {argument})]))
"""
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)


def content(path: Path) -> str:
    """Wait for a file, and return what is in it."""
    for _ in range(1200):
        if path.exists() and (text := path.read_text()):
            return text
        time.sleep(0.05)
    raise TimeoutError(path)

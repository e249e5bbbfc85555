"""Exploration on a cluster of two machines' workers, one of which is lost."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carrysave import jobs
from carrysave.asic.options import SynthesisOptions
from carrysave.exploration import run as runs
from carrysave.keywords import differing
from hw.catalog import Design
from verif.explore.test_explore import measure, options
from verif.support.command import Run

ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def machines(folder: Path, count: int) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    """Start a scheduler, and workers as on machines of their own: each with its cache."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = ["worker", address, "--nworkers", "1", "--nthreads", "1", "--no-nanny"]
    worker += ["--no-dashboard", "--local-directory", str(folder)]
    processes = []
    with contextlib.ExitStack() as stack:
        for number, words in enumerate([scheduler, *[worker] * count]):
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}",
                    "CARRYSAVE_CACHE": str(folder / f"machine{number}"),
                },
                cwd=folder,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            processes.append(process)
            for _ in range(1200):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
        yield address, processes[1:]


def slowly(log: str, **arguments: Any) -> dict[str, Any]:
    """Say in a file that a point was begun, and take its time to measure it."""
    with Path(log).open("a") as file:
        file.write(f"{json.dumps(arguments['parameters'])}\n")
    time.sleep(0.3)
    return measure(**arguments)


def untimed(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: one for name, one in point.items() if name != "seconds"} for point in points]


@pytest.mark.prove
def test_a_machine_that_is_lost_costs_the_job_that_it_was_in(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, nothing is there twice, and nothing that came is done again."""
    log = tmp_path / "log"

    def job(design: Design, target: Any, chosen: SynthesisOptions, *, facts: Any) -> jobs.Job:
        arguments = {
            "name": design.name,
            "parameters": dict(design.parameters),
            "target": "t",
            "options": differing(chosen),
            "log": str(log),
        }
        return jobs.Job(function=slowly, arguments=arguments, facts=facts)

    monkeypatch.setattr(runs, "design_job", job)
    words = options(tmp_path, "--method", "grid", "--trials", "100", "--verify", "none", "--json")
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "undisturbed"))
    expected = json.loads(run(*words, "--jobs", "2").out)["points"]
    log.unlink()
    (tmp_path / "store.sqlite").unlink()
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "ours"))
    with machines(tmp_path, 2) as (address, workers):
        write = jobs.Store.add

        def add(store: jobs.Store, *outcomes: jobs.Outcome) -> None:
            write(store, *outcomes)
            if len(log.read_text().splitlines()) >= 6:
                workers[0].kill()

        monkeypatch.setattr(jobs.Store, "add", add)
        points = json.loads(run(*words, "--scheduler", address).out)["points"]
        assert [worker.poll() for worker in workers] == [-signal.SIGKILL, None]
    assert untimed(points) == untimed(expected)
    began = log.read_text().splitlines()
    with jobs.reading(tmp_path / "store.sqlite") as reader:
        rows = [row for row, why in reader.rows() if not why]
    good = [point for point in points if point["error"] is None]
    assert len(rows) == len({row["key"] for row in rows}) == len(good)
    assert len(set(began)) == len(points)
    # One that it was in, and one that it had done, but had not handed over yet.
    assert len(began) <= len(points) + 2

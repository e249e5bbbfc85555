"""Measure how lists of jobs are run: idle workers, overhead of what is done, memory.

    .venv/bin/python scripts/figures/bench_jobs.py                 all, half an hour on two cores
    .venv/bin/python scripts/figures/bench_jobs.py --parts cached  one part
    .venv/bin/python scripts/figures/bench_jobs.py --json

Each part has a cache and a store of its own, which are removed again.
"""

import argparse
import json
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from itertools import islice, product
from typing import Any

from rich.console import Console

from carrysave import jobs
from carrysave.asic import sta
from carrysave.asic.design_job import design_job
from carrysave.progress import Steps, Tally
from hw.catalog import Design
from hw.emit import yosys
from scripts.tables import show

PARTS = ("speed", "cached", "memory")
WORKERS = 2
MOST_RATIO = 1.1
MOST_CACHED_MS = 5.0
MOST_BYTES = 1 << 30


def designs(count: int) -> list[Design]:
    """Return small designs, each of which takes seconds to synthesise."""
    fields = product(range(3, 9), range(3, 9), (0, 2, 4), ("mac", "opt1"))
    return [
        Design(name, {"a_width": a, "b_width": b, "accumulator_width": a + b + more})
        for a, b, more, name in islice(fields, count)
    ]


@contextmanager
def fresh_cache() -> Iterator[None]:
    """Have an empty cache."""
    before = os.environ.get("CARRYSAVE_CACHE")
    with tempfile.TemporaryDirectory(prefix="carrysave-bench-") as folder:
        os.environ["CARRYSAVE_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["CARRYSAVE_CACHE"]
            if before is not None:
                os.environ["CARRYSAVE_CACHE"] = before


def measure_speed(count: int, steps: Steps, parts: list[str]) -> list[dict[str, Any]]:
    """Synthesise small designs; then ask for them again, from a new session and with one open."""
    wanted = [design_job(each, "osu018", activity="none") for each in designs(count)]
    rows = []
    with fresh_cache():
        start = time.perf_counter()
        with jobs.session(jobs.Options(jobs=WORKERS, progress=steps.jobs)):
            outcomes = list(jobs.run(wanted))
            taken = time.perf_counter() - start
        failed = sum(outcome.failure is not None for outcome in outcomes)
        ideal = sum(outcome.seconds for outcome in outcomes) / WORKERS
        if "speed" in parts:
            rows.append(
                row(
                    f"{count} small syntheses on {WORKERS} workers: time / (sum of their times /"
                    f" {WORKERS})",
                    taken / ideal,
                    MOST_RATIO,
                    f"{taken:.1f} s, {failed} failed",
                    ok=not failed,
                )
            )
        if "cached" in parts:
            wanted = [design_job(each, "osu018", activity="none") for each in designs(count)]
            start = time.perf_counter()
            with jobs.session():
                again = list(jobs.run(wanted))
            each_ms = 1e3 * (time.perf_counter() - start) / len(wanted)
            known = sum(outcome.cached for outcome in again)
            rows.append(
                row(
                    "overhead of a job that was done before, ms",
                    each_ms,
                    MOST_CACHED_MS,
                    f"{known} of {len(again)} known",
                    ok=known == len(again),
                )
            )
    return rows


def measure_memory(count: int, steps: Steps) -> list[dict[str, Any]]:
    """Run jobs of no work; the scheduler, the workers' threads and we are one process."""
    wanted = (
        jobs.Job(function=json.dumps, arguments={"obj": number}, content=["bench"])
        for number in range(count)
    )
    last = Tally()

    def tell(tally: Tally) -> None:
        nonlocal last
        last = tally
        if tally.done % 1000 == 0:
            steps.jobs(tally)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with fresh_cache():
        start = time.perf_counter()
        with jobs.session(jobs.Options(jobs=WORKERS, progress=tell)):
            done = sum(outcome.failure is None for outcome in jobs.run(wanted))
        taken = time.perf_counter() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return [
        row(
            f"{count:,} jobs of no work: MB of driver and scheduler together",
            most / 1e6,
            MOST_BYTES / 1e6,
            f"{before * 1024 / 1e6:.0f} MB before; {done:,} done,"
            f" {1e3 * taken / count:.1f} ms each",
            ok=done == count,
        )
    ]


def row(what: str, value: float, most: float, remark: str, *, ok: bool) -> dict[str, Any]:
    """Return a line of the table."""
    return {
        "what": what,
        "found": value,
        "at most": most,
        "held": "yes" if ok and value <= most else "NO",
        "remark": remark,
    }


def main() -> None:
    """Measure, print; exit code 1 if something is not held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--count", type=int, default=200, help="small syntheses")
    parser.add_argument("--idle", type=int, default=100_000, help="jobs of no work")
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    arguments = parser.parse_args()
    if not 1 <= arguments.count <= len(designs(1000)):
        parser.error(f"--count must be 1 to {len(designs(1000))}, not {arguments.count}")
    rows: list[dict[str, Any]] = []
    with Steps(Console(stderr=True)) as steps:
        if {"speed", "cached"} & set(arguments.parts):
            rows += measure_speed(arguments.count, steps, arguments.parts)
        if "memory" in arguments.parts:
            rows += measure_memory(arguments.idle, steps)
    versions = {
        "python": platform.python_version(),
        "distributed": version("distributed"),
        "yosys": yosys.version(),
        "opensta": sta.version(),
        "machine": f"{platform.machine()}, {jobs.cores()} cores",
        "load": f"{os.getloadavg()[0]:.1f}",
    }
    if arguments.json:
        print(json.dumps({"rows": rows, "versions": versions}, indent=2))
    else:
        console = Console() if sys.stdout.isatty() else Console(width=180)
        columns = {"what": "{}", "found": "{:.2f}", "at most": "{:g}", "held": "{}", "remark": "{}"}
        show(console, "Lists of jobs", rows, columns)
        console.print(versions)
    sys.exit(any(each["held"] != "yes" for each in rows))


if __name__ == "__main__":
    main()

"""Measure a store of many rows: queries, and the memory of what reads and writes them.

    .venv/bin/python scripts/figures/bench_store.py                        10^6 rows in a file
    .venv/bin/python scripts/figures/bench_store.py --rows 100000 --json
    .venv/bin/python scripts/figures/bench_store.py --store postgresql://USER:PASSWORD@HOST/EMPTY

Rows are like those of ``explore``: eight parameters and twelve figures. Queries are timed within
this process, as those of ``carrysave results`` without its start; peaks of memory are those of the
command, in a process of its own.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from carrysave import jobs
from carrysave.jobs.provenance import machine
from scripts.tables import show

DESIGNS = ("mac", "opt1", "opt2", "systolic_os", "adder_tree", "cube", "matrix_2d", "lut_core")
FIGURES = (
    "area_um2",
    "period_ns",
    "power_mw",
    "pj_per_mac",
    "gops",
    "gops_per_mm2",
    "gops_per_w",
    "kge",
    "cells",
    "area_sequential_um2",
    "area_combinational_um2",
    "delay_target_ns",
)
MOST_SECONDS = 1.0
MOST_MB = 1024.0
_STEP = 20_000  # rows of a change, while the store is filled
QUERIES: tuple[tuple[str, list[str]], ...] = (
    ("the last rows", []),
    ("one design and width", ["--where", "design = 'mac' and p_a_width = 5"]),
    ("a figure", ["--where", "period_ns < 1.001"]),
    ("the least area", ["--where", "area_um2 = (select min(area_um2) from results)"]),
    ("none", ["--where", "area_um2 < 0"]),
)
EXPORTS = (("CSV", "--csv"), ("JSON", "--json"), ("Parquet", "--parquet"))


def fill(store: str, rows: int) -> float:
    """Write rows, many in a change; return the seconds of each."""
    start = time.perf_counter()
    with jobs.Store(store) as database:
        for first in range(0, rows, _STEP):
            database.add(*map(outcome, range(first, min(first + _STEP, rows))))
    return (time.perf_counter() - start) / rows


def outcome(number: int) -> jobs.Outcome:
    """Return a result like that of a design which was explored."""
    noise = (number * 2654435761) % (1 << 32) / (1 << 32)
    value = {name: (1 + place) * (1 + noise) for place, name in enumerate(FIGURES)}
    value["period_ns"] = 1 + noise
    parameters = {f"p{place}": number >> place & 7 for place in range(6)}
    parameters |= {"a_width": 2 + number % 7, "b_width": 2 + number % 5}
    facts = {
        "design": DESIGNS[number % len(DESIGNS)],
        "target": "osu018",
        "recipe": "tree+amap",
        "kind": "explore",
        "parameters": parameters,
    }
    job = jobs.Job(function=json.dumps, arguments={"obj": number}, content=["bench"], facts=facts)
    return jobs.Outcome(
        job=job,
        key=job.key,
        value=value,
        seconds=1.0,
        who="me@here",
        machine="one",
        revision="a1b2",
    )


def command(words: list[str], store: str) -> tuple[float, float, int]:
    """Run a command; return seconds, the peak of its memory in MB, and its exit code."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "carrysave",
            *words,
            *(["--store", store] if len(words) > 1 else []),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": "1"},
    )
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return taken, usage.ru_maxrss * 1024 / 1e6, process.returncode


def queries(store: str) -> list[dict[str, Any]]:
    """Ask for a few rows of many, within one process, as a session does."""
    lines: list[dict[str, Any]] = []
    for name, words in QUERIES:
        where = words[1] if words else None
        start, busy = time.perf_counter(), time.process_time()
        with jobs.reading(store) as reader:
            latest, count = reader.latest(100, where)
        taken, busy = time.perf_counter() - start, time.process_time() - busy
        _, peak, code = command(["results", *words], store)
        remark = f"{count:,} rows, {len(latest)} shown, {busy:.2f} s of a core"
        lines.append(row(f"query: {name}, s", taken, MOST_SECONDS, peak, remark, ok=not code))
    with jobs.Store(store) as database:
        keys = [outcome(number).key for number in range(0, 1000, 10)]
        start = time.perf_counter()
        known = sum(database.find(key) is not None for key in keys)
        taken = (time.perf_counter() - start) / len(keys)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    remark = f"{known} of {len(keys)} known"
    lines.append(row("a job that was done before, s", taken, MOST_SECONDS, peak, remark, ok=True))
    return lines


def exports(store: str, folder: Path, rows: int) -> list[dict[str, Any]]:
    """Write all rows; no limit of time."""
    lines: list[dict[str, Any]] = []
    for name, flag in EXPORTS:
        file = folder / name
        taken, peak, code = command(["results", flag, "-o", str(file)], store)
        remark = f"{file.stat().st_size / 1e6:,.0f} MB, {taken / rows * 1e6:.0f} us a row"
        lines.append(row(f"export: {name}, s", taken, None, peak, remark, ok=not code))
        file.unlink()
    return lines


def row(
    what: str, value: float, most: float | None, peak: float, remark: str, *, ok: bool
) -> dict[str, Any]:
    """Return a line of the table."""
    held = ok and (most is None or value <= most) and peak <= MOST_MB
    return {
        "what": what,
        "found": value,
        "at most": most,
        "peak MB": peak,
        "held": "yes" if held else "NO",
        "remark": remark,
    }


def main() -> None:
    """Measure, print; exit code 1 if something is not held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--store", help="an empty store [default: a file, which is removed again]")
    parser.add_argument("--no-exports", action="store_true", help="queries alone")
    parser.add_argument("--json", action="store_true", help="print JSON to stdout")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="carrysave-bench-") as name:
        folder = Path(name)
        store = arguments.store or str(folder / "store.sqlite")
        each = fill(store, arguments.rows)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        size = f"{folder.joinpath('store.sqlite').stat().st_size / 1e6:,.0f} MB" * (
            arguments.store is None
        )
        rows = [row(f"{arguments.rows:,} rows written, s each", each, None, peak, size, ok=True)]
        rows += queries(store)
        if not arguments.no_exports:
            rows += exports(store, folder, arguments.rows)
    here = machine()
    if arguments.json:
        print(json.dumps({"rows": rows, "machine": here}, indent=2))
    else:
        console = Console() if sys.stdout.isatty() else Console(width=180)
        columns = {
            "what": "{}",
            "found": "{:.4f}",
            "at most": "{:g}",
            "peak MB": "{:.0f}",
            "held": "{}",
            "remark": "{}",
        }
        show(console, "A store", rows, columns)
        console.print(here, f"load {os.getloadavg()[0]:.1f}")
    sys.exit(any(each["held"] != "yes" for each in rows))


if __name__ == "__main__":
    main()

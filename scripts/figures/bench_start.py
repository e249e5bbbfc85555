"""How long commands take on a warm machine: the median of some runs, beside what is aimed at."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

COMMANDS = {
    "--help": 0.35,
    "list": 0.5,
    "list --json": 0.5,
    "generate mac": 0.8,
    "generate coprocessor": 6.0,
}
"""Commands, and the seconds that are aimed at, wall-clock, on two idle cores."""


def measure(command: str, runs: int) -> dict[str, Any]:
    """Run a command once to warm up, then `runs` times, each in an empty folder."""
    program = Path(sys.executable).with_name("carrysave")
    seconds = []
    for _ in range(runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            subprocess.run([program, *command.split()], cwd=folder, check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
    return {
        "command": f"carrysave {command}",
        "median_s": round(statistics.median(seconds[1:]), 3),
        "least_s": round(min(seconds[1:]), 3),
        "aim_s": COMMANDS[command],
    }


def main() -> None:
    """Measure all commands, and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="runs of each command (7)")
    parser.add_argument("--json", action="store_true", help="print JSON, and nothing else")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error(f"--runs must be 1 or more, not {options.runs}")
    rows = [measure(command, options.runs) for command in COMMANDS]
    if options.json:
        print(json.dumps({"load": os.getloadavg()[0], "commands": rows}, indent=2))
        return
    table = Table(title=f"load {os.getloadavg()[0]:.1f}")
    for key in rows[0]:
        table.add_column(key)
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()

"""What only Linux has is not needed: here it is hidden, as on macOS."""

import os
import subprocess
import sys
from pathlib import Path

import carrysave

ROOT = Path(carrysave.__file__).parents[1]

# Names of modules that macOS's Python lacks are taken out, and no file of /proc can be opened.
PROGRAM = """
import builtins, io, os, resource, sys

del os.sched_getaffinity, resource.prlimit
opened = io.open

def without_proc(file, *arguments, **options):
    if str(file).startswith("/proc/"):
        raise FileNotFoundError(2, "No such file or directory", str(file))
    return opened(file, *arguments, **options)

io.open = without_proc  # what pathlib opens with; psutil has the other one
from carrysave import jobs
from carrysave.compiler.graph.memory import limited
from carrysave.jobs.provenance import machine
from hw.emit import tools
from verif.jobs import work
from verif.jobs.test_jobs import sums

if __name__ == "__main__":
    print(jobs.cores() > 0, machine().endswith(" cores"))
    print(tools.run(["true"], cwd="/").code)
    with limited("a list"):
        print(len(bytes(1 << 20)))
    with jobs.session(jobs.Options(jobs=2)):
        print(sorted(outcome.get()["sum"] for outcome in jobs.run(sums(3))))
"""


def test_what_macos_lacks_is_not_needed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={
            **os.environ,
            "CARRYSAVE_CACHE": str(tmp_path / "cache"),
            "CARRYSAVE_STORE": str(tmp_path / "store.sqlite"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[:-1] == ["True True", "0", "1048576", "[1, 2, 3]"]

"""Ctrl-C, and other ends that a user has in store."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hw.emit import tools
from verif.support.signals import heeding

SMALL = ("mac", "-p", "a_width=4", "-p", "b_width=4", "-p", "accumulator_width=12")
WORK = {
    "help": ("--help",),
    "generate": ("generate", "systolic_os"),
    "verify": ("verify", *SMALL, "--seed", "1"),
    "synth": ("synth", *SMALL, "--sweep"),
}


def children(mark: str) -> list[str]:
    """Command lines of processes that have a mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue  # gone, or another's
    return found


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("help", 0.4),
        ("generate", 0.6),
        ("verify", 3),
        ("synth", 2.5),
        *(
            pytest.param(name, s, marks=pytest.mark.prove)
            for name in WORK
            for s in (0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 4, 6, 9, 13)
        ),
    ],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_line_and_nothing_left(
    command: str, seconds: float, number: signal.Signals, tmp_path: Path
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    mark = f"{os.getpid()}-{command}-{seconds}-{number}"
    environment = os.environ | {
        "TMPDIR": str(folder),
        "CARRYSAVE_CACHE": str(tmp_path / "cache"),
        "OWN_MARK": mark,
    }
    process = subprocess.Popen(
        heeding("-m", "carrysave", *WORK[command]),
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(seconds)
    process.send_signal(number)
    _, said = process.communicate(timeout=10)
    # Python itself, before it comes to this project, ends in its own way.
    started = "__main__.py" in said if "Traceback" in said else process.returncode != -number
    if started and process.returncode != 0:  # else it was done
        assert process.returncode == 128 + number, said
        assert said.splitlines()[-1] == "carrysave: interrupted"
        assert "Traceback" not in said
    for _ in range(50):
        if not children(mark):
            break
        time.sleep(0.1)
    assert not children(mark)
    assert not list(folder.iterdir())
    kept = (tmp_path / "cache").rglob(".*")
    assert not list(kept)


_DROPPED = """
import os, time, carrysave.__main__, carrysave.cli

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), {number})

def run():
    Dropped()
    time.sleep(30)

carrysave.cli.main = run
carrysave.__main__.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_python_drops_ends_it_too(number: signal.Signals) -> None:
    done = subprocess.run(
        heeding("-c", _DROPPED.format(number=int(number))),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stderr) == (128 + number, "carrysave: interrupted\n")


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = os.statvfs(tmp_path)
    full = os.statvfs_result((*found[:4], 3, *found[5:]))
    tools.run(["true"], cwd=tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    with pytest.raises(OSError, match="No space left on device"):
        tools.run(["true"], cwd=tmp_path)


@pytest.mark.parametrize("program", ["c++", "make", "sta"])
def test_what_is_missing_is_named(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in {"c++", "make", "sta", "ar", "sh", "as", "ld"} - {program}:
        (bin_ / name).symlink_to(tools.find(name))
    environment = os.environ | {"PATH": str(bin_), "CARRYSAVE_CACHE": str(tmp_path / "cache")}
    command = WORK["synth"][:-1] if program == "sta" else WORK["verify"]
    done = subprocess.run(
        [sys.executable, "-m", "carrysave", *command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    package = {"c++": "g++", "make": "make", "sta": "opensta"}[program]
    assert done.returncode == 1
    assert f"sudo apt-get install {package}" in done.stderr.splitlines()[-1]

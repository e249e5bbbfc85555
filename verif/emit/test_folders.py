"""Temporary folders: private, removed at the end, and by the next run if that does not come."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from carrysave import cache
from hw.emit import folders, tools
from verif.support.signals import heeding

ROOT = Path(cache.__file__).parents[1]
WAITS = """
import os, sys, time
from pathlib import Path
from carrysave import cache
from hw.emit import tools

def make(folder):
    (folder / "part").write_text("half")
    with tools.workplace() as work:
        (work / "part").write_text("half")
        print(work, flush=True)
        time.sleep(60)

cache.write(cache.folder() / "room" / "whole", "text")
cache.entry("room", ["x"], make)
"""


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", None)
    folders.sweep.cache_clear()
    yield
    folders.sweep.cache_clear()


def age(path: Path) -> None:
    """Make it older than what is just being made."""
    before = time.time() - folders.LEFT - 1
    os.utime(path, (before, before), follow_symlinks=False)


def killed(tmp_path: Path) -> list[Path]:
    """Kill a process at work; return what it left."""
    process = subprocess.Popen([sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    work = Path(process.stdout.readline().strip())
    (entry,) = (tmp_path / "cache" / "room").glob(".*")
    process.kill()
    process.communicate()
    return [work, entry]


def test_what_was_killed_is_removed_by_the_next_run(tmp_path: Path) -> None:
    left = killed(tmp_path)
    half = tmp_path / "cache" / "room" / f".12345.{'0a' * 8}"
    half.write_text("half")
    with tools.workplace():
        assert all(path.exists() for path in left)  # may be of a process that has just begun
    for path in (*left, half):
        age(path)
    folders.sweep.cache_clear()
    with tools.workplace():
        assert not left[0].exists()
    cache.entry("room", ["y"], lambda folder: None)
    assert not left[1].exists()
    cache.write(tmp_path / "cache" / "room" / "other", "text")
    assert not half.exists()
    assert (tmp_path / "cache" / "room" / "whole").read_text() == "text"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_leave_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """As the command line handles them."""
    program = (
        f"import carrysave.cli\nimport carrysave.__main__\ndef run():\n exec({WAITS!r}, {{}})\n"
    )
    program += "carrysave.cli.main = run\ncarrysave.__main__.main()\n"
    process = subprocess.Popen(
        heeding("-c", program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    work = Path(process.stdout.readline().strip())
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert said == "carrysave: interrupted\n"
    assert not work.exists()
    assert not list((tmp_path / "temporary").iterdir())
    assert not list((tmp_path / "cache" / "room").glob(".*"))


def test_folders_are_private() -> None:
    before = os.umask(0)
    try:
        with tools.workplace() as work:
            assert stat.S_IMODE(work.stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_what_is_held_or_is_no_folder_of_ours_stays(tmp_path: Path) -> None:
    parent = tmp_path / "temporary"
    (parent / "carrysave-work-notes").mkdir()
    (parent / "carrysave-work-abcdefgh2").mkdir()
    (tmp_path / "far").mkdir()
    (parent / "carrysave-work-abcdefgh").symlink_to(tmp_path / "far")
    (parent / "carrysave-work-00000000").mkdir()
    with tools.workplace() as held:
        (held / "file").touch()
        for path in parent.iterdir():
            age(path)
        folders.sweep.cache_clear()
        with tools.workplace():
            assert (held / "file").exists()
            left = {path.name for path in parent.iterdir()}
    assert {"carrysave-work-notes", "carrysave-work-abcdefgh2", "carrysave-work-abcdefgh"} < left
    assert "carrysave-work-00000000" not in left
    assert (tmp_path / "far").exists()


def test_another_users_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "temporary" / "carrysave-work-abcdefgh"
    path.mkdir()
    age(path)
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    with tools.workplace():
        assert path.exists()


def test_no_other_folders_are_made() -> None:
    """They would be left by a process that is killed."""
    found = [
        path.relative_to(ROOT).as_posix()
        for room in ("carrysave", "hw")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"TemporaryDirectory|mkdtemp|mkstemp|NamedTemporary", path.read_text())
    ]
    assert found == ["hw/emit/folders.py"]

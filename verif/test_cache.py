"""The cache: whatever happens to its files, what comes out of it is what was put in."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from carrysave import cache
from carrysave.asic import synthesis
from carrysave.sim import runner
from hw.catalog import Design

DESIGN = Design("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 5})


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make(folder: Path) -> None:
    (folder / "value.json").write_text('{"area": 152}')
    (folder / "netlist.v").write_bytes(b"module t; endmodule\n")


def contents(entry: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in entry.iterdir()}


def test_every_byte_counts(own_cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Flip each byte of an entry, its digests among them; cut each file at each place."""
    entry = cache.entry("kind", ["a"], make)
    right = contents(entry)
    damage = [
        (name, text[:place] + end)
        for name, text in right.items()
        for place in range(len(text))
        for end in (bytes([text[place] ^ 1]) + text[place + 1 :], b"")
    ]
    assert len(damage) > 300
    for name, text in damage:
        (entry / name).write_bytes(text)
        os.utime(entry / name, ns=(1, 1))
        assert contents(cache.entry("kind", ["a"], make)) == right
        assert capsys.readouterr().err == f"carrysave: {entry} is damaged, and made again\n"
    cache.entry("kind", ["a"], make)
    assert not capsys.readouterr().err


@pytest.mark.parametrize("change", ["lost", "added", "no digests", "empty", "a file", "a folder"])
def test_what_is_not_whole_is_made_again(own_cache: Path, change: str) -> None:
    entry = cache.entry("kind", ["a"], make)
    right = contents(entry)
    match change:
        case "lost":
            (entry / "netlist.v").unlink()
        case "added":
            (entry / "more").write_text("")
        case "no digests":
            (entry / "SHA256SUMS").unlink()
        case "a folder":
            (entry / "value.json").unlink()
            (entry / "value.json").mkdir()
        case _:
            for path in entry.iterdir():
                path.unlink()
            if change == "a file":
                entry.rmdir()
                entry.write_text("")
    assert contents(cache.entry("kind", ["a"], make)) == right
    assert not list(own_cache.rglob(".*"))


def test_nothing_half_made_stays(own_cache: Path) -> None:
    def fail(folder: Path) -> None:
        make(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.entry("kind", ["a"], fail)
    assert not [path for path in own_cache.rglob("*") if path.is_file()]


def test_another_was_faster(own_cache: Path) -> None:
    def slow(folder: Path) -> None:
        make(folder)
        cache.entry("kind", ["a"], make)

    entry = cache.entry("kind", ["a"], slow)
    assert [path.name for path in entry.parent.iterdir()] == [entry.name]


def test_a_cache_that_cannot_be_written(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own_cache.mkdir()
    mkdtemp = tempfile.mkdtemp

    def refuse(suffix: Any = None, prefix: Any = None, dir: Any = None) -> str:
        if str(dir).startswith(str(own_cache)):
            raise PermissionError(13, "Permission denied")
        return mkdtemp(suffix, prefix, dir)

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    first = cache.remembered("plain", ["a"], lambda: {"n": 1})
    assert cache.remembered("plain", ["a"], lambda: {"n": 2}) == first == {"n": 1}


@pytest.mark.prove
def test_results_of_the_flows_survive(own_cache: Path) -> None:
    """All that verify and synth keep, each file damaged: results are the same as before."""

    def results() -> tuple[Any, ...]:
        found = synthesis.synthesise_design(DESIGN, "osu018", activity="normal")
        placed = synthesis.synthesise_design(DESIGN, "xilinx7")
        passed = runner.verify(DESIGN, tests="latency", seed=1, directory=own_cache.parent / "runs")
        netlist = Path(found["netlist"]).read_text()
        return json.dumps(found), netlist, json.dumps(placed), passed.ok, passed.tests

    right = results()
    rooms = set()
    for path in sorted(own_cache.rglob("*")):
        # Lock files are empty, precompiled headers slow to make.
        if path.is_file() and path.stat().st_size and path.suffix not in {".gch", ".a", ".h"}:
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 0x20
            path.unlink()  # this process has loaded some of them
            path.write_bytes(data)
            rooms.add(path.relative_to(own_cache).parts[:-2])
    assert len(rooms) >= 9, rooms
    assert results() == right

"""Verilog from the cache: the same text, and made anew when anything that it depends on changes."""

import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from carrysave import cache
from carrysave.sim import emission
from hw.catalog import Design
from hw.emit import verilog

DESIGN = Design("mac", {"a_width": 2, "b_width": 2, "accumulator_width": 5})
OTHER = Design("mac", {"a_width": 3, "b_width": 2, "accumulator_width": 5})


@pytest.fixture
def emitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Design]:
    """Return the designs that were emitted, with a cache of the test's own."""
    monkeypatch.setenv("CARRYSAVE_CACHE", str(tmp_path / "cache"))
    made: list[Design] = []
    real: Callable[[Design], str] = verilog.verilog_of

    def recorded(design: Design) -> str:
        made.append(design)
        return real(design)

    monkeypatch.setattr(verilog, "verilog_of", recorded)
    return made


def test_a_design_is_emitted_once(emitted: list[Design]) -> None:
    """Its text is that of the emission; another parameter is another design."""
    first = emission.verilog_of(DESIGN)
    assert emission.verilog_of(DESIGN) == first == verilog.Emission(DESIGN).verilog
    assert emission.verilog_of(OTHER) == verilog.Emission(OTHER).verilog != first
    assert emitted == [DESIGN, OTHER]


@pytest.mark.parametrize("which", ["golden", "hw"])
def test_a_change_of_a_source_is_seen(
    which: str, emitted: list[Design], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are those of the packages, by their bytes."""
    for text in ("one = 1\n", "one = 2\n", "one = 1\n"):
        (tmp_path / "sources").mkdir(exist_ok=True)
        (tmp_path / "sources" / "part.py").write_text(text)
        package = ModuleType(which)
        package.__path__ = [str(tmp_path / "sources")]
        monkeypatch.setattr(emission, which, package)
        emission.verilog_of(DESIGN)
    assert emitted == [DESIGN, DESIGN]


def test_another_version_of_a_tool_is_seen(
    emitted: list[Design], monkeypatch: pytest.MonkeyPatch
) -> None:
    emission.verilog_of(DESIGN)
    monkeypatch.setattr(verilog, "versions", lambda: {"amaranth": "99"})
    emission.verilog_of(DESIGN)
    assert emitted == [DESIGN, DESIGN]


def test_those_of_longest_ago_go(
    emitted: list[Design], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked for since stays; entries that are half made are not counted."""
    monkeypatch.setattr(emission, "_MOST", 2)
    room = tmp_path / "cache" / "emitted"
    for number, width in enumerate((2, 3, 2, 4)):
        emission.verilog_of(Design("mac", {"a_width": width, "accumulator_width": 20}))
        for path in room.iterdir():
            # Of a clock that may be coarse: as long ago as they were asked for.
            if path.stat().st_mtime_ns > 10**12:
                os.utime(path, ns=(number, number))
    assert [one.parameters["a_width"] for one in emitted] == [2, 3, 4]
    assert len(list(room.iterdir())) == 2
    emission.verilog_of(Design("mac", {"a_width": 2, "accumulator_width": 20}))
    assert len(emitted) == 3
    emission.verilog_of(Design("mac", {"a_width": 3, "accumulator_width": 20}))
    assert len(emitted) == 4


def test_what_another_process_took_away_is_emitted(
    emitted: list[Design], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = emission.verilog_of(DESIGN)
    monkeypatch.setattr(cache, "entry", lambda *_, **__: tmp_path / "gone")
    assert emission.verilog_of(DESIGN) == text

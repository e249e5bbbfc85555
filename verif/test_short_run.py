"""What `make test` leaves to `make prove`, and what it may take."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verif.support import budget
from verif.support.budget import BUDGETS, Budget, room_of
from verif.support.sample import spread

SETTINGS = """
[tool.pytest.ini_options]
addopts = ["-q", "-m", "not prove", "-p", "no:cacheprovider"]
markers = ["prove", "sample"]
"""
TESTS = """
import pytest

@pytest.mark.sample(3)
@pytest.mark.parametrize("left", range(5))
@pytest.mark.parametrize("right", [0, pytest.param(1, marks=pytest.mark.prove)])
def test_cases(left, right):
    print(f"case {left}{right}.")
"""
WHOLE = 1100
"""Seconds of the processor of all rooms, with some to spare: 790 are measured, 450 on the clock of
two cores. With set-up, ten minutes would be 1,000."""


@pytest.mark.parametrize("size", [1, 2, 3, 8, 21, 54])
def test_a_sample_is_spread(size: int) -> None:
    for count in range(1, size + 2):
        assert len(spread(size, count)) == min(size, count)
        assert spread(size, count) <= set(range(size))
    # Of two lists of which each has every case of the other, all values of both are in it.
    if size == 54:
        places = spread(size, 18)
        assert {place // 9 for place in places} == set(range(6))
        assert {place % 9 for place in places} == set(range(9))


def test_what_is_in_no_sample_is_proven(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from verif.conftest import pytest_addoption, pytest_collection_modifyitems\n"
    )
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "test_own.py").write_text(TESTS)

    def cases(*arguments: str) -> set[str]:
        found = subprocess.run(
            [sys.executable, "-m", "pytest", "-s", *arguments],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "CI": "yes"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return {part[:2] for part in found.stdout.split("case ")[1:]}

    short, proven = cases(), cases("-m", "prove")
    assert len(short) == 3
    assert all(case.endswith("0") for case in short)
    assert not short & proven
    assert short | proven == {f"{left}{right}" for left in range(5) for right in range(2)}
    left = next(case for case in proven if case.endswith("0"))
    assert cases(f"test_own.py::test_cases[0-{left[0]}]") == {left}


def test_rooms_are_folders_and_take_no_more_than_all_may() -> None:
    folder = Path(__file__).parent
    assert {room for room in BUDGETS if not (folder / room).is_dir()} == {"verif"}
    assert sum(BUDGETS.values()) <= WHOLE
    assert room_of("verif/soc/bus/test_packer.py::test_a[1/2]") == "soc"
    assert room_of("verif/test_tree.py::test_a") == "verif"


@pytest.mark.parametrize(
    ("spent", "where", "whole", "code"),
    [(1.4, "yes", True, 0), (1.6, "yes", True, 1), (1.6, "", True, 0), (1.6, "yes", False, 0)],
)
def test_a_room_over_its_budget_fails(
    spent: float, where: str, whole: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "speed", lambda: 1.0)
    monkeypatch.setenv("CI", where)
    one = Budget(whole=whole)
    for share in (0.5, 0.5):
        report: Any = SimpleNamespace(
            nodeid="verif/soc/test_a.py::test_b", cpu_seconds=share * spent * BUDGETS["soc"]
        )
        one.pytest_runtest_logreport(report)
    session: Any = SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    one.pytest_sessionfinish(session)
    assert session.exitstatus == code
    lines: list[str] = []
    one.pytest_terminal_summary(
        SimpleNamespace(write_line=lambda line, **_: lines.append(line))  # type: ignore[arg-type]
    )
    assert any("over budget: soc" in line for line in lines) == (whole and spent > 1.5)
    assert bool(lines) == whole


@pytest.mark.parametrize(
    ("most", "soc", "says"),
    [(1.9, 1.0, []), (1.9, 1.6, ["soc"]), (1.9, 1.4, []), (0.5, 3.1, ["soc"]), (2.6, 1.0, ["all"])],
)
def test_what_most_rooms_take_is_the_machine(most: float, soc: float, says: list[str]) -> None:
    one = Budget(whole=True)
    for room, seconds in BUDGETS.items():
        one.rooms[room] = most * seconds * (soc if room == "soc" else 1)
    assert [line.partition(":")[0] for line in one.over(1.0)] == says


def test_seconds_are_those_of_the_test_and_its_processes() -> None:
    one = Budget(whole=False)
    one.pytest_runtest_logstart()
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    wrapped = one.pytest_runtest_makereport()
    next(wrapped)
    with pytest.raises(StopIteration) as end:
        wrapped.send(SimpleNamespace())
    assert 0.3 <= end.value.value.cpu_seconds < 2

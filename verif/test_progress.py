"""What is said of long work."""

import io
import re

import pytest
from rich.console import Console

from carrysave import progress
from carrysave.progress import Steps, Tally


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    return found


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=120)


def text(of: Console) -> str:
    assert isinstance(of.file, io.StringIO)
    return of.file.getvalue()


def test_lines_without_a_plan() -> None:
    shown = console(False)
    with Steps(shown) as steps:
        steps.step("read [a]")
        steps.note("half of it")
        steps.advance(1, 2)
        assert steps.left() is None
    assert text(shown) == "... read [a]\n... half of it\n"


def test_lines_of_a_plan_in_seconds(clock: Clock) -> None:
    shown = console(False)
    with Steps(shown) as steps:
        steps.plan([20, 30, 200])
        steps.step("one")
        clock.now += 60  # half the speed: 20 s of trust and 20 s of work took 80
        steps.step("two")
        steps.note("a part")
        assert steps.left() == 2 * (30 + 200)
        clock.now += 10
        assert steps.left() == 2 * (30 + 200) - 10
        steps.advance(3, 4)
        assert steps.left() == 2 * (30 / 4 + 200)
        clock.now += 100
        steps.step("three")
    assert text(shown).splitlines() == [
        "3 steps, about 4 min on two cores",
        "[1/3] one",
        "[2/3] two (60 s, about 8 min to go)",
        "... a part",
        "[3/3] three (3 min, about 9 min to go)",
    ]


def test_lines_of_a_plan_of_unknown_length(clock: Clock) -> None:
    shown = console(False)
    with Steps(shown) as steps:
        steps.plan(3)
        for name in ("one", "two", "three", "one more"):
            steps.step(name)
            clock.now += 5
        assert steps.left() == 0
    assert text(shown).splitlines() == [
        "3 steps",
        "[1/3] one",
        "[2/3] two (5 s, about 10 s to go)",
        "[3/3] three (10 s, about 5 s to go)",
        "[4/4] one more (15 s, about 0 s to go)",
    ]


def test_bar() -> None:
    shown = console(True)
    with Steps(shown) as steps:
        steps.step("read [a]")
        steps.advance(1, 2)
        steps.step("plan")
        steps.plan([20.0, 40.0])
        steps.step("build [b]")
        steps.note("link")
        steps.step("run")
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text(shown))
    assert "[2/2] run" in plain
    assert "about 20 s to go" in plain  # the first took no time: twice as fast as planned


def test_lines_of_jobs(clock: Clock) -> None:
    shown = console(False)
    with Steps(shown) as steps:
        steps.jobs(Tally(total=9, slots=0))
        steps.jobs(Tally(total=9, slots=2, running=2))
        steps.jobs(Tally(total=9, done=2, cached=2, text="a: known before"))
        for done in (3, 4):  # at the same time: one line a second
            clock.now += 0.4
            steps.jobs(Tally(total=9, done=done, cached=2, text=f"job {done}: 0.4 s"))
        clock.now += 9.2
        steps.jobs(Tally(total=9, done=5, cached=2, text="job 5: 9.2 s"))
        log = "\n".join(map(str, range(20)))
        steps.jobs(
            Tally(total=9, done=5, failed=1, cached=2, text="job 6: failed: \x1b[2J", log=log)
        )
        steps.jobs(Tally(total=9, done=8, failed=1, cached=2, text="job 9: 0.1 s"))
    assert text(shown).splitlines() == [
        "no worker yet: waiting for the first",
        "[2/9] a: known before (0 s)",
        "[5/9] job 5: 9.2 s (10 s, about 13 s to go)",
        "[6/9] job 6: failed: \\x1b[2J (10 s, about 8 s to go, 1 failed)",
        *(f"    {line}" for line in range(12, 20)),
        "[9/9] job 9: 0.1 s (10 s, about 0 s to go, 1 failed)",
    ]


def test_table_of_jobs_on_a_terminal() -> None:
    shown = console(True)
    with Steps(shown) as steps:
        steps.jobs(Tally(total=40, done=7, failed=1, running=2, cached=3, text="job: 1 s"))
        steps._bar.refresh()  # type: ignore[union-attr]
        seen = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text(shown))
        heads, values = seen.splitlines()[-2:]
        steps.jobs(Tally(total=40, done=39, failed=1))
    assert re.split(r"\s{2,}", heads.strip()) == [
        "done",
        "of",
        "running",
        "failed",
        "known before",
        "time left",
    ]
    assert values.split()[:5] == ["7", "40", "2", "1", "3"]

"""Seconds that the tests of each room take, beside what they may take.

A whole run of `make test` ends with a table of them: a room is a folder of `verif`, its seconds are
of the processor, in the tests' process and in all that it waited for. With CI in the environment
a room that takes half as much again as its budget fails the run, on a machine as fast as that on
which they were measured. How fast this one is the rooms say themselves: a loop knows nothing of
caches, compilers and neighbours. So what most rooms take is the machine, and what one takes beside
that is its tests. All together may take two and a half times their budgets, by the loop.
"""

import os
import resource
import time
from collections import defaultdict
from collections.abc import Generator
from statistics import median
from typing import Any

import pytest

__all__ = ["BUDGETS", "Budget", "room_of", "speed"]

BUDGETS = {
    "soc": 235, "npe": 75, "asic": 75, "networks": 55, "verif": 60, "tpe": 30, "pe": 30, "cli": 35,
    "regress": 20, "fpga": 35, "golden": 35, "sim": 20, "explore": 20, "ip": 20, "compiler": 55,
    "api": 20, "jobs": 15, "device": 20, "emit": 15, "docs": 25, "language": 45, "system": 30,
}  # fmt: skip
"""Seconds of each room on the machine on which :data:`REFERENCE` was measured; a new feature brings
its tests and stays within, or says here why its room has more. Language models have checkpoints of
three layouts, sampling, states, experts, channels of keys and attention in one pass; systems have
language models; co-processors have lists of places, shares whose sums are shifted, and groups that
are scaled; pages have a notebook, and what was run of each design. What they take, networks,
elements, arrays, cells, searches, regressions, simulators and cores leave."""
OTHERS = 15
"""Seconds of any other room."""
LIMIT = 1.5
"""Of its budget, what fails: seconds of one machine vary by less."""
MOST = 2.5
"""Of all budgets, and of the loop's seconds, what fails."""
REFERENCE = 0.2
"""Seconds of the loop by which machines are compared."""
_LOOP = 3_000_000


def room_of(nodeid: str) -> str:
    """Return the folder of `verif` that a test is in; ``verif`` for those in none."""
    folders = nodeid.partition("::")[0].split("/")[:-1]
    return folders[1] if len(folders) > 1 else "verif"


def speed() -> float:
    """Return how many times the reference's seconds this machine takes, 1 at least."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        total = 0
        for number in range(_LOOP):
            total += number & 7
        best = min(best, time.process_time() - start)
    return max(1.0, best / REFERENCE)


def _seconds() -> float:
    """Return the processor's seconds of this process and of those that it waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


class Budget:
    """The plug-in: measures in each process, adds up and judges in the one that sees all results.

    Parameters
    ----------
    whole : whether all short tests run, so that budgets can be compared.
    """

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole
        self.rooms: defaultdict[str, float] = defaultdict(float)
        self._last = _seconds()

    def pytest_runtest_logstart(self) -> None:
        """Begin a test."""
        self._last = _seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Give a report the seconds since the one before."""
        report = yield
        now = _seconds()
        report.cpu_seconds, self._last = now - self._last, now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what set-up, test and tear-down took."""
        self.rooms[room_of(report.nodeid)] += getattr(report, "cpu_seconds", 0.0)

    def over(self, factor: float) -> list[str]:
        """Return a sentence for each room that took too long, and for all together.

        Parameters
        ----------
        factor : how many times the reference's seconds the loop takes on this machine.
        """
        shares = [self.rooms[room] / budget for room, budget in BUDGETS.items()]
        most = max(factor, median(shares))
        texts = [
            f"{room}: {seconds:.0f} s are more than {LIMIT} times its {BUDGETS.get(room, OTHERS)} s"
            f" (this machine: x {most:.2f})"
            for room, seconds in sorted(self.rooms.items())
            if seconds > LIMIT * most * BUDGETS.get(room, OTHERS)
        ]
        whole = sum(BUDGETS.get(room, OTHERS) for room in self.rooms)
        if (took := sum(self.rooms.values())) > MOST * factor * whole:
            texts.append(
                f"all: {took:.0f} s are more than {MOST} times their {whole} s"
                f" (this machine: x {factor:.2f})"
            )
        return texts

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a whole run in continuous integration if a room takes too long."""
        if self.whole and os.environ.get("CI") and session.exitstatus == pytest.ExitCode.OK:
            self.factor = speed()
            if self.over(self.factor):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the table."""
        if not self.whole:
            return
        write = terminalreporter.write_line
        write(f"{'room':14} {'seconds':>8} {'budget':>7}")
        for room, seconds in sorted(self.rooms.items(), key=lambda each: -each[1]):
            write(f"{room:14} {seconds:8.1f} {BUDGETS.get(room, OTHERS):7}")
        write(f"{'all':14} {sum(self.rooms.values()):8.1f} {sum(BUDGETS.values()):7}")
        for line in self.over(getattr(self, "factor", None) or speed()):
            write(f"over budget: {line}", red=True)

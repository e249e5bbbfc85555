"""Runs of a design's bench."""

from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carrysave.api.call import telling
from carrysave.api.failures import alike, shortest_failure
from carrysave.api.options import VerifyOptions
from carrysave.api.result import Result
from carrysave.api.targets import library_of
from carrysave.errors import ArgumentError, check_choice
from carrysave.progress import Steps
from carrysave.report import designs, verification_page
from carrysave.sim import runner
from carrysave.sim.bench_tests import bench_tests
from carrysave.sim.options import BenchOptions
from carrysave.sim.results import Case, cases
from hw.catalog import Design
from hw.device import models_of
from hw.emit.user_files import read_text

if TYPE_CHECKING:
    from rich.console import Console

    from carrysave.asic.liberty.cells import Library
    from carrysave.report.page import Page

__all__ = ["Verification", "verify"]

_LONGEST = 1 << 28  # bytes of Verilog


class Verification(Result):
    """A run of a design's cocotb bench against its numpy twin.

    Members
    -------
    ok : bool             At least one test ran, and none failed.
    tests : int           Tests that ran.
    failures : list       Names of those that failed.
    shortest : dict       The shortest stimulus that fails: ``test transactions why command``; None
                          if none failed.
    seed : int            Of the stimulus: the same gives the same run.
    seconds : float       Of the simulation, the build excluded.
    junit, log : Path     Results, and what the simulator printed.
    waves : Path or None  The waves, VCD.
    """

    def __init__(
        self, facts: dict[str, Any], run: runner.Result, seen: runner.Result, design: Design
    ) -> None:
        super().__init__(facts)
        self._run, self._seen, self._design = run, seen, design

    @property
    def ok(self) -> bool:
        """Whether at least one test ran, and none failed."""
        return self._run.ok

    @property
    def tests(self) -> int:
        """Tests that ran."""
        return self._run.tests

    @property
    def failures(self) -> list[str]:
        """Names of the tests that failed."""
        return list(self._run.failed)

    @property
    def shortest(self) -> dict[str, Any] | None:
        """The shortest stimulus that fails."""
        return self.get("shortest")

    @property
    def seed(self) -> int:
        """Seed of the stimulus."""
        return self._run.seed

    @property
    def seconds(self) -> float:
        """Wall-clock time of the simulation, s."""
        return self._run.seconds

    @property
    def junit(self) -> Path:
        """Results, in JUnit's format."""
        return self._run.xml

    @property
    def log(self) -> Path:
        """What the simulator printed."""
        return self._run.log

    @property
    def waves(self) -> Path | None:
        """The waves, VCD; None if they were not recorded."""
        return self._run.waves

    @property
    def cases(self) -> list[Case]:
        """The tests: name, outcome, time, simulated time in ns, reason of a failure."""
        return cases(self.junit)

    def show(self, console: "Console") -> None:
        """Print the outcome, and the tests that failed."""
        lines = alike(self._run)
        designs.print_verification(console, self._design, self._run, self["of"], lines)
        if self.shortest is not None:
            designs.print_line(console, f"  least:  {self.shortest['command']}")
            designs.print_line(console, f"          {self.shortest['why']}")
        if "html" in self:
            designs.print_line(console, f"wrote {self['html']}")

    def add_file(self, path: Path) -> None:
        """Note the page."""
        self.facts["html"] = str(path)

    def page(self) -> "Page":
        """Return the tests as a page, with waves of those that failed, if there are any."""
        seen = self._seen.xml, self._seen.waves
        return verification_page.make(self.facts, command=self.command, seen=seen)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each test: ``test result seconds simulated_ns why``."""
        return [
            {
                "test": case.name,
                "result": case.outcome,
                "seconds": case.seconds,
                "simulated_ns": None
                if case.start is None or case.stop is None
                else case.stop - case.start,
                "why": case.why,
            }
            for case in self.cases
        ]


def verify(
    design: Design,
    options: VerifyOptions,
    *,
    folder: str | PathLike[str],
    progress: Steps | bool,
) -> Verification:
    """Run a design's bench, see :meth:`carrysave.api.design.Design.verify`."""
    _check(design, options)
    netlist, verilog, test = options.netlist, options.verilog, options.test
    library = library_of(netlist) if isinstance(netlist, str) else netlist
    of = f"Verilog {verilog}" if verilog is not None else "verilog"
    if library is not None:
        of = f"netlist {netlist if isinstance(netlist, str) else library.name}"
    with telling(progress) as steps:
        sources = None
        if verilog is not None:
            sources = [Path(verilog), *models_of(read_text(Path(verilog), _LONGEST))]
        if library is not None:
            sources = _netlist(design, library, Path(folder), steps)
        steps.step(f"verify {design.module}")

        def again(how: BenchOptions, count: int | None) -> runner.Result:
            return runner.verify(
                design,
                how,
                netlist=sources,
                simulator=options.simulator,
                bench_parameters={} if count is None else {"transactions": count},
                directory=Path(folder) / "runs",
            )

        count, tests = options.transactions, None if test is None else runner.named(test)
        result = again(BenchOptions(seed=options.seed, waves=options.waves, tests=tests), count)
        seen, least = result, None
        if not result.ok and count is None:
            steps.step("look for the shortest stimulus that fails")
            least = shortest_failure(design, options, result, again)
        name = verification_page.first_failure(result.xml)
        if options.show_failure and name is not None and result.waves is None:
            if least is not None:
                name, count = least.test, least.transactions
            steps.step(f"record waves of {name}")
            how = BenchOptions(seed=result.seed, waves=True, tests=runner.named(name))
            seen = again(how, count)
    facts = designs.verification(design, result, of)
    facts["shortest"] = None if least is None else asdict(least)
    return Verification(facts, result, seen, design)


def _check(design: Design, options: VerifyOptions) -> None:
    """Refuse options that are out of range, or exclude each other."""
    seed, transactions, test = options.seed, options.transactions, options.test
    if seed is not None and not 0 <= seed < 1 << 31:
        raise ArgumentError("{seed} must be 0..2147483647, not {value}", value=seed)
    check_choice("simulator", options.simulator, runner.SIMULATORS)
    if transactions is not None and transactions < 1:
        raise ArgumentError("{transactions} must be 1 or more, not {value}", value=transactions)
    if transactions is not None and test is None:
        raise ArgumentError("{transactions} is for one {test}: others count on all that they send")
    if options.verilog is not None and options.netlist is not None:
        raise ArgumentError("{verilog} is in place of a {netlist}")
    known = [] if test is None else bench_tests(design)
    if known:
        check_choice("test", str(test), known)


def _netlist(design: Design, library: "Library", folder: Path, steps: Steps) -> list[Path]:
    """Synthesise the design; return the netlist and models of its cells."""
    from carrysave.asic.bench_job import netlist_sources  # slow to load

    steps.step(f"synthesise {design.module} for {library.name}")
    for note in library.notes:
        steps.remark(note)
    return netlist_sources(design, library, folder)
